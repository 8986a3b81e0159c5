"""The one line that says how far a run is, in plain words, as wide as the terminal.  The only module that uses tqdm."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any, NamedTuple, TypeAlias

from tqdm import tqdm

from dedupe.report.units import binary_size

Steps: TypeAlias = Sequence[Sequence[str]]
"""The steps of a command, each of one phase or several."""

_LOOKING, _SAMPLING, _PROVING = ("walk", "catalogs"), ("recall", "fingerprint"), ("confirm", "recheck")
_ACTING = ("trash", "move", "reflink", "hardlink", "delete")
STEPS: dict[str, Steps] = {
    "": (),  # phases that are not counted
    "scan": (_LOOKING, _SAMPLING, _PROVING),
    "scan and write": (_LOOKING, _SAMPLING, _PROVING, ("write",)),
    "apply": (("look ahead",), _ACTING),
}

# What each phase does, and what it counts; a phase that is not here goes by its own name.
_WORDS = {
    "walk": ("finding files", ""),
    "catalogs": ("reading catalogs", ""),
    "recall": ("asking the cache", ""),
    "fingerprint": ("sampling", "files"),
    "confirm": ("comparing", ""),
    "recheck": ("looking once more", "files"),
    "hash": ("reading", ""),
    "compare": ("comparing with the catalog", ""),
    "write": ("writing reports", ""),
    "look ahead": ("looking ahead", "groups"),
    "trash": ("moving to the trash", ""),
    "move": ("moving", ""),
    "reflink": ("sharing blocks", ""),
    "hardlink": ("linking", ""),
    "delete": ("deleting", ""),
    "undo": ("taking back", "names"),
}
_SOON = 0.2  # seconds: what is over by then shows nothing
_SURE = 1.0  # seconds after which a guess at the rest is worth telling
_NEVER = 86400 * 365  # seconds: no guess, but a rate that is not known yet
_UNITS = (("TiB", 1 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("bytes", 1))


class State(NamedTuple):
    """How far a phase is."""

    step: str  # such as "2 of 4"; "" where steps are not counted
    phase: str
    done: int
    total: int | None
    in_bytes: bool
    rate: float = 0.0  # a second; 0 where it is not known yet


def sentence(state: State, width: int) -> str:
    """Return how far a phase is, in at most `width` characters: what matters least goes first where room is short."""
    words, unit = _WORDS.get(state.phase, (state.phase, ""))
    amount = _amount(state, unit)
    speed = f", {binary_size(int(state.rate))}/s" if state.rate and state.in_bytes else ""
    left = _left(state)
    step = f"{state.step}, " if state.step else ""
    words_amount = f"{words}: {amount}" if amount else words
    tried = (
        f"{step}{words_amount}{speed}{left}",
        f"{step}{words_amount}{left}",
        f"{words_amount}{left}",
        words_amount,
        words,
    )
    return next((text for text in tried if len(text) <= width), words[:width])


def _amount(state: State, unit: str) -> str:
    """Return `3.1 of 40.0 GiB`, `1,200 of 4,000 files`, or what is done where the total is not known."""
    if state.in_bytes:
        if not state.total:
            return binary_size(state.done) if state.done else ""
        name, size = next(each for each in _UNITS if state.total >= each[1])
        done, total = (f"{n / size:,.1f}" if size > 1 else f"{n:,}" for n in (state.done, state.total))
        return f"{done} of {total} {name}"
    if state.total is None:
        return f"{state.done:,}" if state.done else ""
    return f"{state.done:,} of {state.total:,} {unit}".rstrip()


def _left(state: State) -> str:
    """Return the time that is left, to be read and not to be counted down: `, 2 min left`."""
    seconds = max(0, (state.total or 0) - state.done) / (state.rate or 1)
    if not state.total or not state.rate or seconds > _NEVER:
        return ""
    minutes, hours = round(seconds / 60), int(seconds // 3600)
    if seconds < 60:
        return f", {max(1, round(seconds))} s left"
    if minutes < 60:
        return f", {minutes} min left"
    if hours < 48:
        return f", {hours} h {round(seconds / 60) % 60} min left"
    return f", {hours // 24} days left"


class _Line(tqdm):  # type: ignore[type-arg]  # it iterates over nothing
    """A line of tqdm's, which knows when to draw and how to clear, with our words on it."""

    state = State("", "", 0, None, in_bytes=False)

    @property
    def format_dict(self) -> Any:
        """Return what tqdm knows of its line, with the sentence to show."""
        known = super().format_dict
        elapsed = known["elapsed"]
        rate = (known["rate"] or self.n / elapsed) if elapsed > _SURE and self.n else 0.0
        now = self.state._replace(done=int(self.n), rate=rate)
        known["sentence"] = sentence(now, (known["ncols"] or 80) - 1)  # a full line would wrap on Windows
        return known


class ProgressLine:
    """Shows one line on standard error for the phase that is at work, and removes it when that is over."""

    def __init__(self, steps: Steps = ()) -> None:
        tqdm.monitor_interval = 0  # with its thread running, workers could not be forked
        self._steps = steps
        self._line: _Line | None = None

    def begin(self, phase: str, total: int | None, *, in_bytes: bool = False) -> None:
        """Show what is done now, and how much of it there is."""
        self.end()
        number = next((n for n, phases in enumerate(self._steps, 1) if phase in phases), 0)
        step = f"{number} of {len(self._steps)}" if number else ""
        self._line = _Line(
            total=total,
            bar_format="{sentence}",
            leave=False,
            dynamic_ncols=True,
            miniters=0,
            file=sys.stderr,
            delay=_SOON,
        )
        self._line.state = State(step, phase, 0, total, in_bytes)

    def reach(self, count: int) -> None:
        """Say how far it is; what is read twice, since a file failed, does not count beyond the end."""
        if self._line is not None:
            most = self._line.total
            self._line.update((min(count, most) if most else count) - self._line.n)

    def end(self) -> None:
        """Remove the line."""
        if self._line is not None:
            self._line.close()
            self._line = None
