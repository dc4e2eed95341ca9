"""What is conditioned on: named datasets, standard file formats, shifts."""

from symbayes.data.examples import Dataset, Examples, Scaling, validate
from symbayes.data.fetch import DownloadError, fetch
from symbayes.data.folder import data_folder
from symbayes.data.formats import DataFormatError
from symbayes.data.registry import FileCheck, Listing, check, list_datasets, load

__all__ = [
    "DataFormatError",
    "Dataset",
    "DownloadError",
    "Examples",
    "FileCheck",
    "Listing",
    "Scaling",
    "check",
    "data_folder",
    "fetch",
    "list_datasets",
    "load",
    "validate",
]
