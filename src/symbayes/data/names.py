"""Names of datasets as people read them."""

from urllib.parse import unquote


def readable(name: str) -> str:
    """A dataset's name with the characters that are written as in addresses: a column is ``price €``, where
    the name that loads the data has ``price %E2%82%AC``."""
    path, colon, options = name.partition(":")
    return f"{path}{colon}{unquote(options)}"
