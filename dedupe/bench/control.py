"""Tests whether an environment switch of OpenSSL has any effect, by a control (AES) that it must slow down."""

from __future__ import annotations

import json
import os
import platform
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from dedupe.bench.probe import AES
from dedupe.errors import NothingUsableError

CHANGED = 1.25  # times as slow as before, or more: much more than the best of several runs varies
PATIENCE = 120  # seconds for a child
NEUTRAL = ("sha256/builtin", "xxh3/xxhash")  # not OpenSSL's code, so no switch of OpenSSL can change them


@dataclass(frozen=True, slots=True)
class Switch:
    """An environment variable that takes instructions away from OpenSSL."""

    variable: str
    value: str
    takes: str  # what it takes away, in words


# https://docs.openssl.org/master/man3/OPENSSL_ia32cap/: the first number masks CPUID leaf 1 (bit 57 is AES-NI), the
# second leaf 7 (bit 29 is the SHA extensions, bit 41 the wide AES ones)
X86 = Switch("OPENSSL_ia32cap", "~0x200000000000000:~0x20020000000", "the AES and SHA instructions")
# crypto/arm_arch.h of OpenSSL: 1 is NEON alone, without AES, SHA-1, SHA-256, PMULL and SHA-512
ARM = Switch("OPENSSL_armcap", "1", "the AES, SHA and PMULL instructions")


class Verdict(StrEnum):
    """What the switch did to one algorithm."""

    ACTS = "acts"
    NO_CHANGE = "no change"  # although the switch acts on the control
    IGNORED = "ignored"  # not even the control changed
    UNKNOWN = "unknown"  # there is no control, or the machine was too noisy


@dataclass(frozen=True, slots=True)
class Effect:
    """How many times as slow an algorithm is with the switch set, and what that means."""

    name: str
    without: float  # seconds
    switched: float
    ratio: float
    verdict: Verdict


def switch_for(machine: str) -> Switch | None:
    """Return the switch for a kind of processor as `platform.machine` names it, or None where OpenSSL has none."""
    if machine.lower() in ("x86_64", "amd64", "i386", "i686", "x86"):
        return X86
    return ARM if machine.lower().startswith(("arm", "aarch64")) else None


def effects(without: Sequence[Mapping[str, float]], switched: Sequence[Mapping[str, float]]) -> list[Effect]:
    """Return what the switch did, from the best seconds by name that child processes found, without it and with it.

    If code that is not OpenSSL's (`NEUTRAL`) became slower, or anything became faster by losing instructions, then the
    machine was too busy for any conclusion.
    """
    best = {name: min(one[name] for one in without) for name in without[0]}
    after = {name: min(one[name] for one in switched) for name in best}
    ratios = {name: after[name] / best[name] for name in best}
    noisy = min(ratios.values()) <= 1 / CHANGED or any(ratios.get(name, 1.0) >= CHANGED for name in NEUTRAL)
    return [
        Effect(name, best[name], after[name], ratio, Verdict.UNKNOWN if noisy else _verdict(name, ratios))
        for name, ratio in ratios.items()
    ]


def _verdict(name: str, ratios: Mapping[str, float]) -> Verdict:
    if ratios[name] >= CHANGED:
        return Verdict.ACTS
    if any(ratio >= CHANGED for ratio in ratios.values()):
        return Verdict.NO_CHANGE
    return Verdict.IGNORED if AES in ratios else Verdict.UNKNOWN


def control(rounds: int, done: Callable[[], None] = lambda: None) -> tuple[Switch, list[Effect]]:
    """Run pairs of child processes, without and with the switch of this processor, and return what it did.

    Raises:
        NothingUsableError: OpenSSL has no switch for this processor, or a child failed.
    """
    switch = switch_for(platform.machine())
    if switch is None:
        raise NothingUsableError(f"OpenSSL has no such switch for {platform.machine()} processors")
    without, switched = [], []
    for _ in range(rounds):
        without.append(_child({}))
        done()
        switched.append(_child({switch.variable: switch.value}))
        done()
    return switch, effects(without, switched)


def _child(variables: dict[str, str]) -> dict[str, float]:
    environment = {key: value for key, value in os.environ.items() if key not in (X86.variable, ARM.variable)}
    # wherever this package was imported from, the child must import the same
    environment["PYTHONPATH"] = os.pathsep.join(path or os.curdir for path in sys.path)
    command = [sys.executable, "-m", "dedupe.bench.probe"]
    try:
        done = subprocess.run(  # noqa: S603 - ourselves
            command, env=environment | variables, capture_output=True, check=True, timeout=PATIENCE
        )
        timings: dict[str, float] = json.loads(done.stdout)
    except (OSError, subprocess.SubprocessError, ValueError) as error:
        raise NothingUsableError(f"a child process of the control failed: {error}") from error
    return timings
