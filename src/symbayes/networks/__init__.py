"""What is sampled: reference networks (Flax NNX), and adapters for one's own."""

from symbayes.networks.mlp import MLP, mlp
from symbayes.networks.network import Network, NNXNetwork, from_spec

__all__ = ["MLP", "NNXNetwork", "Network", "from_spec", "mlp"]
