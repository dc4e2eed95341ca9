"""PyTorch's files, written by hand as PyTorch writes them, and by PyTorch itself where it is installed."""

import io
import pickle
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from symbayes.networks.checkpoints import CheckpointError, read
from symbayes.networks.checkpoints.tensors import RefusedCode, read_torch


class Named:
    """A name that a pickle refers to, and does not have here."""

    def __init__(self, module: str, name: str) -> None:
        self.module, self.name = module, name


class Call:
    """A call of a named function, as `__reduce__` makes it."""

    def __init__(self, function: Named, *arguments: Any) -> None:
        self.function, self.arguments = function, arguments


class Storage:
    def __init__(self, kind: str, key: str, array: np.ndarray) -> None:
        self.kind, self.key, self.array = kind, key, array


# The pickler written in Python, whose opcodes a subclass can choose; it has no public name.
class Writer(pickle._Pickler):
    """Writes names that cannot be imported here."""

    def persistent_id(self, found: Any) -> Any:
        if isinstance(found, Storage):
            return "storage", Named("torch", found.kind), found.key, "cpu", found.array.size
        return None

    def save(self, found: Any, save_persistent_id: bool = True) -> None:
        if isinstance(found, Named):
            self.write(pickle.GLOBAL + f"{found.module}\n{found.name}\n".encode())
        elif isinstance(found, Call):
            self.save(found.function)
            self.save(found.arguments)
            self.write(pickle.REDUCE)
        else:
            super().save(found, save_persistent_id)


PARAMETER = Named("torch._utils", "_rebuild_parameter")


def write(path: Path, found: Any, storages: list[Storage]) -> Path:
    program = io.BytesIO()
    Writer(program, protocol=2).dump(found)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("archive/data.pkl", program.getvalue())
        archive.writestr("archive/byteorder", "little")
        for storage in storages:
            archive.writestr(f"archive/data/{storage.key}", storage.array.tobytes())
    return path


def tensor(storage: Storage, shape: tuple[int, ...], stride: tuple[int, ...], offset: int = 0) -> Call:
    rebuild = Named("torch._utils", "_rebuild_tensor_v2")
    return Call(rebuild, storage, offset, shape, stride, False, OrderedDict())


def test_tensors_of_a_shared_storage_with_offsets_and_strides(tmp_path: Path) -> None:
    numbers = np.arange(12, dtype=np.float32)
    storage = Storage("FloatStorage", "0", numbers)
    counter = Storage("LongStorage", "1", np.array([7], np.int64))
    state = OrderedDict(
        {
            "fc.weight": tensor(storage, (2, 3), (1, 2)),  # transposed
            "fc.bias": Call(
                Named("torch._utils", "_rebuild_parameter"), tensor(storage, (3,), (2,), 6), True, {}
            ),
            "bn.num_batches_tracked": tensor(counter, (), ()),
        }
    )
    found = read(write(tmp_path / "a.pt", state, [storage, counter]))
    np.testing.assert_array_equal(found["fc.weight"], numbers[:6].reshape(3, 2).T)
    np.testing.assert_array_equal(found["fc.bias"], [6, 8, 10])
    assert found["bn.num_batches_tracked"] == 7


def test_bfloat16_and_half_become_float32(tmp_path: Path) -> None:
    half = Storage("HalfStorage", "0", np.array([1.5, -2], np.float16))
    brain = Storage("BFloat16Storage", "1", np.array([0x3FC0, 0xC000], np.uint16))
    path = write(
        tmp_path / "a.pth", {"a": tensor(half, (2,), (1,)), "b": tensor(brain, (2,), (1,))}, [half, brain]
    )
    found = read(path)
    for array in found.values():
        assert array.dtype == np.float32
        np.testing.assert_array_equal(array, [1.5, -2])


@pytest.mark.parametrize("holder", ["state_dict", "model_state_dict", "model"])
def test_a_state_dict_is_found_where_training_scripts_put_it(tmp_path: Path, holder: str) -> None:
    storage = Storage("FloatStorage", "0", np.ones(2, np.float32))
    state = {"epoch": 3, holder: {"module.fc.bias": tensor(storage, (2,), (1,))}, "optimizer": {"lr": 0.1}}
    assert list(read(write(tmp_path / "a.pt", state, [storage]))) == ["fc.bias"]


@pytest.mark.parametrize(("module", "name"), [("os", "system"), ("builtins", "eval"), ("torch.nn", "Linear")])
def test_code_is_refused_and_not_run(tmp_path: Path, module: str, name: str) -> None:
    marker = tmp_path / "ran"
    path = write(tmp_path / "a.pt", {"a": Call(Named(module, name), f"touch {marker}")}, [])
    with pytest.raises(RefusedCode, match=rf"asks for {module}.{name}: only weights are read"):
        read(path)
    assert not marker.exists()


def test_a_tensor_beyond_its_storage_is_refused(tmp_path: Path) -> None:
    storage = Storage("FloatStorage", "0", np.ones(4, np.float32))
    for shape, stride, offset in [
        ((5,), (1,), 0),
        ((2, 2), (2, 1), 1),
        ((10**12,), (0,), 0),
        ((2,), (-1,), 3),
    ]:
        path = write(tmp_path / "a.pt", {"a": tensor(storage, shape, stride, offset)}, [storage])
        with pytest.raises(RefusedCode, match="outside of its storage"):
            read(path)


def test_what_is_no_file_of_pytorch_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.pt").write_bytes(b"\x80\x02}q\x00.")
    with pytest.raises(RefusedCode, match=r"PyTorch 1\.6 or later"):
        read_torch(tmp_path / "a.pt")
    path = write(tmp_path / "b.pt", [1, 2], [])
    with pytest.raises(CheckpointError, match=r"holds no state dict but list: save `model\.state_dict\(\)`"):
        read(path)


def test_files_of_pytorch_itself(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is installed with the extra bench")
    module = torch.nn.Sequential(
        torch.nn.Conv2d(1, 3, 5), torch.nn.BatchNorm2d(3), torch.nn.Linear(4, 2)
    ).half()
    torch.save(module.state_dict(), tmp_path / "a.pt")
    torch.save({"epoch": 1, "model": module.state_dict()}, tmp_path / "b.pt")
    for name in ("a.pt", "b.pt"):
        found = read(tmp_path / name)
        assert list(found) == list(module.state_dict())
        for key, value in module.state_dict().items():
            np.testing.assert_array_equal(found[key], value.float().numpy())
    torch.save(module, tmp_path / "whole.pt")
    with pytest.raises(RefusedCode, match="only weights are read"):
        read(tmp_path / "whole.pt")
