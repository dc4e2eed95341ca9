"""The results of the parts of a study, each in a file of its own.

    parts/NAME.json        settings and their checksum, the result, date, hardware and time
    parts/NAME.unfinished  the finished steps of a part that is not done, and the time spent on it

A file is written as a whole as soon as its part or step is done, so a study that is stopped keeps its
results.
"""

from __future__ import annotations

import json
import platform
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import jax

from symbayes import specs
from symbayes.draws import RunError, files
from symbayes.report.numbers import json_text

FOLDER = "parts"


@dataclass(frozen=True)
class Result:
    """The result of a part.

    Attributes:
        settings: the settings of the part, as JSON.
        sha256: checksum of the settings.
        found: the result itself.
        seconds: the wall-clock time it took.
        made: the date and time.
        hardware: the devices it was computed on.
        versions: the versions of the software.
        warnings: the warnings of its runs.
    """

    settings: dict[str, Any]
    sha256: str
    found: dict[str, Any]
    seconds: float
    made: str
    hardware: str
    versions: dict[str, str]
    warnings: dict[str, list[str]]

    @classmethod
    def of(
        cls, settings: dict[str, Any], found: Any, seconds: float, warnings: dict[str, list[str]]
    ) -> Result:
        """A new result.  Its numbers go through JSON, so that a page from memory equals one from the file."""
        return cls(
            settings=settings,
            sha256=checksum(settings),
            found=json.loads(json_text(found)),
            seconds=round(seconds, 1),
            made=time.strftime("%Y-%m-%d %H:%M UTC", time.gmtime()),
            hardware=f"{jax.device_count()} x {jax.devices()[0].device_kind}, {platform.machine()}",
            versions=specs.installed_versions(),
            warnings=warnings,
        )

    def record(self) -> dict[str, Any]:
        """As JSON."""
        return asdict(self)


def settings_of(part: Any, seed: int) -> dict[str, Any]:
    """All settings that decide the result of a part, as JSON."""
    return json.loads(json.dumps({"seed": seed, **specs.encode(part)}))


def checksum(settings: dict[str, Any]) -> str:
    return files.sha256(json.dumps(settings, sort_keys=True).encode())


def path_of(folder: Path, name: str) -> Path:
    return folder / FOLDER / f"{name}.json"


class Unfinished:
    """The finished steps of a part, by name, and the seconds spent on it; empty where it has not begun.

    Steps of other settings are not taken, nor are those of a damaged file.
    """

    def __init__(self, folder: Path, name: str, settings: dict[str, Any]) -> None:
        self.path, self.sha256 = _unfinished(folder, name), checksum(settings)
        self.steps: dict[str, Any] = {}
        self._before, self._begin = 0.0, time.monotonic()
        try:
            stored = json.loads(self.path.read_text())
            if stored["sha256"] == self.sha256:
                self.steps, self._before = dict(stored["steps"]), float(stored["seconds"])
        except (OSError, ValueError, KeyError, TypeError):
            pass

    @property
    def seconds(self) -> float:
        return self._before + time.monotonic() - self._begin

    def add(self, name: str, found: Any) -> None:
        """Store a step.  Its numbers go through JSON, so that it is the same when it is read back."""
        self.steps[name] = json.loads(json_text(found))
        self.write()

    def write(self) -> None:
        files.make_folders(self.path.parent)
        files.write_json(self.path, {"sha256": self.sha256, "seconds": self.seconds, "steps": self.steps})


def _unfinished(folder: Path, name: str) -> Path:
    return folder / FOLDER / f"{name}.unfinished"


def write(folder: Path, name: str, result: Result) -> None:
    path = path_of(folder, name)
    files.make_folders(path.parent)
    files.write_bytes(path, json_text(result.record()).encode())
    _unfinished(folder, name).unlink(missing_ok=True)


def read(folder: Path, name: str, settings: dict[str, Any]) -> Result | None:
    """The stored result, or None if there is none.  A result of other settings is refused."""
    path = path_of(folder, name)
    if not path.exists():
        return None
    try:
        result = Result(**json.loads(path.read_text()))
    except (ValueError, TypeError):
        result = None
    if result is None or checksum(result.settings) != result.sha256:
        raise RunError(f"{path} is damaged: restore it from a copy, or remove it to do this part again")
    if result.sha256 != checksum(settings):
        lines = specs.differences(result.settings, settings)
        raise RunError(
            f"{folder} holds the part {name} with other settings ({'; '.join(lines[:3])}): "
            f"choose another folder with --out, or remove {path} to do it again"
        )
    return result
