"""Printing a group as a table."""

from __future__ import annotations

from collections.abc import Sequence

from symbayes.symmetry.group.members import Factor, Move, Permutation, Pinned

Row = tuple[str, str, str, str]


def render(
    head: str,
    permutations: Sequence[Permutation],
    factors: Sequence[Factor],
    invariances: Sequence[Factor],
    pinned: Sequence[Pinned],
    dropped: Sequence[str],
) -> str:
    """What moves, what was pinned and why."""
    rows: list[Row] = [("name", "kind", "size", "moves")]
    for p in permutations:
        size = f"{p.size}" if p.copies == 1 else f"{p.copies} x {p.size}"
        rows.append((p.name, "permutation", size, _moves(p.moves)))
    rows += [_factor(factor) for factor in factors]
    lines = [head, *_align(rows)]
    if invariances:
        lines += ["", "scale-invariant up to the epsilon of a normaliser (not in the group):"]
        lines += [f"  {f.name}: {_moves(f.moves)}{_error(f)}" for f in invariances]
    if pinned:
        lines += ["", "pinned:"]
        lines += [f"  {p.path}:{p.axis} ({p.size}): {p.reason}" for p in pinned]
    if dropped:
        lines += ["", "dropped after failing the numerical check:"]
        lines += [f"  {line}" for line in dropped]
    return "\n".join(lines)


def _error(factor: Factor) -> str:
    return "" if factor.error is None else f" (relative change {factor.error:.1e})"


def _factor(factor: Factor) -> Row:
    return factor.name, factor.kind, str(factor.size), _moves(factor.moves)


def _moves(moves: Sequence[Move]) -> str:
    return ", ".join(
        move.path
        + (":" + "+".join(map(str, move.axes)) if move.axes else "")
        + ("" if move.exponent == 1 else f"^{move.exponent:g}")
        for move in moves
    )


def _align(rows: Sequence[Row]) -> list[str]:
    widths = [max(len(row[k]) for row in rows) for k in range(3)]
    return [
        "  ".join([*(cell.ljust(width) for cell, width in zip(row[:3], widths, strict=True)), row[3]])
        for row in rows
    ]
