"""Find exact duplicates among large files."""

from dedupe.config import BackendName, Confirm, ScanConfig
from dedupe.digests.base import BackendChoice
from dedupe.errors import BackendError, CacheError, DedupeError, NothingUsableError, UsageError
from dedupe.find import find_duplicates
from dedupe.progress import Progress
from dedupe.result import File, Group, Problem, ProblemKind, ScanResult, SkipReason, Totals
from dedupe.version import __version__

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
