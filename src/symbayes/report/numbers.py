"""Results as JSON."""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np


def json_text(value: Any) -> str:
    """JSON with a line for every entry; numbers that are not finite become null, and arrays become lists."""
    return json.dumps(_plain(value), indent=1, allow_nan=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    return None if isinstance(value, float) and not math.isfinite(value) else value
