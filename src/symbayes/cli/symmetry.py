"""`symbayes symmetries` and `symbayes align`: find the symmetries of a network, and align draws by them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Annotated, Any, Literal

import jax
from rich.progress import TaskID, TextColumn, TimeElapsedColumn
from rich.table import Table
from tyro.conf import Positional, arg

from symbayes import data, engine, networks, symmetry
from symbayes.analyse.aligned import AlignedRun, align_run
from symbayes.cli.checkpoints import INPUTS, Architecture, align_checkpoints
from symbayes.cli.evaluate import dataset_of
from symbayes.cli.options import SomeRuns, default, some_words
from symbayes.cli.output import Json, Output
from symbayes.draws import Run
from symbayes.engine.displays import bars
from symbayes.specs import require

MEASURES = {
    "weights": "mean inner product",
    "activations": "mean summed correlation",
    "straight-through": "loss half-way (nats)",
}


@dataclass(frozen=True)
class Symmetries:
    """Find the weight-space symmetries of a network from its program.

    Example: symbayes symmetries lenet --data mnist

    Attributes:
        network: a network by name (see `symbayes sample hmc --help`), or the folder of a run.
        data: name of the dataset that gives a network by name its input and output sizes.
        json: a file to write the sizes of the group to; - is the standard output.
    """

    network: Positional[Annotated[str, arg(metavar="NETWORK")]]
    data: Annotated[str | None, default("digits")] = None
    json: Json = None

    def __call__(self) -> None:
        output = Output(self.json)
        group = self._group()
        output.line(group)
        output.numbers(group_numbers(group))

    def _group(self) -> symmetry.Symmetry:
        if (Path(self.network) / "config.json").is_file():
            return engine.open_run(self.network).group
        dataset = data.load(self.data or "digits")
        x = jax.numpy.asarray(dataset.test.x[:2])
        network = networks.make(self.network, **dataset.sizes)
        return symmetry.discover(network.apply, network.init(jax.random.key(0), x), x)


def group_numbers(group: symmetry.Symmetry) -> dict[str, float]:
    """The size of a group."""
    return {
        "log10_permutations": group.log10_permutations,
        "sign_bits": group.sign_bits,
        "scale_dimension": group.scale_dimension,
    }


@dataclass(frozen=True)
class Align:
    """Align the draws of a run: move them by symmetries of the network until weights can be compared.

    The new run predicts as the old one does; `evaluate`, `report` and `compact` accept it.  To align trained
    networks to one of them, give their checkpoints, and --network.

    Example: symbayes align runs/hmc-digits

    Example: symbayes align a.safetensors b.safetensors --network lenet --data mnist

    Attributes:
        runs: folder of the run; or checkpoints, which are aligned to the first of them.
        to: joint aligns all draws to one another; the folder of a run aligns them to its mean network if that
            run is aligned, else to its last draw.
        by: criterion of the alignment: similar weights, correlated activations of the units on some training
            examples, or a low loss on these half-way between two networks.
        restarts: number of starting points; the best result is kept.
        scale: how free scales are fixed before the alignment: smallest sum of squared weights, incoming
            weights of norm one, or not at all.
        seed: seed of the restarts.
        out: folder of the new run, or file for the second checkpoint; existing ones are not overwritten.
        data: name of the dataset; units and losses are compared on its training examples.
        network: for checkpoints: a network by name, or one of your own as module:attribute.
        hidden: for checkpoints: widths of the hidden layers of an mlp or a cnn.
        option: for checkpoints: further options of the network, each as name=value.
        names: for checkpoints: pairs of a layer of the network and its name in the checkpoints, as in
            hidden1=fc_in; needed where shapes alone do not identify the layers.
        json: a file to write the numbers to; - is the standard output.
    """

    runs: SomeRuns
    to: str = "joint"
    by: Literal["weights", "activations", "straight-through"] = "weights"
    restarts: int = 1
    scale: Literal["minimal-mass", "unit-norm", "none"] = "minimal-mass"
    seed: int = 0
    out: Annotated[Path | None, default("RUN-aligned, or FILE-aligned.safetensors")] = None
    data: Annotated[str | None, default("the one that the run names, or digits")] = None
    network: Annotated[str | None, default("a run is aligned")] = None
    hidden: Annotated[tuple[int, ...] | None, default("the network's own", "INT [INT ...]")] = None
    option: Annotated[tuple[str, ...], some_words("NAME=VALUE")] = ()
    names: Annotated[tuple[str, ...], some_words("NAME=NAME")] = ()
    json: Json = None

    def __call__(self) -> None:
        output = Output(self.json)
        if self.network is not None:
            require(self.to == "joint", "checkpoints are aligned to the first one: leave --to out")
            made = Architecture(self.network, self.hidden, self.option, self.names, self.data or "digits")
            how = (self.by, self.scale, self.restarts, self.seed)
            align_checkpoints(self.runs, made, self.out, *how, output)
            return
        require(
            len(self.runs) == 1 and not self.runs[0].is_file(),
            "name the folder of one run; to align checkpoints, name their network with --network",
        )
        out = self.out or self.run.with_name(self.run.resolve().name + "-aligned")
        with _Bars() as bars:
            found = align_run(
                self.run,
                out,
                to=self.to,
                by=self._criterion(),
                restarts=self.restarts,
                seed=self.seed,
                progress=bars,
            )
        _show(found, self, output)

    @property
    def run(self) -> Path:
        return self.runs[0]

    def _criterion(self) -> symmetry.Criterion:
        scale = None if self.scale == "none" else self.scale
        if self.by == "weights":
            return symmetry.Weights(scale)
        run, some = engine.open_run(self.run), dataset_of(Run(self.run), self.data).train[:INPUTS]
        x, y = jax.numpy.asarray(some.x), jax.numpy.asarray(some.y)
        if self.by == "activations":
            return symmetry.Activations(run.network.apply, x, scale)

        def loss(variables: Any) -> jax.Array:
            return -jax.numpy.mean(run.likelihood.log_prob(run.network.apply(variables, x), y))

        return symmetry.StraightThrough(loss, scale=scale)


class _Bars:
    """A progress bar for each piece of work, on the standard error."""

    def __init__(self) -> None:
        self._progress = bars(TimeElapsedColumn(), TextColumn("[dim]{task.completed:,} draws"))
        self._tasks: dict[str, TaskID] = {}

    def __enter__(self) -> _Bars:
        self._progress.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._progress.stop()

    def __call__(self, doing: str, done: int, total: int | None) -> None:
        if doing not in self._tasks:
            for task in self._tasks.values():
                self._progress.update(task, total=self._progress.tasks[task].completed)
            self._tasks[doing] = self._progress.add_task(doing, total=total)
        self._progress.update(self._tasks[doing], completed=done)


def _show(found: AlignedRun, asked: Align, output: Output) -> None:
    output.show(f"{found.group!r}", highlight=False)
    for note in found.alignment.notes:
        output.show(note, highlight=False)
    output.show(_closeness_table(found, asked))
    if found.distances:
        output.show(_distance_table(found))
    output.line(f"aligned draws: {found.path}")
    output.line(f"for a page about them: symbayes report {found.path}")
    control = found.alignment.control
    assert control is not None
    parts = {"run": found.alignment, "control": control}
    output.numbers(
        {
            "path": str(found.path),
            "group": group_numbers(found.group),
            "objective": {name: part.objective[[0, -1]].tolist() for name, part in parts.items()},
            "transpositions": {name: asdict(layer) for name, layer in found.distances.items()},
        }
    )


def _closeness_table(found: AlignedRun, asked: Align) -> Table:
    """The objective before and after: per pair of draws, or per draw and reference."""
    joint, count = asked.to == "joint", found.draws.chains * len(found.draws)
    terms = max(1.0, count * (count - 1) / 2) if joint else count
    if asked.by == "straight-through":
        terms = -1  # a mean already, of losses that should fall
    table = Table(caption="The control is the same number of draws of the prior.", caption_justify="left")
    table.add_column(f"{MEASURES[asked.by]} of {'two draws' if joint else 'a draw and the reference'}")
    for column in ("before", "after"):
        table.add_column(column, justify="right")
    control = found.alignment.control
    assert control is not None
    for name, alignment in (("draws of the run", found.alignment), ("control", control)):
        table.add_row(name, *(f"{value / terms:.4g}" for value in alignment.objective[[0, -1]]))
    return table


def _distance_table(found: AlignedRun) -> Table:
    caption = "Transpositions between the orders of units in two draws, as a mean over pairs of draws."
    table = Table(caption=caption, caption_justify="left")
    table.add_column("layer")
    for column in ("units", "between chains", "within a chain", "control", "random order"):
        table.add_column(column, justify="right")
    for name, layer in found.distances.items():
        numbers = (layer.between, layer.within, layer.control, layer.random)
        table.add_row(name, f"{layer.units:,}", *("–" if n is None else f"{n:.1f}" for n in numbers))
    return table
