"""One answer however the draws are cut, in memory or on disk."""

import itertools
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from symbayes import trees
from symbayes.distributions import Gaussian, mean_network, moments
from symbayes.draws import Draws, Run, Writer
from symbayes.draws.draws import MemorySegment

SHAPES = {"params/l1/kernel": (6, 3), "params/l1/bias": (3,), "params/gain": (), "stats/mean": (4,)}


def arrays(draws: int, dtype: type = np.float64) -> dict[str, np.ndarray]:
    rng = np.random.default_rng(0)
    made = {name: 3 + rng.normal(size=(2, draws, *shape)) for name, shape in SHAPES.items()}
    return {f"variables/{name}": array.astype(dtype) for name, array in made.items()}


def on_disk(folder: Path, whole: dict[str, np.ndarray], cuts: list[int]) -> Draws:
    """A run with a shard for each part."""
    with Writer.open(folder, {"units": [len(cuts) + 1]}) as run:
        for number, part in enumerate(segments(whole, cuts), start=1):
            run.commit(part.arrays, part.draws, cursor={"phase": 0, "unit": number})
    return Run(folder).draws


def segments(whole: dict[str, np.ndarray], cuts: list[int]) -> list[MemorySegment]:
    length = next(iter(whole.values())).shape[1]
    edges = [0, *sorted(cuts), length]
    return [
        MemorySegment({name: array[:, start:stop] for name, array in whole.items()}, stop - start)
        for start, stop in itertools.pairwise(edges)
        if stop > start
    ]


def assert_close(one: Gaussian, other: Gaussian) -> None:
    a, b = one.arrays(), other.arrays()
    assert a.keys() == b.keys()
    for name in a:
        if name.startswith("factors/"):
            # Axes may turn their sign; what they span may not.
            u, v = (np.tensordot(each[name], each[name], (0, 0)) for each in (a, b))
            np.testing.assert_allclose(u, v, atol=1e-11)
        else:
            np.testing.assert_allclose(a[name], b[name], rtol=1e-9 if name.startswith("diagonal/") else 1e-13)


def energy(gaussian: Gaussian) -> float:
    return sum(float(np.sum(leaf**2)) for leaf in trees.flatten(gaussian.factors).values())


@given(st.lists(st.integers(1, 9), max_size=4), st.integers(1, 3000), st.integers(0, 3))
def test_the_cuts_do_not_matter(cuts, max_bytes, rank):
    whole = arrays(10)
    assert_close(
        Gaussian.fit(Draws(segments(whole, cuts)), rank, max_bytes=max_bytes),
        Gaussian.fit(Draws.from_arrays(whole), rank),
    )


@given(st.integers(1, 3000))
def test_the_cuts_do_not_matter_to_the_sketch(max_bytes):
    whole = arrays(12)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("symbayes.distributions.fitting.EXACT_DRAWS", 1)
        patch.setattr(moments.Sketch, "width_for", staticmethod(lambda rank: rank + 2))
        sketched = Gaussian.fit(Draws.from_arrays(whole), 2)
        assert_close(Gaussian.fit(Draws.from_arrays(whole), 2, max_bytes=max_bytes), sketched)
    exact = Gaussian.fit(Draws.from_arrays(whole), 2)
    # So narrow a sketch is not exact: the test has gone the other way.
    assert energy(sketched) < energy(exact)


def test_a_run_on_disk_is_fitted_as_in_memory(tmp_path):
    whole = arrays(10, np.float32)
    stored = on_disk(tmp_path / "run", whole, [2, 3, 7])
    for rank in (0, 4):
        one, other = Gaussian.fit(stored, rank), Gaussian.fit(Draws.from_arrays(whole), rank)
        for name, array in one.arrays().items():
            np.testing.assert_array_equal(array, other.arrays()[name])
    for name, leaf in trees.flatten(mean_network(stored)).items():
        assert leaf.dtype == np.float32
        np.testing.assert_array_equal(
            leaf, whole[f"variables/{name}"].astype(np.float64).mean(axis=(0, 1)).astype(np.float32)
        )


class CountedSegment(MemorySegment):
    """Draws that count how often each array is read."""

    reads: dict[str, int]

    def read(self, name: str, draws: slice, rows: slice = slice(None)) -> np.ndarray:
        self.reads[name] = self.reads.get(name, 0) + 1
        return super().read(name, draws, rows)


@pytest.mark.parametrize(("rank", "passes"), [(0, 1), (3, 2)])
def test_passes_are_one_or_two(rank, passes):
    segment = CountedSegment(arrays(10), 10)
    object.__setattr__(segment, "reads", {})
    Gaussian.fit(Draws([segment]), rank, shrinkage="auto")
    assert set(segment.reads.values()) == {passes}


def test_large_means_do_not_spoil_small_variances():
    rng = np.random.default_rng(0)
    w = 1e6 + 1e-3 * rng.normal(size=(1, 50, 4))
    fitted = Gaussian.fit(Draws.from_variables({"w": w}))
    np.testing.assert_allclose(fitted.variance["w"], w[0].var(axis=0, ddof=1), rtol=1e-6)
