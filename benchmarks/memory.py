"""Working memory of a full-batch gradient: set by the chunk, not by the data.

Read from XLA's own plan of the compiled program (temporaries, beyond arguments and results).
"""

from __future__ import annotations

import jax

from benchmarks.targets import mnist_sized
from benchmarks.timing import Result
from symbayes import Posterior


def working_memory(posterior: Posterior) -> int:
    variables = posterior.init(jax.random.key(0))
    compiled = jax.jit(lambda p, v: p.gradient(v)).lower(posterior, variables).compile()
    analysis = compiled.memory_analysis()
    assert analysis is not None
    return int(analysis.temp_size_in_bytes)


def run() -> list[Result]:
    sizes = (6_000, 24_000, 60_000)
    chunked = {n: working_memory(mnist_sized(n, chunk=2_000)) for n in sizes}
    whole = working_memory(mnist_sized(60_000, chunk=60_000))
    detail = {
        **{f"{n} examples in chunks of 2,000, MB": round(b / 1e6, 1) for n, b in chunked.items()},
        "60000 examples at once, MB": round(whole / 1e6, 1),
    }
    return [Result("memory at 60,000 / at 6,000 examples", chunked[60_000] / chunked[6_000], 1.05, detail)]
