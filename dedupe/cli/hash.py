"""`dedupe hash`: lists of checksums as sha256sum writes them, and whether files still agree with one."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.checksums import formats
from dedupe.cli import console, options, values
from dedupe.cli.exits import Exit
from dedupe.config import BackendName
from dedupe.errors import UsageError
from dedupe.storage import display

if TYPE_CHECKING:
    from dedupe.checksums.hash_files import Hashed, Hashing

_Files = Annotated[list[str] | None, typer.Argument(metavar="FILE...", help="Files to hash; - is standard input.")]
_Algorithm = Annotated[
    str | None,
    typer.Option(
        metavar="NAME", help=f"One of {', '.join(formats.TAGS)}; by default sha256, or what the list to check says."
    ),
]
_Check = Annotated[
    list[str] | None,
    typer.Option(metavar="SUMS", help="Check the files of a list (-: standard input), reading all of them."),
]
_Tag = Annotated[bool, typer.Option("--tag", help="Write lines in the style of BSD, which name the algorithm.")]
_Recursive = Annotated[bool, typer.Option("--recursive", help="Hash all files below folders.")]


@console.guarded
def hash_(
    files: _Files = None,
    algorithm: _Algorithm = None,
    check: _Check = None,
    tag: _Tag = False,
    recursive: _Recursive = False,
    backend: options.Backend = BackendName.AUTO,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    jobs: options.Jobs = None,
    progress: options.Bars = None,
) -> Exit:
    """Print checksums as sha256sum does, or check them."""
    kept = values.wanted_cache(cache, no_cache=no_cache)
    if algorithm is not None and algorithm not in formats.TAGS:
        raise UsageError(f"{algorithm!r} is no algorithm: choose one of {', '.join(formats.TAGS)}.")
    if bool(files) == bool(check):
        raise UsageError("Name files to hash, or lists to check with --check: one of the two.")
    if check and (tag or recursive):
        raise UsageError("--tag and --recursive are for writing a list, not for checking one.")
    with _Session(backend, kept, jobs, progress) as session:
        if check:
            return Exit(max(_check(session, source, algorithm) for source in check))
        return _write(session, [os.fsencode(f) for f in files or ()], algorithm or "sha256", tag, recursive)


class _Session:
    """What all hashing of one command shares: the settings, and the screen."""

    def __init__(self, backend: BackendName, cache: str | None, jobs: int | None, progress: bool | None) -> None:
        self._backend, self._cache, self._jobs = backend, cache, jobs
        self._clears_bar = console.wants_progress(progress) and console.on_terminal(sys.stdout)
        self._progress = console.bars(progress)
        self._open: dict[str, Hashing] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> _Session:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, trace: object) -> None:
        self._stack.__exit__(kind, error, None)
        for note in dict.fromkeys(note for hashing in self._open.values() for note in hashing.notes):
            console.say(f"dedupe: {note}")

    def hashing(self, algorithm: str, *, use_cache: bool) -> Hashing:
        """Return what hashes by an algorithm, the same one each time."""
        from dedupe.checksums.hash_files import HashConfig, Hashing

        if algorithm not in self._open:
            config = HashConfig(
                algorithm=algorithm, backend=self._backend, cache=self._cache, jobs=self._jobs, use_cache=use_cache
            )
            made = Hashing(config, self._progress, console.stdin())
            self._open[algorithm] = self._stack.enter_context(made)
        return self._open[algorithm]

    def line(self, text: bytes) -> None:
        """Print one line: as it is, or, on a terminal, with nothing in it that could steer the terminal."""
        if self._clears_bar:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        console.write([display.shown(text).encode() if console.on_terminal(sys.stdout) else text, b"\n"])


def _write(session: _Session, files: Sequence[bytes], algorithm: str, tag: bool, recursive: bool) -> Exit:
    """Print a line a file; problems go to standard error."""
    hashing = session.hashing(algorithm, use_cache=False)
    wanted, failed = _wanted(hashing, files, recursive=recursive)
    done = 0
    for hashed in hashing.digests(wanted):
        if hashed.problem is not None:
            failed += 1
            _complain(hashed)
        if hashed.digest is not None:
            done += 1
            session.line(formats.line(hashed.name, hashed.digest, algorithm, tag=tag).removesuffix(b"\n"))
    if not failed:
        return Exit.DONE
    return Exit.INCOMPLETE if done else Exit.NOTHING


def _wanted(hashing: Hashing, files: Sequence[bytes], *, recursive: bool) -> tuple[list[bytes], int]:
    """Return the files with folders opened up, and how many problems that brought."""
    wanted, failed, skipped = [], 0, 0
    for name in files:
        if not (recursive and os.path.isdir(name)):
            wanted.append(name)
            continue
        found, problems, left_out = hashing.files_below(name)
        wanted += found
        failed += len(problems)
        skipped += sum(left_out.values())
        for problem in problems:
            console.say(f"dedupe: {display.shown(problem.path)}: {problem.message}")
    if skipped:
        console.say(f"dedupe: {skipped} entries were left out: links, special files or files that are in a cloud only")
    return wanted, failed


def _complain(hashed: Hashed) -> None:
    if hashed.problem is not None:
        console.say(f"dedupe: {display.shown(hashed.name)}: {hashed.problem.message}")


def _check(session: _Session, source: str, algorithm: str | None) -> Exit:
    """Print the result of each line of one list, and return the exit code that sha256sum would."""
    from dedupe.checksums.verify import CheckResult, verify

    shown = display.shown(os.fsencode(source))
    try:
        parsed = formats.parse(_read(source), algorithm)
    except OSError as error:
        console.say(f"dedupe: {shown}: {error.strerror}")
        return Exit.NOTHING
    if not parsed.entries:
        console.say(f"dedupe: {shown}: no properly formatted checksum lines found")
        return Exit.NOTHING

    def hash_all(name: str, paths: Sequence[bytes]) -> Iterator[Hashed]:
        # what is to be verified must be read: a remembered digest would hide that a disk has lost it
        return session.hashing(name, use_cache=False).digests(paths)

    counts = dict.fromkeys(CheckResult, 0)
    for outcome in verify(parsed.entries, hash_all):
        counts[outcome.result] += 1
        if outcome.problem is not None:
            console.say(f"dedupe: {display.shown(outcome.path)}: {outcome.problem.message}")
        mark, path = (
            formats.escaped(outcome.path) if b"\n" in outcome.path or b"\r" in outcome.path else (b"", outcome.path)
        )
        session.line(b"%b%b: %b" % (mark, path, outcome.result.encode()))
    _warn(len(parsed.malformed), "line is improperly formatted", "lines are improperly formatted")
    _warn(counts[CheckResult.UNREADABLE], "listed file could not be read", "listed files could not be read")
    _warn(counts[CheckResult.FAILED], "computed checksum did NOT match", "computed checksums did NOT match")
    return Exit.DONE if counts[CheckResult.OK] == len(parsed.entries) else Exit.NOTHING


def _read(source: str) -> bytes:
    if source == "-":
        return console.stdin().read()
    with open(source, "rb") as file:
        return file.read()


def _warn(count: int, one: str, several: str) -> None:
    if count:
        console.say(f"dedupe: WARNING: {count} {one if count == 1 else several}")
