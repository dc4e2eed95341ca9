"""How long a compiler takes over programs that run a few times, or once.

Measured on an H200 with jax 0.11: its search among the kernels of Triton for the best one of each matrix
product takes 3 to 20 s for a program, and is most of all compiling.  Without it, loops over small products
are up to 1.8 times as slow, over large ones as fast.

Measured on two CPU cores with jax 0.10: fresh variables of a LeNet, random numbers throughout, compile in
11.5 s, and in 1.4 s where they are not optimised.
"""

from typing import Any

COMPILED_SOON: Any = {"xla_gpu_enable_triton_gemm": False}
"""Compiler options for programs that are run a few times; other devices do not look at them."""
COMPILED_AT_ONCE: Any = {"xla_backend_optimization_level": 0}
"""Compiler options for programs that are run once."""
