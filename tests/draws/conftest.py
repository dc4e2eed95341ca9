import pytest

from .folders import contents, work_on


@pytest.fixture(scope="session")
def undisturbed(tmp_path_factory) -> dict[str, bytes]:
    """All files of a whole run."""
    folder = tmp_path_factory.mktemp("store") / "run"
    work_on(folder)
    return contents(folder)
