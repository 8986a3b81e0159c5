"""What an action is: a rename that can be taken back until a last look has passed.  Acts on nothing itself."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import NamedTuple, Protocol

from dedupe.actions.copies import Name
from dedupe.actions.holding import FolderHandle, Held
from dedupe.storage.rename import rename_no_replace
from dedupe.storage.temporary_names import ASIDE

if sys.platform == "win32":
    from dedupe.storage import windows_acts


class Spot(NamedTuple):
    """A name in an open folder."""

    folder: FolderHandle
    name: bytes


@dataclass(slots=True, eq=False)
class Item:
    """One name of a victim, on its way."""

    n: int  # within the run
    run: str
    victim: Held
    name: Name
    keeper: Held
    target: bytes | None = None  # where it goes, for the journal
    info: bytes | None = None  # the record of a trash that belongs to it
    spot: Spot | None = None  # the target, opened
    own: int = 0  # bytes that the victim has for itself alone
    gained: int | None = None  # bytes that became free, where only the action knows
    is_begun: bool = False  # it was set aside, or may have been

    @property
    def here(self) -> Spot:
        """Return the name itself, in its open folder."""
        return Spot(self.victim.folder(self.name), self.name.name)

    @property
    def aside(self) -> Spot:
        """Return a name in the same folder that is ours for the time of the act."""
        return Spot(self.victim.folder(self.name), temporary(self.run, self.n))


class NewKeeperError(Exception):
    """The keeper takes no further names: this victim, which has been proven equal, becomes the next keeper."""


class PlaceTakenError(Exception):
    """Somebody took the place that was chosen; nothing was done yet, and `prepare` chooses another."""


class Action(Protocol):
    """One way of acting.  `aside` may be taken back by `back` until `commit`; nothing ever replaces a name.

    Attributes:
        verb: as the command line and the journal have it.
        names_go: the names of victims disappear from where they are.
        one_volume: keeper and victim must lie on one volume.
        has_aside: the victim, or its successor, has a name of its own in the folder for the time of the act.
        links: keepers are given names.
    """

    verb: str
    names_go: bool
    one_volume: bool
    has_aside: bool
    links: bool

    def probe(self, victim: Held) -> None:
        """Look whether the action can ever work where a victim lies, before anything is read; changes nothing.

        Raises:
            RefusedError: it cannot; the same holds for all other victims of that volume.
        """

    def check(self, item: Item) -> None:
        """Look whether one victim and its keeper suit the action; changes nothing.

        Raises:
            RefusedError: they do not.
        """

    def prepare(self, item: Item) -> None:
        """Choose the place that a name goes to; what is made here is empty folders.

        Raises:
            RefusedError or OSError: there is none.
        """

    def abandon(self, item: Item) -> None:
        """Give up what was prepared, as nothing will be done."""

    def aside(self, item: Item) -> None:
        """Do it so that it can be taken back.

        Raises:
            NewKeeperError: the keeper takes no more names.
            PlaceTakenError: the place is not free any more.
            RefusedError or OSError: it cannot be done.
        """

    def whereabouts(self, item: Item) -> Spot:
        """Return where the victim lies between `aside` and `commit`."""

    def commit(self, item: Item) -> None:
        """Make it last."""

    def back(self, item: Item) -> None:
        """Take `aside` back, wherever it stopped.

        Raises:
            OSError: it cannot be taken back.
        """

    def sync(self) -> None:
        """Have what was done outside the victims' folders on the disk."""


def temporary(run: str, n: int) -> bytes:
    """Return the name, short and of our own, that the n-th name of a run has while it is acted on."""
    return ASIDE + f"{run}-{n}".encode()


def second_name(run: str, n: int, *, back: bool = False) -> bytes:
    """Return the name that the n-th name of a run has for a moment where a rename is made of links.

    Args:
        run: its name.
        n: the number of the name.
        back: it is renamed back to where it was.
    """
    return temporary(run, n) + (b"b" if back else b"a")


def move(item: Item, source: Spot, target: Spot, *, back: bool = False) -> None:
    """Rename a victim: on Windows by its handle, which nothing can be swapped under; never over another name.

    Args:
        item: the victim's.
        source: where it is.
        target: where it is to be.
        back: that is where it was.

    Raises:
        FileExistsError: something has that name.
        OSError: it was not renamed.
    """
    if sys.platform == "win32":
        windows_acts.move_open(item.victim.descriptor, windows_acts.at(target.folder, target.name))
    else:
        rename(source, target, second_name(item.run, item.n, back=back))


def rename(source: Spot, target: Spot, second: bytes) -> None:
    """Give a file another name, never over another one; see `rename_no_replace`.

    Raises:
        FileExistsError: something has that name.
        OSError: it was not renamed.
    """
    rename_no_replace(source.name, target.name, source_dir=source.folder, target_dir=target.folder, second=second)
