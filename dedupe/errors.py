"""The exceptions of dedupe, an exit code each.  Problems with single files are events, not exceptions.

DedupeError              1
├── NothingUsableError   1   no root can be read, or the report that was asked for cannot be written
├── UsageError           2   the request makes no sense: fix the command line
│   └── BackendError     2   the digest backend that was asked for is not available here
└── CacheError           1   the cache cannot be used; a scan goes on without it, only `dedupe cache` fails
"""


class DedupeError(Exception):
    """Base of everything that dedupe raises on purpose; its text is one sentence for the user."""

    exit_code = 1


class NothingUsableError(DedupeError):
    """Nothing usable could be done."""


class UsageError(DedupeError):
    """The request makes no sense."""

    exit_code = 2


class BackendError(UsageError):
    """The digest backend that was asked for is not available here."""


class CacheError(DedupeError):
    """The cache cannot be used."""
