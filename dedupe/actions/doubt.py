"""Names of one number that may be different files, as on a file system which passes on those of several disks.

There a number is a hint: only names that are alike in all that a look tells may be one file, and each of them is read
before anything is done with it.  Changes nothing.
"""

from __future__ import annotations

from contextlib import closing

from dedupe.actions.copies import Copy, Name
from dedupe.actions.holding import Folders, Held, RefusedError, hold
from dedupe.actions.reread import digest_of
from dedupe.actions.tally import Refusal
from dedupe.actions.words import said
from dedupe.storage import volumes

ANOTHER = "is another file than the one that it was reported with, though both have one number"


def are_one(a: Copy, b: Copy) -> bool:
    """Return whether copies of one number are one file, for all that a look tells."""
    if not set(a.names).isdisjoint(b.names) or not _is_loose(a):
        return True
    return a.seen.nlink > 1 and a.seen.is_untouched_since(b.seen)


def known(held: dict[tuple[int, int], list[Held]], victim: Held) -> Held:
    """Return the open file that a victim is a further name of; else itself, which is put among them by its number."""
    same = held.setdefault(victim.identity, [])
    now = victim.copy._replace(seen=victim.seen)
    first = next((each for each in same if are_one(each.copy._replace(seen=each.seen), now)), victim)
    if first is victim:
        same.append(victim)
    return first


def names_of_others(victim: Held, algorithm: str, digest: bytes, folders: Folders) -> list[Refusal]:
    """Take those further names from an open file that are not proven to be names of it, and return why each is not.

    Args:
        victim: a file of the digest.
        algorithm: of the digest.
        digest: of its content, computed a moment ago.
        folders: that are open.
    """
    first, *further = victim.copy.names
    if not further or not _is_loose(victim.copy):
        return []
    reasons = {name: _other(victim, name, algorithm, digest, folders) for name in further}
    victim.copy = victim.copy._replace(names=(first, *(name for name in further if not reasons[name])))
    return [Refusal(name.path, reason) for name, reason in reasons.items() if reason]


def _other(victim: Held, name: Name, algorithm: str, digest: bytes, folders: Folders) -> str | None:
    try:
        alone = victim.copy._replace(names=(name,))
        with closing(hold(alone, victim.seen.size, folders, is_victim=True)) as held:
            is_alike = held.seen.nlink > 1 and held.seen.is_untouched_since(victim.seen)
            is_one = is_alike and digest_of(held.descriptor, algorithm) == digest and held.is_undisturbed()
            return None if is_one else ANOTHER
    except (RefusedError, OSError) as error:
        return said(error)


def _is_loose(copy: Copy) -> bool:
    """Return whether the number of a file may be another's as well."""
    try:
        return not volumes.locate(copy.names[0].folder, copy.seen.device).volume.stable_inodes
    except OSError:
        return True
