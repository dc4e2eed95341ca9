"""Downloads from a server on loopback that keeps ranges and can be told to misbehave."""

import gzip
import hashlib
import io
import tarfile
import threading
from dataclasses import dataclass, field, replace
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from symbayes import data
from symbayes.data.catalogue import CATALOGUE
from symbayes.data.fetch import DownloadError, Patience, download, fetch
from symbayes.data.images import read_cifar_images
from symbayes.data.source import DataFile, Remote

from .files import cifar_bytes, idx_bytes, random_images

QUICK = Patience(attempts=4, pause=0.0, timeout=5.0)


@dataclass
class Script:
    """What the server holds and how it behaves; `asked` are the Range headers it got."""

    files: dict[str, bytes] = field(default_factory=dict, repr=False)
    cuts: list[int] = field(default_factory=list)
    statuses: list[int] = field(default_factory=list)
    ignores_ranges: bool = False
    wrong_start: bool = False
    hides_length: bool = False
    asked: list[tuple[str, str | None]] = field(default_factory=list)


class Handler(BaseHTTPRequestHandler):
    script: Script

    def do_GET(self):
        script, wanted = self.script, self.headers.get("Range")
        script.asked.append((self.path, wanted))
        content = script.files.get(self.path)
        if script.statuses and (status := script.statuses.pop(0)) != 200:
            return self.send_error(status)
        if content is None:
            return self.send_error(404)
        start = int(wanted.removeprefix("bytes=").removesuffix("-")) if wanted else 0
        if script.ignores_ranges:
            start = 0
        elif wanted and start >= len(content):
            return self.send_error(416)
        self.send_response(206 if wanted and not script.ignores_ranges else 200)
        if wanted and not script.ignores_ranges:
            named = start + 1 if script.wrong_start else start
            self.send_header("Content-Range", f"bytes {named}-{len(content) - 1}/{len(content)}")
        if not script.hides_length:
            self.send_header("Content-Length", str(len(content) - start))
        self.end_headers()
        end = start + script.cuts.pop(0) if script.cuts else len(content)
        self.wfile.write(content[start:end])
        return None

    def log_message(self, format, *args):
        pass


@pytest.fixture(scope="module")
def server():
    handler = type("ScriptedHandler", (Handler,), {"script": Script()})
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as http:
        thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield http
        http.shutdown()
        thread.join()


@pytest.fixture
def script(server):
    server.RequestHandlerClass.script = Script()
    return server.RequestHandlerClass.script


@pytest.fixture
def base(server):
    return f"http://127.0.0.1:{server.server_address[1]}"


def sha256(content):
    return f"sha256:{hashlib.sha256(content).hexdigest()}"


def get(base, target, content, urls=("/file",), patience=QUICK, reports=None):
    remote = Remote(target.name, tuple(base + url for url in urls), sha256(content))
    seen = [] if reports is None else reports
    download(remote, target, lambda path: None, patience, lambda done, total: seen.append((done, total)))


CONTENT = np.random.default_rng(0).bytes(10_000)


def test_a_file_in_one_go(script, base, tmp_path):
    script.files["/file"] = CONTENT
    reports = []
    get(base, tmp_path / "file", CONTENT, reports=reports)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert reports[-1] == (10_000, 10_000)
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


