"""Find exact duplicates among large files."""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from dedupe.config import BackendName, Confirm, ScanConfig
    from dedupe.digests.base import BackendChoice
    from dedupe.errors import BackendError, CacheError, DedupeError, NothingUsableError, UsageError
    from dedupe.find import find_duplicates
    from dedupe.progress import Progress
    from dedupe.result import File, Group, Problem, ProblemKind, ScanResult, SkipReason, Totals
    from dedupe.version import __version__

# Loaded when they are asked for: `dedupe --version` needs none of them, and they double its time.
_PLACES = {
    "BackendChoice": "digests.base",
    "BackendError": "errors",
    "BackendName": "config",
    "CacheError": "errors",
    "Confirm": "config",
    "DedupeError": "errors",
    "File": "result",
    "Group": "result",
    "NothingUsableError": "errors",
    "Problem": "result",
    "ProblemKind": "result",
    "Progress": "progress",
    "ScanConfig": "config",
    "ScanResult": "result",
    "SkipReason": "result",
    "Totals": "result",
    "UsageError": "errors",
    "__version__": "version",
    "find_duplicates": "find",
}

__all__ = [
    "BackendChoice",
    "BackendError",
    "BackendName",
    "CacheError",
    "Confirm",
    "DedupeError",
    "File",
    "Group",
    "NothingUsableError",
    "Problem",
    "ProblemKind",
    "Progress",
    "ScanConfig",
    "ScanResult",
    "SkipReason",
    "Totals",
    "UsageError",
    "__version__",
    "find_duplicates",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'dedupe' has no attribute {name!r}")
    value = globals()[name] = getattr(_importlib.import_module(f"dedupe.{_PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
