"""The choice of a backend: by name, by measurement with backends of known speed, and what is remembered of it."""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import sys
import time

import pytest

from dedupe.digests import speeds
from dedupe.digests.choose import BySize, choose, compete
from dedupe.digests.registry import load
from dedupe.digests.speeds import Speed
from dedupe.errors import BackendError
from tests.memory_backend import MemoryBackend

SYSTEM = {"darwin": "macOS", "linux": "Linux", "win32": "Windows"}[sys.platform]


def paced(name, megabytes_per_second, call_microseconds=0):
    """Make a backend that is no faster than this."""
    return MemoryBackend(name, seconds_per_byte=1e-6 / megabytes_per_second, seconds_per_digest=call_microseconds / 1e6)


def told(path, usual, rival, algorithm="sha256"):
    """Write figures for two backends, each as (call seconds, bytes per second), and return what is chosen by them."""
    figures = {"hashlib": Speed(*usual), "cng": Speed(*rival)}
    speeds.remember(path, algorithm, figures)
    return compete(algorithm, MemoryBackend("hashlib"), MemoryBackend("cng"), path)


@pytest.fixture
def path(tmp_path):
    """Name a file for measurements in a folder that does not exist yet."""
    return tmp_path / "cache" / "backends.json"


@pytest.fixture
def no_measuring(monkeypatch):
    """Make measuring an error."""
    monkeypatch.setattr(speeds, "measure", lambda *_: pytest.fail("measured without need"))


@pytest.mark.skipif(sys.platform == "win32", reason="there two backends compete")
@pytest.mark.parametrize("algorithm", ["sha256", "sha512", "sha384", "sha1", "md5"])
def test_elsewhere_hashlib_is_the_only_one(algorithm, path, no_measuring):
    """Off Windows hashlib is chosen with the plain reason, and nothing is measured or written."""
    backend, choice = choose(algorithm, measurements=path)
    assert backend is load("hashlib")
    assert (choice.name, choice.reason) == ("hashlib", f"the only backend for {algorithm} on {SYSTEM}")
    assert not path.parent.exists()


@pytest.mark.parametrize(("algorithm", "name"), [("xxh3", "xxhash"), ("blake2b", "hashlib"), ("sha3_256", "hashlib")])
def test_algorithms_that_one_backend_has(algorithm, name, path, no_measuring):
    """An algorithm of a single backend goes to it on every system."""
    backend, choice = choose(algorithm, measurements=path)
    assert algorithm in backend.algorithms
    assert choice.name == backend.name == name
    assert choice.reason.startswith(f"the only backend for {algorithm}")


def test_blake3_is_there_or_says_how_to_get_it():
    """With its package blake3 is computed by it; without, the error names the command."""
    try:
        backend, choice = choose("blake3", measurements=None)
    except BackendError as error:
        assert "pip install dedupe-files[blake3]" in str(error)  # noqa: PT017 - either outcome is right
    else:
        assert choice.name == backend.name == "blake3"


def test_a_request_is_followed(no_measuring):
    """A backend asked for by name is used and the reason says so."""
    backend, choice = choose("sha256", "hashlib", measurements=None)
    assert (backend, choice.name, choice.reason) == (load("hashlib"), "hashlib", "asked for")


@pytest.mark.parametrize(
    ("algorithm", "requested", "words"),
    [
        ("xxh3", "hashlib", "the hashlib backend has no xxh3: it offers blake2b, "),
        ("sha256", "xxhash", "the xxhash backend has no sha256: it offers xxh3"),
        ("sha256", "openssl", "there is no digest backend openssl: choose from blake3, cng, hashlib, xxhash"),
        ("whirlpool", "auto", "has no whirlpool"),
    ],
)
def test_a_request_that_cannot_be_met(algorithm, requested, words):
    """There is no fallback: an absent backend or algorithm is one sentence and exit code 2."""
    with pytest.raises(BackendError, match=words) as caught:
        choose(algorithm, requested, measurements=None)
    assert caught.value.exit_code == 2
    assert "\n" not in str(caught.value)


@pytest.mark.skipif(sys.platform == "win32", reason="there it is available")
def test_cng_asked_for_elsewhere():
    """Asking for cng off Windows fails with the reason; hashlib does not step in."""
    with pytest.raises(BackendError, match="not Windows"):
        choose("sha256", "cng", measurements=None)


