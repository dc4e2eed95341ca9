"""How the numbers are made: accurate sums, chunks that bound memory, and the precision of products."""

from symbayes.posterior.numerics import spread
from symbayes.posterior.numerics.chunks import Chunks
from symbayes.posterior.numerics.kernels import COMPILED_SOON
from symbayes.posterior.numerics.memory import fitting_chunk
from symbayes.posterior.numerics.precision import bfloat16_products
from symbayes.posterior.numerics.sums import compensated

__all__ = ["COMPILED_SOON", "Chunks", "bfloat16_products", "compensated", "fitting_chunk", "spread"]
