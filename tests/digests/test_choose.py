"""The choice of a backend: by name, by measurement with backends of known speed, and what is remembered of it."""

from __future__ import annotations

import ctypes
import json
import os
import pickle
import sys

import pytest

from dedupe.digests import speeds
from dedupe.digests.choose import BySize, choose, compete
from dedupe.digests.registry import load
from dedupe.digests.speeds import Speed
from dedupe.errors import BackendError
from tests.memory_backend import Clock, MemoryBackend

SYSTEM = {"darwin": "macOS", "linux": "Linux", "win32": "Windows"}[sys.platform]


@pytest.fixture
def clock(monkeypatch):
    """Let measuring read a clock that only backends of known speed move."""
    clock = Clock()
    monkeypatch.setattr(speeds, "perf_counter", clock)
    return clock


@pytest.fixture
def pair(clock):
    """Make two backends of the speeds that are given as (call microseconds, megabytes per second)."""

    def make(usual, rival):
        return [
            MemoryBackend(name, clock=clock, call_seconds=call / 1e6, bytes_per_second=rate * 1e6)
            for name, (call, rate) in {"hashlib": usual, "cng": rival}.items()
        ]

    return make


@pytest.fixture
def unlike(pair):
    """Make two backends of which the rival is the faster one."""
    return pair((1, 250), (1, 2000))


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


@pytest.mark.parametrize(
    ("usual", "rival", "name", "reason"),
    [
        ((1, 266), (1, 2100), "cng", "measured here: cng 2100 MB/s, hashlib 266 MB/s"),
        ((1, 1800), (2, 300), "hashlib", "measured here: hashlib 1800 MB/s, cng 300 MB/s"),
        (
            (1, 500),
            (1, 520),
            "hashlib",
            "measured here: hashlib 500 MB/s, cng 520 MB/s, too close to change the backend",
        ),
        ((1, 250), (4, 2000), "cng", "measured here: cng 2000 MB/s, hashlib 250 MB/s; hashlib below 857 bytes"),
        ((9, 2000), (1, 250), "hashlib", "measured here: hashlib 2000 MB/s, cng 250 MB/s; cng below 2286 bytes"),
    ],
)
def test_speeds_decide(usual, rival, name, reason, pair, path):
    """The faster one is measured and chosen, for the sizes at which it is; the sentence has the figures."""
    backend, choice = compete("sha256", *pair(usual, rival), path)
    assert backend.name == choice.name == name
    assert choice.reason == reason
    if "below" in reason:
        assert (backend.small.name, backend.large.name) == (reason.split("; ")[1].split()[0], name)
        assert reason.endswith(f"below {backend.limit} bytes")


@pytest.mark.parametrize("rate", [5, 50, 500, 5000, 50_000])
def test_measuring_does_not_take_long(rate, pair, clock):
    """However slow a backend is, a tenth of a second is the most, and fast ones take a few milliseconds."""
    compete("sha256", *pair((5, rate), (5, 500)), None)
    assert 0 < clock.now < (0.1 if rate < 500 else 0.02)


@pytest.mark.parametrize("spoilt", [0, 1, 2])
def test_a_busy_computer_does_not_mislead(spoilt, pair, clock):
    """Where another program took the time of one round, the other rounds count."""
    usual, rival = pair((1, 250), (1, 2000))
    rounds = iter(range(10_000))
    digest = rival.hasher

    def interrupted(*arguments):
        if len(arguments[1]) > 1000 and next(rounds) == spoilt:
            clock.now += 0.05
        return digest(*arguments)

    rival.hasher = interrupted
    assert compete("sha256", usual, rival, None)[1].reason == "measured here: cng 2000 MB/s, hashlib 250 MB/s"


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


def test_measured_once(path, unlike, monkeypatch):
    """The second time the file is believed, for each algorithm on its own."""
    first = compete("sha256", *unlike, path)[1]
    compete("md5", *unlike, path)
    assert set(json.loads(path.read_text(encoding="utf-8"))["speeds"]) == {"sha256", "md5"}
    monkeypatch.setattr(speeds, "measure", lambda *_: pytest.fail("measured again"))
    assert compete("sha256", *unlike, path)[1] == first
    assert os.listdir(path.parent) == [path.name]


@pytest.mark.parametrize("key", ["processor", "python", "openssl", "system"])
def test_measured_again_elsewhere(key, path, pair, monkeypatch):
    """Another processor, Python, OpenSSL or system makes all figures void."""
    for algorithm in ("sha256", "md5"):
        speeds.remember(path, algorithm, {"hashlib": Speed(1e-6, 1e6), "cng": Speed(1e-6, 9e9)})
    here = speeds.holds_for()
    assert all(here.values())
    monkeypatch.setattr(speeds, "holds_for", lambda: here | {key: "another"})
    backend, _ = compete("sha256", *pair((1, 2000), (1, 250)), path)
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
def test_a_file_that_cannot_be_used(content, path, unlike):
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
    backend, _ = compete("sha256", *unlike, path)
    assert backend.name == "cng"
    assert speeds.recall(path, "sha256", ("hashlib", "cng")) is not None


def test_a_place_that_cannot_be_written(tmp_path, unlike):
    """Where nothing can be kept the choice is made all the same, each time anew."""
    (tmp_path / "file").write_bytes(b"")
    (tmp_path / "folder").mkdir()
    for place in (tmp_path / "file" / "backends.json", tmp_path / "folder"):
        backend, _ = compete("sha256", *unlike, place)
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
