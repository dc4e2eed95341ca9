"""Draws that no run of symbayes made, and runs whose data have no name: their posterior is given."""

import dataclasses
from typing import Any

import jax
import numpy as np
import pytest

import symbayes as sb
from symbayes import trees

from .runs import HMC, run


@pytest.fixture(scope="module")
def own(tiny: sb.Posterior) -> sb.Draws:
    """Plain arrays in double precision, as another program gives them."""
    rng = np.random.default_rng(np.random.SeedSequence().entropy)
    shapes = trees.shapes(tiny.init(jax.random.key(0)))
    arrays = {name: 0.3 * rng.normal(size=(2, 6, *shape)) for name, shape in shapes.items()}
    return sb.Draws.from_variables({"params": trees.unflatten(arrays)["params"]})


def test_draws_from_elsewhere_are_predicted_compared_and_diagnosed_as_a_run(tiny, own, digits, tmp_path):
    opened = sb.open(own, posterior=tiny)
    x = digits.test.x[:6]
    np.testing.assert_array_equal(opened.predict(x).probs, tiny.predict(own, x).probs)
    assert "128 training examples" in str(opened.summary())
    drawn = run(HMC, tiny)
    table = sb.compare({"hmc": drawn, "own": opened}, on=digits)
    theirs = sb.evaluate.accuracy(tiny.predict(own, digits.test.x).mean, digits.test.y)
    assert table.rows["own"]["accuracy"] == pytest.approx(theirs)
    assert list(sb.compare([drawn, opened], on=digits, intervals=False).rows)[:2] == ["hmc", "draws"]
    assert "predictions" in str(sb.diagnose(opened, x))
    assert sb.join(drawn, opened).draws.chains == 4
    assert sb.analyse.align_run(opened).draws.chains == 2
    # Also by way of a file.
    own.save(tmp_path / "own.safetensors")
    again = sb.open(sb.Draws.load(tmp_path / "own.safetensors"), posterior=tiny)
    np.testing.assert_array_equal(again.predict(x).probs, opened.predict(x).probs)


@pytest.mark.usefixtures("blank_figures")
def test_draws_from_elsewhere_are_reported(tiny, own, digits):
    data = dataclasses.replace(digits, train=digits.train[:128])
    report = sb.Report.of({"own": sb.open(own, posterior=tiny)}, data, symmetries=[])
    assert "own: 2 chains of 6 draws" in report.html()


def test_draws_that_do_not_tell_what_made_them_ask_for_their_posterior(own, digits):
    for refused in (
        lambda: sb.open(own),
        lambda: sb.compare({"own": own}, on=digits),
        lambda: sb.diagnose(own, digits.test.x[:5]),
    ):
        with pytest.raises(sb.RunError, match=r"give symbayes.open\(draws, posterior=posterior\) in their"):
            refused()


def test_draws_of_another_network_are_refused_by_the_array_that_differs(tiny, own):
    weights = own.variables["params"]
    output = {"kernel": weights["output"]["kernel"], "bias": weights["output"]["bias"][..., :9]}
    less = sb.Draws.from_variables({"params": {**weights, "output": output}})
    with pytest.raises(ValueError, match=r"params/output/bias is \(9,\) here and \(10,\) there"):
        sb.open(less, posterior=tiny)
    more = sb.Draws.from_variables({"params": {**weights, "more": np.zeros((2, 6))}})
    with pytest.raises(ValueError, match=r"params/more is \(\) here and missing there"):
        sb.open(more, posterior=tiny)


def test_a_folder_whose_data_have_no_name_takes_its_posterior(tiny, digits, tmp_path):
    drawn = run(HMC, tiny, store=tmp_path / "run")
    with pytest.raises(sb.RunError, match=r"open the run with it, as in symbayes.open\(folder, posterior="):
        _ = sb.open(tmp_path / "run").posterior
    for given in (tmp_path / "run", sb.open(tmp_path / "run"), drawn):
        opened = sb.open(given, posterior=tiny)
        assert opened.posterior is tiny
    others: dict[str, Any] = {
        "prior.scale": sb.Posterior(tiny.network, tiny.likelihood, sb.priors.Normal(0.7), tiny.train),
        "train.sha256": sb.Posterior(tiny.network, tiny.likelihood, tiny.prior, digits.train[1:129]),
        "another network": sb.Posterior(
            sb.networks.mlp(hidden=(6,), outputs=10, activation="tanh"),
            tiny.likelihood,
            tiny.prior,
            tiny.train,
        ),
    }
    for words, other in others.items():
        for given in (sb.open(tmp_path / "run"), drawn):
            with pytest.raises(ValueError, match=f"was drawn .*{words}"):
                sb.open(given, posterior=other)


def test_notes_on_the_data_are_taken_in_place_of_the_run_s_own(tiny, own):
    assert sb.open(own, posterior=tiny, about={"title": "mine"}).summary().data == "mine"
    drawn = run(HMC, tiny, about={"title": "theirs"})
    assert sb.open(drawn, about={"title": "mine"}).about == {"title": "mine"}
    assert sb.open(drawn).about == {"title": "theirs"}
