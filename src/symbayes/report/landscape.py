"""The section about the landscape of a run, and its page."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from symbayes.analyse.landscape import Landscape
from symbayes.engine import Opened
from symbayes.report import figures, page
from symbayes.report.contents import Figure, Section, Table
from symbayes.report.provenance import provenance


def landscape_tables(found: Landscape) -> list[Table]:
    """The mass of the draws against its minimum, and the largest eigenvalues."""
    made = []
    if found.masses is not None:
        mass = found.masses
        rows: list[list[Any]] = [
            [
                f"chain {chain + 1}",
                *(float(np.mean(each[chain])) for each in (mass.mass, mass.minimum, mass.ratio)),
            ]
            for chain in range(len(mass.mass))
        ]
        caption = "The mass (sum of squares of all weights), and its minimum over scalings of the units."
        if mass.without:
            caption += (
                f" {mass.without:,} units have no minimum, since all their incoming or all their outgoing "
                "weights are zero."
            )
        columns = ["mean over draws", "mass", "minimum", "ratio"]
        made.append(Table(columns, rows, caption, dict.fromkeys(columns[1:], ".4g")))
    if found.eigenvalues:
        count = max(len(one.values) for one in found.eigenvalues)
        columns = ["last draw of", *(f"λ{number + 1}" for number in range(count)), "error bound"]
        rows = [
            [f"chain {chain + 1}", *one.values, *[None] * (count - len(one.values)), float(one.bounds.max())]
            for chain, one in enumerate(found.eigenvalues)
        ]
        caption = (
            "The largest eigenvalues of the Hessian of minus the log density, by Lanczos' method. The error "
            "bound does not include rounding."
        )
        made.append(Table(columns, rows, caption, dict.fromkeys(columns[1:], ".4g")))
    return made


def landscape_section(name: str, found: Landscape) -> Section:
    items: list[Table | Figure] = [figures.loss_planes(found.planes)] if found.planes else []
    lead = "The loss on a plane through three networks, the mass of the networks, and the curvature."
    return Section(f"Landscape of {name}", lead, [*items, *landscape_tables(found)])


def write_landscape(name: str, run: Opened, found: Landscape, path: Path) -> Path:
    """Write the page; returns its path."""
    parts = []
    if found.masses is not None:
        parts.append(f"The median mass is {np.median(found.masses.ratio):.3g} times its minimum.")
    if found.eigenvalues:
        parts.append(f"The largest eigenvalue is {found.eigenvalues[0].values[0]:.4g} in the first chain.")
    section = landscape_section(name, found)
    summary = " ".join(parts) or "The plane through three networks."
    page.write(path, page.render(section.title, summary, [section], provenance({name: run})))
    return path
