"""Describes the machine and its software, so that measurements can be compared.  Measures nothing."""

from __future__ import annotations

import platform
import sys
from dataclasses import dataclass

from dedupe.bench import power
from dedupe.bench.cpu import cpu
from dedupe.workers.cores import cores as usable_cores


@dataclass(frozen=True, slots=True)
class Environment:
    """A machine and its software, in words."""

    cpu: str
    flags: tuple[str, ...]  # those of the processor that hashes gain from
    cores: int  # logical ones that this process may use
    system: str  # with its build
    python: str
    openssl: str  # that Python uses
    xxhash: str
    warnings: tuple[str, ...] = ()  # sentences on what may slow this machine down


def environment() -> Environment:
    """Return the description of this machine."""
    import xxhash

    processor, cores = cpu(), usable_cores()
    warnings = power.warnings(cores)
    if processor.virtual:
        warnings.append("This is a virtual machine: others on the same computer may slow it down.")
    return Environment(
        cpu=processor.model,
        flags=processor.flags,
        cores=cores,
        system=system(),
        python=f"{platform.python_implementation()} {platform.python_version()}, {platform.machine()}",
        openssl=_openssl(),
        xxhash=xxhash.XXHASH_VERSION,
        warnings=tuple(warnings),
    )


def _openssl() -> str:
    try:
        from ssl import OPENSSL_VERSION
    except ImportError:
        return "none"
    return OPENSSL_VERSION


if sys.platform == "win32":

    def system() -> str:
        """Return the operating system with its build, such as `Windows 10.0.26100`."""
        version = sys.getwindowsversion()  # platform asks WMI, which takes a second and may fail
        return f"Windows {version.major}.{version.minor}.{version.build}"

else:

    def system() -> str:
        """Return the operating system with its build, such as `macOS 15.1 (Darwin 24.1.0)`."""
        name = f"macOS {platform.mac_ver()[0]}" if sys.platform == "darwin" else _distribution()
        return f"{name} ({platform.system()} {platform.release()})".strip()

    def _distribution() -> str:
        try:
            return platform.freedesktop_os_release().get("PRETTY_NAME", "")
        except OSError:
            return ""
