"""Which workers of a cluster may help: those of the same version that see the same folders.  Sends them no work.

Called by one thread only.
"""

from __future__ import annotations

import os
import pkgutil
import time
import uuid
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from dedupe.cluster.link import AnyFuture, Link
from dedupe.cluster.proof import WantedRoot, wanted
from dedupe.cluster.remote import Call, Standing, introduce
from dedupe.version import __version__

_AGAIN = 5.0  # seconds after which a worker that could not help, or is in doubt, is asked once more
_SHOWN = 3  # workers that a sentence names

Post = Callable[[Callable[[], object]], object]  # has something done by the thread that all this belongs to


@dataclass(eq=False, slots=True)
class Member:
    """A worker."""

    address: str
    threads: int
    able: bool = False
    reason: str = "it has not answered yet"  # why it is not, as the end of a sentence about it
    asking: bool = False
    asked: float = 0.0  # when, on the clock of `time.monotonic`


class Crew:
    """The workers of a cluster.

    Args:
        link: to the scheduler.
        roots: folders that they should see, each with the paths that it may have there.
        post: has what came in done by the thread that calls all this.

    Attributes:
        run: by which the workers know the folders.
    """

    def __init__(self, link: Link, roots: Sequence[tuple[bytes, tuple[bytes, ...]]], post: Post) -> None:
        self.run = uuid.uuid4().hex
        self._link = link
        self._roots = roots
        self._post = post
        self._members: dict[str, Member] | None = None  # None until the scheduler has told who there is
        self._gone: list[str] = []
        self._unable: dict[str, str] = {}  # why those are not able that have gone
        self._partly: dict[str, tuple[str, ...]] = {}

    @property
    def is_settled(self) -> bool:
        """Return whether everybody has been heard who was there from the beginning."""
        return self._members is not None and not any(member.asking for member in self._members.values())

    @property
    def threads(self) -> int:
        """Return how many threads the able ones have."""
        return sum(member.threads for member in self._each() if member.able)

    def able(self) -> frozenset[str]:
        """Return the addresses of those that may help."""
        return frozenset(member.address for member in self._each() if member.able)

    def update(self, told: Mapping[str, int]) -> None:
        """Take note of who is there now, and ask whoever should be asked."""
        members = self._members = self._members or {}
        for address in [address for address in members if address not in told]:
            member = members.pop(address)
            if member.able:
                self._gone.append(address)
            else:
                self._unable[address] = member.reason
        now = time.monotonic()
        for address, threads in told.items():
            member = members.setdefault(address, Member(address, threads))
            member.threads = threads
            if not (member.asking or member.able) and (not member.asked or now - member.asked > _AGAIN):
                self._ask(member)

    def doubt(self, address: str) -> None:
        """Have a worker show once more that it sees the same folders; until it fails it may help."""
        member = (self._members or {}).get(address)
        if member and not member.asking and time.monotonic() - member.asked > _AGAIN:
            self._ask(member)

    def unproven(self, address: str) -> None:
        """Note that another process has taken a worker's place."""
        member = (self._members or {}).get(address)
        if member and not member.asking:
            member.able = False
            self._ask(member)

    def notes(self) -> list[str]:
        """Return sentences for the user: who took no part and why, who left."""
        unable = dict(self._unable)
        unable.update((member.address, member.reason) for member in self._each() if not member.able)
        reasons = defaultdict(list)
        for address, reason in unable.items():
            reasons[f"took no part: {reason}"].append(address)
        for address, missing in self._partly.items():
            if address not in unable:
                reasons[f"helped with some of the folders only: {'; '.join(missing)}"].append(address)
        for address in self._gone:
            reasons["left: what it had in hand was done elsewhere"].append(address)
        return [_sentence(addresses, what) for what, addresses in reasons.items()]

    def _each(self) -> Sequence[Member]:
        return list((self._members or {}).values())

    def _ask(self, member: Member) -> None:
        """Ask for the version first: another one may not understand the rest."""
        member.asking, member.asked = True, time.monotonic()
        try:
            future = self._link.call(
                pkgutil.resolve_name, "dedupe.version:__version__", workers=frozenset((member.address,))
            )
        except Exception as error:  # whatever dask raises, it cannot be asked
            self._refuse(member, f"it could not be asked ({error})")
            return
        future.add_done_callback(lambda told: self._post(partial(self._take_version, member, told)))

    def _take_version(self, member: Member, told: AnyFuture) -> None:
        if told.cancelled():
            self._refuse(member, "it did not answer")
        elif (error := told.exception()) is not None:
            missing = isinstance(error, ImportError)
            self._refuse(member, f"it has no dedupe ({error})" if missing else f"it failed ({error})")
        elif told.result() != __version__:
            self._refuse(member, f"it has dedupe {told.result()}, and this is {__version__}")
        else:
            self._ask_for_roots(member)

    def _ask_for_roots(self, member: Member) -> None:
        roots: list[WantedRoot] = []
        for here, candidates in self._roots:
            try:
                roots.append(wanted(here, candidates))  # anew for each: it may have changed since
            except OSError:
                continue  # what cannot be listed here is told by the walk
        try:
            call = Call(introduce, self.run, tuple(roots))
            future = self._link.submit(call, (member.address,))
        except Exception as error:  # as above
            self._refuse(member, f"it could not be asked ({error})")
            return
        future.add_done_callback(lambda told: self._post(partial(self._take_standing, member, told)))

    def _take_standing(self, member: Member, told: AnyFuture) -> None:
        if told.cancelled():
            self._refuse(member, "it did not answer")
            return
        if (error := told.exception()) is not None:
            self._refuse(member, f"it failed ({error})")
            return
        standing: Standing = told.result()
        if standing.system != os.name:
            self._refuse(member, "it runs another kind of operating system")
        elif not standing.found:
            self._refuse(member, "; ".join(dict.fromkeys(standing.missing)) or "there is no folder to share with it")
        else:
            member.asking, member.able = False, True
            if standing.missing:
                self._partly[member.address] = standing.missing
            else:
                self._partly.pop(member.address, None)

    def _refuse(self, member: Member, reason: str) -> None:
        member.asking, member.able, member.reason = False, False, reason


def _sentence(addresses: Sequence[str], what: str) -> str:
    if len(addresses) == 1:
        return f"The worker {addresses[0]} {what}."
    more = ", ..." if len(addresses) > _SHOWN else ""
    return f"{len(addresses)} workers ({', '.join(addresses[:_SHOWN])}{more}) each {what}."
