"""CheckResults on a list, with the hashing done by a dictionary."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence

from dedupe.checksums.entry import Entry
from dedupe.checksums.hash_files import Hashed
from dedupe.checksums.verify import CheckResult, verify
from dedupe.result import Problem, ProblemKind

CONTENTS = {b"a": b"1", b"b": b"2", b"c": b"3", b"-": b"in"}
PROBLEM = Problem(b"gone", ProblemKind.NOT_FOUND, "does not exist")


class Files:
    """Files that are only known by their content, and what was asked of them."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, list[bytes]]] = []

    def hash_all(self, algorithm: str, names: Sequence[bytes]) -> Iterator[Hashed]:
        """Hash files of `CONTENTS`; others are gone."""
        self.asked.append((algorithm, list(names)))
        for name in names:
            if name in CONTENTS:
                yield Hashed(name, hashlib.new(algorithm, CONTENTS[name]).digest())
            else:
                yield Hashed(name, problem=PROBLEM)


def entry(name: bytes, *algorithms: str, of: str | None = None, content: bytes | None = None) -> Entry:
    """Return an entry whose digest is right, unless another content is named."""
    data = CONTENTS.get(name, b"") if content is None else content
    return Entry(name, hashlib.new(of or algorithms[0], data).digest(), algorithms)


def test_three_results_in_order() -> None:
    """A line is right, wrong, or its file cannot be read; the results come in the order of the lines."""
    lines = [entry(b"a", "sha256"), entry(b"b", "sha256", content=b"other"), entry(b"gone", "sha256")]
    outcomes = list(verify(lines, Files().hash_all))
    assert [outcome.result for outcome in outcomes] == [CheckResult.OK, CheckResult.FAILED, CheckResult.UNREADABLE]
    assert outcomes[2].problem is PROBLEM


def test_length_shared_by_two_algorithms() -> None:
    """128 hex digits may be SHA-512 or BLAKE2b: the first file decides, and no other is read twice."""
    files = Files()
    lines = [entry(name, "sha512", "blake2b", of="blake2b") for name in (b"a", b"b", b"c")]
    assert {outcome.result for outcome in verify(lines, files.hash_all)} == {CheckResult.OK}
    assert files.asked == [("sha512", [b"a"]), ("blake2b", [b"a"]), ("blake2b", [b"b", b"c"])]


def test_mixed_list_of_two_algorithms() -> None:
    """A list that mixes both is right line by line, and a wrong digest is still found."""
    both = ("sha512", "blake2b")
    lines = [entry(b"a", *both), entry(b"b", *both, of="blake2b"), entry(b"c", *both, of="blake2b", content=b"other")]
    assert [outcome.result for outcome in verify(lines, Files().hash_all)] == [
        CheckResult.OK,
        CheckResult.OK,
        CheckResult.FAILED,
    ]


def test_standard_input_is_read_once() -> None:
    """Standard input cannot be read a second time, so that only the first algorithm is tried on it."""
    files = Files()
    (outcome,) = verify([entry(b"-", "sha512", "blake2b", content=b"other")], files.hash_all)
    assert outcome.result == CheckResult.FAILED
    assert files.asked == [("sha512", [b"-"])]


def test_algorithms_by_line() -> None:
    """Every line is judged by its own algorithm."""
    lines = [entry(b"a", "md5"), entry(b"b", "sha1"), entry(b"c", "md5")]
    assert {outcome.result for outcome in verify(lines, Files().hash_all)} == {CheckResult.OK}
