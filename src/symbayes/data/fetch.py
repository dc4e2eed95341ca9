"""Download a dataset's files: resumed where they broke off, verified, then put in place at once."""

from __future__ import annotations

import hashlib
import http.client
import os
import tarfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

from symbayes.data.folder import data_folder
from symbayes.data.formats import DataFormatError
from symbayes.data.registry import find
from symbayes.data.source import CHUNK, DataFile, Remote, Source

Report = Callable[[int, int | None], None]
"""Called with the bytes had so far and the bytes in all, where the server says."""


class DownloadError(OSError):
    """No address gave the file."""


@dataclass(frozen=True)
class Patience:
    """How often a broken connection is tried again, how long to wait before, and for an answer (s)."""

    attempts: int = 5
    pause: float = 1.0
    timeout: float = 30.0


def fetch(name: str, root: str | Path | None = None, patience: Patience | None = None) -> list[Path]:
    """The dataset's files, downloaded where they are not there and right; shows progress on stderr."""
    entry, folder = find(name), data_folder(root)
    for source in entry.sources:
        paths = source.locate(folder)
        if paths is not None and not _wrong(source, paths):
            return list(paths.values())
        if source.remotes:
            break
    else:
        wanted = ", ".join(file.name for file in entry.sources[0].files)
        raise ValueError(
            f"{name} has no public address in the form that is read here; "
            f"put {wanted} into {folder / entry.sources[0].folders[0]}"
        )
    _fetch_source(source, folder / source.folders[0], patience or Patience())
    paths = source.locate(folder) or {}
    source.verify(paths)
    return list(paths.values())


def _wrong(source: Source, paths: dict[str, Path]) -> bool:
    try:
        source.verify(paths)
    except DataFormatError:
        return True
    return False


def _fetch_source(source: Source, folder: Path, patience: Patience) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    columns = TextColumn("{task.description}"), BarColumn(), DownloadColumn(), TransferSpeedColumn()
    with Progress(*columns, console=Console(stderr=True)) as progress:
        for remote in source.remotes:
            task = progress.add_task(remote.saved_as, total=None)

            def report(done: int, total: int | None, task=task) -> None:
                progress.update(task, completed=done, total=total)

            _fetch_remote(source, remote, folder, patience, report)


def _fetch_remote(source: Source, remote: Remote, folder: Path, patience: Patience, report: Report) -> None:
    by_name = {file.name: file for file in source.files}
    target = folder / remote.saved_as
    if not remote.members:
        file = by_name[remote.saved_as.removesuffix(".gz")]
        if not _is(file, target):
            download(remote, target, file.verify, patience, report)
        return
    wanted = [(member, by_name[name]) for member, name in remote.members]
    if not all(_is(file, folder / file.name) for _, file in wanted):
        download(remote, target, lambda path: None, patience, report)
        unpack(target, wanted, folder)
        target.unlink()


def _is(file: DataFile, path: Path) -> bool:
    try:
        file.verify(path)
    except (DataFormatError, FileNotFoundError):
        return False
    return True


def download(
    remote: Remote, target: Path, verify: Callable[[Path], None], patience: Patience, report: Report
) -> None:
    """Fetch from the first address that gives the right bytes; only those ever get the name `target`."""
    part = target.with_name(target.name + ".part")
    problems = []
    urls = list(remote.urls)
    if part.exists():  # what an earlier run left may be of another file: the first address gets two chances
        urls.insert(0, urls[0])
    for url in urls:
        try:
            _download_whole(url, part, patience, report)
            _check_digest(part, remote.digest)
            verify(part)
        except DataFormatError as error:
            part.unlink(missing_ok=True)
            problems.append(f"{url} gave wrong bytes: {error.problem}")
        except DownloadError as error:
            problems.append(str(error))
        else:
            os.replace(part, target)
            return
    raise DownloadError(
        f"could not download {target.name} ({'; '.join(problems)}): try again later, or put it into "
        f"{target.parent} yourself"
    )


def _check_digest(path: Path, digest: str | None) -> None:
    if digest is None:
        return
    name, _, expected = digest.partition(":")
    with path.open("rb") as file:
        found = hashlib.file_digest(file, name).hexdigest()
    if found != expected:
        raise DataFormatError(path, f"its {name} is {found}, not {expected}")


def _download_whole(url: str, part: Path, patience: Patience, report: Report) -> None:
    """Ask again, from where it broke off, until the whole file is in `part`."""
    problem = "nothing was tried"
    for attempt in range(patience.attempts):
        if attempt:
            time.sleep(patience.pause * 2 ** (attempt - 1))
        try:
            if _download_rest(url, part, patience.timeout, report):
                return
            problem = f"the connection broke off after {part.stat().st_size} bytes"
        except urllib.error.HTTPError as error:
            error.close()
            problem = f"the server answered {error.code} {error.reason}"
            if error.code == 416:  # what is there already is longer than the file: begin anew
                part.unlink(missing_ok=True)
            elif error.code < 500 and error.code not in (408, 429):
                break
        except (urllib.error.URLError, http.client.HTTPException, ConnectionError, TimeoutError) as error:
            problem = str(getattr(error, "reason", error)) or type(error).__name__
    raise DownloadError(f"{url}: {problem}")


def _download_rest(url: str, part: Path, timeout: float, report: Report) -> bool:
    """Append what is missing (or begin anew if the server sends it all); whether it is complete."""
    have = part.stat().st_size if part.exists() else 0
    request = urllib.request.Request(url, headers={"User-Agent": "symbayes"})
    if have:
        request.add_header("Range", f"bytes={have - 1}-")  # one byte back, so that a whole file is no error
    with urllib.request.urlopen(request, timeout=timeout) as response:
        start = have - 1 if _resumes(response, have) else 0
        length = response.headers.get("Content-Length")
        total = start + int(length) if length is not None and length.isdigit() else None
        done = start
        with part.open("r+b" if part.exists() else "wb") as file:
            file.truncate(start)
            file.seek(start)
            while chunk := response.read(CHUNK):
                file.write(chunk)
                done += len(chunk)
                report(done, total)
            file.flush()
            os.fsync(file.fileno())
    return total is None or done == total


def _resumes(response: http.client.HTTPResponse, have: int) -> bool:
    if response.status != 206:
        return False
    given = response.headers.get("Content-Range", "")
    if not given.startswith(f"bytes {have - 1}-"):
        raise http.client.HTTPException(f"asked for bytes from {have - 1}, the server sent {given!r}")
    return True


def unpack(archive: Path, wanted: list[tuple[str, DataFile]], folder: Path) -> None:
    """Write these members of a tar archive into `folder`, each verified before it gets its name."""
    try:
        with tarfile.open(archive) as tar:
            for member, file in wanted:
                _unpack_member(tar, member, file, folder / file.name)
    except (tarfile.TarError, KeyError, EOFError) as error:
        raise DataFormatError(archive, f"the archive is damaged ({error})") from error


def _unpack_member(tar: tarfile.TarFile, member: str, file: DataFile, target: Path) -> None:
    info = tar.getmember(member)
    content = tar.extractfile(info) if info.isfile() else None
    if content is None or (file.size is not None and info.size != file.size):
        raise tarfile.TarError(f"{member} is no file of {file.size} bytes")
    part = target.with_name(target.name + ".part")
    with content, part.open("wb") as output:
        while chunk := content.read(CHUNK):
            output.write(chunk)
        output.flush()
        os.fsync(output.fileno())
    try:
        file.verify(part)
    except DataFormatError:
        part.unlink()
        raise
    os.replace(part, target)
