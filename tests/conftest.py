"""How the tests run: types and shapes are checked at every call, programs are compiled quickly and once.

``SYMBAYES_COMPILER=default`` compiles as users do; ``make test`` runs tests with the mark `level` that way.
The fixtures that all tests share are in ``shared_fixtures.py``.
"""

import gc
import os
import re
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[1]

LONGEST = (
    "engine/test_together.py",
    "engine/test_kill.py",
    "engine/test_resume.py",
    "engine/test_groups.py",
    "test_docs.py",
    "data/test_training.py",
    "report/test_every_page.py",
    "conformance",
    "symmetry/align",
    "report",
    "studies",
    "test_cli",
    "test_readme.py",
    "analyse",
    "engine",
    "methods",
)
"""Files and folders whose tests take longer than others, in the order in which they begin."""

# Tests compile far more than they compute, so the compiler does less.  Where nothing is optimised, the older
# emitters of kernels are three times as quick; a version of XLA that has them no longer does not start with
# the flag.
QUICK = ["--xla_backend_optimization_level=0"]
if version("jaxlib").startswith("0.10."):
    QUICK.append("--xla_cpu_use_fusion_emitters=false")
LEVEL = {"default": [], "quick": QUICK}[os.environ.get("SYMBAYES_COMPILER", "quick")]
# Eight host devices, so that meshes are tested on any machine; a run without a mesh uses the first.  The
# kernels of a program are compiled in one part, since there is a worker for every processor.
FLAGS = ["--xla_force_host_platform_device_count=8", "--xla_cpu_parallel_codegen_split_count=1", *LEVEL]
given = os.environ.get("XLA_FLAGS", "").split()
os.environ["XLA_FLAGS"] = " ".join([*given, *(flag for flag in FLAGS if flag not in given)])
os.environ.setdefault("JAX_PLATFORMS", "cpu")

# Workers, and the processes that tests start, share what was compiled: programs and bytecode.
os.environ.setdefault("JAX_COMPILATION_CACHE_DIR", str(ROOT / ".jax_cache"))
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS", "0")
os.environ.setdefault("JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES", "-1")
os.environ.setdefault("JAX_TRACEBACK_IN_LOCATIONS_LIMIT", "0")
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

# There is a worker for every processor.  Threads of its own would wait for work in a loop, and take from the
# others a fifth of their time.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

# Nothing that is imported is garbage; see `pytest_collection_finish`.
gc.disable()

import checked_types

# Once is enough: what is compiled as users compile it is called in the other tests too.
if LEVEL is QUICK:
    checked_types.install(ROOT / "src/symbayes")

MOST_PIECES = 50_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--cpu-seconds", type=int, metavar="N", help="show folders, and the N dearest tests")
    parser.addoption("--cpu-seconds-file", metavar="FILE", help="append the cost of each test, as JSON")


def pytest_configure(config: pytest.Config) -> None:
    """The process that hands tests to workers runs none, so it need not import what they use."""
    works = hasattr(config, "workerinput")
    hands_out = config.getoption("numprocesses", None) and not works
    if not hands_out:
        config.pluginmanager.import_plugin("shared_fixtures")
    if config.getoption("cpu_seconds"):
        from cpu_seconds import Meter, Summary

        if not hands_out:
            config.pluginmanager.register(Meter())
        if not works:
            config.pluginmanager.register(
                Summary(config.getoption("cpu_seconds"), config.getoption("cpu_seconds_file"))
            )


def pytest_collection_finish() -> None:
    """What was imported is not searched for garbage again, and what is traced only now and then."""
    gc.enable()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """A worker gets whole files, since their tests share what was compiled; the conformance tests of each
    method are a group of their own.

    Told to the scheduler itself: with pytest 9.2, xdist 3.8 does not see the mark `xdist_group`.
    """
    if config.getoption("dist") != "loadgroup":
        return None
    from xdist.scheduler import LoadScopeScheduling

    class Groups(LoadScopeScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return group(nodeid)

    return Groups(config, log)


def group(nodeid: str) -> str:
    """The file of a test, with the method whose conformance it tests."""
    file, _, test = nodeid.partition("::")
    method = re.search(r"\[(.+?)(-\d+)?\]$", test) if file.endswith("test_conformance.py") else None
    return f"{file}, {method[1]}" if method else file


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """The longest begin first, so that all workers end at about one time."""
    if hasattr(config, "workerinput"):
        items.sort(key=_turn)


def _turn(item: pytest.Item) -> int:
    place = str(item.path.relative_to(Path(__file__).parent))
    return next((n for n, part in enumerate(LONGEST) if place.startswith(part)), len(LONGEST))


def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Between files, a process that holds very many programs lets them go.

    Each takes some of the pieces of memory of which Linux gives a process 65,530; without any left, the
    compiler crashes.  What is needed again is read from the store.
    """
    if nextitem is not None and nextitem.path != item.path and _pieces_of_memory() > MOST_PIECES:
        import jax

        jax.clear_caches()
        gc.collect()


def _pieces_of_memory() -> int:
    maps = Path("/proc/self/maps")
    return maps.read_bytes().count(b"\n") if maps.exists() else 0


def pytest_report_header() -> str:
    return f"jax {version('jax')}, compiled {os.environ.get('SYMBAYES_COMPILER', 'quick')}"
