"""What is conditioned on: named datasets, standard file formats, shifts."""

from symbayes.data.columns import Column, Preparation
from symbayes.data.examples import Dataset, Examples, Scaling, validate
from symbayes.data.fetch import DownloadError, fetch
from symbayes.data.folder import data_folder
from symbayes.data.formats import DataFormatError
from symbayes.data.names import readable
from symbayes.data.own import from_arrays
from symbayes.data.own_files import counting_columns, names_a_file, read_columns
from symbayes.data.registry import FileCheck, Listing, check, list_datasets, load, split_count

__all__ = [
    "Column",
    "DataFormatError",
    "Dataset",
    "DownloadError",
    "Examples",
    "FileCheck",
    "Listing",
    "Preparation",
    "Scaling",
    "check",
    "counting_columns",
    "data_folder",
    "fetch",
    "from_arrays",
    "list_datasets",
    "load",
    "names_a_file",
    "read_columns",
    "readable",
    "split_count",
    "validate",
]
