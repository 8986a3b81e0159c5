"""What a plan would come to, told before anything is done.  Changes nothing."""

from __future__ import annotations

import os
from contextlib import suppress
from dataclasses import dataclass, field
from typing import NamedTuple

from dedupe.actions import doubt
from dedupe.actions.copies import Copy, merged
from dedupe.actions.plan import Plan, PlannedGroup
from dedupe.storage import display, file_systems, sharing, volumes
from dedupe.storage.opening import open_folder, open_nofollow

EXAMPLES = 5


class Example(NamedTuple):
    """A name that would go, and the copy that stays for it."""

    goes: bytes
    stays: bytes


@dataclass(slots=True)
class Summary:
    """The sums of a plan, and what a user should know before saying yes."""

    names: int = 0
    files: int = 0  # physical ones
    bytes: int = 0
    freed: dict[str, int] = field(default_factory=dict)  # bytes by volume: of files that lose their last name
    shared: set[str] = field(
        default_factory=set
    )  # volumes where victims share blocks, or layers hide them: it may be more
    stays: dict[str, int] = field(default_factory=dict)  # files that stay, by volume
    refused: dict[str, int] = field(default_factory=dict)  # files that the action will leave alone, by reason
    keeps_name: int = 0  # files that have further names outside the report, so that nothing becomes free
    other_dates: int = 0  # victims whose dates differ from those of the copy that stays
    symlinks: int = 0  # that lead to victims
    examples: list[Example] = field(default_factory=list)


def of(plan: Plan) -> Summary:
    """Return the sums of a plan."""
    found = Summary()
    volumes_of = _Volumes()
    for group in plan.groups:
        for victim in merged(group.victims, doubt.are_one):
            _count(found, victim, group, volumes_of)
        for keeper in group.keepers:
            name = volumes_of.name(keeper)
            found.stays[name] = found.stays.get(name, 0) + 1
    return found


def _count(found: Summary, victim: Copy, group: PlannedGroup, volumes_of: _Volumes) -> None:
    """Count one file that goes."""
    keeper, name = group.keepers[0], volumes_of.name(victim)
    found.names += len(victim.names)
    found.files += 1
    found.bytes += group.size
    found.symlinks += len(victim.symlinks)
    found.other_dates += victim.seen.modified_ns != keeper.seen.modified_ns
    own = 0
    if victim.seen.nlink > len(victim.names):
        found.keeps_name += 1
    else:
        own = _own(victim, volumes_of.kind(victim))
        if own < victim.seen.on_disk:
            found.shared.add(name)
    found.freed[name] = found.freed.get(name, 0) + own
    if len(found.examples) < EXAMPLES:
        found.examples.append(Example(victim.path, keeper.path))


class _Volumes:
    """What a user calls volumes, each asked once."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[str, str]] = {}

    def name(self, copy: Copy) -> str:
        """Return what a user calls the volume of a file."""
        return self._of(copy)[0]

    def kind(self, copy: Copy) -> str:
        """Return the kind of its file system; empty where the system does not tell."""
        return self._of(copy)[1]

    def _of(self, copy: Copy) -> tuple[str, str]:
        device = copy.seen.device
        if device not in self._known:
            self._known[device] = _asked(copy)
        return self._known[device]


def _asked(copy: Copy) -> tuple[str, str]:
    try:
        volume = volumes.locate(copy.names[0].folder, copy.seen.device).volume
    except OSError:
        return "its volume", ""
    shown = display.shown(volume.mount_point) if volume.mount_point else "its volume"
    return f"{shown} ({volume.label})" if volume.label else shown, volume.file_system


def _own(victim: Copy, kind: str) -> int:
    """Return the bytes that a file is known to have for itself alone."""
    if file_systems.is_layered(kind):
        return 0
    if file_systems.may_share(kind):
        with suppress(OSError):
            folder = open_folder(victim.names[0].folder)
            try:
                descriptor = open_nofollow(folder, victim.names[0].name)
            finally:
                os.close(folder)
            try:
                return sharing.exclusive_bytes([descriptor])
            finally:
                os.close(descriptor)
    return victim.seen.on_disk
