"""`symbayes sample`: one subcommand per method, made from its dataclass."""

from __future__ import annotations

import dataclasses
import re
import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any, get_type_hints

from jax.sharding import Mesh
from rich.console import Console
from tyro.conf import arg, subcommand

from symbayes import data, engine
from symbayes.analyse import Comparison
from symbayes.brief import counted
from symbayes.cli.groups import group
from symbayes.cli.hosts import joined
from symbayes.cli.options import default
from symbayes.cli.output import Json, Output
from symbayes.cli.splits import over_splits, split_targets
from symbayes.cli.target import Target
from symbayes.data import Dataset
from symbayes.draws import Run
from symbayes.engine import Method
from symbayes.engine.crew import Crew
from symbayes.methods import METHODS
from symbayes.report import Report
from symbayes.specs import require


@dataclass(frozen=True)
class Where:
    """The folder of a run, its seed and its start.

    Attributes:
        store: folder of the run; a run that is there already is continued.
        seed: the same seed gives the same draws.
        start: folder of another run; the chains begin at its last draws.
        keep: keep every n-th draw; 0 keeps none.
        together: number of chains worked on at once; the others follow in groups.
        splits: draw on all splits of a uci set, or on the first INT of them, each into a folder of its own
            below the store, and print mean and standard error over them.
        json: a file to write the numbers of the final table to; - is the standard output.
        estimate: print an estimate of the cost before the run starts, which times a few gradients; a run on
            many processes has none.
        hosts: run on many processes, each started with this command: auto where JAX detects them (SLURM, Open
            MPI, Kubernetes, TPU pods), or address and port of the first process, as in node0:1234.
        process: with an address, the number of this process and of all processes, as in 0/4.
    """

    store: Annotated[Path | None, default("runs/METHOD-DATA")] = None
    seed: int = 0
    start: Annotated[Path | None, default("fresh networks")] = None
    keep: int = 1
    together: Annotated[int | None, default("as many as fit in memory")] = None
    splits: Annotated[str | None, default("one split", "all|INT")] = None
    json: Json = None
    estimate: bool = True
    hosts: Annotated[str | None, default("one process", "auto|ADDRESS:PORT")] = None
    process: Annotated[str | None, default("detected", "NUMBER/COUNT")] = None


def _sample(method: Method, target: Target, where: Where) -> None:
    with joined(where.hosts, where.process) as crew:
        mesh = None if where.hosts is None else engine.make_mesh(method.chains)
        _drawn(method, target, where, mesh, crew)
        crew.said()  # The others stay until the first one is done with its table.


def _drawn(method: Method, target: Target, where: Where, mesh: Mesh | None, crew: Crew) -> None:
    output = Output(where.json)
    if where.splits is None:
        drawn = _draw(method, target, where, mesh, crew, output, None)
        if drawn is not None:
            store, report = drawn
            output.show(report.comparison)
            output.line(f"for a page about it: symbayes report {store}")
            if output.wanted:
                output.numbers(report.numbers(symmetry=False))
        return
    require(where.hosts is None and where.keep > 0, "--splits is for one process that keeps draws")
    base = where.store or _folder(method, target.dataset())

    def split(name: str, target: Target) -> Comparison:
        drawn = _draw(method, target, where, mesh, crew, output, base / name)
        assert drawn is not None
        return drawn[1].comparison

    over_splits(split_targets(target, where.splits), split, output)


def _folder(method: Method, dataset: Dataset) -> Path:
    return Path("runs") / re.sub("[^\\w.-]", "-", f"{method.name}-{dataset.short_name}")


def _draw(
    method: Method,
    target: Target,
    where: Where,
    mesh: Mesh | None,
    crew: Crew,
    output: Output,
    place: Path | None,
) -> tuple[Path, Report] | None:
    """Make one run and its report; None for a process that is not the first, and where no draws are kept."""
    start = None if where.start is None else Run(where.start).draws
    posterior, dataset = target.posterior(mesh)
    store = place or where.store or _folder(method, dataset)
    console = Console(stderr=True)
    if dataset.columns and crew.leads:
        console.print(
            f"{dataset.short_name}: {dataset.description}; {_parts(dataset)}", highlight=False, soft_wrap=True
        )
        for column in data.counting_columns(dataset.name):
            console.print(
                f"the column {column} holds whole numbers that rise from row to row, as numbers of the rows "
                f"do, and is an input: --drop {shlex.quote(column)} leaves it out",
                highlight=False,
                soft_wrap=True,
            )
    if where.estimate and mesh is None and not (store.is_dir() and any(store.iterdir())):
        cost = engine.estimate(method, posterior, together=where.together)
        cost = dataclasses.replace(cost, disk=cost.disk // where.keep if where.keep > 0 else 0)
        console.print(f"{method.name}: {cost}", highlight=False, soft_wrap=True)
    about = dataset.about
    if not crew.alone:
        del dataset  # One of many processes holds the examples that its devices need, and no others.
    draws = engine.run(
        method,
        posterior,
        seed=where.seed,
        store=store,
        start=start,
        keep=where.keep,
        together=where.together,
        mesh=mesh,
        progress=True,
        about=about,
    )
    if not crew.leads:
        return None
    output.line(draws)
    traces = {} if draws.origin is None else draws.origin.traces
    for sentence in (*method.resolve(posterior).notes(posterior), *method.tell(traces)):
        output.line(sentence)
    return (store, Report.of({store.name: store}, target.dataset())) if draws.segments else None


def _parts(dataset: Dataset) -> str:
    """How the rows of a table are used."""
    parts = {"train": dataset.train, "validate": dataset.validation, "test": dataset.test}
    count = dataset.train.x.shape[1]
    inputs = f"{counted(count, 'input')} predict{'s' if count == 1 else ''} {', '.join(dataset.targets)}"
    return f"{inputs}; {', '.join(f'{len(part):,} rows {what}' for what, part in parts.items())}"


def _sample_command(name: str, method: type[Method]) -> Any:
    """The subcommand of one method, with the fields of its dataclass as options."""

    def call(self: Any) -> None:
        _sample(method(**vars(self.method)), self.target, self.where)

    command = dataclasses.make_dataclass(
        f"Sample{method.__name__}",
        [
            ("method", _unchecked(method)),
            ("target", Target, dataclasses.field(default_factory=Target)),
            ("where", Where, dataclasses.field(default_factory=Where)),
        ],
        namespace={"__call__": call},
        frozen=True,
    )
    text = (method.__doc__ or "").partition("\n\n")[0]
    if method.example:
        text += f"\n\nExample: symbayes sample {name} {method.example}"
    return Annotated[command, subcommand(name, description=text, prefix_name=False)]


def _unchecked(method: type) -> type:
    """The same fields without validation, which follows when the method is made, with messages of our own."""
    hints = get_type_hints(method)
    fields = [
        # What None stands for is said in the help itself.
        (
            f.name,
            Annotated[hints[f.name], arg(help_behavior_hint="")] if f.default is None else hints[f.name],
            dataclasses.field(default=f.default),
        )
        for f in dataclasses.fields(method)
    ]
    twin = dataclasses.make_dataclass(method.__name__, fields, frozen=True)
    twin.__doc__ = method.__doc__
    return twin


Sample = group(
    "Sample",
    "Draw from a posterior with one of the methods, into a run folder that can be resumed.",
    [_sample_command(name, method) for name, method in METHODS.items()],
)
