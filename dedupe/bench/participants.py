"""Finds the participants: every supplier here of every algorithm.  Times nothing and computes nothing itself."""

from __future__ import annotations

import functools
import hashlib
import importlib
import importlib.metadata
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Protocol

from dedupe.errors import BackendError

if TYPE_CHECKING:
    from typing_extensions import Buffer


class Use(StrEnum):
    """What a hash can prove, since a checksum is often taken for a proof."""

    CRYPTOGRAPHIC = "cryptographic"
    BROKEN = "broken"
    CHECKSUM = "checksum"


MEANINGS = {
    Use.CRYPTOGRAPHIC: "nobody knows how to make two files with one digest: equal digests mean equal files",
    Use.BROKEN: "was cryptographic, but two files with one digest can be made on purpose; by chance it does not happen",
    Use.CHECKSUM: "finds accidents only: anybody can make two files with one checksum, and two of some 77,000 files "
    "share one of 32 bits by chance, of 64 bits two of some 5,000 million",
}

# In the order of tables
ALGORITHMS = {
    "md5": Use.BROKEN,
    "sha1": Use.BROKEN,
    "sha256": Use.CRYPTOGRAPHIC,
    "sha512": Use.CRYPTOGRAPHIC,
    "sha3_256": Use.CRYPTOGRAPHIC,
    "blake2b": Use.CRYPTOGRAPHIC,
    "blake2b_256": Use.CRYPTOGRAPHIC,
    "blake2s": Use.CRYPTOGRAPHIC,
    "blake3": Use.CRYPTOGRAPHIC,
    "xxh32": Use.CHECKSUM,
    "xxh64": Use.CHECKSUM,
    "xxh3_64": Use.CHECKSUM,
    "xxh3": Use.CHECKSUM,  # 128 bits
}


class Stream(Protocol):
    """A running hash: as much of dedupe.digests.base.Hasher as the laboratory needs."""

    def update(self, data: Buffer, /) -> object:
        """Take in more bytes."""

    def digest(self) -> bytes:
        """Return the digest, once."""


@dataclass(frozen=True, slots=True)
class Participant:
    """One supplier of one algorithm.

    `whole` returns the digest of a buffer by the supplier's most direct call, `start` begins a stream.
    """

    algorithm: str
    supplier: str
    code: str  # whose code it is, with its version
    whole: Callable[[Buffer], bytes]
    start: Callable[[], Stream]

    @property
    def name(self) -> str:
        """What `--baseline` and reports call it, such as `sha256/openssl`."""
        return f"{self.algorithm}/{self.supplier}"


def participants() -> list[Participant]:
    """Return all participants that are installed here, in the order of `ALGORITHMS`."""
    found = [*_openssl(), *_builtin(), *_cng(), *_cryptography(), *_pycryptodome(), *_blake3(), *_xxhash()]
    order = list(ALGORITHMS)
    return sorted(found, key=lambda one: order.index(one.algorithm))


def _whole(make: Callable[..., Stream]) -> Callable[[Buffer], bytes]:
    return lambda data: make(data).digest()


def _openssl() -> Iterator[Participant]:
    """Yield what Python's own OpenSSL computes.

    It asks the module below hashlib, as hashlib.blake2b is never OpenSSL's code, and Python may have no OpenSSL.
    """
    try:
        import _hashlib
        from ssl import OPENSSL_VERSION
    except ImportError:
        return
    for algorithm in ALGORITHMS:
        make = _openssl_maker(_hashlib, _OPENSSL_NAMES.get(algorithm, algorithm))
        if make:
            yield Participant(algorithm, "openssl", _release(OPENSSL_VERSION), _whole(make), make)


def _release(version: str) -> str:
    """Return `OpenSSL 3.0.19` of `OpenSSL 3.0.19 27 Jan 2026`; LibreSSL gives no date."""
    return " ".join(version.split()[:2])


def _openssl_maker(module: Any, name: str) -> Callable[..., Stream] | None:
    fast: Callable[..., Stream] | None = getattr(module, f"openssl_{name}", None)
    make = fast or functools.partial(module.new, name)
    try:
        make(b"")
    except ValueError:  # OpenSSL has no such digest, or a FIPS configuration does not allow it
        return None
    return make


_OPENSSL_NAMES = {"blake2b": "blake2b512", "blake2s": "blake2s256"}

# module of CPython's own code: what it offers.  _sha256 and _sha512 became _sha2 in 3.12
_BUILTIN = {
    "_md5": ("md5",),
    "_sha1": ("sha1",),
    "_sha256": ("sha256",),
    "_sha512": ("sha512",),
    "_sha2": ("sha256", "sha512"),
    "_sha3": ("sha3_256",),
    "_blake2": ("blake2b", "blake2s"),
}


