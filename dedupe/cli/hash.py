"""`dedupe hash`: writes lists of checksums as sha256sum does.  What checks them is `hash_check`."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from dedupe.checksums import algorithms, formats, hashdeep, sfv
from dedupe.cli import console, options, values
from dedupe.cli.exits import Exit
from dedupe.cli.hashing import Session, complain, files_of
from dedupe.config import BackendName
from dedupe.errors import UsageError
from dedupe.storage import display

if TYPE_CHECKING:
    from dedupe.checksums.hash_files import Hashed

_Files = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="FILE...",
        help="Files to hash, lists with --check, folders with --audit; - or none is standard input.",
    ),
]
_Algorithm = Annotated[
    str | None,
    typer.Option(
        "--algorithm",
        "-a",
        metavar="NAME",
        help=f"One of {', '.join(algorithms.TAGS)}; by default sha256, or what the list to check says.",
    ),
]
_Length = Annotated[
    int | None, typer.Option("--length", "-l", metavar="BITS", help="Of BLAKE2b: 8 to 512, by 8 (0 is 512).")
]
_Check = Annotated[bool, typer.Option("--check", "-c", help="Take each FILE for a list, and check the files in it.")]
_Audit = Annotated[
    list[str] | None,
    typer.Option(
        metavar="SUMS",
        help="Check the files of a list and look for others below FILE...: extra, moved, missing. May be repeated.",
    ),
]
_Tag = Annotated[
    bool | None,
    typer.Option(
        "--tag/--untagged",
        help="Name the algorithm in each line, as BSD does; by default where its digest could be taken for another's.",
    ),
]
_Binary = Annotated[
    bool | None,
    typer.Option("--binary/--text", "-b/-t", help="Mark files as read in binary mode or not; it changes no digest."),
]
_Zero = Annotated[bool, typer.Option("--zero", "-z", help="End each line with NUL, and escape nothing in names.")]
_Hashdeep = Annotated[bool, typer.Option("--hashdeep", help="Write a list of hashdeep (md5, sha1 or sha256).")]
_Recursive = Annotated[bool, typer.Option("--recursive", "-r", help="Hash all files below folders.")]
_Ignore = Annotated[bool, typer.Option("--ignore-missing", help="Checking: say nothing of files that are not there.")]
_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Checking: print only what is not OK.")]
_Status = Annotated[bool, typer.Option("--status", help="Checking: print nothing; the exit code tells.")]
_Strict = Annotated[bool, typer.Option("--strict", help="Checking: fail if a line is improperly formatted.")]
_Warn = Annotated[bool, typer.Option("--warn", "-w", help="Checking: name each line that is improperly formatted.")]
_Cached = Annotated[
    bool, typer.Option("--cached", help="Let remembered digests stand for files, instead of reading all of them.")
]
# a line for standard output, None where the name cannot be written in it
_Line = Callable[["Hashed"], bytes | None]


@console.guarded
def hash_(
    files: _Files = None,
    algorithm: _Algorithm = None,
    length: _Length = None,
    check: _Check = False,
    audit: _Audit = None,
    tag: _Tag = None,
    binary: _Binary = None,
    zero: _Zero = False,
    hashdeep: _Hashdeep = False,
    recursive: _Recursive = False,
    ignore_missing: _Ignore = False,
    quiet: _Quiet = False,
    status: _Status = False,
    strict: _Strict = False,
    warn: _Warn = False,
    cached: _Cached = False,
    backend: options.Backend = BackendName.AUTO,
    cache: options.Cache = None,
    no_cache: options.NoCache = False,
    jobs: options.Jobs = None,
    progress: options.Bars = None,
) -> Exit:
    """Print checksums as sha256sum does, or check them."""
    if not status:
        console.expect_output()
    kept = values.wanted_cache(cache, no_cache=no_cache)
    if cached and no_cache:
        raise UsageError("--cached contradicts --no-cache: leave one of them out.")
    named = _named(algorithm, length)
    checking = {
        "--ignore-missing": ignore_missing,
        "--quiet": quiet,
        "--status": status,
        "--strict": strict,
        "--warn": warn,
    }
    writing = {
        "--tag": tag is not None,
        "--binary and --text": binary is not None,
        "--zero": zero,
        "--hashdeep": hashdeep,
        "--recursive": recursive,
    }
    _refuse_contradictions(files or [], audit or [], writing, checking, check=check)
    names = [os.fsencode(file) for file in files or ["-"]]
    with Session(backend, kept, jobs, progress, use_cache=cached) as session:
        if check or audit:
            from dedupe.cli.hash_check import Telling, audit_folders, check_lists

            telling = Telling(ignore_missing, quiet, status, strict, warn)
            if audit:
                return audit_folders(session, audit, names, named, telling)
            return check_lists(session, files or ["-"], named, telling)
        style = _Style(named or "sha256", tag, binary, zero, hashdeep)
        return _write(session, names, style, recursive=recursive)


def _named(algorithm: str | None, length: int | None) -> str | None:
    """Return the algorithm that is asked for, None if that is left open."""
    found = None if algorithm is None else algorithms.of_name(algorithm)
    if algorithm is not None and found is None:
        raise UsageError(f"{algorithm!r} is no algorithm: choose one of {', '.join(algorithms.TAGS)}.")
    if length is None:
        return found
    if found != "blake2b":
        raise UsageError("--length is for --algorithm blake2b only.")
    found = algorithms.blake2b(length or 512)
    if found is None:
        raise UsageError(f"--length cannot be {length}: BLAKE2b has 8 to 512 bits, by 8.")
    return found


def _refuse_contradictions(
    files: Sequence[str], audit: Sequence[str], writing: dict[str, bool], checking: dict[str, bool], *, check: bool
) -> None:
    """Refuse options that have no meaning together, empty names, and standard input twice."""
    if check and audit:
        raise UsageError("--check and --audit are two ways to look at a list: choose one.")
    if check or audit:
        for option in (option for option, given in writing.items() if given):
            what = "an audit, which enters folders anyway" if audit and option == "--recursive" else "checking one"
            raise UsageError(f"{option} is for writing a list, not for {what}.")
    else:
        for option in (option for option, given in checking.items() if given):
            raise UsageError(f"{option} is for checking a list, not for writing one.")
    if audit and not files:
        raise UsageError("Name the folders to audit beside the list (a dot is the current folder).")
    if audit and checking["--ignore-missing"]:
        raise UsageError("--ignore-missing contradicts --audit, which looks for what is missing.")
    if writing["--recursive"] and not files:
        raise UsageError("Name the folders whose files to hash (a dot is the current folder).")
    values.refuse_empty("A file to hash", *files)
    values.refuse_empty("--audit", *audit)
    if [*files, *audit].count("-") > 1:
        raise UsageError("- (standard input) is named twice, but can be read only once.")


@dataclass(frozen=True, slots=True)
class _Style:
    """How the lines of a list are written."""

    algorithm: str
    tag: bool | None  # None: where a digest could be taken for another algorithm's
    binary: bool | None
    zero: bool
    hashdeep: bool

    def __post_init__(self) -> None:
        if self.hashdeep and (self.tag is not None or self.binary is not None or self.zero):
            raise UsageError(
                "--hashdeep is a format of its own: leave out --tag, --untagged, --binary, --text and --zero."
            )
        if self.hashdeep and self.algorithm not in hashdeep.WRITTEN:
            raise UsageError(f"hashdeep knows {', '.join(hashdeep.WRITTEN)}, not {self.algorithm}.")
        if self.tag and self.binary is False:
            raise UsageError("--tag does not support --text: lines with a tag have no such mark.")

    def lines(self) -> tuple[bytes, _Line]:
        """Return what a list begins with, and what makes its lines."""
        if self.hashdeep:
            return hashdeep.header(self.algorithm), lambda of: hashdeep.line(of.name, of.digest or b"", of.size)
        if self.algorithm == sfv.ALGORITHM and self.tag is None and self.binary is None and not self.zero:
            return sfv.HEADER, lambda of: sfv.line(of.name, of.digest or b"")
        tag = algorithms.is_ambiguous(self.algorithm) if self.tag is None else self.tag
        make = formats.bare_line if self.zero else formats.line
        end = b"\0" if self.zero else b"\n"

        def line(of: Hashed) -> bytes:
            return make(of.name, of.digest or b"", self.algorithm, tag=tag, binary=bool(self.binary)) + end

        return b"", line


def _write(session: Session, files: Sequence[bytes], style: _Style, *, recursive: bool) -> Exit:
    """Print one line for each file; problems go to standard error."""
    hashing = session.hashing(style.algorithm)
    wanted, failed = files_of(hashing, files, (1, 2), recursive=recursive)
    header, line = style.lines()
    if header:
        session.print(header)
    for hashed in hashing.digests(wanted):
        complain(hashed.name, hashed.problem)
        failed += hashed.problem is not None
        if hashed.digest is None:
            continue
        text = line(hashed)
        if text is None:
            failed += 1
            console.say(f"dedupe: {display.shown(hashed.name)}: lists of this format cannot hold such a name")
        else:
            session.print(text)
    return Exit.NOTHING if failed else Exit.DONE
