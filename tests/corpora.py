"""Corpora whose duplicates are known because of how they are made, at any scale.

The tests build them small, the benchmarks at full scale.  The same name and scale always give the same names and bytes.
This module only writes files; it never looks for duplicates, so its truth is independent of every finder.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain

KIB = 1 << 10
MIB = 1 << 20

# One path a name, one list a group; paths relative to the corpus, both levels sorted. Empty files are in no group.
Truth = list[list[str]]


@dataclass(frozen=True, slots=True)
class Planned:
    """One file to be made: files of equal `content` and `size` hold the same bytes, and only those do.

    `patch` (an offset) makes the four KiB there the file's own: it then equals no other file.
    """

    path: str
    content: str
    size: int
    patch: int | None = None

    def identity(self) -> str:
        """Return what equal files have in common."""
        return self.content if self.patch is None else f"{self.content}, patched as {self.path}"

    def chunks(self) -> Iterator[bytes]:
        """Yield the file's bytes: noise, so that neither compression nor chance makes two files alike."""
        if self.patch is None:
            return noise(self.content, self.size)
        own = random.Random(self.identity()).randbytes(4 * KIB)
        return overlay(noise(self.content, self.size), self.patch, own)


@dataclass(slots=True)
class Progress:
    """What has been made so far: the paths that share each content."""

    paths: dict[str, list[str]] = field(default_factory=dict)

    def add(self, planned: Planned) -> None:
        """Remember a file that has been written."""
        if planned.size:
            self.paths.setdefault(planned.identity(), []).append(planned.path)

    def truth(self) -> Truth:
        """Return the groups of two and more."""
        return sorted(sorted(paths) for paths in self.paths.values() if len(paths) > 1)


def noise(seed: str, size: int) -> Iterator[bytes]:
    """Yield `size` pseudo-random bytes that depend on the seed alone, a MiB at a time."""
    rng = random.Random(seed)
    for start in range(0, size, MIB):
        yield rng.randbytes(min(MIB, size - start))


def overlay(chunks: Iterator[bytes], offset: int, patch: bytes) -> Iterator[bytes]:
    """Yield the chunks with the bytes at `offset` replaced; the patch lies within one chunk."""
    start = 0
    for chunk in chunks:
        inside = offset - start
        if 0 <= inside < len(chunk):
            yield chunk[:inside] + patch + chunk[inside + len(patch) :]
        else:
            yield chunk
        start += len(chunk)


def small(scale: float) -> Iterator[Planned]:
    """300,000 files of 0 to 16 KiB in 3,000 folders, a dozen sizes, 40 % copies of an earlier one."""
    rng = random.Random("small")
    sizes = (0, 24, 120, 400, 900, 1600, 2500, 4 * KIB, 4 * KIB, 8 * KIB, 12_000, 16 * KIB)
    originals: list[tuple[str, int]] = []
    for i in range(round(300_000 * scale)):
        if originals and rng.random() < 0.4:
            content, size = rng.choice(originals)
        else:
            content, size = f"small {i}", rng.choice(sizes)
            originals.append((content, size))
        yield Planned(f"year{i // 2000:03d}/week{i // 100 % 20:02d}/note number {i % 100:02d}.txt", content, size)


def photos(scale: float) -> Iterator[Planned]:
    """4,000 files of 0.4 to 2.8 MB in 60 folders, a third of them copies of an earlier one."""
    rng = random.Random("photos")
    originals: list[tuple[str, int]] = []
    for i in range(round(4_000 * scale)):
        if originals and rng.random() < 1 / 3:
            content, size = rng.choice(originals)
        else:
            content, size = f"photo {i}", rng.randint(400_000, 2_800_000)
            originals.append((content, size))
        yield Planned(f"album{i % 60:02d}/DSC{i:05d}.jpg", content, size)


def big(scale: float) -> Iterator[Planned]:
    """11 files of 700 MiB: groups of 2, 2 and 4, and 3 files of the same size that equal no other."""
    size = max(MIB, round(700 * MIB * scale))
    for content, copies in enumerate((2, 2, 4, 1, 1, 1)):
        for copy in range(copies):
            yield Planned(f"video{content}-{copy}.mkv", f"big {content}", size)


