"""How the numbers are made: accurate sums, chunks that bound memory, and programs written anew."""

from symbayes.posterior.numerics.bfloat16 import in_bfloat16
from symbayes.posterior.numerics.chunks import Chunks
from symbayes.posterior.numerics.convolutions import has_wide_convolutions, quick_convolutions
from symbayes.posterior.numerics.memory import fitting_chunk
from symbayes.posterior.numerics.sums import compensated

__all__ = ["Chunks", "compensated", "fitting_chunk", "has_wide_convolutions", "in_bfloat16", "quick_convolutions"]
