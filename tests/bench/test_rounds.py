"""Everybody in turn, and every digest compared."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from dedupe.bench.rounds import Task, measure
from dedupe.errors import NothingUsableError


def task(name: str, run: Callable[[], bytes], same: str = "sha256 1") -> Task:
    """Return a task of one byte."""
    return Task(name, "case", 1, 1, same, run)


def test_in_turn_not_in_blocks() -> None:
    """A round runs each once; every other round goes backwards, and the first one does not count."""
    order: list[str] = []
    tasks = [task(name, lambda name=name: order.append(name) or b"d") for name in "abc"]  # type: ignore[misc]
    cells = measure(tasks, 3)
    assert "".join(order) == "cbaabccbaabc"
    assert [(cell.participant, len(cell.seconds)) for cell in cells] == [("a", 3), ("b", 3), ("c", 3)]


def test_times_are_those_of_the_task() -> None:
    """The seconds of a cell are what the clock says of its own task, in the order of the rounds."""
    now, costs = [0.0], {"a": [9.0, 1.0, 2.0], "b": [9.0, 10.0, 20.0]}

    def work(name: str) -> bytes:
        now[0] += costs[name].pop(0)
        return b"d"

    cells = measure([task("a", lambda: work("a")), task("b", lambda: work("b"))], 2, clock=lambda: now[0])
    assert [cell.seconds for cell in cells] == [(1.0, 2.0), (10.0, 20.0)]


def test_disagreement_ends_the_run_with_both_digests() -> None:
    """Two digests that must be equal and are not end the run; the message names both and who computed them."""
    tasks = [task("sha256/one", lambda: b"\x01\x02"), task("sha256/two", lambda: b"\x01\x03")]
    with pytest.raises(NothingUsableError) as caught:
        measure(tasks, 1)
    for part in ("sha256/one", "sha256/two", "0102", "0103"):
        assert part in str(caught.value)


def test_disagreement_in_the_last_round_is_found() -> None:
    """Digests are compared on every round, not only on the first."""
    answers = [b"same", b"same", b"same", b"other"]
    with pytest.raises(NothingUsableError):
        measure([task("a", lambda: answers.pop(0)), task("b", lambda: b"same")], 3)


def test_other_inputs_may_differ() -> None:
    """Only tasks on the same bytes with the same algorithm are compared."""
    cells = measure([task("a", lambda: b"1", "md5 1"), task("b", lambda: b"2", "sha1 1")], 1)
    assert [cell.digest for cell in cells] == [b"1".hex(), b"2".hex()]


def test_every_run_is_told() -> None:
    """Progress is told of every run, the uncounted round's too."""
    told: list[int] = []
    measure([task("a", lambda: b""), task("b", lambda: b"")], 2, lambda: told.append(1))
    assert len(told) == 6
