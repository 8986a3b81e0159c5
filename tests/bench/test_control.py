"""Whether a switch acts is told by a control, and never guessed."""

from __future__ import annotations

import platform
import sys

import pytest

from dedupe.bench.control import ARM, X86, Verdict, control, effects, switch_for
from dedupe.bench.probe import AES, workloads

BEFORE = {"sha256/openssl": 1.0, "sha512/openssl": 2.0, "sha256/builtin": 4.0, AES: 1.0}


def verdicts(**changes: float) -> dict[str, Verdict]:
    """Return the verdicts if the switch makes some things that many times as slow."""
    names = {"sha256": "sha256/openssl", "sha512": "sha512/openssl", "builtin": "sha256/builtin", "aes": AES}
    after = BEFORE | {names[name]: BEFORE[names[name]] * factor for name, factor in changes.items()}
    return {effect.name: effect.verdict for effect in effects([BEFORE], [after])}


def test_acts() -> None:
    """What becomes slower depends on the switch."""
    assert verdicts(sha256=3.0, aes=4.0)["sha256/openssl"] == Verdict.ACTS


def test_no_change_is_not_ignored() -> None:
    """What stays as fast while the control becomes slower does not use these instructions."""
    assert verdicts(aes=4.0)["sha256/openssl"] == Verdict.NO_CHANGE
    assert verdicts(sha256=3.0, aes=4.0)["sha512/openssl"] == Verdict.NO_CHANGE


def test_ignored() -> None:
    """Where not even the control changes, the switch was ignored, and nothing is said of the hash."""
    assert set(verdicts().values()) == {Verdict.IGNORED}
    assert set(verdicts(sha256=1.2).values()) == {Verdict.IGNORED}


def test_without_a_control_nothing_is_known() -> None:
    """Where AES cannot be measured and nothing changed, the verdict is that nobody knows."""
    before = {name: seconds for name, seconds in BEFORE.items() if name != AES}
    assert {effect.verdict for effect in effects([before], [before])} == {Verdict.UNKNOWN}


@pytest.mark.parametrize("change", [{"builtin": 1.5}, {"sha512": 0.5}])
def test_noise_is_no_effect(change: dict[str, float]) -> None:
    """If code that no switch can reach became slower, or anything faster, the machine was too noisy to tell."""
    assert set(verdicts(sha256=3.0, aes=3.0, **change).values()) == {Verdict.UNKNOWN}


def test_ratio_is_of_the_best() -> None:
    """Children that were disturbed do not count: the best with the switch is held against the best without."""
    (effect, *_) = effects([{AES: 1.0}, {AES: 9.0}], [{AES: 8.0}, {AES: 2.0}])
    assert (effect.without, effect.switched, effect.ratio) == (1.0, 2.0, 2.0)


@pytest.mark.parametrize(
    ("machine", "switch"),
    [("x86_64", X86), ("AMD64", X86), ("aarch64", ARM), ("arm64", ARM), ("ARM64", ARM), ("riscv64", None)],
)
def test_switch_of_a_processor(machine: str, switch: object) -> None:
    """Each kind of processor has its own switch, or none."""
    assert switch_for(machine) == switch


def test_everything_that_is_timed_runs() -> None:
    """All work of a child process can be done here; AES goes through where OpenSSL allows it."""
    work = workloads(bytes(40_000))
    for run in work.values():
        run()
    assert {"sha256/openssl", "sha256/builtin"} <= work.keys()
    if sys.platform == "linux":
        assert AES in work


@pytest.mark.skipif(switch_for(platform.machine()) is None, reason="OpenSSL has no switch for this processor")
def test_real_switch() -> None:
    """On this machine the verdict on the control and on Python's own code are possible ones."""
    switch, found = control(1)
    by_name = {effect.name: effect for effect in found}
    assert switch == switch_for(platform.machine())
    assert by_name["sha256/builtin"].verdict != Verdict.ACTS
    if sys.platform == "linux" and platform.machine() == "x86_64":
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            flags = file.read().split()
        if "aes" in flags and by_name[AES].verdict != Verdict.UNKNOWN:
            assert by_name[AES].verdict == Verdict.ACTS
