"""Which tests one worker gets together."""

from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

CONFORMANCE = "tests/conformance/test_conformance.py"


@pytest.fixture
def conftest(request: pytest.FixtureRequest) -> ModuleType:
    """The one that pytest has imported."""
    file = str(Path(__file__).with_name("conftest.py"))
    plugins = request.config.pluginmanager.get_plugins()
    return next(plugin for plugin in plugins if getattr(plugin, "__file__", None) == file)


@pytest.mark.parametrize(
    ("test", "group"),
    [
        ("tests/test_specs.py::test_names[a-1]", "tests/test_specs.py"),
        (f"{CONFORMANCE}::test_every_method_has_a_row", CONFORMANCE),
        (f"{CONFORMANCE}::test_seed[adjusted-mclmc]", f"{CONFORMANCE}, adjusted-mclmc"),
        (f"{CONFORMANCE}::test_devices[adjusted-mclmc-2]", f"{CONFORMANCE}, adjusted-mclmc"),
    ],
)
def test_a_file_is_a_group_and_so_is_the_conformance_of_a_method(
    conftest: ModuleType, test: str, group: str
) -> None:
    assert conftest.group(test) == group


class Worker:
    """What the scheduler sees of a worker."""

    shutting_down = False

    def __init__(self, name: str) -> None:
        self.gateway, self.tests = SimpleNamespace(id=name), []

    def send_runtest_some(self, tests: list[int]) -> None:
        self.tests += tests

    def shutdown(self) -> None:
        self.shutting_down = True


def test_a_worker_gets_all_tests_of_a_file_or_none(conftest: ModuleType) -> None:
    pytest.importorskip("xdist")
    options: dict[str, Any] = {"dist": "loadgroup", "tx": ["popen"] * 2, "loadscopereorder": False}
    config = SimpleNamespace(
        getoption=options.get, getvalue=options.get, option=SimpleNamespace(**options), hook=None
    )
    scheduler = conftest.pytest_xdist_make_scheduler(config, None)
    tests = [f"tests/test_{file}.py::test_{n}" for n in range(5) for file in "abcd"]
    workers = [Worker("one"), Worker("other")]
    for worker in workers:
        scheduler.add_node(worker)
        scheduler.add_node_collection(worker, tests)
    scheduler.schedule()
    for worker in workers:
        files = {tests[n][:16] for n in worker.tests}
        assert files
        assert sorted(worker.tests) == [n for n, test in enumerate(tests) if test[:16] in files]
    options["dist"] = "load"
    assert conftest.pytest_xdist_make_scheduler(config, None) is None
