"""The plan: what may be done about the marks, and the guard that keeps a copy of everything.

Looks at every file that the marks name, opens none, changes nothing.  What is refused here is not even tried; what
passes is looked at, read and compared again at the moment of the act.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from dedupe.actions import aliases, doubt, held_back, looks
from dedupe.actions.bounds import Passing, Rules, identity
from dedupe.actions.copies import Copy, Name, merged
from dedupe.actions.held_back import Kind
from dedupe.actions.marks import Marks
from dedupe.actions.present import GroupNow, Places, tell_gone
from dedupe.actions.tally import Refusal
from dedupe.errors import UsageError
from dedupe.storage import display


@dataclass(frozen=True, slots=True)
class PlannedGroup:
    """Victims that may go, and the keepers that stay for them."""

    size: int
    algorithm: str
    digest: bytes | None
    keepers: tuple[Copy, ...]
    victims: tuple[Copy, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """What a plan has to respect.

    Attributes:
        copies: physical files of each group that have to stay.
        target: the folder that victims go to; nothing in it counts as a copy.
        also: kinds of places that are not held back.
        names_go: whether the action takes names away, rather than giving them another file or other blocks.
    """

    copies: int = 1
    target: bytes | None = None
    also: Collection[Kind] = ()
    names_go: bool = True


@dataclass(slots=True)
class Plan:
    """Everything that is going to be tried, and what is not."""

    roots: Sequence[bytes]
    groups: list[PlannedGroup] = field(default_factory=list)
    refused: list[Refusal] = field(default_factory=list)
    already: list[Refusal] = field(default_factory=list)  # gone, or the keeper itself


def make(marks: Marks, limits: Limits) -> Plan:
    """Return the plan for marks.

    Raises:
        UsageError: the marks contradict themselves, or would leave nothing of a group.
    """
    _check(marks)
    held_back.forget()
    plan = Plan(tuple(marks.roots))
    rules = Rules(marks.rules)
    places = Places(marks.roots, limits.target)
    looked = [GroupNow(group, places) for group in marks.groups]
    tell_gone(looked, (str(volume.get("id", "")) for volume in marks.volumes))
    kept = {copy.identity for group in looked for copy in group.keepers}
    guard = _Guard(limits, rules, kept)
    for group in looked:
        _plan_group(plan, group, guard)
    # what lies together is acted on together: folders are opened, and synced, less often
    plan.groups.sort(key=lambda group: group.victims[0].names[0].real)
    return plan


@dataclass(slots=True)
class _Guard:
    """What every victim is held against."""

    limits: Limits
    rules: Rules
    kept: Collection[tuple[int, int]]  # files that stay, of all groups
    seen: dict[tuple[int, int], list[Copy]] = field(default_factory=dict)  # victims so far
    passing: Passing = field(default_factory=Passing)


def _check(marks: Marks) -> None:
    """Refuse marks that cannot be meant: nothing of them is done.

    Raises:
        UsageError: there is a group that keeps nothing, a name twice, or a name outside the roots.
    """
    stays: set[bytes] = set()
    goes: set[bytes] = set()
    tops = tuple(os.path.join(root, b"") for root in marks.roots)
    for group in marks.groups:
        if group.redundant and not group.keep:
            raise UsageError(f"The marks keep no copy of group {group.id}: nothing of them was done.")
        for files, seen in ((group.keep, stays), (group.redundant, goes)):
            for name in (name for file in files for name in (*file.real_names, *file.mounted)):
                if name not in marks.roots and not name.startswith(tops):
                    raise UsageError(
                        f"{display.shown(name)} lies outside the folders that were scanned: nothing was done."
                    )
                if name in seen and seen is goes:
                    raise UsageError(f"{display.shown(name)} is marked redundant twice: nothing was done.")
                seen.add(name)
    if both := stays & goes:
        raise UsageError(f"{display.shown(min(both))} is to stay and is redundant too: nothing was done.")


def _plan_group(plan: Plan, looked: GroupNow, guard: _Guard) -> None:
    """Put what may be done about one group into the plan."""
    plan.refused += looked.refused
    plan.already += looked.already
    own = {copy.identity for copy in looked.keepers}
    keepers = merged(looked.keepers, doubt.are_one)
    stays = aliases.Files(copy.as_seen for copy in keepers)
    victims = []
    for victim in merged(looked.victims, doubt.are_one):
        victim = _each_entry_once(victim, plan)  # noqa: PLW2901 - the same file
        if victim.identity in own:
            plan.already += [Refusal(name.path, aliases.ITSELF) for name in victim.names]
        elif reason := aliases.SAID if stays.has(victim.as_seen) else _held(victim, guard):
            plan.refused += [Refusal(name.path, reason) for name in victim.names]
        else:
            victims.append(victim)
    if guard.limits.names_go:
        keepers = _lasting(keepers, victims, guard, looked.spoilt)
        stays = aliases.Files(copy.as_seen for copy in keepers)
        victims = _out_of_snapshots(victims, keepers, guard, plan)
    if len(stays) < guard.limits.copies:
        spoilt = f": {looked.spoilt[0]}" if looked.spoilt else ""
        reason = f"only {len(stays)} of {guard.limits.copies} copies would stay{spoilt}"
        plan.refused += [Refusal(name.path, reason) for victim in victims for name in victim.names]
    elif victims:
        group = looked.group
        plan.groups.append(PlannedGroup(group.size, group.algorithm, group.digest, tuple(keepers), tuple(victims)))


def _each_entry_once(victim: Copy, plan: Plan) -> Copy:
    """Return a victim without names that are further ways to an entry that it has: by another mount, by other case.

    Once the entry is gone by one of them it is gone by all, which must not look like a failure.
    """
    if len(victim.names) == 1:
        return victim
    found: dict[tuple[object, bytes], Name] = {}
    for name in victim.names:
        place = identity(name.folder) or name.folder
        if (place, name.name) in found or (len(found) == victim.seen.nlink and _leads_to(name, victim)):
            plan.already.append(Refusal(name.path, f"is another way to {display.shown(victim.path)}"))
        else:
            found[place, name.name] = name
    return victim._replace(names=tuple(found.values()))


def _leads_to(name: Name, victim: Copy) -> bool:
    try:
        return looks.at(name.real).identity == victim.identity
    except OSError:
        return False


def _lasting(keepers: list[Copy], victims: list[Copy], guard: _Guard, spoilt: list[str]) -> list[Copy]:
    """Return the keepers that last as long as the victims would; note why others do not."""
    goes = [(victim.names[0].folder, victim.seen.device) for victim in victims]
    found = []
    for keeper in keepers:
        place = keeper.names[0].folder, keeper.seen.device
        if guard.passing.outlasts(*place, goes):
            found.append(keeper)
        else:
            spoilt.append(f"{display.shown(keeper.path)} {guard.passing.reason(*place)}")
    return found


def _out_of_snapshots(victims: list[Copy], keepers: list[Copy], guard: _Guard, plan: Plan) -> list[Copy]:
    """Return the victims but for those whose snapshot would lose them; in it another copy may stand for one."""
    stays = {keeper.seen.device for keeper in keepers}
    found = []
    for victim in victims:
        reason = guard.passing.snapshot(victim.names[0].folder, victim.seen.device)
        if reason and victim.seen.device not in stays:
            plan.refused += [Refusal(name.path, reason) for name in victim.names]
        else:
            found.append(victim)
    return found


def _held(victim: Copy, guard: _Guard) -> str | None:
    """Return why a victim is left alone, or None."""
    limits = guard.limits
    if victim.identity in guard.kept:
        return "is to stay elsewhere in the marks"
    known = guard.seen.setdefault(victim.identity, [])
    if other := next((each for each in known if doubt.are_one(each, victim)), None):
        return f"is one file with {display.shown(other.path)}, which is in another group"
    known.append(victim)
    for name in victim.names:
        if reason := guard.rules.refusal(name.real):
            return reason
        kind = held_back.kind_of(name.real)
        if kind is not None and kind not in limits.also:
            return f"is held back ({kind}): --also {kind} would take it too"
    if limits.names_go and victim.symlinks and Kind.SYMLINK_TARGETS not in limits.also:
        count = len(victim.symlinks)
        links = "a symbolic link leads" if count == 1 else f"{count:,} symbolic links lead"
        return f"is where {links} (symlink-targets): --also symlink-targets takes it"
    return None
