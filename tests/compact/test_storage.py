"""A Gaussian on disk, and files that are none."""

import numpy as np
import pytest
import safetensors.numpy

from symbayes import trees
from symbayes.compact import Gaussian
from symbayes.draws import Draws, files


def fitted(rank: int) -> Gaussian:
    rng = np.random.default_rng(0)
    shapes = {"params/l2/kernel": (4, 2), "params/l10/bias": (3,), "params/gain": (), "stats/mean": (5,)}
    made = {name: rng.normal(size=(2, 5, *shape)).astype(np.float32) for name, shape in shapes.items()}
    return Gaussian.fit(Draws.from_variables(trees.unflatten(made)), rank)


@pytest.mark.parametrize("rank", [0, 3])
def test_what_was_saved_is_loaded(tmp_path, rank):
    gaussian = fitted(rank)
    gaussian.save(tmp_path / "q.safetensors")
    loaded = Gaussian.load(str(tmp_path / "q.safetensors"))
    assert dict(loaded.layout.shapes) == dict(gaussian.layout.shapes)
    assert list(loaded.layout.shapes) == list(gaussian.layout.shapes)
    for name in ("location", "diagonal", "factors"):
        one, other = getattr(gaussian, name), getattr(loaded, name)
        assert one.dtype == other.dtype
        np.testing.assert_array_equal(one, other)
    assert loaded.floats == gaussian.floats == (rank + 2) * 12 + 5
    assert float(loaded.log_density(loaded.mean)) == float(gaussian.log_density(gaussian.mean))


def test_the_file_is_plain_and_the_same_every_time(tmp_path):
    gaussian = fitted(2)
    for name in ("a", "b"):
        gaussian.save(tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a", "b"]
    with safetensors.safe_open(tmp_path / "a", framework="numpy") as handle:
        assert handle.metadata() is None
    arrays = safetensors.numpy.load_file(tmp_path / "a")
    assert arrays["factors/params/l2/kernel"].shape == (4, 2, 2)
    np.testing.assert_array_equal(arrays["mean/stats/mean"], gaussian.mean["stats"]["mean"])
    stored = sum(array.size for array in arrays.values())
    assert stored == gaussian.floats


def test_nothing_is_overwritten(tmp_path):
    path = tmp_path / "q"
    path.write_text("mine")
    with pytest.raises(FileExistsError, match="exists already"):
        fitted(0).save(path)
    assert path.read_text() == "mine"


def test_other_files_are_refused(tmp_path):
    (tmp_path / "text").write_text("no arrays")
    with pytest.raises(ValueError, match="not a safetensors file"):
        Gaussian.load(tmp_path / "text")
    with pytest.raises(FileNotFoundError):
        Gaussian.load(tmp_path / "nowhere")
    fitted(2).save(tmp_path / "q")
    whole = files.read_arrays(tmp_path / "q")
    for number, (change, sentence) in enumerate(
        (
            ({"diagonal/params/gain": None}, "each weight needs"),
            ({"extra": np.zeros(1)}, "each weight needs"),
            ({"factors/params/l10/bias": np.zeros((3, 1))}, "'params/l10/bias' do not fit"),
            (dict.fromkeys(whole), "each weight needs"),
        )
    ):
        changed = {name: array for name, array in {**whole, **change}.items() if array is not None}
        files.write_bytes(tmp_path / str(number), *files.pack(changed))
        with pytest.raises(ValueError, match=sentence):
            Gaussian.load(tmp_path / str(number))
