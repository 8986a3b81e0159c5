"""Journals read back: what runs there were, what they did, and what of it has been undone.  Changes nothing.

Of most runs only head and foot are read; those that matter are read whole, when they are asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from dedupe.actions import journal
from dedupe.actions.lines import Lines, objects, parsed, take
from dedupe.actions.records import Intent, Outcome, Result
from dedupe.actions.tally import Refusal
from dedupe.errors import NothingUsableError
from dedupe.storage import display

UNDO = "undo"
_FOOT = 1 << 16  # bytes from the end where a foot is looked for
_HEAD = b'{"kind": "head"'  # begins every journal
_NEVER_PARTED = ("delete", "hardlink")  # verbs whose undoing elsewhere leaves the names as they are


@dataclass(slots=True)
class Run:
    """One journal, as far as it was written; a torn line counts as not written."""

    path: str
    head: dict[str, Any]
    foot: dict[str, Any] | None
    _lines: Lines | None = None

    @property
    def name(self) -> str:
        """Return the name that `dedupe undo` takes."""
        return name_of(os.fsencode(self.path))

    @property
    def action(self) -> str:
        """Return what the run did."""
        told = str(self.head.get("action", ""))
        return told or next((intent.verb for intent in self.intents.values()), "")

    @property
    def started(self) -> str:
        """Return when it began."""
        return str(self.head.get("started", ""))

    @property
    def begun(self) -> str:
        """Return when it began, in the time of the place where it is read; empty where that is not known."""
        try:
            return datetime.fromisoformat(self.started).astimezone().strftime("%Y-%m-%d %H:%M:%S")
        except (ValueError, OverflowError):
            return display.shown_text(self.started)

    @property
    def undoes(self) -> str:
        """Return the run that this one undoes; empty where it acted."""
        return str(self.head.get("undoes", ""))

    @property
    def is_elsewhere(self) -> bool:
        """Return whether this undo put files into another folder."""
        return self.head.get("options", {}).get("to") is not None

    @property
    def totals(self) -> dict[str, Any]:
        """Return the sums of its foot; none where it did not come to its end, or its foot is damaged."""
        told = (self.foot or {}).get("totals")
        return told if isinstance(told, dict) else {}

    @property
    def intents(self) -> dict[int, Intent]:
        """Return what it was going to do, by number."""
        return self._whole().intents

    @property
    def outcomes(self) -> dict[int, Outcome]:
        """Return how that ended, by number."""
        return self._whole().outcomes

    @property
    def broken(self) -> list[int]:
        """Return the numbers of lines that are damaged: what they said is not known."""
        return self._whole().broken

    @property
    def open_intents(self) -> list[Intent]:
        """Return the intents of which nobody knows how they ended, or where their files lie now."""
        ended = {n for n, outcome in self.outcomes.items() if outcome.result is not Result.UNKNOWN}
        return [intent for n, intent in self.intents.items() if n not in ended]

    @property
    def is_settled(self) -> bool:
        """Return whether it came to its end, and where all of its files lie is known."""
        return self.foot is not None and not self.totals.get("unknown")

    @property
    def is_at_work(self) -> bool:
        """Return whether it goes on at this moment."""
        return self.foot is None and journal.is_alive(self.path)

    def done(self) -> list[Intent]:
        """Return the intents that were carried out, in their order."""
        return [i for n, i in self.intents.items() if n in self.outcomes and self.outcomes[n].result is Result.DONE]

    def undoable(self) -> list[Intent]:
        """Return the intents that may have been carried out: also those of which a damaged line had the outcome."""
        if self.foot is None or not self.broken:
            return self.done()
        return [i for n, i in self.intents.items() if n not in self.outcomes or self.outcomes[n].result is Result.DONE]

    def count(self) -> int:
        """Return how many names were acted on."""
        told = self.totals.get("done")
        return told if isinstance(told, int) else len(self.done())

    def read_again(self) -> None:
        """Read it anew when it is asked next: more may have been written."""
        self.foot, self._lines = _ends(self.path)[1], None

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield all lines that can be read, as they stand.

        Raises:
            OSError: the journal cannot be read.
        """
        for _, line in objects(self.path):
            if line is not None:
                yield line

    def _whole(self) -> Lines:
        if self._lines is None:
            self._lines = Lines()
            for number, line in objects(self.path):
                if line is None or not take(self._lines, line, is_undo=bool(self.undoes)):
                    self._lines.broken.append(number)
        return self._lines


