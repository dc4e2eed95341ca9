"""`symbayes barrier`, and `symbayes align` for checkpoints: networks that were trained elsewhere."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
from rich.console import Console
from tyro.conf import Positional, arg

from symbayes import data, networks, symmetry, trees
from symbayes.analyse.bounds import Bounds
from symbayes.analyse.pairs import Trained, align_pair, compare_pair
from symbayes.analyse.predictions import Statistics
from symbayes.cli.options import default, require_file, some_words
from symbayes.cli.output import Json, Output
from symbayes.cli.target import network_option
from symbayes.posterior import likelihoods
from symbayes.report.pairs import pair_tables, write_pair
from symbayes.report.terminal import terminal_table
from symbayes.specs import require

INPUTS = 512
"""The number of training examples on which units and losses are compared."""
By = Literal["weights", "activations", "straight-through"]
Scale = Literal["minimal-mass", "unit-norm", "none"]
TwoFiles = Positional[Annotated[tuple[Path, Path], arg(metavar="FILE FILE", help_behavior_hint="(required)")]]


@dataclass(frozen=True)
class Architecture:
    """The network that was trained, and its dataset.

    Attributes:
        network: a network by name (see `symbayes sample hmc --help`), or one of your own as module:attribute.
        hidden: widths of the hidden layers of an mlp or a cnn.
        option: further options of the network, each as name=value.
        names: pairs of a layer of the network and its name in the checkpoints, as in hidden1=fc_in; needed
            where shapes alone do not identify the layers.
        data: the dataset that the networks were trained on; losses are measured on it.
    """

    network: str = "mlp"
    hidden: Annotated[tuple[int, ...] | None, default("the network's own", "INT [INT ...]")] = None
    option: Annotated[tuple[str, ...], some_words("NAME=VALUE")] = ()
    names: Annotated[tuple[str, ...], some_words("NAME=NAME")] = ()
    data: str = "digits"

    def load(self, paths: Sequence[Path]) -> tuple[Trained, data.Dataset]:
        """The networks of these checkpoints, and the dataset."""
        dataset = data.load(self.data)
        options = dataset.sizes | dict(network_option(text) for text in self.option)
        if self.hidden is not None:
            options["hidden"] = self.hidden
        law = likelihoods.Gaussian(1.0) if dataset.classes is None else likelihoods.Categorical()
        network = networks.make(self.network, **options)
        return Trained.load(paths, network, law, dataset, dict(map(_pair, self.names))), dataset


@dataclass(frozen=True)
class Barrier:
    """Measure the loss between two trained networks, before and after one is aligned to the other.

    Example: symbayes barrier a.pt b.pt --network lenet --data mnist --out page.html

    Attributes:
        files: two checkpoints: PyTorch's state dict (.pt), .safetensors, .npz, folders of orbax, or .eqx.
        by: criterion of the alignment: similar weights, correlated activations of the units on some training
            examples, or a low loss on these half-way between the two networks.
        scale: how free scales are fixed before the alignment: smallest sum of squared weights, incoming
            weights of norm one, or not at all.
        restarts: number of starting points; the best result is kept.
        seed: seed of the restarts.
        statistics: statistics of normalisers between the two networks: computed again on training examples,
            or interpolated.
        steps: number of places on the line.
        max_examples: the most training and test examples on which networks are evaluated.
        merged: a file for the network half-way, in the format of the first checkpoint.
        out: the HTML file to write.
        json: a file to write the numbers to; - is the standard output.
    """

    files: TwoFiles
    architecture: Architecture = field(default_factory=Architecture)
    by: By = "weights"
    scale: Scale = "minimal-mass"
    restarts: int = 1
    seed: int = 0
    statistics: Statistics = "recompute"
    steps: int = Bounds.steps
    max_examples: int = Bounds.examples
    merged: Annotated[Path | None, default("none")] = None
    out: Annotated[Path | None, default("none")] = None
    json: Json = None

    def __call__(self) -> None:
        require_file("--out", self.out)
        if self.merged is not None:
            networks.checkpoints.require_writable(self.merged)
        output = Output(self.json)
        trained, dataset = self.architecture.load(self.files)
        with Console(stderr=True).status("aligning"):
            pair = compare_pair(
                trained,
                dataset,
                by=criterion(self.by, self.scale, trained, dataset),
                restarts=self.restarts,
                seed=self.seed,
                bounds=Bounds(steps=self.steps, examples=self.max_examples),
                statistics=self.statistics,
            )
        for table in pair_tables(pair):
            output.show(terminal_table(table))
        output.line(f"transpositions that aligned the second: {pair.transpositions['total']:,}")
        if self.merged is not None:
            output.line(_export(pair.merged, self.merged, self.files[0], trained))
        if self.out is not None:
            names = (self.files[0].name, self.files[1].name)
            output.line(
                f"page: {write_pair(pair, names, data.readable(dataset.name), self.out).resolve().as_uri()}"
            )
        output.numbers(pair.numbers())


def align_checkpoints(
    paths: Sequence[Path],
    architecture: Architecture,
    out: Path | None,
    by: By,
    scale: Scale,
    restarts: int,
    seed: int,
    output: Output,
) -> None:
    """Align all checkpoints to the first, and write each in its own format."""
    require(len(paths) > 1, "give at least two checkpoints: the others are aligned to the first")
    require(out is None or len(paths) == 2, "--out names one file, for the second of two checkpoints")
    outs = [out or path.with_name(f"{path.stem}-aligned.safetensors") for path in paths[1:]]
    for target in outs:
        networks.checkpoints.require_writable(target)
    trained, dataset = architecture.load(paths)
    found = align_pair(trained, criterion(by, scale, trained, dataset), restarts, seed)
    swaps = symmetry.transpositions(found.elements)
    told = {}
    for number, (path, target) in enumerate(zip(paths[1:], outs, strict=True)):
        here = {name: int(count[number]) for name, count in swaps.items()}
        output.line(f"{path}: {here['total']:,} transpositions from the order of {paths[0]}")
        output.line(_export(trees.index(found.draws, number), target, path, trained))
        told[str(path)] = {"written": str(target), "transpositions": here}
    objective = found.objective[[0, -1]].tolist()
    output.numbers({"reference": str(paths[0]), "aligned": told, "objective": objective})


def criterion(by: By, scale: Scale, trained: Trained, dataset: data.Dataset) -> symmetry.Criterion:
    """The criterion of an alignment."""
    form = None if scale == "none" else scale
    if by == "weights":
        return symmetry.Weights(form)
    some = dataset.train[:INPUTS]
    if by == "activations":
        return symmetry.Activations(trained.network.apply, jax.numpy.asarray(some.x), form)
    return symmetry.StraightThrough(trained.losses(some), scale=form)


def _export(variables: Any, path: Path, like: Path, trained: Trained) -> str:
    # A file of Equinox has no names: what is written then has ours.
    nameless = like.suffix == ".eqx" or like.is_dir()
    networks.checkpoints.export(
        variables,
        path,
        like=None if nameless else like,
        network=trained.network,
        example=trained.example,
        names=trained.names,
    )
    return f"written: {path}"


def _pair(text: str) -> tuple[str, str]:
    """A layer of the network and one of the checkpoint, from ``ours=theirs``."""
    ours, equals, theirs = text.partition("=")
    require(bool(ours and equals and theirs), f"write --names as ours=theirs, not {text!r}")
    return ours, theirs
