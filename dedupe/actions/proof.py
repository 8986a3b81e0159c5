"""The proof: keeper and victims read against each other, every byte, at the moment of the act.  Changes nothing.

A keeper is read once for all of its victims, in step with them; its digest is computed on the way.  Plain reads only:
a file that shrinks under a memory map would end the program in the middle of its work.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass

from dedupe.actions.holding import Held
from dedupe.digests.base import Backend, Hasher
from dedupe.digests.memory import Pinned, equal
from dedupe.storage.opener import read_at
from dedupe.storage.readers import PlainReader

_SMALL = 256 << 10  # bytes; files up to this size are read in one piece
_WINDOW = 8 << 20  # bytes of a window, at most
_IN_MEMORY = 64 << 20  # bytes of all windows together
_STEP = 1 << 20  # bytes compared and hashed at a time, so that the keeper's are still in the core's cache

DIFFERS = "differs from the copy that stays"
SHRANK = "changed while it was read"


@dataclass(slots=True)
class Verdict:
    """What reading a keeper and its victims showed."""

    digests: dict[str, bytes]  # of the keeper, by algorithm
    unequal: dict[int, str]  # victims that are not proven, by their place, and why
    keeper_failed: str = ""  # why nothing is proven at all


class Hashers:
    """Makes the hashers of a proof: of the plan's algorithm where it is known here, and of one that is strong."""

    strong = frozenset({"sha256", "sha512", "blake2b", "blake3"})

    def __init__(self, backends: dict[str, Backend]) -> None:
        self._backends = backends

    def start(self, algorithm: str, size: int) -> dict[str, Hasher]:
        """Return running hashers by algorithm; SHA-256 is among them unless the plan's own is as strong."""
        names = {algorithm} & self._backends.keys()
        if not names & self.strong:
            names |= {"sha256"}
        return {name: self._backends[name].hasher(name, size_hint=size) for name in sorted(names)}

    def journalled(self, digests: dict[str, bytes]) -> tuple[str, bytes]:
        """Return the digest that a journal keeps: a strong one."""
        return next((name, digest) for name, digest in digests.items() if name in self.strong)


def prove(
    keeper: Held, victims: Sequence[Held], hashers: dict[str, Hasher], advance: Callable[[int], object]
) -> Verdict:
    """Compare victims with their keeper, byte by byte; `advance` is told of bytes read."""
    verdict = Verdict({}, {})
    size = keeper.seen.size
    try:
        if size <= _SMALL:
            _whole(keeper, victims, hashers, verdict)
            advance(size * (len(victims) + 1))
        else:
            _in_step(keeper, victims, hashers, verdict, advance)
        if not keeper.is_undisturbed():
            verdict.keeper_failed = verdict.keeper_failed or SHRANK
    except OSError as error:  # of victims it is caught where they are read
        verdict.keeper_failed = f"it cannot be read: {error.strerror}"
        return verdict
    for place, victim in enumerate(victims):
        if place not in verdict.unequal and not _is_undisturbed(victim):
            verdict.unequal[place] = SHRANK
    verdict.digests = {name: hasher.digest() for name, hasher in hashers.items()}
    return verdict


def _is_undisturbed(victim: Held) -> bool:
    try:
        return victim.is_undisturbed()
    except OSError:  # such as a server that took it away
        return False


def _whole(keeper: Held, victims: Sequence[Held], hashers: dict[str, Hasher], verdict: Verdict) -> None:
    size = keeper.seen.size
    content = read_at(keeper.descriptor, size + 1, 0)
    if len(content) != size:
        verdict.keeper_failed = SHRANK
    for hasher in hashers.values():
        hasher.update(content)
    for place, victim in enumerate(victims):
        try:
            if read_at(victim.descriptor, size + 1, 0) != content:
                verdict.unequal[place] = DIFFERS
        except OSError as error:
            verdict.unequal[place] = f"cannot be read: {error.strerror}"


def _in_step(
    keeper: Held,
    victims: Sequence[Held],
    hashers: dict[str, Hasher],
    verdict: Verdict,
    advance: Callable[[int], object],
) -> None:
    size = keeper.seen.size
    window = max(_STEP, min(_WINDOW, _IN_MEMORY // (len(victims) + 1)) // _STEP * _STEP)
    with ExitStack() as stack:
        readers = [PlainReader(held.descriptor, closes=False) for held in (keeper, *victims)]
        for reader in readers:
            stack.callback(reader.close)
        for held in (keeper, *victims):
            os.lseek(held.descriptor, 0, os.SEEK_SET)
        for offset in range(0, size, window):
            length = min(window, size - offset)
            mine = readers[0].window(offset, length)
            if mine is None:
                verdict.keeper_failed = SHRANK
                return
            with Pinned(mine) as own:
                count = 1 + _compare(own.address, readers[1:], offset, length, verdict)
            with memoryview(mine) as whole:
                for at in range(0, length, _STEP):
                    with whole[at : at + _STEP] as part:
                        for hasher in hashers.values():
                            hasher.update(part)
            advance(count * length)


def _compare(own: int, readers: Sequence[PlainReader], offset: int, length: int, verdict: Verdict) -> int:
    """Compare a window of each victim that was equal so far; return how many were read."""
    count = 0
    for place, reader in enumerate(readers):
        if place in verdict.unequal:
            continue
        count += 1
        try:
            theirs = reader.window(offset, length)
        except OSError as error:
            verdict.unequal[place] = f"cannot be read: {error.strerror}"
            continue
        if theirs is None:
            verdict.unequal[place] = SHRANK
            continue
        with Pinned(theirs) as pinned:
            if not equal(own, pinned.address, length):
                verdict.unequal[place] = DIFFERS
    return count
