"""Workers of other machines find what this one finds: other mount points, other device numbers, some of no use."""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from dedupe import ScanConfig, find_duplicates
from dedupe.report import FORMATS, Style
from tests.cluster.machines import Cluster, cluster, finish, need_cluster
from tests.conftest import need, write
from tests.disks import disk, memory, run
from tests.naive import LOW
from tests.workers.tasks import wait_for

Json = dict[str, Any]


def lose(made: Cluster, pid: int, after: int) -> Json:
    """Scan, kill a process in the midst of it, and return the report."""
    pairs = [word for place in places(made) for word in (place, made.mounted)]
    words = (str(pid), str(after), made.mounted / "top", made.address, *pairs)
    return finish(made.begin("-m", "tests.cluster.lose", *words))[0]


def found_here(top: Path) -> Any:
    """Return the same of a scan by this machine alone, by the amounts that `lose` goes by."""
    result = find_duplicates(ScanConfig(roots=[top]), tuning=LOW)
    return told(json.loads(b"".join(FORMATS["json"].render(result, Style()))))


def fill(top: Path) -> None:
    """Make a tree that has something to do for every phase."""
    for n in range(300):
        write(top / f"{n % 70}" / f"small {n}", b"%d" % (n % 40) * 9)
    for n in range(12):
        write(top / f"{n}" / "large", bytes([n // 2]) * 700_000)
        write(top / f"{n}" / "other", os.urandom(700_000))
    os.link(top / "2" / "large", top / "69" / "7 names")
    (top / "3" / "within").mkdir()


def told(report: Json) -> Any:
    """Return what must not depend on who did the reading."""
    return report["groups"], report["problems"], {**report["totals"], "bytes_read": 0}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Start a cluster of two workers that are of use, and three that are not."""
    need_cluster()
    folder = tmp_path_factory.mktemp("cluster")
    with disk(folder / "other image", folder / "nas") as other:
        fill(other.folder / "top")
    with disk(folder / "image", folder / "nas") as where, cluster(folder, folder / "image", where.folder) as made:
        fill(where.folder / "top")
        run("mount", "-o", "remount,ro", where.folder)
        made.add(1, folder / "data")
        made.add(2, folder / "srv/data")
        made.add(3, None)
        made.add(4, folder / "data", folder / "other image")
        write(folder / "elder/dedupe/__init__.py", b"")
        write(folder / "elder/dedupe/version.py", b'__version__ = "0.1.0"\n')
        made.add(5, folder / "data", PYTHONPATH=str(folder / "elder"))
        made.await_workers()
        yield made


def places(made: Cluster) -> tuple[Path, ...]:
    """Return where workers have what is mounted here."""
    return made.folder / "data", made.folder / "srv/data"


def worker_roots(made: Cluster) -> list[str]:
    """Return the options that say so."""
    return [word for place in places(made) for word in ("--worker-root", f"{place}={made.mounted}")]


def test_workers_find_what_this_machine_finds(made: Cluster, scan_json: Callable[..., Json]) -> None:
    """Same groups, hard links, skips and totals, with the reading done there.

    Each worker that is of no use is told of in a sentence: without the mount, with another disk, of another version.
    """
    top = made.mounted / "top"
    useful = [made.workers[n] for n in (1, 2)]
    before = [worker.bytes_read() for worker in useful]
    report, said = made.scan(top, *worker_roots(made))
    assert told(report) == told(scan_json(top, "--no-cache"))
    assert sum(worker.bytes_read() for worker in useful) - sum(before) > 12 * 700_000
    for n, why in (
        (3, "data is another folder there"),
        (4, "data is another folder there"),
        (5, "it has dedupe 0.1.0"),
    ):
        (note,) = (note for note in report["notes"] if f"tcp://10.77.{n}.2:" in note)
        assert "took no part: " in note
        assert why in note
        assert f"dedupe: {note}\n" in said
    assert "Traceback" not in said
    assert "distributed" not in said


def test_what_only_this_machine_has_mounted_is_read_here(
    made: Cluster, tmp_path: Path, scan_json: Callable[..., Json]
) -> None:
    """A folder that is empty on the workers, and full here, is listed and read here, and the user is told."""
    top = made.mounted / "top"
    with memory(top / "3" / "within") as within:
        for n in range(100):
            write(within / f"{n}" / "deep" / "only here", b"%d" % (n % 30) * 9)
        expected = scan_json(top, "--no-cache")
        report, _ = made.scan(top, *worker_roots(made))
    assert any("only here" in f["path"] for g in report["groups"] for f in g["files"])
    assert told(report) == told(expected)
    assert any("done again on this machine: the worker tcp://10.77." in note for note in report["notes"])


def test_workers_that_see_nothing_leave_it_to_this_machine(made: Cluster, scan_json: Callable[..., Json]) -> None:
    """Where the user does not say where the folder lies there, nobody can help, which is said once for all."""
    top = made.mounted / "top"
    report, _ = made.scan(top)
    assert told(report) == told(scan_json(top, "--no-cache"))
    assert any(note.startswith("4 workers (tcp://10.77.") for note in report["notes"])
    assert report["notes"][-1].startswith("No worker of tcp://127.0.0.1:8786 could help in the end")


def test_a_lost_worker_costs_nothing(made: Cluster) -> None:
    """Killed at once, or at some moment: the others do its work, and the user is told."""
    expected = found_here(made.mounted / "top")
    for n, after in ((6, 1), (7, random.randint(2, 40))):
        lost = made.add(n, made.folder / "data")
        lost.await_line("Registered to:")
        report = lose(made, lost.process.pid, after)
        assert lost.process.wait(30) == -9
        del made.workers[n]
        assert told(report) == expected, after
        (note,) = (note for note in report["notes"] if note.startswith(f"The worker tcp://10.77.{n}.2:"))
        assert note.endswith(" left: what it had in hand was done elsewhere."), after


def test_ctrl_c_leaves_the_cluster(made: Cluster) -> None:
    """The program ends as it always does, and soon, whatever the workers are doing."""
    top, worker = made.mounted / "top", made.workers[1]
    before = worker.bytes_read()
    scan = made.begin("-m", "dedupe", "scan", top, *worker_roots(made), "--cluster", made.address, "--no-cache")
    assert wait_for(lambda: worker.bytes_read() > before + 100_000, 60)
    scan.send_signal(signal.SIGINT)
    _, said = scan.communicate(timeout=30)
    assert (scan.returncode, said.decode()) in ((130, "dedupe: interrupted\n"), (0, said.decode()))


def with_certificate(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Make a certificate, and have dask's own settings name it for everybody."""
    need(shutil.which("openssl"), "openssl, to make a certificate")
    key, certificate = str(folder / "key.pem"), str(folder / "certificate.pem")
    made = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2", "-subj", "/CN=dask")
    run("openssl", "req", "-x509", *made, "-keyout", key, "-out", certificate)
    monkeypatch.setenv("DASK_DISTRIBUTED__COMM__TLS__CA_FILE", certificate)
    for who in ("SCHEDULER", "WORKER", "CLIENT"):
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{who}__CERT", certificate)
        monkeypatch.setenv(f"DASK_DISTRIBUTED__COMM__TLS__{who}__KEY", key)


def test_a_lost_scheduler_leaves_it_to_this_machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Killed at some moment: the rest is done here, which the user is told.  Until then, all spoke TLS."""
    after = random.randint(1, 40)
    image, nas = tmp_path / "image", tmp_path / "nas"
    need_cluster()
    with_certificate(tmp_path, monkeypatch)
    with disk(image, nas) as where, cluster(tmp_path, image, where.folder, "tls") as made:
        fill(where.folder / "top")
        run("mount", "-o", "remount,ro", where.folder)
        made.add(1, tmp_path / "data")
        made.await_workers()
        report = lose(made, made.scheduler.process.pid, after)
        assert told(report) == found_here(where.folder / "top"), after
        assert made.scheduler.process.wait(30) == -9
    (note,) = report["notes"]
    assert note.startswith("The scheduler at tls://127.0.0.1:8786 was lost: "), after
    assert note.endswith("; the rest was done on this machine."), after