@dataclass(slots=True)
class Known:
    """All runs whose journals lie in a folder, the oldest first, and the journals that cannot be read."""

    runs: list[Run] = field(default_factory=list)
    unreadable: list[Refusal] = field(default_factory=list)
    headless: list[Run] = field(default_factory=list)  # of the unreadable, those that only lost their first line

    def named(self, name: str) -> Run | None:
        """Return a run by its name."""
        return next((run for run in (*self.runs, *self.headless) if run.name == name), None)

    def unreadable_of(self, name: str) -> Refusal | None:
        """Return why the journal of a name cannot be read; None if it can, or is not there."""
        return next((each for each in self.unreadable if name_of(each.path) == name), None)

    def acted(self) -> list[Run]:
        """Return the runs that acted on files, the newest first; undos are none."""
        return [run for run in reversed(self.runs) if not run.undoes]

    def undos(self, run: Run) -> list[Run]:
        """Return the undos of a run."""
        return [other for other in self.runs if other.undoes == run.name]

    def undone(self, run: Run) -> set[int]:
        """Return the numbers of a run's intents that later undos have taken back.

        A file that was made again in another folder is extra: its old name still is as the run left it.
        """
        return {
            intent.undoes
            for other in self.undos(run)
            for intent in other.done()
            if not (other.is_elsewhere and intent.verb.endswith(_NEVER_PARTED))
        }


class HeadlessError(ValueError):
    """The first line of a journal is damaged; the others may say enough."""


def read(path: str) -> Run:
    """Return what the head and the foot of a journal say.

    Raises:
        OSError: it cannot be read.
        ValueError: it is none, or one of another version; `HeadlessError` where only its first line is damaged.
    """
    head, foot = _ends(path)
    if head is not None and head.get("kind") == "head" and head.get("schema") != journal.SCHEMA:
        raise ValueError(f"another version of dedupe wrote it ({head.get('schema')!r:.40}): run this with that one")
    if head is None or not _is_head(head):
        raise HeadlessError("it has no head: a run that was killed before it began, a damaged journal, or none at all")
    return Run(path, head, foot)


def _ends(path: str) -> tuple[dict[str, Any] | None, dict[str, Any] | None]:
    """Return the first line of a journal, and the last one if it is a foot."""
    with open(path, "rb") as file:
        head = parsed(file.readline(_FOOT))
        size = file.seek(0, os.SEEK_END)
        file.seek(max(0, size - _FOOT))
        last = parsed(file.read().rstrip(b"\n").rpartition(b"\n")[2])
    return head, last if last is not None and last.get("kind") == "foot" else None


def _began_nothing(path: str) -> bool:
    """Return whether a run came no further than to write the beginning of its head."""
    with open(path, "rb") as file:
        line = file.readline(_FOOT)
    return len(line) < _FOOT and not line.endswith(b"\n") and line[: len(_HEAD)] == _HEAD[: len(line)]


def _is_head(line: dict[str, Any]) -> bool:
    words = [line.get(name, "") for name in ("action", "undoes", "started")]
    return (
        line.get("kind") == "head"
        and all(isinstance(each, str) for each in words)
        and (isinstance(line.get("options", {}), dict))
    )


def all_runs(folder: str) -> Known:
    """Return all runs whose journals lie in a folder.

    Raises:
        NothingUsableError: the folder is there and cannot be read: what was done is not known.
    """
    known = Known()
    try:
        names = journal.names(folder)
    except FileNotFoundError:
        return known
    except OSError as error:
        shown = display.shown_text(folder)
        raise NothingUsableError(
            f"The journals in {shown} cannot be read: {error.strerror}. Are they another user's?"
        ) from error
    for name in names:
        path = os.path.join(folder, name)
        with suppress(FileNotFoundError):  # of a run that could not begin
            _add(known, path)
    return known


def _add(known: Known, path: str) -> None:
    """Read one journal as far as it goes.

    Raises:
        FileNotFoundError: it is gone by now.
    """
    try:
        known.runs.append(read(path))
    except FileNotFoundError:
        raise
    except OSError as error:
        whose = " (run this as its owner)" if isinstance(error, PermissionError) else ""
        known.unreadable.append(Refusal(os.fsencode(path), f"this journal cannot be read: {error.strerror}{whose}"))
    except ValueError as error:
        if _began_nothing(path):
            return
        known.unreadable.append(Refusal(os.fsencode(path), f"this journal cannot be read: {error}"))
        if isinstance(error, HeadlessError):
            known.headless.append(Run(path, {}, _ends(path)[1]))


def name_of(path: bytes) -> str:
    """Return the name of a run by the path of its journal."""
    return os.fsdecode(os.path.basename(path)).removesuffix(journal.ENDING)
