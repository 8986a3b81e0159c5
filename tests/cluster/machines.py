"""Machines for tests: a scheduler and workers of dask in name spaces of their own, joined by virtual cables.

Each worker has its own network, mounts and host name, and attaches the image of a disk to a loop device of its own, so
that device numbers are others than here.  Nothing of the machine's own network is touched, and all of it goes with the
processes.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tests.cases.common import need_root
from tests.conftest import need, write
from tests.disks import run

PROJECT = Path(__file__).parent.parent.parent
_WAIT = 60.0  # seconds for a process to be ready, on a machine that has other things to do
_SCHEDULER = f"""
ip link set lo up
exec {sys.executable} -m distributed.cli.dask_scheduler --host 0.0.0.0 --port 8786 --no-dashboard --protocol $protocol
"""
_WORKER = f"""
hostname worker$n
mount --make-rprivate /
umount "$hidden"
if [ -n "$image" ]; then
  device=$(losetup --find --show --read-only "$image")
  mount -o ro,noload "$device" "$place"
  losetup --detach "$device"  # takes effect when nobody has it mounted any more
fi
ip link set lo up
until ip link show cable >/dev/null 2>&1; do sleep 0.02; done
ip addr add 10.77.$n.2/24 dev cable
ip link set cable up
exec {sys.executable} -m distributed.cli.dask_worker $protocol://10.77.$n.1:8786 --host 10.77.$n.2 --name worker$n \
  --nworkers 1 --nthreads 1 --no-nanny --no-dashboard --local-directory "$scratch" --memory-limit 0
"""


def need_cluster() -> None:
    """Skip where no machines can be made."""
    need_root()
    need(importlib.util.find_spec("distributed"), "dask.distributed")
    for program in ("ip", "unshare", "nsenter", "losetup"):
        need(shutil.which(program), f"{program}, to make machines")
    made = subprocess.run(["unshare", "--net", "--mount", "--uts", "true"], capture_output=True, check=False)
    need(made.returncode == 0, "name spaces of network, mounts and host names")


@dataclass
class Machine:
    """A process of dask in name spaces of its own."""

    process: subprocess.Popen[bytes]
    log: Path

    def kill(self) -> None:
        """End it as a lost machine ends: without a word."""
        self.process.kill()
        self.process.wait(30)

    def await_line(self, text: str) -> None:
        """Wait until it has logged something."""
        end = time.monotonic() + _WAIT
        while text not in (told := self.log.read_text(encoding="utf-8", errors="replace")):
            assert self.process.poll() is None, told
            assert time.monotonic() < end, told
            time.sleep(0.02)

    def bytes_read(self) -> int:
        """Return how much it has read so far."""
        told = Path(f"/proc/{self.process.pid}/io").read_text(encoding="ascii")
        return int(told.split("rchar:")[1].split()[0])


@dataclass
class Cluster:
    """A scheduler and its workers.

    Attributes:
        folder: for logs and scratch files.
        image: of the disk that all share.
        mounted: where it is mounted here, and seen by no worker.
        protocol: tcp, or tls with what dask's own settings in the environment name.
    """

    folder: Path
    image: Path
    mounted: Path
    protocol: str = "tcp"
    workers: dict[int, Machine] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Start the scheduler, which cannot import this project: it need not know what it passes on."""
        self.address = f"{self.protocol}://127.0.0.1:8786"
        write(self.folder / "blocked/dedupe/__init__.py", b"raise ImportError('not for a scheduler')")
        blocked = str(self.folder / "blocked")
        self.scheduler = self._start("scheduler", _SCHEDULER, ["--net"], PYTHONPATH=blocked)

    def add(self, n: int, place: Path | None, image: Path | None = None, **env: str) -> Machine:
        """Start a worker, which mounts the disk, or another image, at a place of its own or not at all."""
        if place is not None:
            place.mkdir(parents=True, exist_ok=True)
        disk = "" if place is None else str(image or self.image)
        scratch = str(self.folder / f"scratch{n}")
        worker = self.workers[n] = self._start(
            f"worker{n}",
            _WORKER,
            ["--net", "--mount", "--uts"],
            n=str(n),
            hidden=str(self.mounted),
            image=disk,
            place=str(place or ""),
            scratch=scratch,
            **env,
        )
        self._await_name_spaces(worker)
        there = str(worker.process.pid)
        self._at_scheduler("ip", "link", "add", f"to{n}", "type", "veth", "peer", "name", "cable", "netns", there)
        self._at_scheduler("ip", "addr", "add", f"10.77.{n}.1/24", "dev", f"to{n}")
        self._at_scheduler("ip", "link", "set", f"to{n}", "up")
        return worker

    def await_workers(self) -> None:
        """Wait until all are registered."""
        for worker in self.workers.values():
            worker.await_line("Registered to:")

    def begin(self, *args: str | Path, **env: str) -> subprocess.Popen[bytes]:
        """Start Python beside the scheduler, with warnings as errors."""
        command = ["nsenter", "--net", "-t", str(self.scheduler.process.pid), sys.executable]
        return subprocess.Popen(
            [*command, *map(str, args)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=self.folder,
            env={**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONWARNINGS": "error", **env},
        )

    def scan(self, *args: str | Path, **env: str) -> tuple[dict[str, Any], str]:
        """Scan with the cluster, and return the JSON report and what was said beside it."""
        return finish(
            self.begin(
                "-m", "dedupe", "scan", *args, "--cluster", self.address, "--no-cache", "--format", "json", **env
            )
        )

    def close(self) -> None:
        """End all processes."""
        for machine in [*self.workers.values(), self.scheduler]:
            machine.kill()

    def _start(self, name: str, script: str, spaces: list[str], **env: str) -> Machine:
        log = self.folder / f"{name}.log"
        own = {**os.environ, "PYTHONPATH": str(PROJECT), "PYTHONUNBUFFERED": "1", "protocol": self.protocol, **env}
        with log.open("wb") as file:
            process = subprocess.Popen(
                ["unshare", *spaces, "sh", "-ec", script],
                stdout=file,
                stderr=file,
                stdin=subprocess.DEVNULL,
                cwd=self.folder,
                env=own,
            )
        return Machine(process, log)

    def _await_name_spaces(self, machine: Machine) -> None:
        """Wait until a process has a network of its own: a cable must not be laid to this machine's."""
        end = time.monotonic() + _WAIT
        for pid in (self.scheduler.process.pid, machine.process.pid):
            while os.stat(f"/proc/{pid}/ns/net").st_ino == os.stat("/proc/self/ns/net").st_ino:
                assert time.monotonic() < end
                time.sleep(0.01)

    def _at_scheduler(self, *command: str) -> None:
        run("nsenter", "--net", "-t", str(self.scheduler.process.pid), *command)


def finish(process: subprocess.Popen[bytes]) -> tuple[dict[str, Any], str]:
    """Return the JSON report of a scan, and what was said beside it."""
    try:
        out, said = process.communicate(timeout=120)
    finally:
        process.kill()
    assert process.returncode in (0, 3), said.decode(errors="replace")
    report: dict[str, Any] = json.loads(out)
    return report, said.decode()


@contextlib.contextmanager
def cluster(folder: Path, image: Path, mounted: Path, protocol: str = "tcp") -> Iterator[Cluster]:
    """Start a scheduler; whatever happens, end all that was started."""
    need_cluster()
    made = Cluster(folder, image, mounted, protocol)
    try:
        yield made
    finally:
        made.close()
