"""The tree of exceptions: one base, and an exit code each."""

from __future__ import annotations

import pickle

import pytest

from dedupe import errors
from dedupe.cache import schema
from dedupe.cli.exits import Exit
from dedupe.errors import BackendError, CacheError, DedupeError, NothingUsableError, UsageError


def tree(base: type[DedupeError]) -> set[type[DedupeError]]:
    """Return a class and all below it."""
    return {base}.union(*(tree(c) for c in base.__subclasses__()))


def test_all_derive_from_the_base() -> None:
    """Whoever catches DedupeError catches everything that is raised on purpose."""
    named = {v for m in (errors, schema) for v in vars(m).values() if isinstance(v, type) and issubclass(v, Exception)}
    assert named <= tree(DedupeError)
    assert all(e.__doc__ for e in named)


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (DedupeError, Exit.NOTHING),
        (NothingUsableError, Exit.NOTHING),
        (CacheError, Exit.NOTHING),
        (UsageError, Exit.USAGE),
        (BackendError, Exit.USAGE),
    ],
)
def test_exit_codes(error: type[DedupeError], code: Exit) -> None:
    """Each says how the program ends, by one of the documented codes."""
    assert error.exit_code == code
    assert error.__name__ in (errors.__doc__ or "")


def test_errors_cross_processes() -> None:
    """A worker's error arrives as it was raised."""
    for error in tree(DedupeError):
        assert str(pickle.loads(pickle.dumps(error("why")))) == "why"


def test_no_class_is_without_a_code_of_the_command_line() -> None:
    """Every exit code that an exception carries is one that the help explains."""
    assert {e.exit_code for e in tree(DedupeError)} <= set(Exit)
