"""What every system tells of itself, from texts as they are on machines that are not here."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from dedupe.bench.cpu import Cpu, cpu, from_cpuinfo, from_sysctl, from_windows
from dedupe.bench.environment import environment
from dedupe.bench.power import of_linux, of_load, of_pmset, of_windows

X86 = """\
processor\t: 0
model name\t: AMD Ryzen 7 5800X 8-Core Processor
flags\t\t: fpu ssse3 aes avx avx2 sha_ni bmi2 rdrand hypervisor

processor\t: 1
model name\t: Another
flags\t\t: fpu
"""
PI = """\
processor\t: 0
Features\t: fp asimd evtstrm aes pmull sha1 sha2 crc32 cpuid
CPU implementer\t: 0x41
CPU part\t: 0xd0b
"""
APPLE = """\
machdep.cpu.brand_string: Apple M2
hw.optional.arm.FEAT_AES: 1
hw.optional.arm.FEAT_SHA256: 1
hw.optional.arm.FEAT_SHA512: 1
hw.optional.arm.FEAT_SHA3: 0
kern.hv_vmm_present: 0
"""
INTEL_MAC = """\
machdep.cpu.brand_string: Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz
machdep.cpu.features: FPU SSSE3 PCLMULQDQ AES AVX1.0
machdep.cpu.leaf7_features: RDWRFSGS AVX2 BMI2
kern.hv_vmm_present: 1
"""


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (
            from_cpuinfo(X86, "x86_64"),
            Cpu("AMD Ryzen 7 5800X 8-Core Processor", ("aes", "avx", "avx2", "bmi2", "sha_ni", "ssse3"), virtual=True),
        ),
        (
            from_cpuinfo(PI, "aarch64"),
            Cpu("aarch64, implementer 0x41 part 0xd0b", ("aes", "asimd", "pmull", "sha1", "sha2")),
        ),
        (from_cpuinfo("", "riscv64"), Cpu("riscv64", ())),
        (from_sysctl(APPLE), Cpu("Apple M2", ("aes", "sha2", "sha512"))),
        (
            from_sysctl(INTEL_MAC),
            Cpu(
                "Intel(R) Core(TM) i7-9750H CPU @ 2.60GHz",
                ("aes", "avx", "avx2", "bmi2", "pclmulqdq", "ssse3"),
                virtual=True,
            ),
        ),
        (
            from_windows(" Snapdragon(R) X   Elite ", "ARM64", {30, 65}.__contains__),
            Cpu("Snapdragon(R) X Elite", ("aes", "sha1", "sha2", "sha512")),
        ),
        # the numbers mean other things on x86: 30 there is no ARM feature
        (from_windows("AMD Ryzen 9", "AMD64", {30, 36, 40}.__contains__), Cpu("AMD Ryzen 9", ("avx2", "ssse3"))),
    ],
    ids=["Linux", "Linux on ARM", "Linux, nothing told", "Apple", "Intel Mac", "Windows on ARM", "Windows on x86"],
)
def test_processors(found: Cpu, expected: Cpu) -> None:
    """The model and the flags that matter are read from what each system tells."""
    assert found == expected


def test_this_machine() -> None:
    """Wherever the tests run, the processor and the versions are known."""
    here = environment()
    assert cpu().model
    assert here.cores >= 1
    assert here.python.startswith("CPython 3.")
    assert here.openssl != "none"
    assert here.xxhash[0].isdigit()
    assert here.system.startswith("Windows") == (sys.platform == "win32")


def tree(root: Path, files: dict[str, str]) -> Path:
    """Write files below a folder that stands for /sys."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text + "\n", encoding="utf-8")
    return root


CPU0 = "devices/system/cpu/cpu0/cpufreq"


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({}, []),
        ({"class/power_supply/AC/online": "1", "class/power_supply/BAT0/status": "Charging"}, []),
        ({"class/power_supply/AC/online": "0", "class/power_supply/BAT0/status": "Discharging"}, ["battery"]),
        ({f"{CPU0}/scaling_governor": "powersave", f"{CPU0}/scaling_driver": "acpi-cpufreq"}, ["powersave"]),
        ({f"{CPU0}/scaling_governor": "powersave", f"{CPU0}/scaling_driver": "intel_pstate"}, []),
        ({f"{CPU0}/scaling_governor": "performance", f"{CPU0}/scaling_driver": "acpi-cpufreq"}, []),
        ({"devices/system/cpu/intel_pstate/no_turbo": "1"}, ["Turbo"]),
        ({"devices/system/cpu/cpufreq/boost": "0"}, ["Turbo"]),
    ],
)
def test_warnings_of_linux(tmp_path: Path, files: dict[str, str], words: list[str]) -> None:
    """Batteries, slow governors and a lack of turbo are told; the ordinary state of a laptop's driver is not."""
    found = of_linux(tree(tmp_path, files))
    assert len(found) == len(words)
    assert all(word in sentence for word, sentence in zip(words, found, strict=True))


def test_warnings_of_other_systems() -> None:
    """Answers on power of macOS and Windows become the same sentences."""
    on_battery = "Now drawing from 'Battery Power'\n -InternalBattery-0 58%; discharging"
    assert len(of_pmset(on_battery, " lowpowermode         1\n")) == 2
    assert of_pmset("Now drawing from 'AC Power'\n", " lowpowermode         0\n") == []
    assert len(of_windows(0, 1)) == 2
    assert of_windows(1, 0) == of_windows(255, 0) == []


@pytest.mark.parametrize(("load", "cores", "told"), [(0.9, 2, False), (1.1, 2, True), (4.0, 16, False)])
def test_load(load: float, cores: int, *, told: bool) -> None:
    """Other programs at work are told from a load of half the cores on."""
    assert bool(of_load(load, cores)) is told