def near(scale: float) -> Iterator[Planned]:
    """16 disk images of 256 MiB that look alike at both ends: every second one differs in 4 KiB of its own.

    The odd block is at four sevenths, where no finder that samples halves, thirds or quarters happens upon it.
    """
    size = max(1, round(256 * scale)) * MIB
    place = size * 4 // 7 // (4 * KIB) * 4 * KIB
    for i in range(16):
        yield Planned(f"machine{i:02d}.img", "near", size, patch=place if i % 2 else None)


def flat(scale: float) -> Iterator[Planned]:
    """100,000 files of 2 KiB in one folder; every tenth is a copy of the one before it."""
    for i in range(round(100_000 * scale)):
        yield Planned(f"{i:06d}.dat", f"flat {i - (i % 10 == 1)}", 2 * KIB)


def million(scale: float) -> Iterator[Planned]:
    """1,000,000 files of 16 to 79 bytes, 1,000 a folder, all with a size that others share; every tenth is a copy."""
    for i in range(round(1_000_000 * scale)):
        original = i - (i % 10 == 1)
        yield Planned(f"{i // 1000:03d}/{i % 1000:03d}", f"million {original}", 16 + original // 10 % 64)


def onegroup(scale: float) -> Iterator[Planned]:
    """200,000 copies of one file of 1 KiB, 1,000 a folder."""
    for i in range(round(200_000 * scale)):
        yield Planned(f"{i // 1000:03d}/{i % 1000:03d}", "onegroup", KIB)


SHAPES: dict[str, Callable[[float], Iterator[Planned]]] = {
    shape.__name__: shape for shape in (small, photos, big, near, flat, million, onegroup)
}


def build(folder: str | os.PathLike[str], name: str, scale: float = 1.0) -> Truth:
    """Make the corpus `name` in `folder`, new or empty, and return its duplicate groups.

    The change times of the files are now: who tests a cache waits until they are old enough to be believed.
    Raises KeyError for an unknown name and FileExistsError for a folder in use.
    """
    plan = SHAPES[name](scale)
    os.makedirs(folder, exist_ok=True)
    if os.listdir(folder):
        raise FileExistsError(f"{os.fspath(folder)} is not empty")
    progress = Progress()
    ready = ""
    for planned in plan:
        target = os.path.join(folder, planned.path)
        if (parent := os.path.dirname(target)) != ready:
            os.makedirs(parent, exist_ok=True)
            ready = parent
        with open(target, "xb", buffering=0) as out:
            for chunk in planned.chunks():
                out.write(chunk)
        progress.add(planned)
    return progress.truth()


def keep(root: str | os.PathLike[str], name: str, scale: float = 1.0) -> tuple[str, Truth]:
    """Return the folder and the truth of a corpus that is kept below `root`, making it the first time.

    It lies in NAME, or NAME@SCALE, with its truth beside it as JSON. What was interrupted is made anew; a folder that
    has no truth beside it is not ours and is left alone (FileExistsError).
    """
    base = os.path.join(os.path.abspath(root), name if scale == 1 else f"{name}@{scale:g}")
    truth_file = f"{base}.truth.json"
    if os.path.isdir(base):
        if not os.path.exists(truth_file):
            raise FileExistsError(f"{base} exists, but {truth_file} does not: choose another folder")
        with open(truth_file, encoding="utf-8") as text:
            return base, json.load(text)
    os.makedirs(root, exist_ok=True)
    unfinished = tempfile.mkdtemp(prefix=f"{os.path.basename(base)}.unfinished-", dir=root)
    try:
        truth = build(unfinished, name, scale)
        with open(truth_file, "w", encoding="utf-8") as text:
            json.dump(truth, text)
        os.rename(unfinished, base)
    except BaseException:
        shutil.rmtree(unfinished, ignore_errors=True)
        raise
    return base, truth


def differences(groups: list[list[str]], truth: Truth) -> tuple[int, int]:
    """Return how many groups of the truth are missing from `groups`, and how many there are wrong.

    Order does not matter; a group that lacks or has one path too many counts on both sides, as does one given twice.
    """
    found = sorted(tuple(sorted(group)) for group in groups)
    expected = {tuple(group) for group in truth}
    return len(expected.difference(found)), len(found) - len(expected.intersection(found))


def files_and_bytes(folder: str | os.PathLike[str]) -> tuple[int, int]:
    """Return how many files lie below a folder, and the sum of their sizes."""
    entries = chain.from_iterable(
        (os.path.join(parent, name) for name in names) for parent, _, names in os.walk(folder)
    )
    sizes = [os.stat(path).st_size for path in entries]
    return len(sizes), sum(sizes)
