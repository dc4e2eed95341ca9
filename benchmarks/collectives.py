"""What devices send one another in a step of a chain, read from compiled programs."""

from __future__ import annotations

import dataclasses
import math
import re
from collections.abc import Mapping
from typing import Any

import jax

import symbayes as sb
from benchmarks.targets import mnist_sized
from symbayes import trees
from symbayes.engine import loop
from symbayes.engine.job import Job
from symbayes.engine.plan import Cursor
from symbayes.engine.start import Start

EXAMPLES = 1_000
KINDS = "all-reduce|all-gather|all-to-all|collective-permute|reduce-scatter"
BYTES = {"f32": 4, "s32": 4, "u32": 4, "pred": 1}


def sent(methods: Mapping[str, Any]) -> dict[str, Any]:
    """What a step sends, of four chains on four devices, against one all-reduce of the gradient of the chains
    that a device has."""
    found = {}
    for name, method in methods.items():
        for along_data in (1, 2, 4):
            mesh = sb.make_mesh(4, data=along_data)
            posterior = mnist_sized(EXAMPLES, chunk=EXAMPLES // 4).spread(mesh)
            operations = _operations(_program(dataclasses.replace(method, chains=4), posterior, mesh))
            inner = [operation for operation in operations if operation["loops"] >= 2]
            found[f"{name}, mesh {dict(mesh.shape)}"] = _against_floor(inner, posterior)
    return found


def _against_floor(operations: list[dict[str, Any]], posterior: Any) -> dict[str, Any]:
    chains = 4 // posterior.mesh.shape["chain"]
    floor = chains * trees.nbytes(jax.eval_shape(posterior.init, jax.random.key(0))["params"])
    total = sum(operation["bytes"] for operation in operations)
    return {
        "bytes per step": total,
        "bytes of the gradient": floor,
        "ratio": round(total / floor, 4),
        "operations": sorted({operation["kind"] for operation in operations}),
        "all-gather": any(operation["kind"] == "all-gather" for operation in operations),
    }


def _program(method: Any, posterior: Any, mesh: Any) -> str:
    """The compiled block of the method's first phase that has work."""
    method = method.resolve(posterior)
    job = Job(method, posterior, Start(posterior, 0, method.chains), mesh=mesh)
    number = next(n for n, phase in enumerate(job.phases) if phase.units)
    state, plan = job.begin(number)
    units, _ = plan.next(Cursor(number), job.phases[number], job.slots)
    work = plan.work(Cursor(number), units, job.phases[number], 0, job.slots)
    phase = job.phases[number].arrays()
    lowered = loop.advance.lower(posterior, phase, state, work, slots=job.slots, whole=plan.whole)
    return lowered.compile().as_text()


def _operations(program: str) -> list[dict[str, Any]]:
    """Operations between devices: kind, bytes on a device, and how many loops they are in."""
    found = []
    for line in program.splitlines():
        if match := re.search(rf"= (.*?) ({KINDS})(?:-start)?\(", line):
            shapes = re.findall(r"(\w+)\[([\d,]*)\]", match[1])
            sizes = [
                BYTES[kind] * math.prod(map(int, filter(None, form.split(",")))) for kind, form in shapes
            ]
            name = re.search(r'op_name="([^"]*)"', line)
            loops = name[1].count("while/body") if name else 0
            found.append({"kind": match[2], "bytes": sum(sizes), "loops": loops})
    return found
