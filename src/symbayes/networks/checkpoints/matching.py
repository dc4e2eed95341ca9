"""Which layer of a state dict is which layer of a network.

Shapes tell most layers apart.  Among layers of one shape the numbers in the names decide (``fc1`` before
``fc2``), and names of several forms, as ``bn1`` and ``layer1.0.bn1``, are told by how many there are of each
in the network.  Files that keep the order in which a program made its layers say something as well.  Where
both speak and agree, or one of them is beyond doubt, nothing is said; where one alone decides, it is told;
where they contradict each other or nothing decides, the names have to be given.
"""

from __future__ import annotations

import itertools
import re
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from symbayes import trees
from symbayes.networks.checkpoints.formats import CheckpointError
from symbayes.networks.checkpoints.layouts import PACKED, Arrays, Layer, Shape, signature

IGNORED = ("num_batches_tracked",)
SETTLE = 'give names={"%s": "%s", ...} (--names %s=%s ... on the command line) for these'


class MatchedByOrder(UserWarning):
    """Layers of one shape were told apart by less than their names."""


@dataclass(frozen=True)
class Unit:
    """Arrays of a state dict that make one layer: their full names, by those below the layer's."""

    name: str
    arrays: Mapping[str, str]

    def signature(self, arrays: Arrays) -> tuple[tuple[str, Shape], ...]:
        return signature({below: arrays[name].shape for below, name in self.arrays.items()})


def units(arrays: Arrays, known: set[str]) -> list[Unit]:
    """The layers of a state dict in its order; an array whose last name is not `known` stands alone."""
    found: dict[str, dict[str, str]] = {}
    packed = {name.rpartition(".")[0] for name in arrays if name.rpartition(".")[2] == PACKED}
    for name in arrays:
        layer, _, last = name.rpartition(".")
        above, _, part = layer.rpartition(".")
        if last in IGNORED:
            continue
        if part == "out_proj" and above in packed:
            found.setdefault(above, {})[f"{part}.{last}"] = name
        elif last in known or layer in packed:
            found.setdefault(layer, {})[last] = name
        else:
            found[name] = {"": name}
    return [Unit(layer, members) for layer, members in found.items()]


def match(
    layers: Sequence[Layer],
    arrays: Arrays,
    ordered: bool,
    names: Mapping[str, str] | None = None,
) -> dict[str, Unit]:
    """The unit of a state dict for every layer, by the layer's name.

    Args:
        layers: of the network, in the order in which it uses them.
        arrays: of the state dict.
        ordered: whether their order is that of the program that made them.
        names: what is given: layers of the state dict, or its arrays that stand alone, by layers of ours.
    """
    known = {below for layer in layers for below in layer.arrays() if below}
    left = {unit.name: unit for unit in units(arrays, known)}
    found = _given(layers, left, arrays, names or {})
    doubts: list[str] = []
    rest = [layer for layer in layers if layer.name not in found]
    for layer in rest:
        if layer.name in found:
            continue
        rivals = [other for other in rest if other.signature() == layer.signature()]
        fitting = [unit for unit in left.values() if unit.signature(arrays) == layer.signature()]
        if len(fitting) < len(rivals):
            raise CheckpointError(_missing(rivals[len(fitting)], left, arrays))
        if len(fitting) > len(rivals):
            raise CheckpointError(
                f"{_names(fitting)} of the checkpoint have the shape of {_names(rivals)}, and are more: "
                "give the options that the network was trained with"
            )
        for ours, theirs in _told_apart(rivals, fitting, ordered, doubts):
            found[ours.name] = theirs
            del left[theirs.name]
    if left:
        raise CheckpointError(
            f"the network has no place for {_listed(left, arrays)} of the checkpoint: "
            "give the options that the network was trained with"
        )
    if doubts:
        warnings.warn("; ".join(doubts), MatchedByOrder, stacklevel=4)
    return found


def _given(
    layers: Sequence[Layer], left: dict[str, Unit], arrays: Arrays, names: Mapping[str, str]
) -> dict[str, Unit]:
    """What the user says, checked; what is taken is left no more."""
    by_name = {layer.name: layer for layer in layers}
    found = {}
    for ours, theirs in names.items():
        name = ours.replace(".", "/")
        if name not in by_name:
            raise CheckpointError(f"the network has no layer {ours}: it has {', '.join(by_name)}")
        if theirs not in left:
            raise CheckpointError(f"the checkpoint has no layer {theirs}: it has {', '.join(left) or 'none'}")
        unit = left.pop(theirs)
        if unit.signature(arrays) != by_name[name].signature():
            raise CheckpointError(
                f"{theirs} of the checkpoint does not fit {name}, which needs {_needs(by_name[name])}"
            )
        found[name] = unit
    return found


