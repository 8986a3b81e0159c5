"""Find exact duplicates among large files."""

import importlib as _importlib
import typing as _typing

if _typing.TYPE_CHECKING:
    from dedupe.config import BackendName, Confirm, ScanConfig, Scope
    from dedupe.digests.base import BackendChoice
    from dedupe.errors import BackendError, CacheError, DedupeError, NothingUsableError, UsageError
    from dedupe.find import find_duplicates
    from dedupe.progress import Progress
    from dedupe.query.answer import MissingFile, MissingReason, MissingResult, MissingTotals
    from dedupe.query.missing import find_missing
    from dedupe.query.settings import MissingConfig
    from dedupe.result import (
        File,
        Group,
        GroupList,
        Groups,
        NameKind,
        Problem,
        ProblemKind,
        Proof,
        ScanResult,
        SkipReason,
        Totals,
        VolumeInfo,
    )
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
    "GroupList": "result",
    "Groups": "result",
    "MissingConfig": "query.settings",
    "MissingFile": "query.answer",
    "MissingReason": "query.answer",
    "MissingResult": "query.answer",
    "MissingTotals": "query.answer",
    "NameKind": "result",
    "NothingUsableError": "errors",
    "Problem": "result",
    "ProblemKind": "result",
    "Progress": "progress",
    "Proof": "result",
    "ScanConfig": "config",
    "ScanResult": "result",
    "Scope": "config",
    "SkipReason": "result",
    "Totals": "result",
    "UsageError": "errors",
    "VolumeInfo": "result",
    "__version__": "version",
    "find_duplicates": "find",
    "find_missing": "query.missing",
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
    "GroupList",
    "Groups",
    "MissingConfig",
    "MissingFile",
    "MissingReason",
    "MissingResult",
    "MissingTotals",
    "NameKind",
    "NothingUsableError",
    "Problem",
    "ProblemKind",
    "Progress",
    "Proof",
    "ScanConfig",
    "ScanResult",
    "Scope",
    "SkipReason",
    "Totals",
    "UsageError",
    "VolumeInfo",
    "__version__",
    "find_duplicates",
    "find_missing",
]


def __getattr__(name: str) -> object:
    if name not in _PLACES:
        raise AttributeError(f"module 'dedupe' has no attribute {name!r}")
    value = globals()[name] = getattr(_importlib.import_module(f"dedupe.{_PLACES[name]}"), name)
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
