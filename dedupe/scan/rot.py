"""Which files a disk has lost bytes of: same name, size and times as remembered, and other content.

Where bytes are compared, a remembered digest proves nothing, but it is a witness.  Where the witnesses contradict the
bytes, the files in question are hashed, which tells those that are not what they were.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Sequence

from dedupe.compare.method import Method
from dedupe.files.classes import Classes
from dedupe.files.table import FileTable
from dedupe.scan.confirm import Confirmed
from dedupe.scan.list_files import Sets
from dedupe.scan.recall import Known
from dedupe.scan.session import Session


def tell_rot(session: Session, table: FileTable, sets: Sets, known: Known, confirmed: Confirmed) -> Confirmed:
    """Return what was confirmed with a problem for each file that is not what is remembered of it.

    Only where bytes are compared: elsewhere what has a digest is not read.  Each file stays in the group of what it
    holds now.
    """
    if session.method.has_digest or not known.digests:
        return confirmed
    failed = {problem.path for problem in confirmed.problems}
    contradicted = _contradicted(sets, known, _class_numbers(len(table), confirmed.classes))
    readable = array("I", (i for i in contradicted if table.path(i) not in failed))
    if not readable:
        return confirmed
    from dedupe.scan.hash_whole import hash_whole  # hardly any scan needs it

    for each in hash_whole(session, table, readable, Method.of(session.method.algorithm), known):
        if each.digest is not None:
            confirmed.bytes_read += table.size[each.member]
            confirmed.problems += [each.problem] if each.problem else ()
    return confirmed


def _class_numbers(files: int, classes: Classes) -> array[int]:
    """Return for each file the number of its class, from 1; 0 where it has none."""
    numbers = array("I", bytes(4 * files))
    for n, (_, members) in enumerate(classes, 1):
        for i in members:
            numbers[i] = n
    return numbers


def _contradicted(sets: Sets, known: Known, numbers: Sequence[int]) -> Iterable[int]:
    """Yield the files whose remembered digests say something else than their bytes."""
    for members in sets:
        witnesses = [(d, i) for d, i in zip(known.digests.get_all(members), members, strict=True) if d is not None]
        classes: dict[bytes, set[int]] = {}
        digests: dict[int, set[bytes]] = {}
        for digest, i in witnesses:
            number = numbers[i] or -1 - i  # a file alone is a class of its own
            classes.setdefault(digest, set()).add(number)
            digests.setdefault(number, set()).add(digest)
        for digest, i in witnesses:
            if len(classes[digest]) > 1 or len(digests[numbers[i] or -1 - i]) > 1:
                yield i
