"""The second domain: by how much each value is scaled, or whether its sign is flipped, when the parameters
are.

Every operation acts on each effect by itself: an index that is summed over may have no effect, values that
are added have equal effects, those of a product add up.  So each step of the program gives linear
equations.
"""

from __future__ import annotations

import itertools
from collections import defaultdict
from collections.abc import Hashable, Sequence

import numpy as np

from symbayes.symmetry.discovery.cells import Cells, Usages
from symbayes.symmetry.discovery.effects import (
    Cell,
    Effect,
    Forms,
    Ledger,
    alternatives,
    effects_of,
)
from symbayes.symmetry.discovery.nullspace import Vector, add
from symbayes.symmetry.program.axes import atoms
from symbayes.symmetry.program.laws import AGREE, FIXED, FORGET, SAME, Rule
from symbayes.symmetry.program.program import Carry, Concat, Link, Loop, Program, Reshape, Slice, Value

EPSILON = 1e-2
"""Constants up to this size count as the epsilon of a normaliser, where epsilons are ignored."""


class Diagonal(Cells, Ledger):
    """Runs the program on scales (``kind="scale"``) or signs (``kind="sign"``) and solves for the
    parameters'.  Cells of parameters that the program does not use have none.
    """

    def __init__(self, program: Program, partly: Usages, kind: str, ignore_epsilon: bool = False):
        Cells.__init__(self)
        Ledger.__init__(self, 2 if kind == "sign" else None)
        self.kind = kind
        self.ignore_epsilon = ignore_epsilon
        used = [value for path, value in program.parameters.items() if program.uses(path)]
        self.relevant = {atom for value in used for term in value.axes for atom in atoms(term)}
        self.forms: dict[int, dict[Cell, Forms]] = {}
        for value in used:
            usage = partly.get(value.path or "")
            self.forms[id(value)] = self.invent(value, usage.idle if usage else frozenset())
        handlers = {Link: self.link, Reshape: self.reshape, Concat: self.concat, Slice: self.slice}
        for step in program.steps:
            if isinstance(step, Carry):
                self.carry(step)
            else:
                self.forms[id(step.out)] = handlers[type(step)](step)
        for value in program.outputs:
            for cell in self.of(value).values():
                self.vanish(cell)

    # ------------------------------------------------------------------ values

    def of(self, value: Value) -> dict[Cell, Forms]:
        if id(value) not in self.forms:
            forms: Forms = None if self.any_scale(value) else {}
            self.forms[id(value)] = dict.fromkeys(self.cells(value), forms)
        return self.forms[id(value)]

    def any_scale(self, value: Value) -> bool:
        """Zero has every sign; zero and the infinities have every positive scale."""
        if value.constant is None or not value.numeric:
            return False
        array = np.asarray(value.constant, dtype=complex)
        free = (array == 0) | np.isnan(array)
        return bool(np.all(free if self.kind == "sign" else free | np.isinf(array)))

    def invent(self, value: Value, idle: frozenset[Cell] = frozenset()) -> dict[Cell, Forms]:
        """A new unknown for every effect; what is idle goes along with everything."""
        if not value.numeric:
            return {cell: {} for cell in self.cells(value)}
        forms: dict[Cell, Forms] = {}
        layout = self.layout(value)
        for cell in self.cells(value):
            if cell in idle:
                forms[cell] = None
                continue
            indices = [
                (key, atom)
                for (key, parts), choice in zip(layout.items(), cell, strict=True)
                for atom in parts[choice]
                if atom in self.relevant and parts[choice].count(atom) == 1
            ]
            forms[cell] = {
                effect: {self.unknown(value.path, cell, effect): 1} for effect in effects_of(indices)
            }
        return forms

    # ------------------------------------------------------------------ steps

    def link(self, step: Link) -> dict[Cell, Forms]:
        operands = []
        sizes: dict[Hashable, int] = {}
        for value, labels in zip(step.ins, step.in_labels, strict=True):
            keys: list[Hashable] = [*labels, *value.loops]
            names = dict(zip(self.layout(value), keys, strict=True))
            for key, parts in self.layout(value).items():
                sizes[names[key]] = max(sizes.get(names[key], 1), len(parts))
            operands.append((value, keys, names))
        sizes.pop(None, None)
        kept = {*step.out_labels, *step.out.loops}
        results: dict[tuple, list[Forms]] = defaultdict(list)
        for pick in itertools.product(*(range(n) for n in sizes.values())):
            choice = dict(zip(sizes, pick, strict=True))
            forms = [self.operand(value, keys, names, choice) for value, keys, names in operands]
            result = self.without(self.apply(step, forms), sizes.keys() - kept)
            results[tuple(n for label, n in choice.items() if label in kept)].append(result)
        merged: dict[tuple, Forms] = {pick: self.merge(many) for pick, many in results.items()}
        if not step.out.numeric or self.rule(step) == AGREE:  # agreement is all that is asked for
            merged = {pick: {} for pick in merged}
        return self.deliver(step.out, step.out_labels, [label for label in sizes if label in kept], merged)

    def operand(self, value: Value, keys: list, names: dict, choice: dict) -> Forms:
        """The forms of an operand in one cell of the joint index space, by label."""
        parts = self.layout(value).values()
        cell = tuple(
            choice.get(key, 0) if len(alts) > 1 else 0 for key, alts in zip(keys, parts, strict=True)
        )
        forms = self.of(value)[cell]
        return forms and {frozenset((names[k], a) for k, a in effect): form for effect, form in forms.items()}

    def rule(self, step: Link) -> Rule:
        return step.law.sign if self.kind == "sign" else step.law.scale

    def apply(self, step: Link, forms: list[Forms]) -> Forms:
        rule = self.rule(step)
        numeric = [f for f, value in zip(forms, step.ins, strict=True) if value.numeric]
        if rule == FORGET or not numeric:
            return {}
        if rule == FIXED:
            for operand in forms:
                self.vanish(operand)
            return {}
        if rule in (SAME, AGREE):
            if self.ignore_epsilon:
                kept = [not _ignorable(value) for value in step.ins if value.numeric]
                numeric = [f for f, keep in zip(numeric, kept, strict=True) if keep]
            return self.merge(numeric)
        assert not isinstance(rule, str)
        total: dict[Effect, Vector] = {}
        for coefficient, operand in zip(rule, forms, strict=True):
            if operand is None:
                return None
            for effect, form in operand.items():
                total[effect] = add(total.get(effect, {}), form, coefficient, self.modulus)
        return {effect: form for effect, form in total.items() if form}

    def deliver(
        self, out: Value, labels: Sequence, order: list, results: dict[tuple, Forms]
    ) -> dict[Cell, Forms]:
        """Results by label as forms of the output, by axis."""
        keys = [*labels, *out.loops]
        axis = dict(zip(keys, self.layout(out), strict=True))
        forms = {}
        for cell in self.cells(out):
            choice = dict(zip(keys, cell, strict=True))
            found = results[tuple(choice[label] if _wide(results, i) else 0 for i, label in enumerate(order))]
            forms[cell] = found and {frozenset((axis[k], a) for k, a in e): f for e, f in found.items()}
        return forms

    def reshape(self, step: Reshape) -> dict[Cell, Forms]:
        layout, out_layout = self.layout(step.source), self.layout(step.out)
        blocks = [self.block(step, *block) for block in step.blocks]
        loops = list(step.source.loops)
        hidden = [range(len(layout[loop])) for loop in loops]
        collected: dict[Cell, list[Forms]] = defaultdict(list)
        for picks in itertools.product(*blocks):
            for tail in itertools.product(*hidden):
                cell, where, target, lost = {}, {}, {}, set()
                for source_choice, out_choice, moves, mixed in picks:
                    cell |= source_choice
                    target |= out_choice
                    where |= moves
                    lost |= mixed
                key = (*(cell[k] for k in range(len(step.source.shape))), *tail)
                forms = self.without(self.of(step.source)[key], lost)
                moved = forms and {
                    frozenset(
                        (axis if isinstance(axis, Loop) else where[axis, atom], atom) for axis, atom in e
                    ): f
                    for e, f in forms.items()
                }
                out_key = tuple(target.get(k, 0) for k in out_layout if not isinstance(k, Loop))
                collected[(*out_key, *tail)].append(moved)
        return {cell: self.merge(many) for cell, many in collected.items()}

    def concat(self, step: Concat) -> dict[Cell, Forms]:
        forms: dict[Cell, Forms] = {}
        offset = 0
        for value, term in zip(step.ins, step.terms, strict=True):
            width = len(alternatives(term))
            for cell in self.cells(step.out):
                local = cell[step.axis] - offset
                if 0 <= local < width:
                    forms[cell] = self.of(value)[self.project(step.out, cell, value, {step.axis: local})]
            offset += width
        return forms

    def slice(self, step: Slice) -> dict[Cell, Forms]:
        offsets, mixed = self.sliced(step)
        whole = [
            range(len(parts)) if k in mixed else (None,) for k, parts in self.layout(step.source).items()
        ]
        forms: dict[Cell, Forms] = {}
        for cell in self.cells(step.out):
            base = self.project(step.out, cell, step.source, {k: cell[k] + n for k, n in offsets.items()})
            sources = [
                tuple(b if n is None else n for n, b in zip(pick, base, strict=True))
                for pick in itertools.product(*whole)
            ]
            forms[cell] = self.merge([self.without(self.of(step.source)[one], mixed) for one in sources])
        return forms

    def carry(self, step: Carry) -> None:
        if id(step.out) not in self.forms:
            self.forms[id(step.out)] = self.invent(step.out)
        lost = {loop for loop in step.source.loops if loop not in step.out.loops}
        layout = self.layout(step.source)
        for cell, forms in self.of(step.source).items():
            choice = dict(zip(layout, cell, strict=True))
            kept = self.without(forms, lost)
            for target, held in self.forms[id(step.out)].items():
                picked = dict(zip(self.layout(step.out), target, strict=True))
                if all(len(layout[k]) == 1 or picked.get(k, choice[k]) == choice[k] for k in layout):
                    self.equate(kept, held)


def _wide(results: dict[tuple, Forms], position: int) -> bool:
    return any(pick[position] for pick in results)


def _ignorable(value: Value) -> bool:
    if value.constant is None:
        return False
    return bool(np.all((np.abs(value.constant) <= EPSILON) & (np.asarray(value.constant) > 0)))