@settings(deadline=None, max_examples=15, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(cuts=st.lists(st.integers(1, 3000), max_size=3), ignores=st.booleans())
def test_cut_off_and_resumed(script, base, tmp_path, cuts, ignores):
    script.files["/file"], script.cuts, script.ignores_ranges = CONTENT, list(cuts), ignores
    script.asked.clear()
    get(base, tmp_path / "file", CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    ranges = [wanted for _, wanted in script.asked]
    assert len(ranges) == len(cuts) + 1
    if not ignores:
        have, expected = 0, []
        for cut in cuts:
            have = max(have - 1, 0) + cut
            expected.append(f"bytes={have - 1}-")
        assert ranges == [None, *expected]


def test_a_part_from_an_earlier_run_is_continued(script, base, tmp_path):
    script.files["/file"] = CONTENT
    (tmp_path / "file.part").write_bytes(CONTENT[:6000])
    get(base, tmp_path / "file", CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert script.asked == [("/file", "bytes=5999-")]


def test_a_whole_part_needs_one_byte(script, base, tmp_path):
    script.files["/file"] = CONTENT
    (tmp_path / "file.part").write_bytes(CONTENT)
    get(base, tmp_path / "file", CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_longer_than_the_file_is_thrown_away(script, base, tmp_path):
    script.files["/file"] = CONTENT
    (tmp_path / "file.part").write_bytes(CONTENT + CONTENT)
    get(base, tmp_path / "file", CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [wanted for _, wanted in script.asked] == ["bytes=19999-", None]


def test_nothing_of_a_longer_part_is_left_where_the_server_sends_it_all(script, base, tmp_path):
    script.files["/file"], script.ignores_ranges = CONTENT, True
    (tmp_path / "file.part").write_bytes(b"x" * 20_000)
    get(base, tmp_path / "file", CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT


def test_a_part_of_another_file_is_noticed_by_the_checksum_and_begun_anew(script, base, tmp_path):
    script.files["/file"] = CONTENT
    (tmp_path / "file.part").write_bytes(b"x" * 6000)
    get(base, tmp_path / "file", CONTENT)
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [wanted for _, wanted in script.asked] == ["bytes=5999-", None]


def test_wrong_bytes_never_get_the_name(script, base, tmp_path):
    script.files["/file"] = CONTENT[:-1] + b"!"
    with pytest.raises(
        DownloadError,
        match=r"could not download file \(.*/file gave wrong bytes.*: try again later, or put it",
    ):
        get(base, tmp_path / "file", CONTENT)
    assert list(tmp_path.iterdir()) == []


def test_the_next_address_is_tried(script, base, tmp_path):
    script.files |= {"/wrong": b"no", "/right": CONTENT}
    get(base, tmp_path / "file", CONTENT, urls=("/missing", "/wrong", "/right"))
    assert (tmp_path / "file").read_bytes() == CONTENT
    assert [path for path, _ in script.asked] == ["/missing", "/wrong", "/right"]


def test_a_busy_server_is_asked_again_and_a_missing_file_is_not(script, base, tmp_path):
    script.files["/file"], script.statuses = CONTENT, [503, 500, 429, 200]
    get(base, tmp_path / "file", CONTENT)
    assert len(script.asked) == 4
    script.asked.clear()
    with pytest.raises(DownloadError, match="404"):
        get(base, tmp_path / "other", CONTENT, urls=("/missing",))
    assert len(script.asked) == 1


def test_giving_up_keeps_the_part(script, base, tmp_path):
    script.files["/file"], script.cuts = CONTENT, [10] * 10
    with pytest.raises(DownloadError, match="broke off after 37 bytes"):
        get(base, tmp_path / "file", CONTENT)
    assert (tmp_path / "file.part").read_bytes() == CONTENT[:37]


def test_a_server_that_answers_another_range(script, base, tmp_path):
    script.files["/file"], script.cuts, script.wrong_start = CONTENT, [100], True
    with pytest.raises(DownloadError, match="asked for bytes from 99"):
        get(base, tmp_path / "file", CONTENT)
    assert not (tmp_path / "file").exists()


def test_a_cut_without_a_length_is_noticed_by_the_checksum(script, base, tmp_path):
    script.files["/file"], script.hides_length, script.cuts = CONTENT, True, [100]
    with pytest.raises(DownloadError, match="gave wrong bytes"):
        get(base, tmp_path / "file", CONTENT)


def test_nobody_listens(tmp_path):
    with pytest.raises(DownloadError, match="refused"):
        get("http://127.0.0.1:9", tmp_path / "file", CONTENT, patience=Patience(2, 0.0, 1.0))


IMAGES, LABELS = random_images(0, 4, 28), np.arange(4, dtype=np.uint8)
IDX = {
    "train-images-idx3-ubyte": idx_bytes(IMAGES[:3]),
    "train-labels-idx1-ubyte": idx_bytes(LABELS[:3]),
    "t10k-images-idx3-ubyte": idx_bytes(IMAGES[3:]),
    "t10k-labels-idx1-ubyte": idx_bytes(LABELS[3:]),
}


@pytest.fixture
def mnist(monkeypatch, script, base):
    """The catalogue's mnist with small files on the server."""
    entry = CATALOGUE["mnist"]
    files = tuple(DataFile(name, len(content), sha256(content)) for name, content in IDX.items())
    remotes = tuple(Remote(f"{name}.gz", (f"{base}/{name}.gz",)) for name in IDX)
    source = replace(entry.sources[0], files=files, remotes=remotes)
    monkeypatch.setitem(CATALOGUE, "mnist", replace(entry, sources=(source,)))
    script.files |= {f"/{name}.gz": gzip.compress(content) for name, content in IDX.items()}
    return script


def test_fetch_then_load(mnist, tmp_path):
    paths = fetch("mnist", tmp_path, QUICK)
    assert sorted(path.name for path in paths) == sorted(f"{name}.gz" for name in IDX)
    dataset = data.load("mnist", tmp_path, validation=1)
    np.testing.assert_array_equal(np.rint(dataset.train.x[..., 0] * 255), IMAGES[:2])
    mnist.asked.clear()
    assert fetch("mnist", tmp_path, QUICK) == paths
    assert mnist.asked == []


def test_only_what_is_missing_or_wrong_is_fetched_again(mnist, tmp_path):
    fetch("mnist", tmp_path, QUICK)
    (tmp_path / "mnist" / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(b"other"))
    (tmp_path / "mnist" / "train-labels-idx1-ubyte.gz").unlink()
    mnist.asked.clear()
    fetch("mnist", tmp_path, QUICK)
    assert [path for path, _ in mnist.asked] == ["/train-labels-idx1-ubyte.gz", "/t10k-images-idx3-ubyte.gz"]
    assert not any(result.problem for result in data.check("mnist", tmp_path))


def test_a_form_without_a_training_part_does_not_replace_the_published_one(monkeypatch, mnist, tmp_path):
    entry = CATALOGUE["mnist"]
    lesser = replace(entry.sources[0], folders=("lesser",), remotes=())
    monkeypatch.setitem(CATALOGUE, "mnist", replace(entry, sources=(*entry.sources, lesser)))
    (tmp_path / "lesser").mkdir()
    for name, content in IDX.items():
        (tmp_path / "lesser" / name).write_bytes(content)
    assert all(path.parent == tmp_path / "mnist" for path in fetch("mnist", tmp_path, QUICK))
    mnist.asked.clear()
    monkeypatch.setitem(CATALOGUE, "mnist", replace(entry, sources=(lesser, *entry.sources)))
    assert all(path.parent == tmp_path / "lesser" for path in fetch("mnist", tmp_path, QUICK))
    assert mnist.asked == []


def test_a_wrong_plain_file_beside_is_named(mnist, tmp_path):
    (tmp_path / "mnist").mkdir()
    (tmp_path / "mnist" / "t10k-images-idx3-ubyte").write_bytes(b"other")
    with pytest.raises(data.DataFormatError, match="t10k-images-idx3-ubyte: should hold"):
        fetch("mnist", tmp_path, QUICK)


def tar_bytes(members, kind=tarfile.REGTYPE):
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.size, info.type = len(content), kind
            tar.addfile(info, io.BytesIO(content))
    return buffer.getvalue()


BATCHES = {
    "train.bin": cifar_bytes(random_images(1, 2, 32, 3), [99, 0], [1, 2]),
    "test.bin": cifar_bytes(random_images(2, 1, 32, 3), [50], [3]),
}


@pytest.fixture
def cifar100(monkeypatch, script, base):
    """A function that puts an archive on the server as the catalogue's cifar100."""

    def serve(archive, digests=True):
        entry = CATALOGUE["cifar100"]
        files = tuple(
            DataFile(name, len(content), sha256(content) if digests else None)
            for name, content in BATCHES.items()
        )
        members = tuple((f"cifar/{name}", name) for name in BATCHES)
        remote = Remote("cifar.tar.gz", (f"{base}/cifar.tar.gz",), sha256(archive), members)
        read = partial(read_cifar_images, records=2, test_records=1)
        source = replace(entry.sources[0], files=files, remotes=(remote,), read=read)
        monkeypatch.setitem(CATALOGUE, "cifar100", replace(entry, sources=(source,)))
        script.files["/cifar.tar.gz"] = archive
        return script

    return serve


@pytest.mark.parametrize("digests", [True, False])
def test_an_archive_is_unpacked(cifar100, tmp_path, digests):
    members = {f"cifar/{name}": content for name, content in BATCHES.items()}
    script = cifar100(tar_bytes({"../evil": b"x", **members, "cifar/readme.html": b"hello"}), digests)
    fetch("cifar100", tmp_path, QUICK)
    written = sorted(path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file())
    assert written == ["cifar-100-binary/test.bin", "cifar-100-binary/train.bin"]
    assert data.load("cifar100", tmp_path, validation=0).train.y.tolist() == [99, 0]
    fetch("cifar100", tmp_path, QUICK)
    assert len(script.asked) == 1


@pytest.mark.parametrize(
    "archive",
    [
        tar_bytes({"cifar/train.bin": BATCHES["train.bin"]}),
        tar_bytes({f"cifar/{name}": content[:-1] for name, content in BATCHES.items()}),
        tar_bytes({f"cifar/{name}": content[:-1] + b"!" for name, content in BATCHES.items()}),
        tar_bytes({f"cifar/{name}": b"" for name in BATCHES}, tarfile.SYMTYPE),
        b"no archive at all",
    ],
)
def test_a_wrong_archive(cifar100, tmp_path, archive):
    cifar100(archive)
    with pytest.raises(data.DataFormatError):
        fetch("cifar100", tmp_path, QUICK)
    assert not list(tmp_path.rglob("*.part"))
    assert not (tmp_path / "cifar-100-binary" / "test.bin").exists()


def test_without_a_public_address(tmp_path):
    with pytest.raises(ValueError, match=r"notmnist has no public address .* put notmnist_test_10k"):
        fetch("notmnist", tmp_path)


def test_an_embedded_dataset_needs_nothing(tmp_path):
    assert fetch("digits", tmp_path) == []


def test_an_unknown_dataset(tmp_path):
    with pytest.raises(ValueError, match="no dataset is called"):
        fetch("imagenet-22k", tmp_path)
