"""Journals read back: what runs there were, what they did, and what of it has been undone.  Changes nothing."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dedupe.actions import journal
from dedupe.actions.records import Intent, Outcome, Result

UNDO = "undo"


@dataclass(slots=True)
class Run:
    """One journal, as far as it was written; a torn line counts as not written."""

    path: str
    head: dict[str, Any] = field(default_factory=dict)
    intents: dict[int, Intent] = field(default_factory=dict)  # by number
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    foot: dict[str, Any] | None = None
    lines: list[dict[str, Any]] = field(default_factory=list)

    @property
    def name(self) -> str:
        """Return the name that `dedupe undo` takes."""
        return os.path.basename(self.path).removesuffix(journal.ENDING)

    @property
    def action(self) -> str:
        """Return what the run did."""
        return str(self.head.get("action", ""))

    @property
    def undoes(self) -> str:
        """Return the run that this one undoes; empty where it acted."""
        return str(self.head.get("undoes", ""))

    @property
    def open_intents(self) -> list[Intent]:
        """Return the intents of which nobody knows how they ended: the run was killed, or is alive."""
        return [intent for n, intent in self.intents.items() if n not in self.outcomes]

    def done(self) -> list[Intent]:
        """Return the intents that were carried out, in their order."""
        return [i for n, i in self.intents.items() if n in self.outcomes and self.outcomes[n].result is Result.DONE]


def read(path: str) -> Run:
    """Return what a journal holds.

    Raises:
        OSError: it cannot be read.
    """
    run = Run(path)
    with open(path, "rb") as file:
        for line in file:
            try:
                found = json.loads(line)
                _take(run, found)
            except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
                continue  # torn by a kill, or by a disk that was full
            run.lines.append(found)
    return run


def _take(run: Run, line: dict[str, Any]) -> None:
    kind = line["kind"]
    if kind == "head":
        if line["schema"] != journal.SCHEMA:
            raise ValueError("a schema of another version")
        run.head = line
    elif kind == "intent":
        intent = Intent.from_object(line)
        run.intents[intent.n] = intent
    elif kind == "outcome":
        outcome = Outcome.from_object(line)
        run.outcomes[outcome.n] = outcome
    elif kind == "foot":
        run.foot = line


def all_runs(folder: str) -> list[Run]:
    """Return all runs whose journals lie in a folder, the oldest first."""
    return list(_runs(folder))


def _runs(folder: str) -> Iterator[Run]:
    try:
        names = sorted(name for name in os.listdir(folder) if name.endswith(journal.ENDING))
    except OSError:
        return
    for name in names:
        try:
            run = read(os.path.join(folder, name))
        except OSError:
            continue
        if run.head:
            yield run


def undone(runs: list[Run], run: Run) -> set[int]:
    """Return the numbers of a run's intents that later undos have taken back."""
    return {intent.undoes for other in runs if other.undoes == run.name for intent in other.done()}
