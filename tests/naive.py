"""Duplicates found the plain way, to compare with: reads everything, knows nothing of the program's parts."""

from __future__ import annotations

import multiprocessing
import os
import sys
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

import pytest

from dedupe.compare import confirm, fingerprint, split_sets
from dedupe.result import ScanResult
from dedupe.walk import scanner
from dedupe.workers import pool, processes

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


def lower_thresholds(patch: pytest.MonkeyPatch) -> None:
    """Make a few files of some KiB pass through all that many and large ones do: slices, samples, windows, parts."""
    patch.setattr(scanner, "_SLICE", 3)
    patch.setattr(fingerprint, "WHOLE", 512)
    patch.setattr(fingerprint, "SAMPLE", 64)
    patch.setattr(fingerprint, "_LARGE", 6000)
    for name in ("_FIRST", "_LEAST", "_MOST"):
        patch.setattr(fingerprint, name, 5)
        patch.setattr(split_sets, name, 20_000)
    patch.setattr(split_sets, "_OPENING", 3000)
    for module in (confirm, split_sets):
        patch.setattr(module, "SMALL", 1024)
        patch.setattr(module, "AT_ONCE", 3)
    if sys.platform != "win32":  # where a map begins at a multiple of 64 KiB or not at all
        patch.setattr(confirm, "GRANULARITY", 4096)
    patch.setattr(confirm, "_WINDOW", 4096)
    patch.setattr(confirm, "_STEP", 1000)
    patch.setattr(split_sets, "_PART_FILES", 3)


def fork_workers(patch: pytest.MonkeyPatch) -> None:
    """Make every scan with two jobs or more use workers, forked ones, so that they share what a test has patched."""
    patch.setattr(pool, "_WARM_FILES", 1)
    patch.setattr(pool, "_WARM_BYTES", 1)
    patch.setattr(processes, "_context", lambda: multiprocessing.get_context("fork"))


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
