"""Decides by name and size which files and folders a scan leaves out, and why.  Makes no system call for a file.

A pattern without a slash is matched against the name, one with a slash against the end of the path, or against the
whole path where it starts with a slash; `*` matches any characters, slashes too.  Case counts, except on Windows.
Rules of an ignore file are those of git, for paths below the root that an entry lies below.
"""

from __future__ import annotations

import fnmatch
import os
import re
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, NamedTuple

from dedupe.config import ScanConfig
from dedupe.errors import UsageError
from dedupe.result import SkipReason
from dedupe.storage import mounts
from dedupe.storage.paths import absolute, outside

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec

# Recycle bins, snapshots of whole folders, and folders of the system: copies there are not what users look for.
_DEFAULT_EXCLUDES = re.compile(
    rb"\$recycle\.bin|recycler|recycled|\.trash|\.trash-\d+|\.trashes|system volume information"
    rb"|\.snapshots?|\.zfs|@eadir|lost\+found",
    re.IGNORECASE,
)
_TRASH = b"/.local/share/Trash"


def is_trash(path: bytes) -> bool:
    """Return whether a folder is a recycle bin, holds snapshots, or is one of the system's."""
    return bool(_DEFAULT_EXCLUDES.fullmatch(os.path.basename(path))) or path.endswith(_TRASH)


class _Patterns(NamedTuple):
    """Patterns for inclusion or for exclusion: those matched against names, and those matched against whole paths."""

    names: re.Pattern[str] | None
    paths: re.Pattern[str] | None

    @classmethod
    def of(cls, patterns: Iterable[str], *, ignore_case: bool) -> _Patterns | None:
        """Return the compiled patterns, or None if there are none."""
        names: list[str] = []
        paths: list[str] = []
        for pattern in patterns:
            native = pattern.replace("/", os.sep).rstrip(os.sep)
            if os.sep not in native:
                names.append(fnmatch.translate(native))
            else:
                whole = native if os.path.isabs(native) or native.startswith("*") else f"*{os.sep}{native}"
                between = f"{os.sep}**{os.sep}"  # may also match no folder at all
                paths += [fnmatch.translate(p) for p in {whole, whole.replace(between, os.sep)}]
        flags = re.IGNORECASE if ignore_case else 0
        compiled = [re.compile("|".join(p), flags) if p else None for p in (names, paths)]
        return cls(*compiled) if names or paths else None

    def match(self, folder: bytes, name: bytes) -> bool:
        """Return whether an entry of a folder (whose path ends in a separator) matches."""
        if self.names and self.names.match(os.fsdecode(name)):
            return True
        return bool(self.paths and self.paths.match(os.fsdecode(outside(folder) + name)))


class _IgnoreRules(NamedTuple):
    """Rules as .gitignore has them: of later ones that match the last counts, and `!` takes an entry back in."""

    spec: GitIgnoreSpec
    roots: tuple[bytes, ...]  # with a separator at their ends, the longest first
    ignore_case: bool

    @classmethod
    def of(cls, config: ScanConfig, *, ignore_case: bool) -> _IgnoreRules | None:
        """Return the rules of a configuration, or None if there are none.

        Raises:
            UsageError: one of them is no rule.
        """
        if not config.exclude_lines:
            return None
        from pathspec import GitIgnoreSpec  # takes longer to import than a small scan

        lines = [line.lower() for line in config.exclude_lines] if ignore_case else config.exclude_lines
        try:
            spec = GitIgnoreSpec.from_lines(lines)
        except ValueError as error:
            raise UsageError(f"The rules of --exclude-from cannot be used: {error}.") from error
        roots = {os.path.join(absolute(os.fsencode(root)), b"") for root in config.roots}
        return cls(spec, tuple(sorted(roots, key=len, reverse=True)), ignore_case)

    def match(self, path: bytes) -> bool:
        """Return whether an entry is ignored; the path of a folder ends in a separator."""
        root = next((root for root in self.roots if path.startswith(root)), b"")
        relative = os.fsdecode(path[len(root) :] if root else os.path.basename(path)).replace(os.sep, "/")
        return self.spec.match_file(relative.lower() if self.ignore_case else relative)


class Filters(NamedTuple):
    """The rules of one scan; picklable, so that workers can walk by them."""

    include: _Patterns | None
    exclude: _Patterns | None
    ignored: _IgnoreRules | None
    default_excludes: bool  # leave out recycle bins and snapshots
    pseudo: frozenset[bytes]
    min_size: int
    max_size: int

    @classmethod
    def of(cls, config: ScanConfig) -> Filters:
        """Return the rules that a configuration asks for.

        Raises:
            UsageError: a rule of an ignore file is none.
        """
        ignore_case = config.ignore_case or sys.platform == "win32"
        return cls(
            include=_Patterns.of(config.include, ignore_case=ignore_case),
            exclude=_Patterns.of(config.exclude, ignore_case=ignore_case),
            ignored=_IgnoreRules.of(config, ignore_case=ignore_case),
            default_excludes=config.default_excludes and not config.trash,
            pseudo=mounts.pseudo() if config.default_excludes else frozenset(),
            min_size=config.min_size,
            max_size=sys.maxsize if config.max_size is None else config.max_size,
        )

    @property
    def any_names(self) -> bool:
        """Return whether any pattern restricts the names of files."""
        return self.include is not None or self.exclude is not None or self.ignored is not None

    def of_file(self, folder: bytes, name: bytes) -> SkipReason | None:
        """Return why a file is left out for its name, or None."""
        if self.exclude and self.exclude.match(folder, name):
            return SkipReason.EXCLUDED
        if self.ignored and self.ignored.match(folder + name):
            return SkipReason.EXCLUDED
        if self.include and not self.include.match(folder, name):
            return SkipReason.NOT_INCLUDED
        return None

    def of_folder(self, path: bytes) -> SkipReason | None:
        """Return why a folder is not entered, or None."""
        folder, name = os.path.split(path)
        if path in self.pseudo:
            return SkipReason.PSEUDO_FILE_SYSTEM
        if self.default_excludes and is_trash(path):
            return SkipReason.DEFAULT_EXCLUDE
        if self.exclude and self.exclude.match(os.path.join(folder, b""), name):
            return SkipReason.EXCLUDED
        if self.ignored and self.ignored.match(os.path.join(path, b"")):
            return SkipReason.EXCLUDED
        return None

    def of_size(self, size: int) -> SkipReason:
        """Return why a file of `size` bytes, which is not within bounds, is left out."""
        if size > self.max_size:
            return SkipReason.TOO_LARGE
        return SkipReason.TOO_SMALL if size else SkipReason.EMPTY
