"""Trained networks from files of PyTorch, safetensors, orbax, Equinox and NumPy, and back."""

from symbayes.networks.checkpoints.exchange import export, load, require_writable
from symbayes.networks.checkpoints.formats import CheckpointError, read
from symbayes.networks.checkpoints.matching import MatchedByOrder

__all__ = ["CheckpointError", "MatchedByOrder", "export", "load", "read", "require_writable"]
