"""Laws found by evaluating functions of one variable."""

import jax
import jax.numpy as jnp
import pytest

from symbayes.symmetry.program.laws import FIXED, FORGET, SAME, Law, weights
from symbayes.symmetry.program.pointwise import fuse
from symbayes.symmetry.program.program import Link
from symbayes.symmetry.program.trace import jaxpr_of, program_of

CASES = {
    "hard_tanh": (jax.nn.hard_tanh, Law(FIXED, SAME)),
    "softshrink": (lambda x: jnp.sign(x) * jnp.maximum(jnp.abs(x) - 0.5, 0), Law(FIXED, SAME)),
    "gaussian": (lambda x: jnp.exp(-jnp.square(x)), Law(FIXED, FORGET)),
    "absolute": (lambda x: jnp.maximum(x, 0) + jnp.maximum(-x, 0), Law(weights(1), FORGET)),
    "cubed": (lambda x: jnp.minimum(x, 0) ** 3, Law(weights(3), FIXED)),
    "almost_linear": (lambda x: jnp.minimum(jnp.maximum(x, -1e20), 2e20), None),
    "gelu": (jax.nn.gelu, None),
    "shifted": (lambda x: jnp.maximum(x, 0) - 1e-7, None),
}


@pytest.mark.parametrize("name", CASES)
def test_laws(name):
    function, law = CASES[name]
    with jax.enable_x64(True):
        program = program_of(jaxpr_of(lambda w: function(w[0]), [jnp.ones(3)]), ["w"])
        before = len(program.steps)
        fuse(program)
    if law is None:
        assert len(program.steps) == before
    else:
        (step,) = program.steps
        assert isinstance(step, Link)
        assert step.law == law
