"""``pytest --cpu-seconds=N``: what the tests cost, in seconds of processors.

Seconds of processors, of a test's process and of the processes it started, do not depend on what else the
machine does, as seconds of a clock do.  A test's cost holds the fixtures that it was the first to ask for.
``compiling`` is the clock's time within the compiler, ``programs`` how many it compiled (not those it read
from the store).
"""

import json
import os
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, fields

import pytest


@dataclass
class Cost:
    """What was spent: by a test, a file or a folder."""

    cpu: float = 0.0
    started: float = 0.0  # by processes that the test started, part of `cpu`
    compiling: float = 0.0
    programs: int = 0
    read: int = 0  # programs read from the store

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(*(getattr(self, f.name) + getattr(other, f.name) for f in fields(self)))

    def __sub__(self, other: "Cost") -> "Cost":
        return Cost(*(getattr(self, f.name) - getattr(other, f.name) for f in fields(self)))


class Meter:
    """In the process that runs tests: writes onto each report what was spent since the one before."""

    def __init__(self) -> None:
        import jax

        self.compiler = Cost()
        jax.monitoring.register_event_duration_secs_listener(self.lasted)
        jax.monitoring.register_event_listener(self.happened)
        self.before = Cost()

    def lasted(self, event: str, seconds: float, **_) -> None:
        if event == "/jax/core/compile/backend_compile_duration":
            self.compiler += Cost(compiling=seconds, programs=1)

    def happened(self, event: str, **_) -> None:
        if event == "/jax/compilation_cache/cache_hits":
            self.compiler += Cost(read=1, programs=-1)

    def now(self) -> Cost:
        t = os.times()
        started = t.children_user + t.children_system
        return self.compiler + Cost(cpu=time.process_time() + started, started=started)

    def pytest_collection_finish(self) -> None:
        self.before = self.now()

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self) -> Iterator[None]:
        report = yield
        now = self.now()
        report.user_properties.append(("cost", vars(now - self.before)))
        self.before = now
        return report


class Summary:
    """In the process that reports: sums over folders, and the dearest tests."""

    def __init__(self, most: int, into: str | None) -> None:
        self.most, self.into = most, into
        self.tests: dict[str, Cost] = defaultdict(Cost)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        for name, value in report.user_properties:
            if name == "cost":
                self.tests[report.nodeid] += Cost(**value)
                if self.into:
                    with open(self.into, "a") as file:
                        print(json.dumps({"test": report.nodeid, **value}), file=file)

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        folders: dict[str, Cost] = defaultdict(Cost)
        for name, cost in self.tests.items():
            folders["/".join(name.split("::")[0].split("/")[:2])] += cost
        lines = terminalreporter.write_line
        terminalreporter.section("seconds of processors")
        lines(f"{'cpu':>8} {'started':>8} {'compiling':>9} {'programs':>8} {'read':>6}")
        for costs in (folders, dict(sorted(self.tests.items(), key=_dearest)[: self.most])):
            for name, c in sorted(costs.items(), key=_dearest):
                numbers = f"{c.cpu:8.1f} {c.started:8.1f} {c.compiling:9.1f} {c.programs:8} {c.read:6}"
                lines(f"{numbers}  {name}")
            lines("")


def _dearest(item: tuple[str, Cost]) -> float:
    return -item[1].cpu
