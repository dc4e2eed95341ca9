"""A trained Equinox module, draws of the posterior near its weights, and an ensemble that it belongs to."""

import equinox as eqx
import jax
import jax.numpy as jnp
import optax

import symbayes as sb

SIZES = {"in_size": 64, "out_size": 10, "width_size": 16, "depth": 1}


def train(data: sb.data.Dataset, steps: int) -> eqx.nn.MLP:
    """As you would without symbayes."""
    module = eqx.nn.MLP(**SIZES, key=jax.random.key(0))
    x, y = jnp.asarray(data.train.x).reshape(-1, 64), jnp.asarray(data.train.y)
    optimizer = optax.adam(1e-2)

    @eqx.filter_value_and_grad
    def loss(module: eqx.nn.MLP) -> jax.Array:
        return optax.softmax_cross_entropy_with_integer_labels(jax.vmap(module)(x), y).mean()

    @eqx.filter_jit
    def step(module: eqx.nn.MLP, state: optax.OptState) -> tuple[eqx.nn.MLP, optax.OptState]:
        _, gradient = loss(module)
        updates, state = optimizer.update(gradient, state)
        return eqx.apply_updates(module, updates), state

    state = optimizer.init(eqx.filter(module, eqx.is_array))
    for _ in range(steps):
        module, state = step(module, state)
    return module


def main(steps: int = 150, burn_in: int = 20, draws: int = 50, epochs: int = 30) -> sb.analyse.Comparison:
    data = sb.data.load("digits")
    trained = train(data, steps)

    # --8<-- [start:posterior]
    # The module sees one flat example; a trained instance is a network and a start.
    flat = [sb.data.Examples(part.x.reshape(-1, 64), part.y) for part in (data.train, data.test)]
    network = sb.networks.from_equinox(trained)
    posterior = sb.Posterior(network, sb.likelihoods.Categorical(), sb.priors.Normal(0.5), flat[0])
    method = sb.HMC(step_size=5e-3, trajectory=0.1, burn_in=burn_in, draws=draws, chains=2)
    around = sb.run(method, posterior)  # begins at the module's weights
    # --8<-- [end:posterior]

    # --8<-- [start:ensemble]
    # Other members are trained afresh, so their network is made of the module's class.
    fresh = sb.networks.from_equinox(eqx.nn.MLP, **SIZES)
    scratch = sb.Posterior(fresh, sb.likelihoods.Categorical(), sb.priors.Normal(0.5), flat[0])
    others = sb.run(sb.DeepEnsemble(learning_rate=1e-2, epochs=epochs, chains=4), scratch)
    # The module is one draw of one chain: the member beside them.
    weights = jax.tree.map(lambda leaf: leaf[None, None], network.start)
    alone = sb.open(sb.Draws.from_variables(weights), posterior=scratch)
    ensemble = sb.join(alone, others)
    # --8<-- [end:ensemble]

    runs = {"module": alone, "draws around it": around, "ensemble": ensemble}
    table = sb.compare(runs, on=flat[1], metrics=["accuracy", "NLL", "ECE"])
    print(table)
    predictive = ensemble.predict(flat[1].x)
    print(f"most unsure, by mutual information: {predictive.mutual_information.max():.2f} nats")
    return table


if __name__ == "__main__":
    main()
