"""BatchEnsemble: members whose kernels differ by rank-one factors.

Every kernel ``W`` is shared, and member ``m`` multiplies it by a factor for each of its inputs and one for
each of its outputs, which is the same as multiplying the layer's inputs and outputs:

    W_m = W * outer(r_m, s_m)

Each member has its own biases, gains and the like (`methods/phases/sharing.py` has the loss).  Factors are
initialised as ``N(1, spread^2)``.  The input and output axes of a parameter are read from the network's
program.

Use it for an ensemble that needs little more memory in training than one network; an epoch costs as much as
that of an ensemble of the same size.  Members are more similar than those trained independently.

References: Wen, Tran & Ba (2020), BatchEnsemble: an alternative approach to efficient ensemble and lifelong
learning.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import jax
import jax.numpy as jnp

from symbayes import trees
from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import Members, Together
from symbayes.methods.phases.sharing import Family, along, repeated
from symbayes.methods.training import REMEDY, StoppableTraining
from symbayes.networks.traced import kernel_axes
from symbayes.posterior import Posterior
from symbayes.specs import Amount, Count

Axes = tuple[int, int]


@dataclass(frozen=True)
class RankOne(Family):
    """Factors along the axes of the named kernels; each member has its own copy of all other parameters."""

    kernels: tuple[tuple[str, Axes], ...]

    def own(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        flat, kernels = trees.flatten(params), dict(self.kernels)
        forms = {
            name: [jax.ShapeDtypeStruct((members, flat[name].shape[axis]), jnp.float32) for axis in axes]
            for name, axes in kernels.items()
        }
        factors = jax.tree.map(lambda noise: 1 + amount * noise, trees.random_normal(key, forms))
        rest = {name: leaf for name, leaf in flat.items() if name not in kernels}
        return {"factors": factors, "rest": repeated(rest, members)}

    def fixed(self, params: Any, members: int, amount: Any, key: jax.Array) -> Any:
        return {}

    def member(self, shared: Any, own: Any, fixed: Any) -> Any:
        flat = trees.flatten(shared) | own["rest"]
        for name, axes in self.kernels:
            for axis, factor in zip(axes, own["factors"][name], strict=True):
                flat[name] = flat[name] * along(factor, axis, flat[name].ndim)
        return trees.like(shared, flat)


@method
class BatchEnsemble(StoppableTraining):
    """BatchEnsemble (Wen et al. 2020): members that share kernels up to rank-one factors.

    Attributes:
        epochs: passes over the training data, by all members together.
        chains: number of independent ensembles.
        members: members of each ensemble, which are the draws of a chain.
        spread: initial standard deviation of the factors around one.
    """

    name: ClassVar[str] = "batch-ensemble"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--network lenet --data fashion-mnist --members 4"

    chains: Count = 1
    members: Count = 4
    spread: Amount = 0.5

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        form = posterior.chunks.x
        family = RankOne(kernel_axes(posterior.network, form.shape[2:], form.dtype))
        together = Together(self.training(posterior), self.spread, members=self.members, family=family)
        return self.stoppable(posterior, together), Members(units=self.members, family=family)
