"""A small network with batch statistics, for the tests of methods that compute these again."""

import dataclasses

from flax import nnx

from symbayes.networks.network import Spec


@dataclasses.dataclass(frozen=True)
class HiddenNorm(Spec):
    """One hidden layer with batch statistics."""

    outputs: int

    def build(self, example_shape: tuple[int, ...], rngs: nnx.Rngs) -> nnx.Module:
        return nnx.Sequential(
            nnx.Linear(example_shape[0], 3, rngs=rngs),
            nnx.BatchNorm(3, rngs=rngs),
            nnx.tanh,
            nnx.Linear(3, self.outputs, rngs=rngs),
        )
