"""How the numbers are made: accurate sums, chunks that bound memory, and programs written anew."""

from symbayes.posterior.numerics import spread
from symbayes.posterior.numerics.bfloat16 import in_bfloat16
from symbayes.posterior.numerics.chunks import Chunks
from symbayes.posterior.numerics.convolutions import quick_convolutions
from symbayes.posterior.numerics.groups import chains_at_once, in_groups
from symbayes.posterior.numerics.kernels import COMPILED_AT_ONCE, COMPILED_SOON
from symbayes.posterior.numerics.memory import fitting_chunk
from symbayes.posterior.numerics.sums import compensated

__all__ = [
    "COMPILED_AT_ONCE",
    "COMPILED_SOON",
    "Chunks",
    "chains_at_once",
    "compensated",
    "fitting_chunk",
    "in_bfloat16",
    "in_groups",
    "quick_convolutions",
    "spread",
]