@pytest.mark.skipif(sys.platform != "win32", reason="needs Windows")
@pytest.mark.parametrize("algorithm", ["sha256", "sha512", "sha384", "sha1", "md5"])
def test_on_windows_both_are_measured(algorithm, path, monkeypatch):
    """On Windows hashlib and cng are measured once, the faster one is chosen, and the reason has both figures."""
    backend, choice = choose(algorithm, measurements=path)
    assert choice.name in {"hashlib", "cng"}
    assert "hashlib" in choice.reason
    assert "cng" in choice.reason
    assert "MB/s" in choice.reason
    monkeypatch.setattr(speeds, "measure", lambda *_: pytest.fail("measured again"))
    assert choose(algorithm, measurements=path)[1] == choice
    assert backend.hasher(algorithm, b"abc").digest() == load("hashlib").hasher(algorithm, b"abc").digest()


@pytest.mark.parametrize(("usual", "rival", "winner"), [(40, 400, "cng"), (400, 40, "hashlib")])
def test_the_faster_one_is_measured_and_chosen(usual, rival, winner, path):
    """Of two backends of known and very different speeds the faster one is found, within a tenth of a second."""
    begun = time.process_time()  # nothing sleeps: on an idle computer it is the time that passes
    backend, choice = compete("sha256", paced("hashlib", usual, 5), paced("cng", rival, 5), path)
    assert time.process_time() - begun < 0.1
    assert backend.name == choice.name == winner
    assert choice.reason.startswith(f"measured here: {winner} ")


def test_a_very_slow_backend_does_not_take_long():
    """One round is enough when it takes long: never more than a tenth of a second."""
    begun = time.process_time()
    backend, _ = compete("sha256", paced("hashlib", 10), paced("cng", 500), None)
    assert time.process_time() - begun < 0.1
    assert backend.name == "cng"


def test_sizes_are_measured(path):
    """A backend with slow calls and a fast rate gets the large inputs only, from about where the two cross."""
    backend, choice = compete("sha256", paced("hashlib", 50, 1), paced("cng", 400, 300), path)
    assert isinstance(backend, BySize)
    assert (backend.small.name, backend.large.name, choice.name) == ("hashlib", "cng", "cng")
    assert 8_000 < backend.limit < 40_000  # 299 us * 57 MB/s, and what Python's own steps add
    assert choice.reason.endswith(f"; hashlib below {backend.limit} bytes")


@pytest.mark.parametrize(
    ("usual", "rival", "name", "reason"),
    [
        ((1e-6, 266e6), (1e-6, 2100e6), "cng", "measured here: cng 2100 MB/s, hashlib 266 MB/s"),
        ((1e-6, 1800e6), (2e-6, 300e6), "hashlib", "measured here: hashlib 1800 MB/s, cng 300 MB/s"),
        (
            (1e-6, 500e6),
            (1e-6, 520e6),
            "hashlib",
            "measured here: hashlib 500 MB/s, cng 520 MB/s, too close to change for",
        ),
        (
            (1e-6, 250e6),
            (4e-6, 2000e6),
            "cng",
            "measured here: cng 2000 MB/s, hashlib 250 MB/s; hashlib below 857 bytes",
        ),
        (
            (9e-6, 2000e6),
            (1e-6, 250e6),
            "hashlib",
            "measured here: hashlib 2000 MB/s, cng 250 MB/s; cng below 2286 bytes",
        ),
    ],
)
def test_figures_decide(usual, rival, name, reason, path, no_measuring):
    """Remembered figures give the choice, the size from which it holds, and the sentence."""
    backend, choice = told(path, usual, rival)
    assert backend.name == choice.name == name
    assert choice.reason == reason


def test_a_choice_by_size():
    """Inputs that are known to be small go to one backend, all others to the other, with the same digest."""
    both = BySize(MemoryBackend("small"), MemoryBackend("large"), 100)
    seen = []
    both.small.hasher = lambda *_: seen.append("small")
    both.large.hasher = lambda *_: seen.append("large")
    for hint in (0, 99, 100, None, 1 << 40):
        both.hasher("sha256", size_hint=hint)
    assert seen == ["small", "small", "large", "large", "large"]
    assert both.name == "large"


def test_a_choice_by_size_travels():
    """A choice by size can be pickled for workers."""
    both = pickle.loads(pickle.dumps(BySize(load("hashlib"), load("hashlib"), 100)))
    assert both == BySize(load("hashlib"), load("hashlib"), 100)
    assert both.algorithms == load("hashlib").algorithms
    assert both.hasher("md5", b"abc", size_hint=3).digest() == load("hashlib").hasher("md5", b"abc").digest()


