"""The lines of a journal, one by one: which can be read, and what they say.  Changes nothing."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from dedupe.actions.records import Intent, Outcome


@dataclass(slots=True)
class Lines:
    """What the lines of a journal say."""

    intents: dict[int, Intent] = field(default_factory=dict)  # by number; the last of a number counts
    outcomes: dict[int, Outcome] = field(default_factory=dict)
    broken: list[int] = field(default_factory=list)  # numbers of lines that are damaged, not torn


def objects(path: str) -> Iterator[tuple[int, dict[str, Any] | None]]:
    """Yield the number of each line and what it holds; None for one that is damaged, nothing for one that is torn."""
    with open(path, "rb") as file:
        for number, line in enumerate(file, 1):
            found = parsed(line)
            if found is not None or line.endswith(b"}\n"):  # a kill, or a full disk, tears a line before its end
                yield number, found


def parsed(line: bytes) -> dict[str, Any] | None:
    """Return what a line holds; None for what is no object."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError):  # also of numbers with thousands of digits
        return None
    return found if isinstance(found, dict) else None


def take(lines: Lines, line: dict[str, Any], *, is_undo: bool) -> bool:
    """Take a line in; return False if it cannot be understood."""
    try:
        if line["kind"] == "intent":
            intent = Intent.from_object(line)
            if intent.verb.startswith("undo-") != is_undo:
                return False
            lines.intents[intent.n] = intent
        elif line["kind"] == "outcome":
            outcome = Outcome.from_object(line)
            lines.outcomes[outcome.n] = outcome
        elif line["kind"] not in ("head", "foot"):
            return False
    except (ValueError, KeyError, TypeError, AttributeError, OverflowError):
        return False
    return True
