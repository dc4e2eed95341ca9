"""How long a GPU's compiler looks for the best kernel of each matrix product.

Measured on an H200 with jax 0.11: its search among the kernels of Triton takes 3 to 20 s for a program, and
is most of all compiling.  Without it, loops over small products are up to 1.8 times as slow, over large ones
as fast.
"""

from typing import Any

COMPILED_SOON: Any = {"xla_gpu_enable_triton_gemm": False}
"""Compiler options for programs that are run a few times; other devices do not look at them."""
