"""Which copies of a group stay, by the rules of a user.

A rule only ever narrows what may go, or which copy is the one to stay.  What the rules leave open stays undecided, and
then all copies of the group stay.  Opens no file.
"""

from __future__ import annotations

import fnmatch
import os
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cache

from dedupe.config import Rules, Then
from dedupe.errors import UsageError
from dedupe.result import File, Group, Proof, ScanResult
from dedupe.storage import display
from dedupe.storage.lasting import lasts
from dedupe.storage.paths import absolute, outside


class Judge:
    """Applies the rules to one group after the other, and remembers which of them ever matched."""

    def __init__(self, report: ScanResult, rules: Rules) -> None:
        self._report = report
        self._protect = [_Folder("protect", folder) for folder in rules.protect]
        self._only_in = [_Folder("only-in", folder) for folder in rules.only_in]
        self._prefer = [_Folder("prefer", folder) for folder in rules.prefer]
        self._names = [_Name(pattern) for pattern in rules.protect_name]
        self._then = [_choices(report.roots)[word] for word in rules.then]

    def groups(self) -> Iterator[Group]:
        """Yield the groups without what only catalogs tell of: that can neither stay for another file nor go."""
        for group in self._report.groups:
            files = [file for file in group.files if file.proof is not Proof.OFFLINE]
            if len(files) > 1:
                yield group if len(files) == len(group.files) else replace(group, files=files)

    def undecided(self) -> list[Group]:
        """Return the groups that the rules leave as they are.

        Raises:
            UsageError: a rule matches nothing in the report: most likely it is misspelt.
        """
        found = [group for group in self.groups() if self.staying(group) is None]
        self.check_all_matched()
        return found

    def staying(self, group: Group) -> Sequence[File] | None:
        """Return the copies that stay, None where that is undecided."""
        must = [file for file in group.files if self._must_stay(file)]
        counted = [file for file in group.files if _may_count(file)]
        if must and (not counted or any(map(_may_count, must))):
            return must
        left = counted or list(group.files)  # what lies in a trash or snapshot stays for no other
        for preferred in self._prefer:
            left = [file for file in left if preferred.holds_any((*file.real_names, *file.mounted))] or left
        for choose in self._then:
            best = min(map(choose, left))
            left = [file for file in left if choose(file) == best]
        stays = must + left if len(left) == 1 else []
        if must and len(stays) in (0, len(group.files)):
            return must  # acting says why those are not enough
        return stays or None

    def _must_stay(self, file: File) -> bool:
        """Return whether a rule forbids that a file goes."""
        protected = [folder.holds_any(file.names) for folder in self._protect]
        protected += [name.holds_any(file.names) for name in self._names]
        real = (*file.real_names, *file.mounted)
        inside = [[folder.holds(name) for folder in self._only_in] for name in real]
        return any(protected) or not all(any(row) for row in inside if row)

    def check_all_matched(self) -> None:
        """Refuse rules that matched nothing.

        Raises:
            UsageError: there is one.
        """
        asked: list[_Folder | _Name] = [*self._protect, *self._only_in, *self._prefer, *self._names]
        groups = any(True for _ in self.groups())
        for rule in asked:
            files = (file for group in self.groups() for file in group.files)
            if groups and not any(rule.matched or rule.holds_any(file.names) for file in files):
                raise UsageError(
                    f"--{rule.option} {rule.shown} matches no file in the report: check its spelling, "
                    "and that the report is of this folder."
                )


class _Folder:
    """A folder of a rule: it holds what lies below it by name, or below what its name leads to."""

    def __init__(self, option: str, folder: bytes) -> None:
        self.option, self.shown, self.matched = option, display.shown(folder), False
        here = outside(absolute(folder))
        try:
            real = outside(os.path.realpath(absolute(folder)))
        except OSError:
            real = here
        self._tops = {_ended(here), _ended(real)}
        self._holds = cache(self._below)

    def holds(self, name: bytes) -> bool:
        """Return whether a name lies below the folder, or is it."""
        found = self._holds(os.path.dirname(name)) or _ended(name) in self._tops
        self.matched |= found
        return found

    def holds_any(self, names: Iterable[bytes]) -> bool:
        """Return whether one of several names lies below the folder."""
        return any(map(self.holds, names))

    def _below(self, folder: bytes) -> bool:
        if _ended(folder).startswith(tuple(self._tops)):
            return True
        try:
            return _ended(outside(os.path.realpath(absolute(folder)))).startswith(tuple(self._tops))
        except OSError:
            return False


class _Name:
    """A pattern of names."""

    option = "protect-name"

    def __init__(self, pattern: str) -> None:
        self.shown, self.matched = pattern, False
        self._pattern = re.compile(fnmatch.translate(pattern))

    def holds_any(self, names: Iterable[bytes]) -> bool:
        """Return whether one of several names is meant."""
        found = any(self._pattern.match(os.fsdecode(os.path.basename(name))) for name in names)
        self.matched |= found
        return found


def _may_count(file: File) -> bool:
    return lasts(file.real_names)


def _ended(folder: bytes) -> bytes:
    return os.path.join(folder, b"")


def _choices(roots: Sequence[bytes]) -> dict[Then, Callable[[File], int]]:
    """Return, for each word, what is smallest for the copies that stay."""
    tops = [_ended(root) for root in roots]

    def root_of(file: File) -> int:
        if file.root is not None:
            return file.root
        return next((n for n, top in enumerate(tops) if _ended(file.path).startswith(top)), len(tops))

    return {
        Then.NEWEST: lambda file: -file.modified_ns,
        Then.OLDEST: lambda file: file.modified_ns,
        Then.SHORTEST: lambda file: len(display.text(file.path)),
        Then.FIRST_ROOT: root_of,
    }
