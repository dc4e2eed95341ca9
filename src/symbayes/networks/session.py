"""Networks of a session: of code without an import path, such as a class typed into a notebook.

A run records the name of the code and a checksum of its program, and needs the network again to be opened.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import numpy as np
from jax.typing import DTypeLike

from symbayes import specs
from symbayes.networks.imports import UnimportableCode
from symbayes.networks.network import Network
from symbayes.networks.traced import traced

KIND = "Session"
ADDRESS = re.compile(r"0x[0-9a-f]+")


def session_code(network: Network) -> UnimportableCode | None:
    """The code without an import path that a network is made of, if it is."""
    return next(_codes(network.spec), None)


def _codes(spec: Any) -> Iterator[UnimportableCode]:
    """Such code anywhere in a spec."""
    if isinstance(spec, UnimportableCode):
        yield spec
    elif is_dataclass(spec):
        for field in fields(spec):
            yield from _codes(getattr(spec, field.name))


def recorded(network: Network, shape: tuple[int, ...], dtype: DTypeLike) -> dict[str, Any]:
    """What a run records of its network, as JSON."""
    code = session_code(network)
    if code is None:
        return specs.encode(network.spec)
    return {"kind": KIND, "name": repr(code), "program": program_checksum(network, shape, dtype)}


def is_session(encoded: dict[str, Any]) -> bool:
    """Whether a run recorded a network that it cannot rebuild."""
    return encoded.get("kind") == KIND


def program_checksum(network: Network, shape: tuple[int, ...], dtype: DTypeLike) -> str:
    """SHA-256 of the network's program for inputs of this form, with its constants."""
    _, program = traced(network, tuple(shape), np.dtype(dtype))
    digest = hashlib.sha256(ADDRESS.sub("", str(program.jaxpr)).encode())
    for constant in program.consts:
        digest.update(np.ascontiguousarray(np.asarray(constant)).tobytes())
    return digest.hexdigest()
