"""The copies that stay, looked after while others go: there by their paths, unchanged, and on their disks.

Changes none of them.
"""

from __future__ import annotations

import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from dedupe.actions.action import Action
from dedupe.actions.holding import Held, RefusedError
from dedupe.actions.looks import Look
from dedupe.actions.reread import digest_of
from dedupe.storage import durable, file_systems, volumes

_RECENT = 900  # seconds after which the system has written a file to the disk by itself, on a sleepy laptop too
_MANY = 8  # files of a batch, from which on one call for their volume takes less time than one for each
_COARSE = 2  # seconds by which a date may be too early: FAT counts by so many
_TICK = 0.02  # seconds after which another change has another time; file systems count in steps of up to 10 ms
_SECOND = 1_000_000_000  # ns; a time without a fraction is of a file system that counts in seconds
GONE = "the copy that stays is not there any more, or changed after it was compared"


class _Device(NamedTuple):
    """What the file system of a device does not do is assumed of one that cannot be asked."""

    is_alone: bool = False  # no other mount shows its files
    keeps_change_time: bool = False
    is_kernels: bool = False  # the kernel writes it, rather than a program that need not be told to


class Keepers:
    """Looks after the keepers of one batch after the other.

    Args:
        action: what is done to the others.
        copies: how many have to stay of each group.
    """

    def __init__(self, action: Action, copies: int) -> None:
        self._action, self._copies = action, max(1, copies)
        self._seen: dict[tuple[int, int], Look] = {}  # files as our own links left them
        self._doubtful: dict[tuple[int, int], float] = {}  # of these, which are to be read again, and since when
        self._lost: set[tuple[int, int]] = set()  # files that cannot be counted on any more, whatever they look like
        self._settled: set[bytes] = set()  # paths of files that were written to their disk
        self._folders: dict[bytes, str] = {}  # their folders likewise, and why that failed
        self._failures: dict[int, str] = {}  # devices that were written to, and why that failed; empty for a sound one
        self._written: dict[int, float] = {}  # devices, and since when all that was written before is on their disks
        self._devices: dict[int, _Device] = {}

    def begin(self, keepers: Iterable[Held]) -> None:
        """Begin with the keepers of a batch."""
        self._seen, self._doubtful, self._lost = {}, {}, set()
        self._settled, self._folders = set(), {}
        if not self._action.has_aside:
            return
        young = [keeper for keeper in keepers if self._is_young(keeper)]
        for device, count in Counter(keeper.seen.device for keeper in young).items():
            if count >= _MANY and device not in self._written:
                self._write_volume(next(keeper for keeper in young if keeper.seen.device == device))
        for keeper in young:
            if self._is_young(keeper):
                durable.begin(keeper.descriptor)

    def stand(self, keepers: Sequence[Held]) -> bool:
        """Return whether as many as have to stay are there by their paths, as they were when they were read.

        One that was not there once, or had changed, counts for none of the others that it was compared with either.
        """
        for keeper in keepers:
            if not keeper.is_by_its_path(self._expected(keeper)):
                self._lost.add(keeper.identity)
        return sum(keeper.identity not in self._lost for keeper in keepers) >= self._copies

    def settle(self, keepers: Sequence[Held]) -> None:
        """Have keepers that were made or written a moment ago on the disk, before the only other copy of them goes.

        Of each device at least one is, whatever its date: a file system that met an error keeps what it could not
        write in memory as long as it is mounted.  Once one of a device fails, none of it counts any more.

        Raises:
            RefusedError: the system could not write one.
        """
        if not self._action.has_aside:
            return
        for keeper in keepers:
            device = keeper.seen.device
            is_due = device not in self._failures or (self._is_young(keeper) and keeper.name.real not in self._settled)
            if is_due and not self._failures.get(device):
                self._failures[device] = durable.failure(keeper.descriptor) or self._failure_of_name(keeper)
                self._settled.add(keeper.name.real)
            if reason := self._failures[device]:
                raise RefusedError(f"the copy that stays could not be written to its disk: {reason}")

    def note(self, held: Held) -> None:
        """Take over how a link of our own that was made or removed this moment left a file, which stood just before.

        Its time of change would tell what others did in that moment, and was moved by us.  A lease that still stands
        tells it too; where there is none it has to be read again before anything is given up for it.
        """
        if not self._action.links or held.identity in self._lost:
            return
        try:
            now = held.look()
        except OSError:
            self._lost.add(held.identity)
            return
        if not now.is_as(held.seen):
            self._lost.add(held.identity)
        elif not now.is_untouched_since(self._expected(held)):
            self._seen[held.identity] = now
            if not self._is_guarded(held):
                self._doubtful[held.identity] = time.monotonic()

    def prove_again(self, held: Held, algorithm: str, digest: bytes) -> None:
        """Read a file again that nothing but our own links is known to have changed, unless that is certain."""
        since = self._doubtful.pop(held.identity, None)
        if since is None or held.identity in self._lost:
            return
        seen = self._expected(held)
        # What is written in the same tick of the clock as our link would not move the time of change any more.
        tick = _TICK if seen.changed_ns % _SECOND else 1 + _TICK
        time.sleep(max(0.0, since + tick - time.monotonic()))
        try:
            is_same = digest_of(held.descriptor, algorithm) == digest and held.is_undisturbed(seen)
        except OSError:
            is_same = False
        if not is_same:
            self._lost.add(held.identity)

    def _expected(self, held: Held) -> Look:
        return self._seen.get(held.identity, held.seen)

    def _is_guarded(self, held: Held) -> bool:
        """Return whether nobody can have written to it unnoticed since it was opened, whatever its dates say.

        A lease guards one mount: who comes by another, or by a server, is not seen where files may be another's.
        """
        is_lent = held.leased and self._device(held).is_alone and held.keeps_writers_away()
        return is_lent or sys.platform == "win32"  # where others are denied to open it for writing

    def _device(self, held: Held) -> _Device:
        device = held.seen.device
        if device not in self._devices:
            self._devices[device] = _asked(held)
        return self._devices[device]

    def _is_young(self, keeper: Held) -> bool:
        """Return whether a file was made, renamed or written so lately that it may be in memory only.

        Where no time of change is kept a copy made a moment ago may look as old as its original: there each is young
        that was not there, before anything was done, when its volume was written to the disk.
        """
        written = self._written.get(keeper.seen.device, 0.0)
        if not self._device(keeper).keeps_change_time:
            return not (written and keeper.seen.is_as(keeper.copy.seen))
        since = max(time.time() - _RECENT, written)
        return max(keeper.seen.modified_ns, keeper.seen.changed_ns) / 1e9 > since

    def _write_volume(self, keeper: Held) -> None:
        """Have all that a volume has in memory on its disk, once a run: what has an older date then is there."""
        since = time.time() - _COARSE
        asked = self._device(keeper)
        is_written = asked.is_alone and asked.is_kernels and durable.write_volume(keeper.folder(keeper.name))
        self._written[keeper.seen.device] = since if is_written else 0.0
        if is_written:
            self._failures.setdefault(keeper.seen.device, "")

    def _failure_of_name(self, keeper: Held) -> str:
        """Return why the name of a keeper could not be written to its disk: FAT does not do that with the file."""
        folder = keeper.name.folder
        if folder not in self._folders:
            self._folders[folder] = durable.failure_of_names(keeper.folder(keeper.name))
        return self._folders[folder]


def _asked(held: Held) -> _Device:
    """Return what is known of the file system of a file."""
    try:
        volume = volumes.locate(held.name.folder, held.seen.device).volume
    except OSError:
        return _Device()
    kind = volume.file_system
    is_kernels = not kind.startswith("fuse")
    return _Device(not file_systems.shows_others(kind), volume.keeps_change_time, is_kernels)
