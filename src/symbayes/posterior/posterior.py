"""The posterior of a network's parameters given data, as a pytree that compiled programs take.

With parameters w, data D and temperature T the log density is, up to a constant,

    (log p(D | w) + log p(w)) / T          tempers="posterior"
    log p(D | w) / T + log p(w)            tempers="likelihood"

Data, temperature and scales are leaves: arguments of a compiled program, never constants in it.
The network and the kinds of likelihood and prior are static.

`precision` is that of the matrix products in gradients.  The log density itself is always float32: a
sampler that accepts by it stays exact whatever its gradients are, as long as they are deterministic.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec
from numpy.typing import ArrayLike

from symbayes import specs, trees
from symbayes.brief import brief
from symbayes.data import Examples
from symbayes.data.augmentations import augmented, require_augmentable
from symbayes.draws import Draws
from symbayes.networks import Network, require_network
from symbayes.networks.session import recorded
from symbayes.posterior.checks import require_examples
from symbayes.posterior.likelihoods import Likelihood, Predictive
from symbayes.posterior.minibatches import AUGMENTED, MATMUL, Minibatches, Precision, Tempers
from symbayes.posterior.numerics import Chunks, compensated, fitting_chunk, spread
from symbayes.posterior.prediction import predict
from symbayes.posterior.priors import Prior
from symbayes.specs import Record, require, require_counts, require_kind, require_positive
from symbayes.trees import Tree, Variables

COPIES = 4
"""Augmented forms of every example that a density over all data takes, if not told otherwise."""

GROUPS = 64
"""Terms into which the log likelihood of a chunk is summed."""

FRESH = 2**32 - 1
"""Stream of fresh variables: methods fold the numbers of their steps, from 0 on, into the same key."""


@jax.tree_util.register_pytree_with_keys_class
class Posterior(Minibatches):
    """Network, likelihood, prior, training data (and validation data), and temperature.

    `augmentation` names ways in which images are changed at random: flip, crop, shift.  It changes the
    density: the log likelihood of an example is the mean over its augmented forms.  Mini-batches draw them
    afresh; over all data, each example has `copies` of them that stay the same.
    """

    validation: Examples | None
    copies: int
    _checksum: str | None = None

    def __init__(
        self,
        network: Network,
        likelihood: Likelihood,
        prior: Prior,
        train: Examples,
        validation: Examples | None = None,
        *,
        temperature: float = 1.0,
        tempers: Tempers = "posterior",
        precision: Precision = "float32",
        augmentation: Sequence[str] = (),
        copies: int = COPIES,
        chunk: int | None = None,
        mesh: Mesh | None = None,
    ) -> None:
        require_positive(temperature=temperature, chunk=1 if chunk is None else chunk)
        require(chunk is None or chunk == int(chunk), f"chunk is a number of examples, not {chunk}")
        require_network(network)
        require_kind("the likelihood", likelihood, "check", "log_prob", example="likelihoods.Categorical()")
        require_kind("the prior", prior, "fitted", example="priors.Normal(0.5)")
        require(
            tempers in ("posterior", "likelihood"),
            f"tempers is 'posterior' or 'likelihood', not {tempers!r}",
        )
        require(precision in MATMUL, f"precision is one of {', '.join(MATMUL)}, not {precision!r}")
        require_examples(network, likelihood, train, "training data")
        if validation is not None:
            require_examples(network, likelihood, validation, "validation data")
            shapes = tuple(tuple(part.x.shape[1:]) for part in (train, validation))
            require(
                shapes[0] == shapes[1],
                f"the training data have inputs of shape {shapes[0]}, "
                f"but the validation data have inputs of shape {shapes[1]}",
            )
        require(
            not isinstance(augmentation, str), f"augmentation is a list of names, as in [{augmentation!r}]"
        )
        require_counts(copies=copies)
        require_augmentable(augmentation, tuple(train.x.shape[1:]))
        self.network = network
        x, y = np.asarray(train.x), np.asarray(train.y)
        params = jax.eval_shape(network.init, jax.random.key(0), x[:1])["params"]
        self.likelihood = jax.tree.map(jnp.float32, likelihood)
        self.prior = jax.tree.map(jnp.float32, prior.fitted(params, x))
        self.validation = validation
        self.temperature = jnp.float32(temperature)
        self.tempers = tempers
        self.precision = precision
        self.augmentation = tuple(augmentation)
        self.copies = copies if augmentation else 1
        self.size = len(train)
        self.mesh = None
        chunk = chunk or max(1, fitting_chunk(network, x) // self.copies)
        if mesh is None:
            self.chunks = Chunks.cut(x, y, chunk, numbered=bool(augmentation))
        else:
            self._spread(Examples(x, y), chunk, mesh)

    def tree_flatten_with_keys(self) -> tuple[tuple[tuple[Any, Any], ...], tuple[Any, ...]]:
        # Validation data stay out: a phase that needs them has them, and other programs would be others.
        names = ("likelihood", "prior", "chunks", "temperature")
        children = tuple((jax.tree_util.GetAttrKey(name), getattr(self, name)) for name in names)
        static = (self.tempers, self.precision, self.augmentation, self.copies, self.size, self.mesh)
        return children, (self.network, *static)

    @classmethod
    def tree_unflatten(cls, static: tuple[Any, ...], children: Any) -> Posterior:
        self = object.__new__(cls)
        self.likelihood, self.prior, self.chunks, self.temperature = children
        self.validation = None
        self.network, self.tempers, self.precision, self.augmentation, *rest = static
        self.copies, self.size, self.mesh = rest
        return self

    def __repr__(self) -> str:
        parts = brief(self.network.spec), brief(self.likelihood), brief(self.prior)
        return f"Posterior({', '.join(parts)}, {self.size:,} examples, temperature {brief(self.temperature)})"

    @property
    def train(self) -> Examples:
        """The training examples, without padding."""
        x, y = self.chunks.rows()
        return Examples(x[: self.size], y[: self.size])

    def spread(self, mesh: Mesh) -> Posterior:
        """The same posterior with its examples over the mesh's data axis, and all else on every device."""
        if self.mesh == mesh:
            return self
        require(self.mesh is None, "this posterior was made for another mesh: run it on that one")
        changed = copy.copy(self)
        changed._spread(jax.tree.map(np.asarray, self.train), self.chunk, mesh)
        return changed

    def _spread(self, train: Examples, chunk: int, mesh: Mesh) -> None:
        everywhere = NamedSharding(mesh, PartitionSpec())

        def copied(leaf: Any) -> jax.Array:
            array = np.asarray(leaf)
            return jax.make_array_from_callback(array.shape, everywhere, lambda index: array[index])

        # From here on no process may have all examples.
        self._checksum = train.checksum()
        self.chunks = Chunks.spread(train.x, train.y, chunk, mesh, numbered=bool(self.augmentation))
        rest = (self.likelihood, self.prior, self.temperature)
        self.likelihood, self.prior, self.temperature = jax.tree.map(copied, rest)
        self.mesh = mesh

    @property
    def chunk(self) -> int:
        """Examples in a chunk, but for what is added to share it among devices."""
        return math.ceil(self.size / self.chunks.mask.shape[0])

    def init(self, key: jax.Array) -> Variables:
        """Fresh variables of the network for this data."""
        return self.network.init(jax.random.fold_in(key, FRESH), self.chunks.x[0, :1])

    def likelihood_terms(self, variables: Variables) -> jax.Array:
        """The log likelihood in many terms, untempered: `GROUPS` of every chunk, shape (terms,).

        Each is small enough for float32 to keep the differences that an accept step needs.
        """

        def terms(variables: Variables, chunks: Chunks) -> jax.Array:
            return jax.lax.map(lambda chunk: self._terms(self.network.apply, variables, chunk), chunks)

        with jax.default_matmul_precision("float32"):
            return spread.summed(self.mesh, terms, variables, self.chunks).ravel()

    def measured_terms(self, variables: Variables) -> jax.Array:
        """`likelihood_terms` that nothing is derived from: under vmap, of as many chains at once as fit."""
        return self._for_many(Posterior.likelihood_terms, self.chunk * self.copies)(self, variables)

    def _terms(self, apply: Callable[..., jax.Array], variables: Variables, chunk: Chunks) -> jax.Array:
        each = chunk.mask * self._log_probs(apply, variables, chunk)
        return jnp.sum(jnp.pad(each, (0, -each.size % GROUPS)).reshape(GROUPS, -1), axis=1)

    def _log_probs(self, apply: Callable[..., jax.Array], variables: Variables, chunk: Chunks) -> jax.Array:
        """The log likelihood of every example, of its fixed augmented copies the mean."""

        def of(x: jax.Array) -> jax.Array:
            return self.likelihood.log_prob(apply(variables, x), chunk.y)

        if not self.augmentation:
            return of(chunk.x)
        return jnp.mean(
            jax.lax.map(lambda number: of(self.augmented_copy(chunk, number)), jnp.arange(self.copies)),
            axis=0,
        )

    def augmented_copy(self, chunk: Chunks, number: int | jax.Array) -> jax.Array:
        """The inputs of a chunk in one of their fixed augmented forms."""
        own = jax.random.fold_in(jax.random.key(AUGMENTED), number)
        keys = jax.vmap(lambda example: jax.random.fold_in(own, example))(chunk.number)
        return augmented(self.augmentation, keys, chunk.x)

    def log_density(self, variables: Variables) -> jax.Array:
        """The tempered log density over all data."""
        log_likelihood = compensated(self.likelihood_terms(variables))
        log_prior = self.prior.log_density(variables["params"])
        return self.likelihood_weight * log_likelihood + self.prior_weight * log_prior

    def gradient(self, variables: Variables) -> Tree:
        """The gradient of the log density in the parameters, over all data in chunks."""
        return self.gradient_and_terms(variables)[0]

    def gradient_and_terms(self, variables: Variables) -> tuple[Tree, jax.Array]:
        """The gradient, and the likelihood's terms from which it was taken.

        These are `likelihood_terms` only where the gradient's precision is float32 too, and then to rounding.
        """
        return self._for_many(Posterior._gradient_and_terms, self.chunk * self.copies)(self, variables)

    def _gradient_and_terms(self, variables: Variables) -> tuple[Tree, jax.Array]:
        apply = self._for_gradients(self.network.apply)

        def log_likelihood(params: Any, variables: Variables, chunk: Chunks) -> tuple[jax.Array, jax.Array]:
            terms = self._terms(apply, {**variables, "params": params}, chunk)
            return jnp.sum(terms), terms

        def over_chunks(variables: Variables, chunks: Chunks) -> tuple[Any, jax.Array]:
            def add(total: Any, chunk: Chunks) -> tuple[Any, jax.Array]:
                gradient, terms = one(params, variables, chunk)
                return jax.tree.map(jnp.add, total, gradient), terms

            params, one = variables["params"], jax.grad(log_likelihood, has_aux=True)
            if chunks.mask.shape[0] == 1:
                return one(params, variables, trees.index(chunks, 0))
            return jax.lax.scan(add, jax.tree.map(jnp.zeros_like, params), chunks)

        params = variables["params"]
        with jax.default_matmul_precision(MATMUL[self.precision]):
            likelihood, terms = spread.summed(self.mesh, over_chunks, variables, self.chunks)
        prior = jax.grad(self.prior.log_density)(params)
        gradient = jax.tree.map(
            lambda a, b: self.likelihood_weight * a + self.prior_weight * b, likelihood, prior
        )
        return gradient, terms.ravel()

    def mean_loss(self, variables: Variables, examples: Chunks) -> jax.Array:
        """The mean negative log likelihood of other examples, such as validation data, as they are."""
        size = examples.mask.shape[1]
        return self._for_many(Posterior._mean_loss, size)(self, variables, examples)

    def _mean_loss(self, variables: Variables, examples: Chunks) -> jax.Array:
        def total(chunk: Chunks) -> jax.Array:
            outputs = self.network.apply(variables, chunk.x)
            return jnp.sum(chunk.mask * self.likelihood.log_prob(outputs, chunk.y))

        with jax.default_matmul_precision("float32"):
            return -jnp.sum(jax.lax.map(total, examples)) / jnp.sum(examples.mask)

    def difference_terms(
        self, new: Tree, old: Tree, new_likelihood: jax.Array, old_likelihood: jax.Array
    ) -> list[jax.Array]:
        """Terms whose sum is ``log density(new) - log density(old)``, each a small difference.

        `new` and `old` are parameters, with their `likelihood_terms`.  Sum them with `compensated`:
        differences of totals do not survive in float32.
        """
        prior = jax.tree.leaves(self.prior.log_ratio(new, old))
        likelihood = self.likelihood_weight * (new_likelihood - old_likelihood)
        return [likelihood, *(self.prior_weight * term for term in prior)]

    def predict(self, draws: Draws | Tree, x: ArrayLike) -> Predictive:
        """The predictive distribution of every draw at the inputs `x`, prepared as the training data are."""
        return predict(self.network, self.likelihood, draws, x)

    def describe(self) -> Record:
        """What a run records of its posterior, as JSON."""
        return {
            "network": recorded(self.network, self.chunks.x.shape[2:], self.chunks.x.dtype),
            "likelihood": specs.encode(self.likelihood),
            "prior": specs.encode(self.prior),
            "temperature": specs.encode(self.temperature),
            "tempers": self.tempers,
            "precision": self.precision,
            "augmentation": list(self.augmentation),
            "copies": self.copies,
            "chunk": self.chunk,
            "input": {"shape": list(self.chunks.x.shape[2:]), "dtype": str(self.chunks.x.dtype)},
            "train": {"examples": self.size, "sha256": self._checksum or self.train.checksum()},
        }


def quarter_period(posterior: Posterior) -> float | None:
    """The trajectory that turns a draw of the prior into an independent one: a quarter of the
    prior's period, ``pi/2 alpha``, times ``sqrt(T)`` where the temperature flattens the prior too.

    Where the prior's standard deviations differ it is that of the whitened parameters, whose alpha is
    one; None for a prior without variance.
    """
    alpha = posterior.prior.standard_deviation
    if alpha is None:
        params = jax.eval_shape(posterior.init, jax.random.key(0))["params"]
        if posterior.prior.deviations(params) is None:
            return None
        alpha = 1.0
    flattened = math.sqrt(float(posterior.temperature)) if posterior.tempers == "posterior" else 1.0
    return math.pi / 2 * float(alpha) * flattened
