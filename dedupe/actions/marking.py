"""From a report and a few rules to marks: which copies stay, decided without looking at any file's content."""

from __future__ import annotations

import os
import platform
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from dedupe.actions.judge import Judge
from dedupe.actions.marks import MarkedFile, MarkedGroup, Marks, Rule
from dedupe.config import Rules
from dedupe.errors import UsageError
from dedupe.result import File, Group, ScanResult
from dedupe.storage.paths import absolute, outside


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
    judge = Judge(report, rules)
    made, undecided = [], []
    for group in judge.groups():
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
        rules=_listed(rules),
        undecided=len(undecided),
        volumes=[{"id": v.id, "label": v.label, "file_system": v.file_system} for v in report.volumes],
    )
    return Decided(marks, undecided)


def _listed(rules: Rules) -> list[Rule]:
    """Return the rules as a marks file has them."""
    folders = [
        Rule(name, outside(absolute(folder)))
        for name, given in (("protect", rules.protect), ("only-in", rules.only_in), ("prefer", rules.prefer))
        for folder in given
    ]
    names = [Rule("protect-name", os.fsencode(pattern)) for pattern in rules.protect_name]
    return folders + names + [Rule("then", word.encode()) for word in rules.then]


def _common(report: ScanResult) -> tuple[bytes, ...]:
    """Return the folder that holds all files of a report that does not say what was scanned, as other finders' do."""
    folders = {os.path.dirname(name) for group in report.groups for file in group.files for name in file.names}
    try:
        return (os.path.commonpath(folders),) if folders else ()
    except ValueError:  # on several drives
        return tuple(sorted({os.path.splitdrive(folder)[0] + b"\\" for folder in folders}))


def _marked(group: Group, stays: Sequence[File]) -> MarkedGroup:
    kept = {file.path for file in stays}
    keep = tuple(_marked_file(file) for file in group.files if file.path in kept)
    redundant = tuple(_marked_file(file) for file in group.files if file.path not in kept)
    return MarkedGroup(group.id, group.size, group.algorithm, group.digest, keep, redundant)


def _marked_file(file: File) -> MarkedFile:
    return MarkedFile(file.path, file.links, file.symlinks, file.mounted, file.modified_ns, file.device, file.inode)
