"""Indexes that share a key, in sets of two or more: by size, by inode, by fingerprint.  Knows no file."""

from __future__ import annotations

from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence


def is_each_unlike(keys: Sequence[object]) -> bool:
    """Return whether no two of some keys are equal, so that there is nothing to group."""
    return len(set(keys)) == len(keys)


def group_by_key(
    members: Sequence[int], keys_of: Callable[[Sequence[int]], Sequence[object]], *, slice_size: int = 1 << 16
) -> Iterator[array[int]]:
    """Yield the members that share a key, in sets of two or more, each in the order given.

    Works through the keys in slices, so that a million of them never are in memory at once.

    Args:
        members: indexes of files.
        keys_of: returns the keys of some of the members, in their order.
        slice_size: keys in memory at one time.
    """
    slices = -(-len(members) // slice_size) | 1  # odd: sizes love powers of two
    parts: Iterable[Sequence[int]] = (members,)
    if slices > 1:
        buckets = [array("I") for _ in range(slices)]
        for first in range(0, len(members), slice_size):
            part = members[first : first + slice_size]
            for i, key in zip(part, keys_of(part), strict=True):
                buckets[hash(key) % slices].append(i)
        parts = iter(buckets)
    for part in parts:
        keys = keys_of(part)
        if is_each_unlike(keys):
            continue
        sets: dict[object, list[int]] = {key: [] for key, count in Counter(keys).items() if count > 1}
        for i, key in zip(part, keys, strict=True):
            if key in sets:
                sets[key].append(i)
        for found in sets.values():
            yield array("I", found)
