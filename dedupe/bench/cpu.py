"""Finds out which processor this is, and which of its instructions make hashes fast.  Measures nothing.

Each system reports this in its own way; a function reads each report, so that all can be tested on any system.
"""

from __future__ import annotations

import platform
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass

# The flags that make hashes faster, by their names on Linux; the other hundred do not matter here
# x86: SHA-1 and SHA-256, SHA-512, AES, and the vector units that BLAKE3 and XXH3 use
_X86_FLAGS = ("sha_ni", "sha512", "aes", "vaes", "pclmulqdq", "ssse3", "avx", "avx2", "avx512f", "avx512vl", "bmi2")
_ARM_FLAGS = ("sha1", "sha2", "sha3", "sha512", "aes", "pmull", "asimd", "sve", "sve2")
FLAGS = frozenset((*_X86_FLAGS, *_ARM_FLAGS))

# https://learn.microsoft.com/windows/win32/api/processthreadsapi/nf-processthreadsapi-isprocessorfeaturepresent
# Windows does not report the SHA and AES instructions of x86
_WINDOWS_ARM = {30: "aes sha1 sha2", 46: "sve", 47: "sve2", 64: "sha3", 65: "sha512"}
_WINDOWS_X86 = {36: "ssse3", 39: "avx", 40: "avx2", 41: "avx512f", 60: "bmi2"}

_APPLE = {
    "hw.optional.arm.FEAT_AES": "aes",
    "hw.optional.arm.FEAT_PMULL": "pmull",
    "hw.optional.arm.FEAT_SHA1": "sha1",
    "hw.optional.arm.FEAT_SHA256": "sha2",
    "hw.optional.arm.FEAT_SHA3": "sha3",
    "hw.optional.arm.FEAT_SHA512": "sha512",
}
_APPLE_INTEL = {
    "AES": "aes",
    "AVX1.0": "avx",
    "AVX2": "avx2",
    "AVX512F": "avx512f",
    "BMI2": "bmi2",
    "PCLMULQDQ": "pclmulqdq",
    "SHA": "sha_ni",
    "SSSE3": "ssse3",
}


@dataclass(frozen=True, slots=True)
class Cpu:
    """A processor: its model as the maker writes it, and those of its flags that are in `FLAGS`, sorted."""

    model: str
    flags: tuple[str, ...]
    virtual: bool = False  # other virtual machines may share it


def cpu() -> Cpu:
    """Return this machine's processor; what the system does not report is left empty."""
    try:
        return _cpu()
    except OSError:
        return Cpu(platform.processor() or platform.machine(), ())


def from_cpuinfo(text: str, machine: str) -> Cpu:
    """Return the first processor of Linux's /proc/cpuinfo, which names no model on most ARM machines."""
    fields: dict[str, str] = {}
    for line in text.splitlines():
        name, _, value = line.partition(":")
        fields.setdefault(name.strip(), value.strip())
    flags = (fields.get("flags") or fields.get("Features") or "").split()
    part = " ".join(f"{name} {fields[key]}" for name, key in _ARM_IDS.items() if key in fields)
    model = fields.get("model name") or f"{machine}, {part}".rstrip(", ")
    return Cpu(model, _kept(flags), "hypervisor" in flags)


_ARM_IDS = {"implementer": "CPU implementer", "part": "CPU part"}


def from_sysctl(text: str) -> Cpu:
    """Return the processor of macOS's `sysctl`: lines of name, colon and value."""
    values = {name.strip(): value.strip() for name, _, value in (line.partition(":") for line in text.splitlines())}
    flags = [flag for key, flag in _APPLE.items() if values.get(key) == "1"]
    intel = f"{values.get('machdep.cpu.features', '')} {values.get('machdep.cpu.leaf7_features', '')}".split()
    flags += [flag for key, flag in _APPLE_INTEL.items() if key in intel]
    virtual = values.get("kern.hv_vmm_present") == "1"
    return Cpu(values.get("machdep.cpu.brand_string", ""), _kept(flags), virtual)


def from_windows(name: str, machine: str, has: Callable[[int], bool]) -> Cpu:
    """Return the processor that Windows' registry names, with the features that `has` confirms by number."""
    features = _WINDOWS_ARM if machine.upper().startswith("ARM") else _WINDOWS_X86
    flags = " ".join(flags for number, flags in features.items() if has(number)).split()
    return Cpu(" ".join(name.split()), _kept(flags))


def _kept(flags: list[str]) -> tuple[str, ...]:
    return tuple(sorted(FLAGS.intersection(flags)))


if sys.platform == "win32":

    def _cpu() -> Cpu:
        import ctypes
        import winreg

        with winreg.OpenKey(winreg.HKEY_LOCAL_MACHINE, r"HARDWARE\DESCRIPTION\System\CentralProcessor\0") as key:
            name = str(winreg.QueryValueEx(key, "ProcessorNameString")[0])
        ask = ctypes.WinDLL("kernel32").IsProcessorFeaturePresent
        ask.argtypes, ask.restype = (ctypes.c_uint32,), ctypes.c_int
        return from_windows(name, platform.machine(), lambda number: bool(ask(number)))

elif sys.platform == "darwin":

    def _cpu() -> Cpu:
        names = [*_APPLE, "machdep.cpu.brand_string", "machdep.cpu.features", "machdep.cpu.leaf7_features"]
        command = ["/usr/sbin/sysctl", *names, "kern.hv_vmm_present"]  # says what it knows of what it is asked
        done = subprocess.run(command, capture_output=True, check=False, timeout=10)  # noqa: S603 - of the system
        return from_sysctl(done.stdout.decode("utf-8", "replace"))

else:

    def _cpu() -> Cpu:
        with open("/proc/cpuinfo", encoding="utf-8", errors="replace") as file:
            return from_cpuinfo(file.read(), platform.machine())
