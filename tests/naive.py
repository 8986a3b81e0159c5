"""Duplicates found the plain way, to compare with: reads everything, knows nothing of the program's parts."""

from __future__ import annotations

import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from dedupe.compare.tuning import Tuning
from dedupe.result import ScanResult
from dedupe.storage.readers import GRANULARITY
from dedupe.walk import scanner
from dedupe.workers.tuning import WorkerTuning

Groups = set[frozenset[str]]


def naive_groups(root: Path, *, least: int = 1) -> Groups:
    """Return the names of equal files below a folder: hard links beside each other, no group of one physical file."""
    contents: dict[bytes, dict[tuple[int, int], list[str]]] = defaultdict(lambda: defaultdict(list))
    for folder, _, files in os.walk(root):
        for name in files:
            path = os.path.join(folder, name)
            if os.path.islink(path) or not os.path.isfile(path) or os.path.getsize(path) < least:
                continue
            seen = os.stat(path)
            with open(path, "rb") as file:
                contents[file.read()][seen.st_dev, seen.st_ino].append(path)
    return {frozenset(name for names in same.values() for name in names) for same in contents.values() if len(same) > 1}


def all_names(result: ScanResult) -> Groups:
    """Return the groups of a result as sets of names, links among them."""
    return {frozenset(os.fsdecode(n) for f in g.files for n in f.names) for g in result.groups}


LOW = Tuning(
    whole=512,
    sample=64,
    large=6000,
    fingerprint_files=(5, 5, 5),
    small=1024,
    open_files=3,
    window=4096,
    step=1000,
    share=5000,
    share_bytes=(2000, 8192),
    granularity=GRANULARITY if sys.platform == "win32" else 4096,  # of which maps begin at a multiple
    batch=(20_000, 20_000, 20_000),
    opening=3000,
    part_files=3,
    hash_files=2,
    stat_files=3,
    stat_batches=2,
)


def lower_thresholds(patch: pytest.MonkeyPatch) -> Tuning:
    """Return amounts by which a few files of some KiB pass through all that many and large ones do; so does a walk."""
    patch.setattr(scanner, "_SLICE", 3)
    return LOW


def fork_workers(patch: pytest.MonkeyPatch) -> None:
    """Make every scan with two jobs or more use workers, forked ones, so that they share what a test has patched."""
    patch.setattr(WorkerTuning, "default", WorkerTuning(warm_files=1, warm_bytes=1, start_method="fork"))


def start_workers(patch: pytest.MonkeyPatch) -> None:
    """Make every scan with two jobs or more use workers, started as this system does."""
    patch.setattr(WorkerTuning, "default", WorkerTuning(warm_files=1, warm_bytes=1))


def contents(count: int, size: int, differ_at: Iterable[int]) -> list[bytes]:
    """Return `count` contents of one size that differ in one byte each, at the offsets given, in turn."""
    base = bytes(i * 7 % 251 for i in range(size))
    places = list(differ_at)
    found = []
    for n in range(count):
        one = bytearray(base)
        one[places[n % len(places)]] ^= 1 + n // len(places)
        found.append(bytes(one))
    return found
