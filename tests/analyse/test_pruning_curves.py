"""Accuracy of networks with few weights."""

import numpy as np

import symbayes as sb
from symbayes import evaluate, trees
from symbayes.analyse.predictions import predictive_of
from symbayes.analyse.pruning import SHARES, pruned_accuracy
from symbayes.distributions import Gaussian, prune
from symbayes.engine import Opened


def test_curves_begin_at_the_full_network(hmc: Opened, hmc_draws: sb.Draws, digits: sb.data.Dataset) -> None:
    draw = trees.index(hmc_draws.select([1], [2]).variables, (0, 0))
    gaussian = Gaussian.fit(hmc_draws)
    curves = pruned_accuracy(hmc, gaussian, draw, digits.test)
    y = np.asarray(digits.test.y)
    for name, network in (("mean, by sigma", gaussian.mean), ("one draw, by size", draw)):
        kept, accuracy = curves[name]
        assert kept.tolist() == list(SHARES)
        assert accuracy[0] == evaluate.accuracy(predictive_of(hmc, network, digits.test.x).mean, y)
    pruned = predictive_of(hmc, prune(gaussian, SHARES[4], by="signal"), digits.test.x).mean
    assert curves["mean, by |mean|/sigma"][1][4] == evaluate.accuracy(pruned, y)
