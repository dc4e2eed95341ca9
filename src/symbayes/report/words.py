"""Names as in a sentence."""

from collections.abc import Sequence


def listed(names: Sequence[str]) -> str:
    """The names in one phrase: a, b and c."""
    if not names:
        return "no series"
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
