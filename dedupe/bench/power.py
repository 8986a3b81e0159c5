"""Finds what may slow a measurement down: batteries, governors, other programs.  Changes none of it."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

BUSY = 0.5  # share of the cores that other work may take before it is worth a warning


def warnings(cores: int) -> list[str]:
    """Return warnings about this machine's state; none if nothing bad was found."""
    return _of_system() + of_load(os.getloadavg()[0] if hasattr(os, "getloadavg") else 0.0, cores)


def of_load(load: float, cores: int) -> list[str]:
    """Return a warning if the load of the last minute shows that other programs are running."""
    if load <= BUSY * cores:
        return []
    return [f"Other programs are running: the load is {load:.1f} on {cores} cores."]


def of_linux(root: Path) -> list[str]:
    """Return warnings from Linux's /sys (`root`)."""
    found = []
    supplies = {path.parent.name: _text(path) for path in root.glob("class/power_supply/*/online")}
    batteries = [_text(path) for path in root.glob("class/power_supply/BAT*/status")]
    if "Discharging" in batteries and "1" not in supplies.values():
        found.append("On battery: the processor may run slower.")
    governors = {_text(path) for path in root.glob("devices/system/cpu/cpu*/cpufreq/scaling_governor")}
    # powersave is the ordinary state of intel_pstate and amd_pstate_epp, which still go to full speed
    drivers = {_text(path) for path in root.glob("devices/system/cpu/cpu*/cpufreq/scaling_driver")}
    slow = governors & {"powersave", "conservative"}
    if slow and not drivers & {"intel_pstate", "amd-pstate-epp", "amd_pstate_epp"}:
        found.append(f"The frequency governor is {', '.join(sorted(slow))}: the processor does not go to full speed.")
    if (
        _text(root / "devices/system/cpu/intel_pstate/no_turbo") == "1"
        or _text(root / "devices/system/cpu/cpufreq/boost") == "0"
    ):
        found.append("Turbo is switched off.")
    return found


def of_pmset(battery: str, settings: str) -> list[str]:
    """Return warnings from what macOS's `pmset -g batt` and `pmset -g` print."""
    found = []
    if "Battery Power" in battery:
        found.append("On battery: the processor may run slower.")
    if any(line.split() == ["lowpowermode", "1"] for line in settings.splitlines()):
        found.append("Low power mode is on.")
    return found


def of_windows(line: int, saver: int) -> list[str]:
    """Return warnings from ACLineStatus and SystemStatusFlag of Windows' GetSystemPowerStatus."""
    found = ["On battery: the processor may run slower."] if line == 0 else []
    return found + (["Battery saver is on."] if saver == 1 else [])


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return ""


if sys.platform == "win32":

    def _of_system() -> list[str]:
        import ctypes

        # SYSTEM_POWER_STATUS: ACLineStatus, BatteryFlag, BatteryLifePercent, SystemStatusFlag, and two numbers
        status = (ctypes.c_uint8 * 12)()
        ask = ctypes.WinDLL("kernel32").GetSystemPowerStatus
        ask.argtypes, ask.restype = (ctypes.c_void_p,), ctypes.c_int
        return of_windows(status[0], status[3]) if ask(status) else []

elif sys.platform == "darwin":

    def _of_system() -> list[str]:
        def ask(*what: str) -> str:
            command = ["/usr/bin/pmset", "-g", *what]
            done = subprocess.run(command, capture_output=True, check=False, timeout=10)  # noqa: S603 - of the system
            return done.stdout.decode("utf-8", "replace")

        try:
            return of_pmset(ask("batt"), ask())
        except (OSError, subprocess.TimeoutExpired):
            return []

else:

    def _of_system() -> list[str]:
        return of_linux(Path("/sys"))
