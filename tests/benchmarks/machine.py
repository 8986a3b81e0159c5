"""Describes where figures were measured: without that they mean nothing.  Linux only."""

from __future__ import annotations

import os
import platform
import re
from datetime import UTC, datetime

# what decides how fast digests and comparisons are
NOTED_FLAGS = ("sha_ni", "avx2", "avx512f", "vaes", "sha1", "sha2", "sha3", "asimd", "sve")


def describe(folder: str) -> dict[str, str]:
    """Return the date, processor, memory, kernel, Python and the file system below a folder, ready to print."""
    cpu = _read("/proc/cpuinfo")
    model = re.search(r"^(?:model name|Model|CPU part)\s*:\s*(.+)$", cpu, re.MULTILINE)
    flags = re.search(r"^(?:flags|Features)\s*:\s*(.+)$", cpu, re.MULTILINE)
    present = set(flags[1].split()) if flags else set()
    memory = re.search(r"^MemTotal:\s*(\d+)", _read("/proc/meminfo"), re.MULTILINE)
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "processor": f"{model[1].strip() if model else platform.machine()}, {len(os.sched_getaffinity(0))} cores",
        "flags": " ".join(flag for flag in NOTED_FLAGS if flag in present) or "none noted",
        "memory": f"{int(memory[1]) / 2**20:.0f} GiB" if memory else "unknown",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Python": f"{platform.python_version()} ({platform.python_implementation()})",
        "file system": file_system(folder),
        "load at the start": f"{os.getloadavg()[0]:.2f}",
    }


def file_system(folder: str) -> str:
    """Return type, source and kind of disk of the mount that a folder lies on."""
    place = os.path.realpath(folder)
    best = ("", "unknown", "unknown")
    for line in _read("/proc/self/mountinfo").splitlines():
        before, _, after = line.partition(" - ")
        point = before.split()[4].replace("\\040", " ")
        kind, source = after.split()[:2]
        # a later mount on the same point hides the earlier one
        if os.path.commonpath((place, point)) == point and len(point) >= len(best[0]):
            best = (point, kind, source)
    return f"{best[1]} on {best[2]}{rotation(folder)}"


def rotation(folder: str) -> str:
    """Return what the kernel says of the disk below a folder; nothing where it has none."""
    device = os.stat(folder).st_dev
    block = f"/sys/dev/block/{os.major(device)}:{os.minor(device)}"
    for queue in (f"{block}/queue", f"{block}/../queue"):
        if os.path.exists(f"{queue}/rotational"):
            return ", rotating" if _read(f"{queue}/rotational").strip() == "1" else ", not rotating"
    return ""


def _read(path: str) -> str:
    """Return the text of a file of the kernel's."""
    with open(path, encoding="utf-8", errors="replace") as text:
        return text.read()
