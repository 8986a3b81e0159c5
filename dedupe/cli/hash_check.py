"""Checks lists of checksums and audits folders by them, in the words of sha256sum.  Hashes and compares nothing."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from dedupe.checksums import formats
from dedupe.checksums.audit import AuditResult, Finding, audit
from dedupe.checksums.entry import Entry, Sums
from dedupe.checksums.verify import CheckResult, Outcome, verify
from dedupe.cli import console, streams
from dedupe.cli.exits import Exit
from dedupe.cli.hashing import Session, complain, files_of
from dedupe.errors import NothingUsableError
from dedupe.storage import display


@dataclass(frozen=True, slots=True)
class Telling:
    """What is told of a check, as sha256sum's options of these names say."""

    ignore_missing: bool
    quiet: bool
    status: bool
    strict: bool
    warn: bool


def check_lists(session: Session, sources: Sequence[str], algorithm: str | None, telling: Telling) -> Exit:
    """Print the result of each line of some lists, and return the exit code that sha256sum would."""
    return max([_check(session, source, algorithm, telling) for source in sources])


def _check(session: Session, source: str, algorithm: str | None, telling: Telling) -> Exit:
    sums = _parsed(source, algorithm, telling)
    if sums is None:
        return Exit.NOTHING
    counts: Counter[str] = Counter()
    by: Counter[str] = Counter()
    for outcome in verify(sums.entries, session.hash_all):
        if outcome.is_gone and telling.ignore_missing:
            continue
        counts[outcome.result] += 1
        by.update(_surprise(outcome))
        complain(outcome.entry.path, outcome.problem)
        if not (telling.status or (telling.quiet and outcome.result is CheckResult.OK)):
            session.print(_line([outcome.entry.path], b"%b: " + outcome.result.encode()))
    name = display.shown(os.fsencode(source))
    if not telling.status:
        _warn_of(sums)
        _warn(counts[CheckResult.UNREADABLE], "listed file could not be read", "listed files could not be read")
        _warn(counts[CheckResult.FAILED], "computed checksum did NOT match", "computed checksums did NOT match")
        for sentence, count in by.items():
            console.say(f"dedupe: {name}: {count} {'line' if count == 1 else 'lines'}: {sentence}")
    if telling.ignore_missing and not counts[CheckResult.OK] + counts[CheckResult.FAILED]:
        if not telling.status:
            console.say(f"dedupe: {name}: no file was verified")
        return Exit.NOTHING
    failed = counts[CheckResult.FAILED] or counts[CheckResult.UNREADABLE] or (telling.strict and sums.malformed)
    return Exit.NOTHING if failed else Exit.DONE


def _surprise(outcome: Outcome) -> list[str]:
    """Return what a user should know of the algorithm of a line whose length leaves several open."""
    if outcome.fits:
        return [f"the digest fits by {outcome.fits}, which can be forged: --algorithm {outcome.fits} accepts it"]
    if outcome.result is CheckResult.OK and outcome.algorithm != outcome.entry.algorithms[0]:
        return [f"the digest is by {outcome.algorithm}, not {outcome.entry.algorithms[0]}"]
    return []


def audit_folders(
    session: Session, sources: Sequence[str], arguments: Sequence[bytes], algorithm: str | None, telling: Telling
) -> Exit:
    """Print what became of each file of some lists, and of those beside them; 0 if all is as the lists say, else 1."""
    entries: list[Entry] = []
    malformed = 0
    for source in sources:
        sums = _parsed(source, algorithm, telling)
        if sums is None:
            return Exit.NOTHING
        if not telling.status:
            _warn_of(sums)
        entries += sums.entries
        malformed += len(sums.malformed)
    lists = [os.fsencode(source) for source in sources if source != "-"]
    names, failed = files_of(session.hashing(entries[0].algorithms[0]), arguments, [1, 2, *lists], recursive=True)
    counts: Counter[str] = Counter()
    for finding in audit(entries, names, session.hash_all):
        counts[finding.result] += 1
        complain(finding.path, finding.problem)
        if not (telling.status or (telling.quiet and finding.result is AuditResult.OK)):
            session.print(_finding(finding))
    passed = not failed and not malformed and counts.keys() <= {AuditResult.OK}
    if not telling.status:
        console.say(f"dedupe: audit {'passed' if passed else 'failed'}: {_summary(counts)}")
    return Exit.DONE if passed else Exit.NOTHING


_COUNTED = {
    AuditResult.OK: "as listed",
    AuditResult.FAILED: "changed",
    AuditResult.UNREADABLE: "unreadable",
    AuditResult.MOVED: "moved",
    AuditResult.EXTRA: "extra",
    AuditResult.MISSING: "missing",
}


def _summary(counts: Counter[str]) -> str:
    return ", ".join(f"{counts[result]:,} {words}" for result, words in _COUNTED.items())


_OF_OTHER = {
    AuditResult.MOVED: b"%b: moved from %b",
    AuditResult.EXTRA: b"%b: extra, a copy of %b",
    AuditResult.MISSING: b"%b: missing, its content is in %b",
}


def _finding(finding: Finding) -> bytes:
    if finding.other is None:
        return _line([finding.path], b"%b: " + finding.result.encode())
    return _line([finding.path, finding.other], _OF_OTHER[finding.result])


def _line(paths: Sequence[bytes], text: bytes) -> bytes:
    """Return a line with paths in it; as sha256sum does, they are escaped only where an end of a line is in one."""
    if not any(b"\n" in path or b"\r" in path for path in paths):
        return text % tuple(paths) + b"\n"
    return b"\\" + text % tuple(formats.escaped(path)[1] for path in paths) + b"\n"


def _parsed(source: str, algorithm: str | None, telling: Telling) -> Sums | None:
    """Return a list; None, after a sentence, if it cannot be read or holds nothing."""
    name = display.shown(os.fsencode(source))
    try:
        sums = formats.parse(_read(source), algorithm)
    except OSError as error:
        console.say(f"dedupe: {name}: {error.strerror}")
        return None
    if telling.warn and not telling.status:
        for number in sums.malformed:
            console.say(f"dedupe: {name}: {number}: improperly formatted checksum line")
    if not sums.entries:
        console.say(f"dedupe: {name}: no properly formatted checksum lines found")
        return None
    if source == "-" and any(entry.path == b"-" for entry in sums.entries):
        raise NothingUsableError("The list on standard input names standard input (-) as a file: put it into a file.")
    return sums


def _read(source: str) -> bytes:
    if source == "-":
        return streams.stdin().read()
    with open(source, "rb") as file:
        return file.read()


def _warn_of(sums: Sums) -> None:
    _warn(len(sums.malformed), "line is improperly formatted", "lines are improperly formatted")


def _warn(count: int, one: str, several: str) -> None:
    if count:
        console.say(f"dedupe: WARNING: {count} {one if count == 1 else several}")
