"""What is sampled: reference networks (Flax NNX), and adapters for one's own."""

from symbayes.networks.mlp import MLP, Activation, mlp
from symbayes.networks.network import Network, NNXNetwork, from_spec

__all__ = ["MLP", "Activation", "NNXNetwork", "Network", "from_spec", "mlp"]