def _builtin() -> Iterator[Participant]:
    """Yield what CPython computes with code of its own, which hashlib uses where OpenSSL lacks an algorithm."""
    from platform import python_version

    code = f"Python {python_version()}"
    for module, algorithms in _BUILTIN.items():
        try:
            loaded = importlib.import_module(module)
        except ImportError:  # another version's name, or built without
            continue
        for algorithm in algorithms:
            make = getattr(loaded, algorithm)
            yield Participant(algorithm, "builtin", code, _whole(make), make)

    def short(data: Buffer = b"") -> Stream:
        return hashlib.blake2b(data, digest_size=32)

    yield Participant("blake2b_256", "builtin", code, _whole(short), short)


def _cng() -> Iterator[Participant]:
    """Yield Windows' own code, through the backend that a scan uses, and once more without reusing hash objects."""
    from dedupe.digests.cng import CngBackend
    from dedupe.digests.registry import load

    try:
        backends = {"cng": load("cng"), "cng-fresh": CngBackend(reuse=False)}
    except BackendError:
        return
    for supplier, backend in backends.items():
        for algorithm in sorted(backend.algorithms & ALGORITHMS.keys()):
            make = functools.partial(backend.hasher, algorithm)
            yield Participant(algorithm, supplier, "Windows CNG", _whole(make), make)


class _Finalized:
    """A hash of `cryptography`, which calls its digest by another name."""

    __slots__ = ("digest", "update")

    def __init__(self, inner: Any) -> None:
        self.update: Callable[[Buffer], object] = inner.update
        self.digest: Callable[[], bytes] = inner.finalize


def _cryptography() -> Iterator[Participant]:
    """Yield the cryptography package, which brings an OpenSSL of its own, mostly a newer one than Python's."""
    try:
        hashes = importlib.import_module("cryptography.hazmat.primitives.hashes")
        library = importlib.import_module("cryptography.hazmat.backends.openssl").backend
    except ImportError:
        return
    unsupported = importlib.import_module("cryptography.exceptions").UnsupportedAlgorithm
    code = f"cryptography, {_release(library.openssl_version_text())}"
    offered: dict[str, Any] = {
        "md5": hashes.MD5(),
        "sha1": hashes.SHA1(),
        "sha256": hashes.SHA256(),
        "sha512": hashes.SHA512(),
        "sha3_256": hashes.SHA3_256(),
        "blake2b": hashes.BLAKE2b(64),
        "blake2s": hashes.BLAKE2s(32),
    }
    for algorithm, kind in offered.items():

        def make(data: Buffer = b"", kind: Any = kind) -> Stream:
            made = hashes.Hash(kind)
            made.update(data)
            return _Finalized(made)

        try:
            make()
        except unsupported:
            continue
        yield Participant(algorithm, "cryptography", code, _whole(make), make)


def _pycryptodome() -> Iterator[Participant]:
    """Yield pycryptodome's C code."""
    modules = {"md5": "MD5", "sha1": "SHA1", "sha256": "SHA256", "sha512": "SHA512", "sha3_256": "SHA3_256"}
    for algorithm, module in modules.items():
        try:
            loaded = importlib.import_module(f"Crypto.Hash.{module}")
        except ImportError:
            return
        code = f"pycryptodome {importlib.metadata.version('pycryptodome')}"
        yield Participant(algorithm, "pycryptodome", code, _whole(loaded.new), loaded.new)


def _blake3() -> Iterator[Participant]:
    """Yield the blake3 package, on one thread and on all."""
    try:
        package = importlib.import_module("blake3")
    except ImportError:
        return
    code, blake3 = f"blake3 {package.__version__}", package.blake3

    def parallel(data: Buffer = b"") -> Stream:
        made: Stream = blake3(data, max_threads=blake3.AUTO)
        return made

    yield Participant("blake3", "blake3", code, _whole(blake3), blake3)
    yield Participant("blake3", "blake3-threads", f"{code}, all cores", _whole(parallel), parallel)


def _xxhash() -> Iterator[Participant]:
    """Yield the xxhash package, whose functions for whole buffers make no object."""
    import xxhash

    code = f"xxHash {xxhash.XXHASH_VERSION}"
    yield Participant("xxh32", "xxhash", code, xxhash.xxh32_digest, xxhash.xxh32)
    yield Participant("xxh64", "xxhash", code, xxhash.xxh64_digest, xxhash.xxh64)
    yield Participant("xxh3_64", "xxhash", code, xxhash.xxh3_64_digest, xxhash.xxh3_64)
    yield Participant("xxh3", "xxhash", code, xxhash.xxh3_128_digest, xxhash.xxh3_128)
