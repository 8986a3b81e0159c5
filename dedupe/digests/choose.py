"""Chooses the backend for an algorithm, and says why.  Computes no digest, and never falls back silently."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from dedupe.digests.base import BackendChoice
from dedupe.digests.registry import load
from dedupe.errors import BackendError

if TYPE_CHECKING:
    from pathlib import Path

    from typing_extensions import Buffer

    from dedupe.digests.base import Backend, Hasher
    from dedupe.digests.speeds import Speed

_SYSTEMS = {"darwin": "macOS", "linux": "Linux", "win32": "Windows"}
_ALONE = {
    "blake3": "blake3",
    "crc32": "zlib",
    "xxh3": "xxhash",
    "xxh32": "xxhash",
    "xxh3_64": "xxhash",
    "xxh64": "xxhash",
}
_MARGIN = 1.1  # another backend must be so many times as fast as hashlib: a smaller difference is noise
_SMALLEST = 256  # bytes; choosing by size is not worth it for inputs smaller than this


class BySize(NamedTuple):
    """Two backends as one: small inputs go to one, large ones and streams of unknown length to the other."""

    small: Backend
    large: Backend
    limit: int  # bytes; from here on an input is large

    @property
    def name(self) -> str:
        """The name of the backend for large inputs."""
        return self.large.name

    @property
    def algorithms(self) -> frozenset[str]:
        """The algorithms that both offer."""
        return self.small.algorithms & self.large.algorithms

    def hasher(self, algorithm: str, data: Buffer = b"", /, *, size_hint: int | None = None) -> Hasher:
        """Return a new hasher of the backend that is faster at inputs of `size_hint` bytes."""
        backend = self.small if size_hint is not None and size_hint < self.limit else self.large
        return backend.hasher(algorithm, data)


def choose(algorithm: str, requested: str = "auto", *, measurements: Path | None) -> tuple[Backend, BackendChoice]:
    """Return the backend for `algorithm` and the reason for it.

    Where several could do it, they are measured, which takes up to a tenth of a second: call it when digests are
    needed.  `requested` is `auto` or a backend's name.  `measurements` is the file that keeps what was measured; None
    keeps nothing.

    Raises:
        BackendError: the one requested is not available here or lacks the algorithm; no backend offers it; or the
            backends disagree about a digest.
    """
    if requested != "auto":
        backend = load(requested)
        backend.hasher(algorithm)  # an algorithm that it lacks, or cannot open, shows here and not in a worker
        return backend, BackendChoice(backend.name, "asked for")
    if algorithm in _ALONE:
        backend = load(_ALONE[algorithm])
        return backend, BackendChoice(backend.name, f"the only backend for {algorithm}")
    able, unable = _contenders(algorithm)
    if not able:
        raise BackendError(unable[0])
    if len(able) > 1:
        return compete(algorithm, able[0], able[1], measurements)
    system = _SYSTEMS.get(sys.platform, sys.platform)
    reason = "; ".join([f"the only backend for {algorithm} on {system}", *unable])
    return able[0], BackendChoice(able[0].name, reason)


def any_of(algorithm: str, requested: str = "auto") -> Backend:
    """Return any backend that can compute the algorithm, without measuring: to refuse early what none can.

    Raises:
        BackendError: no backend can, or not the one requested.
    """
    if requested != "auto" or algorithm in _ALONE:
        return choose(algorithm, requested, measurements=None)[0]
    able, unable = _contenders(algorithm)
    if not able:
        raise BackendError(unable[0])
    return able[0]


def _contenders(algorithm: str) -> tuple[list[Backend], list[str]]:
    """Return the backends that can compute an algorithm here, and the reasons of those that cannot."""
    able: list[Backend] = []
    unable: list[str] = []
    for name in ("hashlib", "cng") if sys.platform == "win32" else ("hashlib",):
        try:
            backend = load(name)
            if algorithm in backend.algorithms or name == "hashlib":
                backend.hasher(algorithm)  # opens and tests it
                able.append(backend)
        except BackendError as error:
            unable.append(str(error))
    return able, unable


def compete(algorithm: str, usual: Backend, rival: Backend, measurements: Path | None) -> tuple[Backend, BackendChoice]:
    """Return the faster of two backends, or both by size, from what was measured on this computer.

    Raises:
        BackendError: they disagree about a digest.
    """
    from dedupe.digests import speeds  # needed on Windows only

    names = (usual.name, rival.name)
    known = speeds.recall(measurements, algorithm, names) if measurements is not None else None
    if known is None:
        known = speeds.measure(algorithm, (usual, rival))
        if measurements is not None:
            speeds.remember(measurements, algorithm, known)
    chosen = _faster(usual, rival, known[usual.name], known[rival.name])
    return chosen, BackendChoice(chosen.name, _reason(chosen, known))


def _faster(usual: Backend, rival: Backend, usual_speed: Speed, rival_speed: Speed) -> Backend:
    """Return the rival for the sizes at which it is clearly faster, the usual one for the others."""
    bulk = rival if rival_speed.bytes_per_second > _MARGIN * usual_speed.bytes_per_second else usual
    small = rival if rival_speed.seconds(_SMALLEST) * _MARGIN < usual_speed.seconds(_SMALLEST) else usual
    limit = _crossing(usual_speed, rival_speed)
    return bulk if small is bulk or limit <= _SMALLEST else BySize(small, bulk, limit)


def _crossing(a: Speed, b: Speed) -> int:
    """Return the size at which both take as long as each other; 0 if there is none."""
    rates = 1 / a.bytes_per_second - 1 / b.bytes_per_second
    return max(0, round((b.call_seconds - a.call_seconds) / rates)) if rates else 0


def _reason(chosen: Backend, known: Mapping[str, Speed]) -> str:
    """Return the figures that decided, the chosen backend's first."""
    order = sorted(known, key=lambda name: name != chosen.name)
    figures = [f"{name} {known[name].bytes_per_second / 1e6:.0f} MB/s" for name in order]
    reason = f"measured here: {', '.join(figures)}"
    if isinstance(chosen, BySize):
        return f"{reason}; {chosen.small.name} below {chosen.limit} bytes"
    if known[order[0]].bytes_per_second < known[order[1]].bytes_per_second:
        return f"{reason}, too close to change the backend"
    return reason
