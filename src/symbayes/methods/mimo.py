"""MIMO: one network with several inputs and outputs, whose members share all but the first and last layers.

A network is trained on several examples at once and predicts the target of each; it then holds one member for
each input (`methods/phases/mixing.py` has the loss, and the weights of a member as an ordinary network).

Use it for an ensemble that trains at about the cost of one network.  Members share the layers between, so
small networks have capacity for two or three only.  The network must begin with a matrix product or
convolution of its input and end with a linear layer.

The statistic of every epoch is `loss`; draws have `energy` and `log_likelihood`.

References: Havasi et al. (2021), Training independent subnetworks for robust prediction.
"""

from __future__ import annotations

from typing import Any, ClassVar

import jax

from symbayes.engine.method import method
from symbayes.engine.phase import Phase
from symbayes.methods.phases import Members, Mixing
from symbayes.methods.phases.mixing import Ends
from symbayes.methods.training import REMEDY, StoppableTraining
from symbayes.posterior import Posterior
from symbayes.posterior.numerics.mixing import ends_of
from symbayes.specs import Count


@method
class MIMO(StoppableTraining):
    """Multi-input multi-output ensembles (Havasi et al. 2021): members with their own first and last layers.

    Attributes:
        epochs: passes over the training data, by all members together.
        chains: number of independent networks.
        members: inputs and outputs of each network, and draws of each chain.
    """

    name: ClassVar[str] = "mimo"
    remedy: ClassVar[str] = REMEDY
    example: ClassVar[str] = "--network lenet --data fashion-mnist --members 3"

    chains: Count = 1
    members: Count = 3

    def phases(self, posterior: Posterior) -> tuple[Phase, ...]:
        family = _ends(posterior)
        mixing = Mixing(self.training(posterior), None, members=self.members, family=family)
        return self.stoppable(posterior, mixing), Members(units=self.members, family=family, statistics=True)


def _ends(posterior: Posterior) -> Ends:
    """The first kernel and the last layer of the posterior's network."""
    found: list[Ends] = []

    def look(variables: Any, x: jax.Array) -> None:
        def outputs(params: Any, x: jax.Array) -> jax.Array:
            return posterior.network.apply({**variables, "params": params}, x)

        found.append(Ends(*ends_of(outputs, variables["params"], x)))

    form = posterior.chunks.x
    variables = jax.eval_shape(posterior.init, jax.random.key(0))
    jax.eval_shape(look, variables, jax.ShapeDtypeStruct((2, *form.shape[2:]), form.dtype))
    return found[0]
