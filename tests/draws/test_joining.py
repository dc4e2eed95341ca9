"""Draws of several runs as one."""

import numpy as np
import pytest

from symbayes.draws import Draws
from symbayes.draws.joining import joined

RNG = np.random.default_rng(np.random.SeedSequence().entropy % 2**32)


def some(chains: int, lengths: tuple[int, ...], width: int = 3, **more: np.ndarray) -> Draws:
    """Draws in several segments."""
    parts = []
    for n in lengths:
        variables = {
            "params": {"w": RNG.normal(size=(chains, n, width, 2)), "b": RNG.normal(size=(chains, n))}
        }
        modes = np.repeat(np.arange(chains)[:, None], n, axis=1)
        stats = {"energy": RNG.normal(size=(chains, n)), "mode": modes}
        parts.append(Draws.from_variables(variables, stats | {k: v[:, :n] for k, v in more.items()}))
    return Draws([segment for part in parts for segment in part.segments])


def test_chains_stand_side_by_side():
    first, second = some(2, (4, 3)), some(3, (2, 5), extra=RNG.normal(size=(3, 9)))
    both = joined([first, second])
    assert (both.chains, len(both)) == (5, 7)
    for name in ("w", "b"):
        expected = [draws.variables["params"][name] for draws in (first, second)]
        np.testing.assert_array_equal(both.variables["params"][name], np.concatenate(expected))
    assert set(both.stats) == {"energy", "mode"}
    np.testing.assert_array_equal(both.stats["mode"][:, 0], [0, 1, 2, 3, 4])
    blocks = [block.variables["params"]["w"] for block in both.blocks(2)]
    np.testing.assert_array_equal(np.concatenate(blocks, axis=1), both.variables["params"]["w"])
    columns = [values for name, _, values in both.columns(max_bytes=64) if name == "params/w"]
    np.testing.assert_array_equal(np.concatenate(columns, axis=2), both.variables["params"]["w"])
    picked = both.select(chains=[4, 0], draws=[6, 1])
    np.testing.assert_array_equal(
        picked.variables["params"]["b"], both.variables["params"]["b"][np.ix_([4, 0], [6, 1])]
    )


def test_draws_stand_one_after_the_other():
    first, second = some(2, (4,)), some(2, (2, 1))
    longer = joined([first, second], along="draw")
    assert (longer.chains, len(longer)) == (2, 7)
    expected = np.concatenate([draws.stats["energy"] for draws in (first, second)], axis=1)
    np.testing.assert_array_equal(longer.stats["energy"], expected)


def test_what_does_not_fit_is_refused():
    with pytest.raises(ValueError, match=r"networks: variables/params/w is \(3, 2\) here and \(4, 2\)"):
        joined([some(2, (3,)), some(2, (3,), width=4)])
    with pytest.raises(ValueError, match=r"equally many draws, not \[3, 5\].*slice\(3\)"):
        joined([some(2, (3,)), some(2, (5,))])
    with pytest.raises(ValueError, match="equally many chains"):
        joined([some(2, (3,)), some(1, (3,))], along="draw")
    with pytest.raises(ValueError, match="at least one run"):
        joined([])
    with pytest.raises(ValueError, match="without draws"):
        joined([Draws([])])


def test_what_is_saved_is_loaded(tmp_path):
    draws = some(2, (3, 2))
    draws.save(tmp_path / "draws.safetensors")
    again = Draws.load(tmp_path / "draws.safetensors")
    assert repr(again) == repr(draws)
    np.testing.assert_array_equal(again.variables["params"]["w"], draws.variables["params"]["w"])
    assert again.variables["stats"] == {}
    np.testing.assert_array_equal(again.stats["mode"], draws.stats["mode"])
    with pytest.raises(FileNotFoundError, match="there is no file"):
        Draws.load(tmp_path / "none.safetensors")
    (tmp_path / "bad.safetensors").write_bytes(b"12345678910")
    with pytest.raises(ValueError, match="is damaged"):
        Draws.load(tmp_path / "bad.safetensors")
