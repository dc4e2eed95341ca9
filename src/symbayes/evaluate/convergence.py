"""Convergence: whether chains agree (R-hat), and how many independent draws they are worth (ESS).

With ``m`` chains of ``n`` draws, ``W`` the mean variance within chains and ``B/n`` the variance of the
chains' means,

    Rhat^2 = (n - 1)/n + B/(n W)
    classical Rhat = (m + 1)/m V/W - (n - 1)/(m n),   V = (n - 1)/n W + B/n
    ESS = m n / tau

where ``tau`` is the autocorrelation time, from the initial monotone sequence of Geyer.  The first and the
last are those of normal scores of ranks, with chains cut in halves.  R-hat is the larger of that of the draws
and that of their distances from the median.

Arrays have leading axes (chain, draw); every trailing axis is a quantity of its own, and the result has the
trailing shape.  A quantity that never changes has no R-hat and no effective sample size: it gives nan.

References: Gelman and Rubin 1992; Brooks and Gelman 1998; Vehtari, Gelman, Simpson, Carpenter and Bürkner
2021, "Rank-normalization, folding, and localization: an improved R-hat"; Geyer 1992.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

# Values per chunk of columns: bounds the temporaries to about 100 MB whatever the number of weights.
CHUNK = 2**20
TAIL_QUANTILES = (0.05, 0.95)


def rhat(x: ArrayLike) -> np.ndarray:
    """Rank-normalised split R-hat: the larger of the bulk and the folded one (Vehtari et al. 2021).

    Each chain is cut in two halves (the middle draw of an odd number is left out), so one chain is enough.
    Chains that stand still at different values give infinity.
    """
    return _per_column(_rank_rhat, x, chains=1)


def classical_rhat(x: ArrayLike) -> np.ndarray:
    """The potential scale reduction of Gelman and Rubin: no splitting, no ranks, no square root.

    `(m + 1)/m V/W - (n - 1)/(m n)` with `V = (n - 1)/n W + B/n` for m chains of n draws, W the mean
    variance within chains and B/n the variance of the chain means (Brooks and Gelman 1998, and
    TensorFlow Probability). It is a ratio of variances, so it compares with the square of `rhat`.
    """
    return _per_column(_variance_reduction, x, chains=2)


def ess_bulk(x: ArrayLike) -> np.ndarray:
    """Effective sample size of the rank-normalised split chains (Vehtari et al. 2021): for means, medians."""
    return _per_column(lambda columns: _ess(_rank_normal(_split(columns))), x, chains=1)


def ess_tail(x: ArrayLike) -> np.ndarray:
    """Effective sample size of the 5 % and 95 % quantiles, the smaller of the two (Vehtari et al. 2021).

    Where ties leave one quantile with all draws on one side (a probability that saturates), the other one
    decides; where both are so, the result is nan.
    """
    return _per_column(_ess_of_tails, x, chains=1)


def _per_column(statistic: Callable[[np.ndarray], np.ndarray], x: ArrayLike, chains: int) -> np.ndarray:
    """Apply a map from (columns, chain, draw) to (columns,) to all trailing axes of x, chunk by chunk."""
    array = np.asarray(x)
    if array.ndim < 2 or array.shape[0] < chains or array.shape[1] < 4:
        raise ValueError(
            f"x must have leading axes (chain, draw) with at least {chains} chains and 4 draws, "
            f"but has shape {array.shape}."
        )
    flat = array.reshape(*array.shape[:2], int(np.prod(array.shape[2:])))
    result = np.empty(flat.shape[2])
    width = max(1, CHUNK // (flat.shape[0] * flat.shape[1]))
    for start in range(0, flat.shape[2], width):
        part = slice(start, start + width)
        columns = np.ascontiguousarray(np.moveaxis(flat[:, :, part], 2, 0), dtype=np.float64)
        if not np.isfinite(columns).all():
            raise ValueError("x holds values that are not finite: drop the draws that diverged first.")
        result[part] = statistic(columns)
    return result.reshape(array.shape[2:])


def _split(x: np.ndarray) -> np.ndarray:
    half = x.shape[2] // 2
    return np.concatenate([x[:, :, :half], x[:, :, -half:]], axis=1)


def _rank_normal(x: np.ndarray) -> np.ndarray:
    """Normal scores `Phi^-1((rank - 3/8) / (size + 1/4))` of the ranks among all draws of a column."""
    from scipy.special import ndtri
    from scipy.stats import rankdata  # takes half a second to import

    size = x.shape[1] * x.shape[2]
    rank = rankdata(x.reshape(-1, size), axis=1)
    # Average ranks are multiples of one half, so a table replaces a quantile per draw.
    score = ndtri((np.arange(2 * size + 1) / 2 - 3 / 8) / (size + 1 / 4))
    return score[(2 * rank).astype(np.intp)].reshape(x.shape)


def _chain_moments(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Centred chains, variance within chains (mean over chains), and variance of the chain means.

    Chains are shifted by their first draw, so that one that never moves has variance exactly zero.
    """
    shifted = x - x[:, :, :1]
    offset = shifted.mean(axis=2, keepdims=True)
    means = (x[:, :, :1] + offset)[:, :, 0]
    within = shifted.var(axis=2, ddof=1).mean(axis=1)
    between = (means - means[:, :1]).var(axis=1, ddof=1)
    return shifted - offset, within, between


