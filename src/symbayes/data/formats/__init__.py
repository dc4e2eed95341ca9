"""Readers of published file formats, one per file; each gives the right array or a `DataFormatError`."""

from symbayes.data.formats.cifar import read_cifar
from symbayes.data.formats.content import DataFormatError, open_content
from symbayes.data.formats.idx import read_idx
from symbayes.data.formats.mat import read_mat
from symbayes.data.formats.npz import read_npz
from symbayes.data.formats.pictures import read_pictures
from symbayes.data.formats.ragged import pad_ragged
from symbayes.data.formats.table import read_indices, read_table

__all__ = [
    "DataFormatError",
    "open_content",
    "pad_ragged",
    "read_cifar",
    "read_idx",
    "read_indices",
    "read_mat",
    "read_npz",
    "read_pictures",
    "read_table",
]
