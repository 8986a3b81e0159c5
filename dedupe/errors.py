"""The exceptions of dedupe, an exit code each.  Problems with single files are events, not exceptions.

DedupeError
├── NothingUsableError   1   no root can be read, or the report that was asked for cannot be written
├── UsageError           2   the request makes no sense: fix the command line
│   └── BackendError     2   the digest backend that was asked for is not available here
├── IncompleteError      3   done, but some files could not be read or changed meanwhile
├── InterruptedScan    130   stopped by the user; what was learnt so far is in the cache
└── CacheError           -   the cache cannot be used: never leaves a scan, which goes on without it
"""


class DedupeError(Exception):
    """Base of everything that dedupe raises on purpose; its text is one sentence for the user."""

    exit_code = 1


class NothingUsableError(DedupeError):
    """Nothing usable could be done."""

    exit_code = 1


class UsageError(DedupeError):
    """The request makes no sense."""

    exit_code = 2


class BackendError(UsageError):
    """The digest backend that was asked for is not available here."""


class IncompleteError(DedupeError):
    """Done, but some files could not be read or changed meanwhile."""

    exit_code = 3


class InterruptedScan(DedupeError):  # noqa: N818 - no error of the program
    """The user stopped the scan."""

    exit_code = 130


class CacheError(DedupeError):
    """The cache cannot be used; only `dedupe cache` lets it reach the user as a failure."""
