"""Whoever takes part computes what it says."""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable

import pytest

from dedupe.bench import participants as module
from dedupe.bench.participants import ALGORITHMS, MEANINGS, Participant, Use, participants
from tests.strict_bcrypt import StrictBcrypt

DATA = bytes(range(256)) * 33
EXPECTED: dict[str, Callable[[bytes], bytes]] = {
    name: lambda data, name=name: hashlib.new(name, data).digest()  # type: ignore[misc]
    for name in ("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b", "blake2s")
} | {"blake2b_256": lambda data: hashlib.blake2b(data, digest_size=32).digest()}
EVERYBODY = participants()


@pytest.mark.parametrize("one", EVERYBODY, ids=lambda one: one.name)
def test_whole_and_stream_agree(one: Participant) -> None:
    """A participant's digest is right, and the same at once and in pieces, also of a view and of nothing."""
    for data in (b"", DATA):
        whole = one.whole(memoryview(data))
        stream = one.start()
        for place in range(0, len(data), 1000):
            stream.update(memoryview(data)[place : place + 1000])
        assert stream.digest() == whole
        assert whole == EXPECTED.get(one.algorithm, lambda _, whole=whole: whole)(data)


@pytest.mark.parametrize(
    ("algorithm", "start"),
    # of no bytes at all: https://github.com/Cyan4973/xxHash, tests/sanity_test_vectors.h
    [
        ("xxh32", "02cc5d05"),
        ("xxh64", "ef46db3751d8e999"),
        ("xxh3_64", "2d06800538d394c2"),
        ("xxh3", "99aa06d3014798d86001c324468d497f"),
    ],
)
def test_checksums_of_nothing(algorithm: str, start: str) -> None:
    """The checksums are those of xxHash, in its canonical order of bytes."""
    (one,) = (one for one in EVERYBODY if one.algorithm == algorithm)
    assert one.whole(b"").hex() == start


def test_everything_that_people_weigh_takes_part() -> None:
    """Every algorithm but the optional ones is here, and OpenSSL's code stands beside Python's own."""
    names = {one.name for one in EVERYBODY}
    assert {one.algorithm for one in EVERYBODY} >= ALGORITHMS.keys() - {"blake3"}
    for algorithm in ("md5", "sha1", "sha256", "sha512", "sha3_256"):
        assert {f"{algorithm}/openssl", f"{algorithm}/builtin"} <= names
    assert len(names) == len(EVERYBODY)


def test_openssl_and_builtin_are_not_the_same_code() -> None:
    """What is called OpenSSL's is OpenSSL's, and what is called Python's own is not."""
    for one in EVERYBODY:
        if one.supplier == "openssl":
            assert type(one.start()).__module__ == "_hashlib", one.name
        if one.supplier == "builtin":
            assert type(one.start()).__module__ != "_hashlib", one.name


@pytest.mark.parametrize("package", ["cryptography", "blake3", "Crypto"])
def test_missing_packages_are_left_out(monkeypatch: pytest.MonkeyPatch, package: str) -> None:
    """Without an optional package the rest takes part as before."""
    for name in [name for name in sys.modules if name.partition(".")[0] == package]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, package, None)
    assert {one.name for one in participants()} <= {one.name for one in EVERYBODY}


def test_cng_with_and_without_reuse(monkeypatch: pytest.MonkeyPatch) -> None:
    """CNG takes part twice: once with hash objects used again, and once with a new one for every digest."""
    from dedupe.digests import cng, registry

    library = StrictBcrypt()
    monkeypatch.setattr(cng, "_system_library", lambda: library)
    monkeypatch.setattr(registry, "load", lambda _: cng.CngBackend(library))
    found = {one.name: one for one in module._cng()}
    created = {}
    for name in ("sha256/cng", "sha256/cng-fresh"):
        one = found[name]
        assert one.whole(DATA) == hashlib.sha256(DATA).digest()
        library.calls.clear()
        for _ in range(3):
            one.whole(DATA)
        created[name] = library.calls.count("BCryptCreateHash")
    assert created == {"sha256/cng": 0, "sha256/cng-fresh": 3}


def test_every_use_is_explained() -> None:
    """Whether a hash proves anything is said in words for each kind of it."""
    assert MEANINGS.keys() == set(Use) == set(ALGORITHMS.values())
