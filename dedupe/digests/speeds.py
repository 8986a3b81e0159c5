"""Measures how fast backends are on this computer, and keeps the figures in a file.  Chooses none of them."""

from __future__ import annotations

import contextlib
import json
import os
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any

from dedupe.errors import BackendError

if TYPE_CHECKING:
    from dedupe.digests.base import Backend

_FORMAT = "dedupe-backends/1"
_ENOUGH, _LIMIT = 0.04, 0.07  # seconds after which no further round begins: with _FEW rounds done, and in any case
_FEW, _MANY = 3, 16  # rounds; one takes less than a millisecond a backend, and a busy computer spoils some
_SMALL, _LARGE = 256, 128 << 10  # bytes of the two inputs whose times give the cost of a call and of a byte
_CALLS = 8  # small digests timed at once: one is shorter than some clocks' step


@dataclass(frozen=True, slots=True)
class Speed:
    """The cost of a digest: a fixed time for each input, and a rate."""

    call_seconds: float
    bytes_per_second: float

    def seconds(self, size: int) -> float:
        """Return the time that an input of `size` bytes takes."""
        return self.call_seconds + size / self.bytes_per_second


def measure(algorithm: str, backends: Sequence[Backend]) -> dict[str, Speed]:
    """Time the backends in turn on the same bytes, for at most a tenth of a second, and keep the best of each.

    Raises:
        BackendError: they disagree about a digest.
    """
    data = memoryview(bytes(range(256)) * (_LARGE // 256))
    best = {backend.name: [float("inf"), float("inf")] for backend in backends}
    digests: dict[bytes, str] = {}
    begun = perf_counter()
    for number in range(1, _MANY + 1):
        for backend in backends if number % 2 else reversed(backends):  # none is always first
            times = best[backend.name]
            digest, seconds = _timed(backend, algorithm, data)
            digests[digest] = backend.name
            times[1] = min(times[1], seconds)
            times[0] = min(times[0], *(_timed(backend, algorithm, data[:_SMALL], _CALLS)[1] for _ in range(2)))
        if perf_counter() - begun > (_ENOUGH if number >= _FEW else _LIMIT):
            break
    if len(digests) > 1:
        raise BackendError(
            f"{' and '.join(sorted(best))} disagree about the {algorithm} of the same bytes on this computer: "
            "one of them is broken, so name the one to trust with --backend"
        )
    return {name: _speed(small, large) for name, (small, large) in best.items()}


def _timed(backend: Backend, algorithm: str, data: memoryview, calls: int = 1) -> tuple[bytes, float]:
    """Return a digest and the seconds that one took."""
    begun = perf_counter()
    for _ in range(calls):
        digest = backend.hasher(algorithm, data).digest()
    return digest, (perf_counter() - begun) / calls


def _speed(small: float, large: float) -> Speed:
    """Return the cost of a call and the rate that give these seconds for the small and the large input."""
    seconds_per_byte = max(large - small, 1e-9) / (_LARGE - _SMALL)
    return Speed(max(small - seconds_per_byte * _SMALL, 0.0), 1 / seconds_per_byte)


def recall(path: Path, algorithm: str, names: Sequence[str]) -> dict[str, Speed] | None:
    """Return what was measured for just these backends, or None if that is unknown or outdated."""
    try:
        found = _read(path).get(algorithm, {})
        speeds = {
            name: Speed(float(found[name]["call_seconds"]), float(found[name]["bytes_per_second"])) for name in names
        }
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None  # whatever is wrong with the file: measuring again replaces it
    valid = all(0 <= speed.call_seconds < 1 and 0 < speed.bytes_per_second < 1e15 for speed in speeds.values())
    return speeds if valid and len(found) == len(names) else None


def remember(path: Path, algorithm: str, speeds: Mapping[str, Speed]) -> None:
    """Save what was measured beside the figures that are still valid; if that fails, it is measured again next time."""
    try:
        kept = _read(path)
    except (OSError, ValueError):
        kept = {}
    kept[str(algorithm)] = {name: asdict(speed) for name, speed in speeds.items()}
    text = json.dumps({"format": _FORMAT, "holds_for": holds_for(), "speeds": kept}, indent=1)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        _replace(path, text)


def _read(path: Path) -> dict[str, Any]:
    """Return the file's speeds by algorithm; ValueError if its format or its computer is another one."""
    found = json.loads(path.read_text(encoding="utf-8"))
    if not isinstance(found, dict) or found.get("format") != _FORMAT or found.get("holds_for") != holds_for():
        raise ValueError("these figures belong to another computer or version")
    speeds = found.get("speeds")
    return speeds if isinstance(speeds, dict) else {}


def _replace(path: Path, text: str) -> None:
    """Replace a file as a whole, or leave it as it was."""
    descriptor, temporary = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with open(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(temporary)
        raise


def holds_for() -> dict[str, str]:
    """Return what the figures depend on: processor, Python, OpenSSL and system."""
    return {"processor": _processor(), "python": sys.version, "openssl": _openssl(), "system": _system()}


def _openssl() -> str:
    try:
        import _ssl  # of hashlib's OpenSSL; the ssl module itself takes 10 ms to import
    except ImportError:
        return "none"
    return _ssl.OPENSSL_VERSION


if sys.platform == "win32":

    def _processor() -> str:
        import winreg  # platform.processor() asks WMI, which takes long

        try:
            with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"HARDWARE\DESCRIPTION\System\CentralProcessor\0") as key:
                return str(winreg.QueryValueEx(key, "ProcessorNameString")[0]).strip()
        except OSError:
            return "unknown"

    def _system() -> str:
        version = sys.getwindowsversion()
        return f"Windows {version.major}.{version.minor}.{version.build}"

else:

    def _processor() -> str:
        return os.uname().machine

    def _system() -> str:
        return f"{os.uname().sysname} {os.uname().release}"
