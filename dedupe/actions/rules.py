"""From a report and a few rules to marks: which copies stay, decided without looking at any file's content.

A rule only ever narrows what may go, or which copy is the one to stay.  What the rules leave open stays undecided, and
then all copies of the group stay.
"""

from __future__ import annotations

import fnmatch
import os
import platform
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import cache

from dedupe.actions.bounds import misplaced
from dedupe.actions.marks import MarkedFile, MarkedGroup, Marks, Rule
from dedupe.errors import UsageError
from dedupe.result import File, Group, Proof, ScanResult
from dedupe.storage import display
from dedupe.storage.paths import absolute, outside


class Then(StrEnum):
    """What breaks a tie: which copy is the one to stay."""

    NEWEST = "newest"
    OLDEST = "oldest"
    SHORTEST = "shortest"
    FIRST_ROOT = "first-root"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """What a user wants to stay.  Folders may be relative to the current one.

    Attributes:
        protect: nothing below these folders is ever redundant.
        protect_name: nothing with such a name is: patterns such as `*.psd`.
        only_in: nothing outside these folders is redundant.
        prefer: where a copy lies below one of these it is the one to stay, the first named first.
        then: which copy stays where several still could.
    """

    protect: Sequence[bytes] = ()
    protect_name: Sequence[str] = ()
    only_in: Sequence[bytes] = ()
    prefer: Sequence[bytes] = ()
    then: Sequence[Then] = ()

    def __bool__(self) -> bool:
        """Return whether any rule is given."""
        return any((self.protect, self.protect_name, self.only_in, self.prefer, self.then))

    def listed(self) -> list[Rule]:
        """Return the rules as a marks file has them."""
        folders = [
            Rule(name, outside(absolute(folder)))
            for name, given in (("protect", self.protect), ("only-in", self.only_in), ("prefer", self.prefer))
            for folder in given
        ]
        names = [Rule("protect-name", os.fsencode(pattern)) for pattern in self.protect_name]
        return folders + names + [Rule("then", word.encode()) for word in self.then]


@dataclass(slots=True)
class Decided:
    """The marks, and the groups that the rules could not decide."""

    marks: Marks
    undecided: list[Group] = field(default_factory=list)


def mark(report: ScanResult, rules: Rules) -> Decided:
    """Return the marks that rules make of a report.

    Raises:
        UsageError: no rule is given, or one matches nothing in the report: most likely it is misspelt.
    """
    if not rules:
        raise UsageError(
            "No rule says which copies stay: give --protect, --only-in, --prefer, --protect-name or --then."
        )
    groups = [group for group in map(_here, report.groups) if len(group.files) > 1]
    judge = _Judge(report.roots, groups, rules)
    made, undecided = [], []
    for group in groups:
        stays = judge.staying(group)
        if stays is None:
            undecided.append(group)
        elif len(stays) < len(group.files):
            made.append(_marked(group, stays))
    judge.check_all_matched()
    marks = Marks(
        roots=tuple(report.roots) or _common(report),
        groups=made,
        version=report.version,
        started=report.started,
        saved=datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z"),
        host=platform.node(),
        rules=rules.listed(),
        undecided=len(undecided),
        volumes=[{"id": v.id, "label": v.label, "file_system": v.file_system} for v in report.volumes],
    )
    return Decided(marks, undecided)


class _Judge:
    """Applies the rules to one group after the other, and remembers which of them ever matched."""

    def __init__(self, roots: Sequence[bytes], groups: Sequence[Group], rules: Rules) -> None:
        self._groups = groups
        self._protect = [_Folder("protect", folder) for folder in rules.protect]
        self._only_in = [_Folder("only-in", folder) for folder in rules.only_in]
        self._prefer = [_Folder("prefer", folder) for folder in rules.prefer]
        self._names = [_Name(pattern) for pattern in rules.protect_name]
        self._then = [_choices(roots)[word] for word in rules.then]

    def staying(self, group: Group) -> Sequence[File] | None:
        """Return the copies that stay, None where that is undecided."""
        must = [file for file in group.files if self._must_stay(file)]
        counted = [file for file in group.files if _may_count(file)]
        if must and (not counted or any(map(_may_count, must))):
            return must
        left = counted or list(group.files)  # what lies in a trash or snapshot stays for no other
        for preferred in self._prefer:
            left = [file for file in left if preferred.holds_any(file.names)] or left
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
        real = (*_entries(file), *file.mounted)
        inside = [[folder.holds(name) for folder in self._only_in] for name in real]
        return any(protected) or not all(any(row) for row in inside if row)

    def check_all_matched(self) -> None:
        """Refuse rules that matched nothing.

        Raises:
            UsageError: there is one.
        """
        asked: list[_Folder | _Name] = [*self._protect, *self._only_in, *self._prefer, *self._names]
        for rule in asked:
            files = (file for group in self._groups for file in group.files)
            if self._groups and not any(rule.matched or rule.holds_any(file.names) for file in files):
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


def _entries(file: File) -> tuple[bytes, ...]:
    """Return the names that are entries of folders of their own."""
    return (file.path, *file.links)


def _may_count(file: File) -> bool:
    """Return whether a file may be the copy that stays: by one of its names it lies in no trash or snapshot."""
    return not all(map(misplaced, _entries(file)))


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


def _common(report: ScanResult) -> tuple[bytes, ...]:
    """Return the folder that holds all files of a report that does not say what was scanned, as other finders' do."""
    folders = {os.path.dirname(name) for group in report.groups for file in group.files for name in file.names}
    try:
        return (os.path.commonpath(folders),) if folders else ()
    except ValueError:  # on several drives
        return tuple(sorted({os.path.splitdrive(folder)[0] + b"\\" for folder in folders}))


def _here(group: Group) -> Group:
    """Return a group without what only catalogs tell of: that can neither stay for another file nor go."""
    if all(file.proof is not Proof.OFFLINE for file in group.files):
        return group
    return replace(group, files=[file for file in group.files if file.proof is not Proof.OFFLINE])


def _marked(group: Group, stays: Sequence[File]) -> MarkedGroup:
    kept = {file.path for file in stays}
    keep = tuple(_marked_file(file) for file in group.files if file.path in kept)
    redundant = tuple(_marked_file(file) for file in group.files if file.path not in kept)
    return MarkedGroup(group.id, group.size, group.algorithm, group.digest, keep, redundant)


def _marked_file(file: File) -> MarkedFile:
    return MarkedFile(file.path, file.links, file.symlinks, file.mounted, file.modified_ns, file.device, file.inode)
