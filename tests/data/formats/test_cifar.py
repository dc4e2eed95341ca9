import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symbayes.data.formats import DataFormatError, read_cifar

from ..files import cifar_bytes, random_images

quick = settings(deadline=None, max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])


@quick
@given(seed=st.integers(0, 2**32 - 1), count=st.integers(1, 4), classes=st.sampled_from([10, 100]))
def test_reads_what_was_written(tmp_path, seed, count, classes):
    images, rng = random_images(seed, count, 32, 3), np.random.default_rng(seed)
    labels, coarse = rng.integers(0, classes, count), rng.integers(0, 20, count)
    path = tmp_path / "batch.bin"
    path.write_bytes(cifar_bytes(images, labels, coarse if classes == 100 else None))
    x, y = read_cifar(path, classes, count)
    np.testing.assert_array_equal(x, images)
    np.testing.assert_array_equal(y, labels)


def test_planes_are_red_green_blue(tmp_path):
    path = tmp_path / "batch.bin"
    path.write_bytes(bytes([3]) + bytes([10]) * 1024 + bytes([20]) * 1024 + bytes([30]) * 1024)
    x, _ = read_cifar(path, 10, 1)
    np.testing.assert_array_equal(x[0, 5, 7], [10, 20, 30])


@quick
@given(change=st.integers(-3073, 3073).filter(bool))
def test_another_size_than_the_records_take(tmp_path, change):
    path = tmp_path / "batch.bin"
    path.write_bytes(bytes(2 * 3073 + change))
    with pytest.raises(DataFormatError, match="2 CIFAR-10 records take 6146 bytes"):
        read_cifar(path, 10, 2)


def test_a_huge_count_is_refused_before_it_is_allocated(tmp_path):
    path = tmp_path / "batch.bin"
    path.write_bytes(bytes(3073))
    with pytest.raises(DataFormatError, match="the file has 3073"):
        read_cifar(path, 10, 10**15)


@quick
@given(record=st.integers(0, 2), label=st.integers(10, 255))
def test_labels_out_of_range(tmp_path, record, label):
    labels = np.zeros(3, np.uint8)
    labels[record] = label
    path = tmp_path / "batch.bin"
    path.write_bytes(cifar_bytes(random_images(0, 3, 32, 3), labels))
    with pytest.raises(DataFormatError, match=f"record {record} has label {label}"):
        read_cifar(path, 10, 3)


@pytest.mark.parametrize(("fine", "coarse"), [(100, 0), (0, 20)])
def test_labels_of_cifar100_out_of_range(tmp_path, fine, coarse):
    path = tmp_path / "train.bin"
    path.write_bytes(cifar_bytes(random_images(0, 1, 32, 3), [fine], [coarse]))
    with pytest.raises(DataFormatError, match="record 0 has label"):
        read_cifar(path, 100, 1)


def test_other_numbers_of_classes(tmp_path):
    with pytest.raises(ValueError, match="10 or 100 classes"):
        read_cifar(tmp_path / "batch.bin", 11, 1)
