"""`dedupe hash`: writes lists of checksums as sha256sum does, and checks files against such lists."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.checksums import formats
from dedupe.cli import console, options, streams, values
from dedupe.cli.exits import Exit
from dedupe.config import BackendName
from dedupe.errors import NothingUsableError, UsageError
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
_Cached = Annotated[
    bool, typer.Option("--cached", help="Let remembered digests stand for files, instead of reading all of them.")
]


@console.guarded
def hash_(
    files: _Files = None,
    algorithm: _Algorithm = None,
    check: _Check = None,
    tag: _Tag = False,
    recursive: _Recursive = False,
    cached: _Cached = False,
    backend: options.Backend = BackendName.AUTO,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    jobs: options.Jobs = None,
    progress: options.Bars = None,
) -> Exit:
    """Print checksums as sha256sum does, or check them."""
    console.expect_output()
    kept = values.wanted_cache(cache, no_cache=no_cache)
    if algorithm is not None and algorithm not in formats.TAGS:
        raise UsageError(f"{algorithm!r} is no algorithm: choose one of {', '.join(formats.TAGS)}.")
    files, check = files or [], check or []
    _refuse_contradictions(files, check)
    if check and (tag or recursive):
        raise UsageError("--tag and --recursive are for writing a list, not for checking one.")
    if cached and (check or no_cache):
        raise UsageError("--cached contradicts --check, which reads all files, and --no-cache: leave it out.")
    with _Session(backend, kept, jobs, progress, use_cache=cached) as session:
        if check:
            return Exit(max(_check(session, source, algorithm) for source in check))
        return _write(session, [os.fsencode(file) for file in files], algorithm or "sha256", tag, recursive)


def _refuse_contradictions(files: Sequence[str], check: Sequence[str]) -> None:
    """Refuse names that cannot be served: both kinds or none, empty ones, and standard input twice."""
    if bool(files) == bool(check):
        raise UsageError("Name files to hash, or lists to check with --check: one of the two.")
    values.refuse_empty("A file to hash", *files)
    values.refuse_empty("--check", *check)
    if [*files, *check].count("-") > 1:
        raise UsageError("- (standard input) is named twice, but can be read only once.")


class _Session:
    """What all hashing of one command shares: the settings, and standard output."""

    def __init__(
        self, backend: BackendName, cache: str | None, jobs: int | None, progress: bool | None, *, use_cache: bool
    ) -> None:
        self._backend, self._cache, self._jobs, self._use_cache = backend, cache, jobs, use_cache
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

    def hashing(self, algorithm: str) -> Hashing:
        """Return what hashes by an algorithm; the same object for each call."""
        from dedupe.checksums.hash_files import HashConfig, Hashing

        if algorithm not in self._open:
            config = HashConfig(
                algorithm=algorithm,
                backend=self._backend,
                cache=self._cache,
                jobs=self._jobs,
                use_cache=self._use_cache,
            )
            made = Hashing(config, self._progress, streams.stdin())
            self._open[algorithm] = self._stack.enter_context(made)
        return self._open[algorithm]

    def line(self, text: bytes) -> None:
        """Print one line: as it is, or, on a terminal, with nothing in it that could steer the terminal."""
        if self._clears_bar:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        console.write([display.shown(text).encode() if console.on_terminal(sys.stdout) else text, b"\n"])


def _write(session: _Session, files: Sequence[bytes], algorithm: str, tag: bool, recursive: bool) -> Exit:
    """Print one line for each file; problems go to standard error."""
    hashing = session.hashing(algorithm)
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
    """Return the files, with those below folders in the place of the folders, and the number of problems met."""
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

    name = display.shown(os.fsencode(source))
    try:
        parsed = formats.parse(_read(source), algorithm)
    except OSError as error:
        console.say(f"dedupe: {name}: {error.strerror}")
        return Exit.NOTHING
    if not parsed.entries:
        console.say(f"dedupe: {name}: no properly formatted checksum lines found")
        return Exit.NOTHING
    if source == "-" and any(entry.path == b"-" for entry in parsed.entries):
        raise NothingUsableError("The list on standard input names standard input (-) as a file: put it into a file.")

    def hash_all(algorithm: str, paths: Sequence[bytes]) -> Iterator[Hashed]:
        return session.hashing(algorithm).digests(paths)

    counts = dict.fromkeys(CheckResult, 0)
    for outcome in verify(parsed.entries, hash_all):
        counts[outcome.result] += 1
        if outcome.problem is not None:
            console.say(f"dedupe: {display.shown(outcome.path)}: {outcome.problem.message}")
        escape, path = (
            formats.escaped(outcome.path) if b"\n" in outcome.path or b"\r" in outcome.path else (b"", outcome.path)
        )
        session.line(b"%b%b: %b" % (escape, path, outcome.result.encode()))
    _warn(len(parsed.malformed), "line is improperly formatted", "lines are improperly formatted")
    _warn(counts[CheckResult.UNREADABLE], "listed file could not be read", "listed files could not be read")
    _warn(counts[CheckResult.FAILED], "computed checksum did NOT match", "computed checksums did NOT match")
    return Exit.DONE if counts[CheckResult.OK] == len(parsed.entries) else Exit.NOTHING


def _read(source: str) -> bytes:
    if source == "-":
        return streams.stdin().read()
    with open(source, "rb") as file:
        return file.read()


def _warn(count: int, one: str, several: str) -> None:
    if count:
        console.say(f"dedupe: WARNING: {count} {one if count == 1 else several}")
