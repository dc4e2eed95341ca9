"""Opening a run: a folder, draws in memory, or draws from elsewhere with the posterior that they are from."""

from __future__ import annotations

import warnings
from dataclasses import replace

import jax
import jax.numpy as jnp

from symbayes import networks, specs, trees
from symbayes.distributions import from_arrays
from symbayes.draws import Draws, Origin, Run, RunError
from symbayes.engine.opened import Opened, Source
from symbayes.engine.origins import made_from, require_of
from symbayes.networks import Network, session
from symbayes.posterior import Posterior, likelihoods, priors
from symbayes.specs import Recorded


def open_run(
    what: Source,
    network: Network | None = None,
    *,
    posterior: Posterior | None = None,
    about: Recorded | None = None,
) -> Opened:
    """Open a run: its folder, or draws in memory as `run` gave them.

    An unfinished run has the draws that are committed so far.

    Args:
        what: the folder or the draws.
        network: of a run whose network was defined in a session, such as a notebook: it is needed again.
        posterior: what was drawn from.  Draws that do not tell it (read from a file, cut out of others, or
            made by another program) need it, and so does a folder whose dataset has no name.
        about: notes on the data in place of the run's own, as in ``dataset.about``.
    """
    opened = _opened(what, network, posterior)
    if about is None:
        return opened
    return replace(opened, config={**opened.config, "about": dict(about)})


def _opened(what: Source, network: Network | None, posterior: Posterior | None) -> Opened:
    if isinstance(what, Opened):
        return what if posterior is None else _given(what, posterior)
    if not isinstance(what, Draws):
        run = what if isinstance(what, Run) else Run(what)
        opened = _of_folder(run, posterior.network if network is None and posterior is not None else network)
        return opened if posterior is None else _given(opened, posterior)
    if what.origin is not None:
        opened = _of_origin(what, what.origin)
        return opened if posterior is None else _given(opened, posterior)
    if posterior is None:
        raise RunError(
            "these draws do not tell what made them: give symbayes.open(draws, posterior=posterior) in their "
            "place, with the posterior that they are drawn from"
        )
    told = made_from(what, posterior)
    assert told.origin is not None
    return _of_origin(told, told.origin)


def _given(opened: Opened, posterior: Posterior) -> Opened:
    """A run whose posterior is at hand."""
    require_of(posterior, opened.network, opened.config, str(opened.path or "this run"))
    made = opened.draws.origin or Origin(opened.config, posterior, opened.traces, opened.distribution)
    return replace(opened, draws=replace(opened.draws, origin=replace(made, posterior=posterior)))


def _of_origin(draws: Draws, made: Origin) -> Opened:
    posterior = made.posterior
    return Opened(
        draws,
        posterior.network,
        posterior.likelihood,
        posterior.prior,
        made.config,
        traces=made.traces,
        distribution=made.distribution,
    )


def _of_folder(run: Run, network: Network | None) -> Opened:
    if not run.draws.segments:
        raise RunError(f"{run.path} holds no draws yet: run it to its end first, or with keep=1")
    recorded = run.config["posterior"]
    return Opened(
        run.draws,
        _network(run, network),
        specs.decode(recorded["likelihood"], likelihoods.KINDS),
        specs.decode(recorded["prior"], priors.KINDS),
        run.config,
        run.path,
        run.traces,
        None if run.distribution is None else from_arrays(run.distribution),
    )


def _network(run: Run, given: Network | None) -> Network:
    """The network of a run, rebuilt, or the one that is given again and fits."""
    posterior = run.config["posterior"]
    encoded, form = posterior["network"], posterior["input"]
    if given is None:
        if session.is_session(encoded):
            raise RunError(
                f"{run.path} was drawn with {encoded['name']}, a network without an import path: "
                "give it again, as in symbayes.open(folder, network=network)"
            )
        return networks.from_spec(encoded)
    expected = run.draws.shapes
    fresh = jax.eval_shape(given.init, jax.random.key(0), jnp.zeros((1, *form["shape"]), form["dtype"]))
    found = {name: tuple(leaf.shape) for name, leaf in trees.flatten(fresh).items()}
    if found != expected:
        raise RunError(f"{run.path} has weights {expected}, but this network {found}: give the run's own")
    now = session.recorded(given, tuple(form["shape"]), form["dtype"])
    if now != encoded:
        warnings.warn(
            f"this is not the network that {run.path} was drawn with, or another version of JAX writes its "
            "program differently: predictions may be others",
            stacklevel=5,
        )
    return given
