"""What is sampled: reference networks (Flax NNX), and adapters for one's own."""

from symbayes.networks import checkpoints
from symbayes.networks.activations import Activation
from symbayes.networks.adapters import from_functions, from_name, from_nnx, require_network, require_storable
from symbayes.networks.alexnet import AlexNet, alexnet
from symbayes.networks.cnn import CNN, cnn
from symbayes.networks.cnn_lstm import CNNLSTM, cnn_lstm
from symbayes.networks.equinox import from_equinox
from symbayes.networks.lenet import LeNet, lenet
from symbayes.networks.mlp import MLP, mlp
from symbayes.networks.network import Network, NNXNetwork, from_spec
from symbayes.networks.noise import with_noise
from symbayes.networks.registry import NETWORKS, make
from symbayes.networks.resnet import ResNet, ResNetFRN, resnet18, resnet20_frn
from symbayes.networks.statistics import has_statistics, recomputed
from symbayes.networks.transformer import Transformer, transformer

__all__ = [
    "CNN",
    "CNNLSTM",
    "MLP",
    "NETWORKS",
    "Activation",
    "AlexNet",
    "LeNet",
    "NNXNetwork",
    "Network",
    "ResNet",
    "ResNetFRN",
    "Transformer",
    "alexnet",
    "checkpoints",
    "cnn",
    "cnn_lstm",
    "from_equinox",
    "from_functions",
    "from_name",
    "from_nnx",
    "from_spec",
    "has_statistics",
    "lenet",
    "make",
    "mlp",
    "recomputed",
    "require_network",
    "require_storable",
    "resnet18",
    "resnet20_frn",
    "transformer",
    "with_noise",
]
