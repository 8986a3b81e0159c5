"""The files that marks name as the disk has them now: where they really lie, which can stay, which can go.

Looks at names only.  Opens nothing, changes nothing.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Iterable, Sequence

from dedupe.actions import looks
from dedupe.actions.away import Away
from dedupe.actions.bounds import Inside
from dedupe.actions.copies import Copy, Name
from dedupe.actions.marks import MarkedFile, MarkedGroup
from dedupe.actions.tally import Refusal
from dedupe.actions.words import said
from dedupe.storage import display
from dedupe.storage.lasting import misplaced
from dedupe.storage.paths import absolute

_GONE = "is gone"


class Places:
    """Where the names of marks really lie."""

    def __init__(self, roots: Iterable[bytes], target: bytes | None) -> None:
        self._roots = sorted(((os.path.join(r, b""), r) for r in roots), key=lambda pair: -len(pair[0]))
        self._real = {root: os.path.realpath(absolute(root)) for _, root in self._roots}
        self.target = Inside([] if target is None else [target], widely=True)

    def root_of(self, path: bytes) -> bytes:
        """Return the innermost root that a path lies below."""
        return next(root for top, root in self._roots if path == root or path.startswith(top))

    def name(self, path: bytes) -> Name:
        """Return a name with the folder where it must lie if nothing below the root is a symbolic link."""
        root = self.root_of(path)
        if path == root:
            folder, name = os.path.split(absolute(path))
            return Name(path, os.path.realpath(folder), name, root)
        below, name = os.path.split(path[len(os.path.join(root, b"")) :])
        real = self._real[root]
        return Name(path, os.path.join(real, below) if below else real, name, root)


class GroupNow:
    """A group as the disk has it now: what can stay, what can go, and what neither."""

    def __init__(self, group: MarkedGroup, places: Places) -> None:
        self.group, self._places = group, places
        self.refused: list[Refusal] = []
        self.already: list[Refusal] = []
        self.spoilt: list[str] = []  # why keepers do not count
        self.gone: list[tuple[MarkedFile, list[Name]]] = []  # with all of their names; `tell_gone` sorts them
        self.seen: list[tuple[MarkedFile, Copy]] = []
        self.keepers = [copy for file in group.keep if (copy := self._keeper(file))]
        self.victims = [copy for file in group.redundant if (copy := self._victim(file))]

    def _keeper(self, file: MarkedFile) -> Copy | None:
        names = [self._places.name(path) for path in file.real_names]
        if not (lasting := [name for name in names if not self._misplaced(name)]):
            self.spoilt.append(f"{display.shown(file.path)} {self._misplaced(names[0])}")
            return None
        try:
            copy = _there(lasting, file.symlinks)
        except OSError as error:
            self.spoilt.append(f"{display.shown(lasting[0].path)}: {error.strerror}")
            return None
        self.seen.append((file, copy))
        if reason := self._unfit(copy):
            self.spoilt.append(f"{display.shown(copy.path)} {reason}")
            return None
        return copy

    def _victim(self, file: MarkedFile) -> Copy | None:
        names = [self._places.name(path) for path in file.real_names]
        try:
            copy = _there(names, file.symlinks)
        except FileNotFoundError:
            self.gone.append((file, names))
            return None
        except OSError as error:
            self.refused.append(Refusal(file.path, said(error)))
            return None
        self.seen.append((file, copy))
        self.already += [Refusal(name.path, _GONE) for name in names if name not in copy.names]
        if reason := self._unfit(copy) or self._of_names(copy):
            self.refused += [Refusal(name.path, reason) for name in copy.names]
            return None
        return copy

    def _of_names(self, copy: Copy) -> str | None:
        """Return why a file stays for where one of its names lies: they go together, or none does."""
        for name in copy.names:
            if reason := self._misplaced(name):
                return reason if name is copy.names[0] else f"has a name that {reason}: {display.shown(name.path)}"
        return None

    def _misplaced(self, name: Name) -> str | None:
        """Return why nothing by a name is keeper or victim, or None."""
        if self._places.target.has(name.real):
            return "lies in the target folder"
        return misplaced(name.real)

    def _unfit(self, copy: Copy) -> str | None:
        """Return why a file is neither keeper nor victim, or None."""
        if copy.seen.is_elsewhere:
            return "is in a cloud only"
        if not copy.seen.is_regular:
            return "is no regular file any more"
        return "has another size than in the report" if copy.seen.size != self.group.size else None


def tell_gone(groups: Iterable[GroupNow], volumes: Iterable[str]) -> None:
    """Tell of each file that is not where it was whether it is gone, or lies on a volume that is away.

    Args:
        groups: all of the marks.
        volumes: the ids of those that the marks tell of.
    """
    groups = list(groups)
    if not any(group.gone for group in groups):
        return
    away = Away(volumes)
    for file, copy in (pair for group in groups for pair in group.seen):
        away.note(file, copy)
    for group in groups:
        for file, names in group.gone:
            for name in names:
                reason = away.reason(file, name)
                (group.refused if reason else group.already).append(Refusal(name.path, reason or _GONE))


def _there(names: Sequence[Name], symlinks: tuple[bytes, ...]) -> Copy:
    """Return the file that names lead to, without those that are gone.

    Raises:
        FileNotFoundError: all are.
        OSError: the first that is there cannot be looked at.
    """
    seen, found = None, []
    for name in names:
        try:
            now = looks.at(name.real)
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError:
            if seen is None:
                raise
        else:
            seen = seen or now
        found.append(name)
    if seen is None:
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT))
    return Copy(tuple(found), seen, symlinks)
