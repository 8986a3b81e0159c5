"""Kinds of work that participants are measured at, as tasks.  Times nothing, and writes no file."""

from __future__ import annotations

import functools
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

from dedupe.bench.participants import Participant, Stream
from dedupe.bench.rounds import Task
from dedupe.storage.readers import MappedReader

T = TypeVar("T")

KIB = 1 << 10
MIB = 1 << 20
UPDATE = MIB  # bytes of an update, unless the kind of work says otherwise
WINDOW = 8 * MIB  # bytes of a file mapped at a time, as in a scan
SMALL_TOTAL = 4 * MIB  # bytes of small inputs in a run: enough for the clock, and few enough for many sizes
SMALL_CALLS = 4096  # inputs in a run at most


@dataclass(frozen=True, slots=True)
class Material:
    """What is hashed: bytes of memory, and a file that holds the same (only the kind `file` needs one)."""

    block: memoryview
    path: str = ""
    cores: int = 1


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of work, with its sizes for when the user names none."""

    says: str
    sizes: tuple[int, ...]
    tasks: Callable[[Sequence[Participant], Material, Sequence[int]], Iterator[Task]]
    total: int = 0  # bytes of the input, where `sizes` are those of its pieces

    def input_size(self, sizes: Sequence[int]) -> int:
        """Return how many bytes of input are needed for some sizes."""
        return max(self.total, *sizes)


def _oneshot(who: Sequence[Participant], material: Material, sizes: Sequence[int]) -> Iterator[Task]:
    for size in sizes:
        data = material.block[:size]
        for one in who:
            yield _task(one, size_text(size), data, functools.partial(one.whole, data))


def _stream(who: Sequence[Participant], material: Material, sizes: Sequence[int]) -> Iterator[Task]:
    for size in sizes:
        data = material.block[:size]
        for one in who:
            yield _task(one, size_text(size), data, functools.partial(_streamed, one, _in_pieces, data, UPDATE))


def _chunks(who: Sequence[Participant], material: Material, sizes: Sequence[int]) -> Iterator[Task]:
    """Yield a task for every size of updates; all take in the same bytes."""
    for size in sizes:
        for one in who:
            run = functools.partial(_streamed, one, _in_pieces, material.block, size)
            yield _task(one, size_text(size), material.block, run)


def _small(who: Sequence[Participant], material: Material, sizes: Sequence[int]) -> Iterator[Task]:
    """Yield tasks of many inputs each; they overlap if the block is too small for all."""
    for size in sizes:
        calls = max(1, min(SMALL_CALLS, SMALL_TOTAL // size))
        last = max(1, len(material.block) - size + 1)
        inputs = [material.block[place : place + size] for place in (n * size % last for n in range(calls))]
        for one in who:
            run = functools.partial(_each, one, inputs)
            yield Task(one.name, size_text(size), size * calls, calls, f"{one.algorithm} {calls} x {size}", run)


def _each(one: Participant, inputs: Sequence[memoryview]) -> bytes:
    return b"".join(map(one.whole, inputs))


def _copy(who: Sequence[Participant], material: Material, sizes: Sequence[int]) -> Iterator[Task]:
    """Yield, for each participant, a stream without copies and one that copies each piece before it is hashed."""
    for size in sizes:
        data = material.block[:size]
        for case, way in (("as it is", _in_pieces), ("copied", _copied)):
            for one in who:
                run = functools.partial(_streamed, one, way, data, UPDATE)
                yield _task(one, f"{size_text(size)}, {case}", data, run)


def _file(who: Sequence[Participant], material: Material, sizes: Sequence[int]) -> Iterator[Task]:
    """Yield a task for every way of reading, and every size that is asked for at a time."""
    for size in sizes:
        for case, way in (("read", _read), ("readinto", _read_into), ("mapped", _mapped)):
            for one in who:
                run = functools.partial(_streamed, one, way, material.path, size)
                yield _task(one, f"{case} {size_text(size)}", material.block, run)


def _threads(who: Sequence[Participant], material: Material, sizes: Sequence[int]) -> Iterator[Task]:
    """Yield, for 1 thread to one a core, a task in which every thread hashes all bytes."""
    for size in sizes:
        data = material.block[:size]
        for count in range(1, material.cores + 1):
            case = f"{size_text(size)}, {count} thread{'s' if count > 1 else ''}"
            for one in who:
                run = functools.partial(_together, one, data, count)
                yield Task(one.name, case, len(data) * count, count, f"{one.algorithm} {count} x {len(data)}", run)


KINDS = {
    "oneshot": Kind("a whole buffer at once", (64 * MIB, 128 * MIB), _oneshot),
    "stream": Kind("a buffer in updates of 1 MiB", (64 * MIB,), _stream),
    "chunks": Kind(
        "16 MiB in updates of this size", (4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB, 4 * MIB), _chunks, 16 * MIB
    ),
    "small": Kind(
        "many inputs of this size",
        (64, 256, KIB, 4 * KIB, 16 * KIB, 64 * KIB, 256 * KIB, MIB),
        _small,
        SMALL_TOTAL,
    ),
    "file": Kind("a file of 64 MiB, asked for by pieces of this size", (MIB,), _file, 64 * MIB),
    "copy": Kind("updates of 1 MiB as they are, against a copy of each", (64 * MIB,), _copy),
    "threads": Kind("as many hashes at once as there are threads", (64 * MIB,), _threads),
}


def size_text(size: int) -> str:
    """Return a size as people write it, such as `64 KiB`; exact."""
    for unit, name in ((1 << 30, "GiB"), (MIB, "MiB"), (KIB, "KiB")):
        if size >= unit and size % unit == 0:
            return f"{size // unit} {name}"
    return f"{size} B"


def _task(one: Participant, case: str, data: memoryview, run: Callable[[], bytes]) -> Task:
    """Return a task of one input; all that hash as many bytes by the same algorithm must have equal digests."""
    return Task(one.name, case, len(data), 1, f"{one.algorithm} {len(data)}", run)


def _streamed(one: Participant, way: Callable[[Stream, T, int], None], source: T, size: int) -> bytes:
    """Return the digest of `source`, passed to the participant in one `way`, `size` bytes at a time."""
    stream = one.start()
    way(stream, source, size)
    return stream.digest()


def _in_pieces(stream: Stream, data: memoryview, size: int) -> None:
    for place in range(0, len(data), size):
        stream.update(data[place : place + size])


def _copied(stream: Stream, data: memoryview, size: int) -> None:
    for place in range(0, len(data), size):
        stream.update(bytes(data[place : place + size]))


def _read(stream: Stream, path: str, size: int) -> None:
    with open(path, "rb", buffering=0) as file:
        while piece := file.read(size):
            stream.update(piece)


def _read_into(stream: Stream, path: str, size: int) -> None:
    view = memoryview(bytearray(size))
    with open(path, "rb", buffering=0) as file:
        while count := file.readinto(view):
            stream.update(view[:count])


def _mapped(stream: Stream, path: str, size: int) -> None:
    """Hash a file as the workers of a scan read it."""
    end = os.stat(path).st_size
    windows = MappedReader(os.open(path, os.O_RDONLY | getattr(os, "O_BINARY", 0)))
    try:
        for offset in range(0, end, WINDOW):
            window = windows.window(offset, min(WINDOW, end - offset))
            assert window is not None
            with memoryview(window) as view:
                for place in range(0, len(view), size):
                    with view[place : place + size] as piece:
                        stream.update(piece)
    finally:
        windows.close()


def _together(one: Participant, data: memoryview, count: int) -> bytes:
    """Return `count` digests of the same bytes, each by a thread of its own."""
    with ThreadPoolExecutor(count) as pool:
        return b"".join(pool.map(one.whole, [data] * count))
