"""Sections that take longer and are made on request: distances from the reference, and landscapes.

Where a section does not apply, as for the distance between weights of different networks, it says why in one
sentence.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Literal, TypeVar, get_args

from symbayes.analyse.bounds import Bounds
from symbayes.analyse.landscape import landscape
from symbayes.analyse.progress import Tell
from symbayes.analyse.quality import quality
from symbayes.data import Dataset
from symbayes.engine import Opened
from symbayes.report.contents import Section
from symbayes.report.landscape import landscape_section
from symbayes.report.quality import quality_section
from symbayes.specs import require

Part = Literal["quality", "landscape"]
T = TypeVar("T")
DRAWS = 300
"""The most draws of each set between which distances are computed."""


def require_parts(also: Sequence[str]) -> None:
    parts = get_args(Part)
    for name in also:
        require(name in parts, f"a page can also have {' and '.join(parts)}, not {name!r}")


def further_sections(
    also: Sequence[str],
    runs: Mapping[str, Opened],
    reference: str,
    data: Dataset,
    bounds: Bounds,
    tell: Tell,
) -> list[Section]:
    """The requested sections, for every run."""
    made = []
    if "quality" in also:
        few = Bounds(draws=min(DRAWS, bounds.draws))
        for name in [name for name in runs if name != reference]:

            def of_run(name: str = name) -> Section:
                told = _telling(tell, name)
                found = quality(runs[name], runs[reference], data.test.x, few, tell=told)
                return quality_section(name, reference, found)

            made.append(_or_why_not(f"Distance of {name} from {reference}", of_run))
    if "landscape" in also:
        for name, run in runs.items():

            def around(name: str = name, run: Opened = run) -> Section:
                found = landscape(run, data, bounds=bounds, tell=_telling(tell, name))
                return landscape_section(name, found)

            made.append(_or_why_not(f"Landscape of {name}", around))
    return made


def _telling(tell: Tell, name: str) -> Tell:
    return lambda words: tell(f"{name}: {words}")


def _or_why_not(title: str, make: Callable[[], Section]) -> Section:
    try:
        return make()
    except ValueError as error:
        return Section(title, f"Not available: {error}.", [])