def _told_apart(
    ours: Sequence[Layer], theirs: Sequence[Unit], ordered: bool, doubts: list[str]
) -> list[tuple[Layer, Unit]]:
    """As many layers of one shape on both sides, paired; what is doubtful is noted."""
    if len(ours) == 1:
        return [(ours[0], theirs[0])]
    by_path = {unit.name.replace(".", "/"): unit for unit in theirs}
    if all(layer.name in by_path for layer in ours):
        return [(layer, by_path[layer.name]) for layer in ours]
    by_name, forms = _by_numbers(ours, theirs)
    in_order = list(zip(ours, theirs, strict=True)) if ordered else None
    settle = SETTLE % (ours[0].name, theirs[0].name, ours[0].name, theirs[0].name)
    if by_name is None and in_order is None:
        raise CheckpointError(
            f"{_names(theirs)} of the checkpoint have one shape, and neither numbers nor an order tell "
            f"which of {_names(ours)} each is: {settle}"
        )
    if by_name is not None and in_order is not None and _pairs(by_name) != _pairs(in_order):
        raise CheckpointError(
            f"layers of one shape: by their names {_told(by_name)}, but in the order of the file "
            f"{_told(in_order)}: {settle}"
        )
    found = by_name or in_order
    assert found is not None
    if by_name is None or (in_order is None and forms > 1):
        how = "their order in the file" if by_name is None else "how many have names of one form"
        doubts.append(f"layers of one shape told apart by {how}: {_told(found)}; if this is wrong, {settle}")
    return found


def _by_numbers(ours: Sequence[Layer], theirs: Sequence[Unit]) -> tuple[list[tuple[Layer, Unit]] | None, int]:
    """Pairs by numbers within names of one form, and how many forms there are; None where that fails."""
    forms = _forms([unit.name for unit in theirs])
    if len(forms) == 1:
        ((_, order),) = forms.items()
        return [(layer, theirs[place]) for layer, place in zip(ours, order, strict=True)], 1
    own = _forms([layer.name for layer in ours])
    sizes = [sorted(len(members) for members in some.values()) for some in (own, forms)]
    if sizes[0] != sizes[1] or len(set(sizes[0])) < len(sizes[0]):
        return None, len(forms)
    by_size = {len(members): members for members in forms.values()}
    place = {}
    for members in own.values():
        # Ours stand in the order of use; theirs in that of their numbers.
        place |= dict(zip(sorted(members), by_size[len(members)], strict=True))
    return [(layer, theirs[place[number]]) for number, layer in enumerate(ours)], len(forms)


def _forms(names: Sequence[str]) -> dict[str, list[int]]:
    """Places of names that differ in numbers only, in the order of these."""
    found: dict[str, list[int]] = {}
    for place in sorted(range(len(names)), key=lambda p: trees.path_key(names[p].replace(".", "/"))):
        found.setdefault(re.sub(r"\d+", "#", names[place]), []).append(place)
    return found


def _pairs(found: Sequence[tuple[Layer, Unit]]) -> dict[str, str]:
    return {layer.name: unit.name for layer, unit in found}


def _told(found: Sequence[tuple[Layer, Unit]]) -> str:
    return ", ".join(f"{layer.name} is {unit.name}" for layer, unit in found)


def _names(some: Sequence[Layer] | Sequence[Unit]) -> str:
    return ", ".join(one.name for one in some)


def _needs(layer: Layer) -> str:
    return ", ".join(f"{name} {shape}".strip() for name, shape in layer.arrays().items())


def _missing(layer: Layer, left: Mapping[str, Unit], arrays: Arrays) -> str:
    return (
        f"the checkpoint has no layer left for {layer.name} of the network, which needs {_needs(layer)}; "
        f"it has {_listed(left, arrays)}. Give the options that the network was trained with, or a "
        "port of your own whose parameters have the names of the state dict"
    )


def _listed(left: Mapping[str, Unit], arrays: Arrays) -> str:
    names = [name for unit in left.values() for name in unit.arrays.values()]
    told = [f"{name} {arrays[name].shape}" for name in itertools.islice(names, 4)]
    return ", ".join(told) + (f" and {len(names) - 4} more" if len(names) > 4 else "") if told else "none"
