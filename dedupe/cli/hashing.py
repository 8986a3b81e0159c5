"""What writing and checking lists of checksums share: who hashes, and the lines of standard output."""

from __future__ import annotations

import contextlib
import os
import sys
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from dedupe.cli import console, streams
from dedupe.config import BackendName
from dedupe.storage import display, file_stat

if TYPE_CHECKING:
    from dedupe.checksums.hash_files import Hashed, Hashing
    from dedupe.result import Problem


class Session:
    """What all hashing of one command shares: the settings, and standard output."""

    def __init__(
        self, backend: BackendName, cache: str | None, jobs: int | None, progress: bool | None, *, use_cache: bool
    ) -> None:
        self._backend, self._cache, self._jobs, self._use_cache = backend, cache, jobs, use_cache
        self._clears_bar = console.wants_progress(progress) and console.on_terminal(sys.stdout)
        self._progress = console.bars(progress)
        self._open: dict[str, Hashing] = {}
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Session:
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

    def hash_all(self, algorithm: str, names: Sequence[bytes]) -> Iterator[Hashed]:
        """Yield files in the order of their names, hashed by an algorithm."""
        return self.hashing(algorithm).digests(names)

    def print(self, text: bytes) -> None:
        """Print what ends with the end of its line: as it is, or, on a terminal, with nothing that could steer it."""
        if self._clears_bar:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
        if console.on_terminal(sys.stdout):
            text, end = text[:-1], text[-1:]
            text = display.shown(text).encode() + end
        console.write([text])


def complain(name: bytes, problem: Problem | None) -> None:
    """Say what is wrong with a file, if anything is."""
    if problem is not None:
        console.say(f"dedupe: {display.shown(name)}: {problem.message}")


def files_of(
    hashing: Hashing, arguments: Sequence[bytes], own_files: Sequence[bytes | int], *, recursive: bool
) -> tuple[list[bytes], int]:
    """Return files, with those below folders in the place of the folders, and the number of problems met.

    Args:
        hashing: lists folders.
        arguments: as the user typed them.
        own_files: take no part, paths or descriptors; which is said.
        recursive: whether folders are entered; otherwise they stay what they are.
    """
    from dedupe.result import SkipReason

    wanted: list[bytes] = []
    failed = own_met = skipped = 0
    for name in arguments:
        if recursive and os.path.isdir(name):
            found, problems, left_out = hashing.files_below(name, own_files)
            wanted += found
            failed += len(problems)
            own_met += left_out.pop(SkipReason.OWN_OUTPUT, 0)
            skipped += sum(left_out.values())
            for problem in problems:
                complain(problem.path, problem)
        elif any(_is_one_file(name, own) for own in own_files):
            own_met += 1
        else:
            wanted.append(name)
    if own_met:
        console.say("dedupe: the list itself takes no part, nor do other files that this command writes or reads")
    if skipped:
        console.say(f"dedupe: {skipped} entries were left out: links, special files or files that are in a cloud only")
    return wanted, failed


def _is_one_file(name: bytes, own: bytes | int) -> bool:
    """Return whether a file that is named is one that this command writes or reads itself."""
    try:
        return os.path.isfile(name) and file_stat.identity(name, follow=True) == file_stat.identity(own, follow=True)
    except (OSError, ValueError):
        return False