def test_backends_that_disagree():
    """Different digests of the same bytes are never settled by speed: the user is asked to name one."""
    wrong = MemoryBackend("cng")
    wrong.hasher = lambda _algorithm, data: MemoryBackend().hasher("md5", data)
    with pytest.raises(BackendError, match=r"cng and hashlib disagree about the sha256 .* --backend"):
        compete("sha256", MemoryBackend("hashlib"), wrong, None)


def test_measured_once(path, monkeypatch):
    """The second time the file is believed, for each algorithm on its own."""
    fast, slow = paced("cng", 300), paced("hashlib", 30)
    first = compete("sha256", slow, fast, path)[1]
    compete("md5", slow, fast, path)
    assert set(json.loads(path.read_text(encoding="utf-8"))["speeds"]) == {"sha256", "md5"}
    monkeypatch.setattr(speeds, "measure", lambda *_: pytest.fail("measured again"))
    assert compete("sha256", slow, fast, path)[1] == first
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("key", ["processor", "python", "openssl", "system"])
def test_measured_again_elsewhere(key, path, monkeypatch):
    """Another processor, Python, OpenSSL or system makes all figures void."""
    told(path, (1e-6, 1e6), (1e-6, 9e9))
    told(path, (1e-6, 1e6), (1e-6, 9e9), "md5")
    here = speeds.holds_for()
    assert all(here.values())
    monkeypatch.setattr(speeds, "holds_for", lambda: here | {key: "another"})
    backend, _ = compete("sha256", paced("hashlib", 300), paced("cng", 30), path)
    assert backend.name == "hashlib"
    assert set(json.loads(path.read_text(encoding="utf-8"))["speeds"]) == {"sha256"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"{",
        b"\xff\xfe",
        b"[]",
        b"null",
        b'{"format": "dedupe-backends/99"}',
        "speeds: []",
        "speeds: {'sha256': 5}",
        "speeds: {'sha256': {'hashlib': {}, 'cng': {}}}",
        "speeds: {'sha256': {'hashlib': {'call_seconds': 0, 'bytes_per_second': 0}, 'cng': 1}}",
        "figures: -1",
        "figures: 0",
        "figures: NaN",
    ],
)
def test_a_file_that_cannot_be_used(content, path):
    """A file that is broken, foreign or absurd is measured over and mended."""
    path.parent.mkdir()
    if isinstance(content, str):
        kind, _, value = content.partition(": ")
        figures = f"{{'call_seconds': 0.0, 'bytes_per_second': {value}}}"
        if kind == "figures":
            value = f"{{'sha256': {{'hashlib': {figures}, 'cng': {figures}}}}}"
        whole = {"format": "dedupe-backends/1", "holds_for": speeds.holds_for(), "speeds": "@"}
        content = json.dumps(whole).replace('"@"', value.replace("'", '"')).encode()
    path.write_bytes(content)
    backend, _ = compete("sha256", paced("hashlib", 30), paced("cng", 300), path)
    assert backend.name == "cng"
    assert speeds.recall(path, "sha256", ("hashlib", "cng")) is not None


def test_a_place_that_cannot_be_written(tmp_path):
    """Where nothing can be kept the choice is made all the same, each time anew."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "file" / "backends.json", tmp_path / "folder"):
        backend, _ = compete("sha256", paced("hashlib", 30), paced("cng", 300), place)
        assert backend.name == "cng"
    assert sorted(os.listdir(tmp_path)) == ["file", "folder"]
    assert not os.listdir(tmp_path / "folder")


@pytest.mark.skipif(sys.platform == "win32", reason="stands for a Windows whose bcrypt.dll is broken")
def test_a_rival_that_is_missing_is_named(monkeypatch):
    """Where cng should be there and is not, hashlib's reason says why."""

    def broken(*_, **__):
        raise OSError("no such library")

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(ctypes, "WinDLL", broken, raising=False)
    backend, choice = choose("sha256", measurements=None)
    assert backend.name == "hashlib"
    assert choice.reason == (
        "the only backend for sha256 on Windows; the cng backend cannot load bcrypt.dll: no such library"
    )
    assert choose("blake2b", measurements=None)[0].name == "hashlib"