def _ratio(between: np.ndarray, within: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore", invalid="ignore"):
        return between / within


def _rank_rhat(x: np.ndarray) -> np.ndarray:
    halves = _split(x)
    folded = np.abs(halves - np.median(halves, axis=(1, 2), keepdims=True))
    # Folding can leave a constant (a symmetric two-valued column): then the bulk decides.
    return np.fmax(_normal_rhat(_rank_normal(halves)), _normal_rhat(_rank_normal(folded)))


def _normal_rhat(x: np.ndarray) -> np.ndarray:
    _, within, between = _chain_moments(x)
    draws = x.shape[2]
    return np.sqrt((draws - 1) / draws + _ratio(between, within))


def _variance_reduction(x: np.ndarray) -> np.ndarray:
    _, within, between = _chain_moments(x)
    m, n = x.shape[1:]
    return (m + 1) / m * ((n - 1) / n + _ratio(between, within)) - (n - 1) / (m * n)


def _ess_of_tails(x: np.ndarray) -> np.ndarray:
    quantiles = np.quantile(x, TAIL_QUANTILES, axis=(1, 2), keepdims=True)
    low, high = (_ess(_split((x <= quantile).astype(np.float64))) for quantile in quantiles)
    return np.fmin(low, high)


def _ess(x: np.ndarray) -> np.ndarray:
    """`m n / tau` with the autocorrelation time from Geyer's initial monotone sequence.

    tau is at least 1 / log10(m n), which bounds what antithetic chains can gain.
    """
    m, n = x.shape[1:]
    even, pair = _autocorrelation_pairs(x)
    last = pair.shape[1] - 1
    kept = np.logical_and.accumulate(pair[:, :last] > 0, axis=1)
    monotone = np.minimum.accumulate(pair[:, :last], axis=1)
    stop = kept.sum(axis=1, keepdims=True)
    # The pair that ends the sequence lends its even lag, unless both the lag and the pair are negative.
    at_stop, pair_at_stop = (np.take_along_axis(values, stop, axis=1)[:, 0] for values in (even, pair))
    rest = np.where((at_stop > 0) | (pair_at_stop >= 0), at_stop, 0)
    tau = -1 + 2 * np.sum(monotone, axis=1, where=kept) + rest
    constant = x.max(axis=(1, 2)) == x.min(axis=(1, 2))
    return np.where(constant, np.nan, m * n / np.maximum(tau, 1 / np.log10(m * n)))


def _autocorrelation_pairs(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Combined autocorrelation over chains at even lags 2j, and its sums over lags 2j and 2j + 1."""
    from scipy.fft import next_fast_len

    n = x.shape[2]
    centred, within, between = _chain_moments(x)
    size = next_fast_len(2 * n, real=True)
    power = np.mean(np.abs(np.fft.rfft(centred, n=size, axis=2)) ** 2, axis=1)
    covariance = np.fft.irfft(power, n=size, axis=1)[:, :n] / n
    total = within * (n - 1) / n + between
    rho = 1 - _ratio(within[:, None] - covariance, total[:, None])
    rho[:, 0] = 1
    pairs = max(0, (n - 3) // 2) + 1  # the last lags rest on too few products
    even = rho[:, 0 : 2 * pairs : 2]
    return even, even + rho[:, 1 : 2 * pairs : 2]
