"""`dedupe scan` as people run it: every option does what it says, and the process ends with the right code."""

from __future__ import annotations

import hashlib
import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from dedupe import find
from dedupe.cli.exits import MEANINGS, Exit
from dedupe.config import ScanConfig
from tests.cache_helpers import remembered_digests
from tests.conftest import groups, need, slow, write
from tests.naive import all_names, naive_groups

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]
ScanJson = Callable[..., dict[str, Any]]
posix = pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals, links or terminals")


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Make a small tree with two copies of a text and two of a picture, and one file that is like no other."""
    for name in ("a.txt", "sub/b.txt"):
        write(tmp_path / "root" / name, b"text")
    for name in ("c.jpg", "sub/d.jpg"):
        write(tmp_path / "root" / name, b"picture" * 1000)
    write(tmp_path / "root" / "odd.txt", b"else")
    return tmp_path / "root"


TEXTS, PICTURES = {"a.txt", "sub/b.txt"}, {"c.jpg", "sub/d.jpg"}


def found(report: dict[str, Any], root: Path) -> list[set[str]]:
    """Return the groups of a report, names relative to the root."""
    return [{Path(f["path"]).relative_to(root).as_posix() for f in g["files"]} for g in report["groups"]]


def test_without_options_the_groups_are_text_on_standard_output(cli: Cli, root: Path) -> None:
    """The plain call prints the groups and what was looked at, and nothing on standard error."""
    done = cli("scan", root)
    assert (done.returncode, done.stderr) == (0, b"")
    text = done.stdout.decode()
    assert all(str(root / n) in text for n in TEXTS | PICTURES)
    assert "odd.txt" not in text


def test_no_path_is_wrong_usage(cli: Cli) -> None:
    """Nothing named is nothing to do."""
    done = cli("scan")
    assert (done.returncode, done.stdout) == (2, b"")
    assert done.stderr.startswith(b"dedupe: Nothing to scan")


@pytest.mark.parametrize("mode", ["sha256", "sha512", "blake2b", "xxh3", "bytes"])
def test_confirm_chooses_the_digest(scan_json: ScanJson, root: Path, mode: str) -> None:
    """Groups carry the digest asked for, or none where bytes are compared."""
    report = scan_json(root, "--confirm", mode, "--no-cache")
    assert report["confirm"] == mode
    assert found(report, root) == [PICTURES, TEXTS]
    digest = report["groups"][1]["digest"]
    if mode in hashlib.algorithms_available:
        assert digest == hashlib.new(mode, b"text").hexdigest()
    assert (digest is None) == (mode == "bytes")


def test_xxh3_comes_with_its_warning(cli: Cli, root: Path) -> None:
    """A fingerprint is no proof, and the user is told."""
    assert b"not a proof" in cli("scan", root, "--confirm", "xxh3", "--no-cache").stderr


def test_backend_asked_for_is_named_or_refused(cli: Cli, scan_json: ScanJson, root: Path) -> None:
    """The reason of a choice is in the report; one that is not available is wrong usage, not replaced in silence."""
    assert scan_json(root, "--no-cache", "--backend", "hashlib")["backend"] == {
        "name": "hashlib",
        "reason": "asked for",
    }
    if sys.platform != "win32":
        done = cli("scan", root, "--no-cache", "--backend", "cng")
        assert done.returncode == 2
        assert done.stderr.startswith(b"dedupe: ")


@pytest.mark.parametrize(
    ("name", "start"),
    [("text", b"Group 1"), ("csv", b"group,file,size"), ("json", b'{"schema"'), ("jsonl", b'{"type"'), ("paths", b"/")],
)
def test_format_chooses_what_standard_output_gets(cli: Cli, root: Path, name: str, start: bytes) -> None:
    """Each format begins as its kind does."""
    if name == "paths" and sys.platform == "win32":
        start = os.fsencode(root.drive)
    assert cli("scan", root, "--no-cache", "--format", name).stdout.startswith(start)


def test_an_unknown_format_is_wrong_usage(cli: Cli, root: Path) -> None:
    """The sentence names those that there are."""
    done = cli("scan", root, "--no-cache", "--format", "docx")
    assert (done.returncode, done.stdout) == (2, b"")
    assert b"jsonl" in done.stderr


def test_output_takes_the_place_of_standard_output(cli: Cli, root: Path, tmp_path: Path) -> None:
    """With reports in files only the sums are told, on standard error; with --format both are given."""
    done = cli("scan", root, "--no-cache", "--output", "r.json", "--output", "r.csv")
    assert (done.returncode, done.stdout) == (0, b"")
    assert b"2 groups" in done.stderr
    assert found(json.loads((tmp_path / "r.json").read_bytes()), root) == [PICTURES, TEXTS]
    assert (tmp_path / "r.csv").read_bytes().startswith(b"\xef\xbb\xbfgroup,")
    both = cli("scan", root, "--no-cache", "--output", "r.json", "--format", "paths")
    assert b"a.txt" in both.stdout


def test_cache_is_used_named_or_not_at_all(cli: Cli, root: Path, tmp_path: Path, no_users_cache: Path) -> None:
    """--cache names the file, --no-cache leaves no file anywhere, and without either the user's own is used."""
    cli("scan", root, "--no-cache")
    assert not list(no_users_cache.rglob("*.db"))
    cli("scan", root, "--cache", "mine.db")
    assert (tmp_path / "mine.db").exists()
    assert not list(no_users_cache.rglob("*.db"))
    cli("scan", root)
    assert [p.name for p in no_users_cache.rglob("*.db")] == ["cache.db"]
    both = cli("scan", root, "--cache", "mine.db", "--no-cache")
    assert both.returncode == 2
    assert b"contradict" in both.stderr


def test_a_cache_that_cannot_be_used_costs_a_sentence(cli: Cli, root: Path) -> None:
    """The scan goes on without it, and ends as done."""
    done = cli("scan", root, "--cache", root)
    assert done.returncode == 0
    assert b"is a folder" in done.stderr
    assert b"a.txt" in done.stdout


@posix
def test_jobs_decides_how_many_processes_work(root: Path, tmp_path: Path) -> None:
    """With one job nothing is started; with three, three workers are."""
    program = (
        "import sys, multiprocessing\n"
        "from dedupe.workers import pool; from dedupe.workers.tuning import WorkerTuning; from dedupe.cli import main\n"
        "WorkerTuning.default = WorkerTuning(warm_files=1)\n"
        "real = pool.Pool.stop\n"
        "def stop(self, **how):\n"
        "    print('workers', len(multiprocessing.active_children()), file=sys.stderr)\n"
        "    real(self, **how)\n"
        "pool.Pool.stop = stop\n"
        "if __name__ == '__main__': main()\n"
    )
    for jobs, workers in (("1", b"workers 0"), ("3", b"workers 3")):
        done = subprocess.run(
            [sys.executable, "-c", program, "scan", root, "--no-cache", "--jobs", jobs], capture_output=True, check=True
        )
        assert workers in done.stderr


@pytest.mark.parametrize("command", ["scan", "hash"])
@pytest.mark.parametrize("jobs", ["0", "-5"])
def test_jobs_below_one_are_wrong_usage(cli: Cli, root: Path, command: str, jobs: str) -> None:
    """No job does nothing, and fewer than none do no more."""
    done = cli(command, root / "a.txt", "--no-cache", "--jobs", jobs)
    assert done.returncode == 2
    assert b"--jobs" in done.stderr
    assert not done.stdout


def test_sizes_bound_what_takes_part(cli: Cli, scan_json: ScanJson, root: Path) -> None:
    """--min-size and --max-size are inclusive; empty files come with 0 only."""
    assert found(scan_json(root, "--no-cache", "--min-size", "7000"), root) == [PICTURES]
    assert found(scan_json(root, "--no-cache", "--min-size", "6.9k"), root) == []
    assert found(scan_json(root, "--no-cache", "--max-size", "4"), root) == [TEXTS]
    assert scan_json(root, "--no-cache", "--max-size", "3")["totals"]["skipped"] == {"too-large": 5}
    for n in "12":
        write(root / f"empty{n}", b"")
    assert len(scan_json(root, "--no-cache", "--min-size", "0")["groups"]) == 3
    for wrong in (("--min-size", "ten"), ("--min-size", "10k", "--max-size", "1k"), ("--min-size=-1",)):
        done = cli("scan", root, "--no-cache", *wrong)
        assert (done.returncode, done.stdout) == (2, b"")
        assert done.stderr.count(b"\n") == 1


def test_include_and_exclude_choose_by_name(scan_json: ScanJson, root: Path) -> None:
    """Only files that are included and not excluded take part; an excluded folder is not entered."""
    assert found(scan_json(root, "--no-cache", "--include", "*.txt"), root) == [TEXTS]
    assert found(scan_json(root, "--no-cache", "--include", "*.txt", "--include", "*.jpg"), root) == [PICTURES, TEXTS]
    assert found(scan_json(root, "--no-cache", "--exclude", "*.jpg"), root) == [TEXTS]
    assert scan_json(root, "--no-cache", "--exclude", "sub")["totals"]["files"] == 3


def test_default_excludes_can_be_taken_back(scan_json: ScanJson, root: Path) -> None:
    """What lies in a recycle bin is no copy, unless asked for."""
    write(root / ".Trash-1000" / "e.txt", b"text")
    assert found(scan_json(root, "--no-cache"), root)[1] == TEXTS
    assert found(scan_json(root, "--no-cache", "--no-default-excludes"), root)[1] == {*TEXTS, ".Trash-1000/e.txt"}


@posix
def test_links_are_followed_on_demand(scan_json: ScanJson, root: Path, tmp_path: Path) -> None:
    """Without --follow-symlinks links are counted, with it what they lead to takes part."""
    write(tmp_path / "outside" / "f.txt", b"text")
    (root / "link").symlink_to(tmp_path / "outside")
    report = scan_json(root, "--no-cache")
    assert found(report, root)[1] == TEXTS
    assert report["totals"]["skipped"] == {"symlink": 1}
    assert found(scan_json(root, "--no-cache", "--follow-symlinks"), root)[1] == {*TEXTS, "link/f.txt"}


@posix
def test_one_file_system_stays_where_it_began(scan_json: ScanJson, root: Path) -> None:
    """A folder on another device is not entered."""
    shared = Path("/dev/shm")
    need(shared.is_dir() and shared.stat().st_dev != root.stat().st_dev, "a second file system in /dev/shm")
    other = shared / f"dedupe-test-{os.getpid()}"
    try:
        write(other / "f.txt", b"text")
        (root / "link").symlink_to(other)
        options = (root, "--no-cache", "--follow-symlinks")
        assert len(found(scan_json(*options), root)[1]) == 3
        report = scan_json(*options, "--one-file-system")
        assert found(report, root)[1] == TEXTS
        assert report["totals"]["skipped"] == {"other-file-system": 1}
    finally:
        (other / "f.txt").unlink(missing_ok=True)
        other.rmdir()


@pytest.mark.parametrize(("options", "wanted"), [((), False), (("--cloud-files",), True)])
def test_cloud_files_are_asked_for(
    monkeypatch: pytest.MonkeyPatch, root: Path, options: tuple[str, ...], *, wanted: bool
) -> None:
    """The option reaches the scan; only Windows has placeholders to show more."""
    from dedupe.cli import app

    seen: list[ScanConfig] = []

    def stop(config: ScanConfig, **_: object) -> None:
        seen.append(config)
        raise KeyError

    monkeypatch.setattr(find, "find_duplicates", stop)
    with pytest.raises(KeyError):
        app(["scan", str(root), "--no-cache", *options], standalone_mode=False)
    assert seen[0].cloud_files is wanted


def test_paths_come_from_a_list(cli: Cli, root: Path, tmp_path: Path, scan_json: ScanJson) -> None:
    """Lists are read from a file or standard input, by lines or NUL, and add to the paths named."""
    listed = [os.fsencode(root / n) for n in sorted(TEXTS)]
    write(tmp_path / "lines", b"\n".join(listed) + b"\n")
    write(tmp_path / "crlf", b"\xef\xbb\xbf" + b"\r\n".join(listed) + b"\r\n")
    write(tmp_path / "null", b"\0".join(listed) + b"\0")
    for source in (("lines",), ("crlf",), ("null", "--null")):
        assert found(scan_json("--no-cache", "--files-from", *source), root) == [TEXTS]
    assert found(scan_json("--no-cache", "--files-from", "-", input=b"\n".join(listed)), root) == [TEXTS]
    assert found(scan_json("--no-cache", "--files-from", "-", "--null", input=b"\0".join(listed)), root) == [TEXTS]
    assert found(scan_json(root / "c.jpg", root / "sub", "--no-cache", "--files-from", "lines"), root) == [
        PICTURES,
        TEXTS,
    ]
    gone = cli("scan", "--no-cache", "--files-from", "no-such-list")
    assert (gone.returncode, gone.stdout) == (1, b"")
    assert gone.stderr.startswith(b"dedupe: The list no-such-list cannot be read")


def test_null_ends_paths_in_the_output(cli: Cli, root: Path) -> None:
    """With --null a name that holds a new line is still one name."""
    assert b".txt\0" in cli("scan", root, "--no-cache", "--format", "paths", "--null").stdout
    assert b"\0" not in cli("scan", root, "--no-cache", "--format", "paths").stdout


def test_verbose_tells_backend_proof_and_phases(cli: Cli, root: Path) -> None:
    """Who computed the digests and why, what the groups rest on, and the time of each phase."""
    told = cli("scan", root, "--no-cache", "--verbose").stderr.decode()
    assert "Digests by hashlib: " in told
    assert re.fullmatch("Proof: [0-9]+ groups? read now.", told.splitlines()[1])
    assert [line.split()[0] for line in told.splitlines()[2:]] == ["walk", "fingerprint", "confirm", "all"]


@pytest.mark.skipif(sys.platform == "win32", reason="symbolic links")
def test_a_symbolic_link_is_never_called_a_hard_link(cli: Cli, tmp_path: Path) -> None:
    """Whoever keeps the first name keeps the file: it is a real one, and each further one says what it is."""
    write(tmp_path / "d" / "m", b"data")
    write(tmp_path / "d" / "y", b"data")
    (tmp_path / "d" / "0lnk").symlink_to("m")
    (tmp_path / "d" / "z").hardlink_to(tmp_path / "d" / "y")
    options = ("scan", "d", "--follow-symlinks", "--no-cache")
    text = cli(*options).stdout.decode().replace(str(tmp_path), "").splitlines()
    assert text[1:5] == ["  /d/m", "    = /d/0lnk (symbolic link)", "  /d/y", "    = /d/z (hard link)"]
    rows = cli(*options, "--format", "csv").stdout.decode().replace(str(tmp_path), "").splitlines()[1:]
    assert [row.split(",")[6:] for row in rows] == [
        ["/d/m", "", "file", "/d"],
        ["/d/0lnk", "", "symbolic link", "/d"],
        ["/d/y", "", "file", "/d"],
        ["/d/z", "", "hard link", "/d"],
    ]
    first, second = json.loads(cli(*options, "--format", "json").stdout)["groups"][0]["files"]
    assert [os.path.basename(name) for name in (first["path"], *first["symlinks"])] == ["m", "0lnk"]
    assert [os.path.basename(name) for name in (second["path"], *second["links"])] == ["y", "z"]
    assert first["links"] == second["symlinks"] == []


def test_quiet_tells_errors_only(cli: Cli, root: Path, tmp_path: Path) -> None:
    """Results stay; warnings, notes and sums go; errors are told still."""
    options = ("--cache", root, "--confirm", "xxh3", "--output", "r.json")
    assert cli("scan", root, *options).stderr
    quiet = cli("scan", root, *options, "--quiet")
    assert (quiet.returncode, quiet.stderr, quiet.stdout) == (0, b"", b"")
    assert cli("scan", tmp_path / "gone", "--no-cache", "--quiet").stderr


# --- how it ends


def test_exit_codes(cli: Cli, root: Path, tmp_path: Path) -> None:
    """Done, nothing usable, wrong usage, and done but for some: one code each, printed in the help."""
    assert cli("scan", root, "--no-cache").returncode == Exit.DONE
    nothing = cli("scan", tmp_path / "gone", "--no-cache")
    assert (nothing.returncode, nothing.stdout) == (Exit.NOTHING, b"")
    assert re.fullmatch(rb"dedupe: Nothing could be scanned: [^\n]*\n", nothing.stderr)
    assert cli("scan", root, "--no-such-option").returncode == Exit.USAGE
    some = cli("scan", root, tmp_path / "gone", "--no-cache")
    assert some.returncode == Exit.INCOMPLETE
    assert b"a.txt" in some.stdout
    text = " ".join(cli("scan", "--help").stdout.decode().split())
    assert all(f"{code.value} {meaning}" in text for code, meaning in MEANINGS.items())


@posix
def test_a_reader_that_leaves_early_ends_it_quietly(root: Path) -> None:
    """A broken pipe is no error."""
    for n in range(3000):
        write(root / "many" / f"{n}-{'x' * 100}", b"text")
    with subprocess.Popen(
        [sys.executable, "-m", "dedupe", "scan", root, "--no-cache"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdout is not None
        assert running.stderr is not None
        running.stdout.readline()
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 0


@posix
def test_full_and_closed_streams_cost_a_sentence(root: Path, cli: Cli) -> None:
    """Standard output that takes nothing is told in one sentence; standard error may be closed."""
    need(os.path.exists("/dev/full"), "/dev/full")
    with open("/dev/full", "wb") as full:
        command = [sys.executable, "-m", "dedupe", "scan", str(root), "--no-cache"]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, check=False)
    assert done.returncode == 1
    assert done.stderr.count(b"\n") == 1
    shell = f"{sys.executable} -m dedupe scan {root} --no-cache --confirm xxh3 --format json 2>&-"
    closed = subprocess.run(shell, shell=True, capture_output=True, check=False)
    assert len(json.loads(closed.stdout)["groups"]) == 2


def huge(folder: Path) -> Path:
    """Make two files that take seconds to read."""
    for name in ("a", "b"):
        slow(folder / name, 20 << 30)
    return folder


@posix
@pytest.mark.parametrize("jobs", ["1", "2"])
@pytest.mark.parametrize("which", [signal.SIGINT, signal.SIGTERM])
def test_an_interruption_ends_it_within_a_second_or_so(tmp_path: Path, jobs: str, which: signal.Signals) -> None:
    """Ctrl-C and SIGTERM end it at once with 130 and a sentence; no half report stays, and no worker."""
    roots = huge(tmp_path / "root")
    write(roots / "c", b"text")
    write(roots / "d", b"text")
    command = [sys.executable, "-m", "dedupe", "scan", roots, "--output", tmp_path / "r.json", "--jobs", jobs]
    command += ["--cache", tmp_path / "cache.db"]
    with subprocess.Popen(command, stderr=subprocess.PIPE, start_new_session=True) as running:
        time.sleep(1.5)
        os.killpg(running.pid, which) if which == signal.SIGINT else running.send_signal(which)
        begun = time.monotonic()
        _, told = running.communicate(timeout=20)
        took = time.monotonic() - begun
    assert running.returncode == 130
    assert told == b"dedupe: interrupted\n"
    assert took < 3  # one second, on a machine with nothing else to do
    assert sorted(p.name for p in tmp_path.iterdir() if p.suffix not in {".db-wal", ".db-shm"}) == [
        "cache.db",
        "root",
    ]
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)


KILLED = """
import sys
from dedupe.cache import store
from dedupe.workers.tuning import WorkerTuning
store._ROWS, store._COMMIT = 1, 0
WorkerTuning.default = WorkerTuning(warm_files=1)
from dedupe.cli import main
if __name__ == '__main__': main()
"""


@posix
def test_kills_at_any_moment_leave_a_cache_that_tells_the_truth(tmp_path: Path) -> None:
    """Ten scans killed at random moments, then one to its end: right groups, and every digest is hashlib's."""
    root, kept = tmp_path / "root", tmp_path / "cache.db"
    for n in range(400):
        write(root / f"{n % 9}" / f"{n}", b"%d" % (n % 130) * 5000)
    for n in range(4):
        write(root / f"large{n}", bytes(3 << 20) + b"%d" % (n // 2) + bytes(1 << 20))
    old = time.time_ns() - 10**10
    for path in root.rglob("*"):
        os.utime(path, ns=(old, old))
    time.sleep(2.1)
    command = [sys.executable, "-c", KILLED, "scan", str(root), "--cache", str(kept), "--format", "json", "--jobs"]
    chance = random.Random(4)
    for n in range(10):
        with subprocess.Popen([*command, "12"[n % 2]], stdout=subprocess.DEVNULL, start_new_session=True) as running:
            time.sleep(chance.uniform(0.1, 0.8))
            while (
                n == 9 and not remembered_digests(kept, tmp_path) and running.poll() is None
            ):  # a slow machine has got nowhere so far
                time.sleep(0.01)
            os.killpg(running.pid, signal.SIGKILL)
    last = subprocess.run([*command, "2"], capture_output=True, check=True)
    report = json.loads(last.stdout)
    assert groups(report) == naive_groups(root)
    assert report["totals"]["cache_hits"] > 0  # else no kill came after anything was remembered
    digests = remembered_digests(kept, tmp_path)
    assert digests
    assert all(hashlib.sha256(file.read_bytes()).digest() == digest for file, digest in digests.items())


# --- progress


def in_terminal(command: list[Any], stream: str = "stderr", **env: str) -> bytes:
    """Run a program with one of its streams on a terminal of its own, and return all that came there."""
    import pty
    import termios

    ours, theirs = pty.openpty()
    termios.tcsetwinsize(theirs, (24, 80))
    told = b""
    streams = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, stream: theirs}
    try:
        with subprocess.Popen(command, env={**os.environ, **env}, **streams) as running:  # type: ignore[call-overload]
            os.close(theirs)
            while True:
                try:
                    piece = os.read(ours, 1 << 16)
                except OSError:  # the other end is closed
                    break
                if not piece:
                    break
                told += piece
        assert running.returncode == 0
    finally:
        os.close(ours)
    return told


@posix
@pytest.mark.parametrize(
    ("options", "env", "shown"),
    [
        ((), {}, True),
        (("--no-progress",), {}, False),
        (("--quiet",), {}, False),
        ((), {"TERM": "dumb"}, False),
        ((), {"CI": "true"}, False),
        (("--progress",), {"CI": "true"}, True),
    ],
)
def test_progress_is_shown_on_a_terminal(
    tmp_path: Path, options: tuple[str, ...], env: dict[str, str], *, shown: bool
) -> None:
    """Bytes confirmed move inside one huge file, with rate and time left, unless the user or the terminal objects."""
    for name in ("a", "b"):
        slow(tmp_path / name, 500 << 20)
    command = [sys.executable, "-m", "dedupe", "scan", tmp_path, "--no-cache", "--jobs", "1", *options]
    told = in_terminal(command, **({"TERM": "xterm"} | env))
    steps = set(re.findall(rb"confirm: +(\d+)%[^\r]*B/s", told))
    assert (len(steps) > 1) == shown, told[-500:]
    assert shown or told == b""


def test_without_a_terminal_there_is_no_progress(cli: Cli, root: Path) -> None:
    """In a pipe not even --progress draws bars."""
    assert cli("scan", root, "--no-cache", "--progress").stderr == b""


@posix
@pytest.mark.parametrize(("env", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)])
def test_colours_only_where_they_are_wanted(root: Path, env: dict[str, str], *, coloured: bool) -> None:
    """Standard output is coloured on a terminal that can, unless NO_COLOR is set."""
    command = [sys.executable, "-m", "dedupe", "scan", root, "--no-cache"]
    told = in_terminal(command, "stdout", **({"TERM": "xterm"} | env))
    assert b"a.txt" in told
    assert (b"\x1b[" in told) == coloured


# --- beside other finders


@pytest.mark.parametrize("peer", ["rdfind", "jdupes", "fclones"])
def test_groups_are_those_of_another_finder_on_a_real_tree(peer: str, scan_json: ScanJson, tmp_path: Path) -> None:
    """On files that nobody made for a test, the groups are exactly those of a program written by others."""
    import shutil

    program = shutil.which(peer) or shutil.which(peer, path=os.path.expanduser("~/.cargo/bin"))
    others = ["rdfind", "jdupes", "fclones"]
    need(program or any(shutil.which(o) for o in others), "rdfind, jdupes or fclones")
    if not program:
        pytest.skip(f"{peer} is not installed, another finder is")
    tree = next((p for p in ("/usr/share/doc", "/usr/share", "/usr/lib/python3") if os.path.isdir(p)), None)
    need(tree, "a real tree")
    assert tree is not None
    report = scan_json(tree, "--no-cache", "--no-default-excludes")
    ours = {frozenset(f["path"] for f in g["files"]) for g in report["groups"]}
    assert _without_links(ours, report) == _without_links(PEERS[peer](program, tree, tmp_path), report)


def _without_links(found: set[frozenset[str]], report: dict[str, Any]) -> set[frozenset[str]]:
    """Return groups with one name for each physical file: the peers differ in what they do with hard links."""
    first = {link: f["path"] for g in report["groups"] for f in g["files"] for link in f["links"]}
    merged = {frozenset(first.get(name, name) for name in group) for group in found}
    return {group for group in merged if len(group) > 1}


def _rdfind(program: str, tree: str, folder: Path) -> set[frozenset[str]]:
    listing = folder / "rdfind.txt"
    subprocess.run([program, "-outputname", listing, "-removeidentinode", "false", tree], check=True, stdout=-3)
    found: dict[str, set[str]] = {}
    for line in listing.read_text(encoding="utf-8", errors="surrogateescape").splitlines():
        if not line.startswith("#"):
            fields = line.split(" ", 7)
            found.setdefault(fields[1].lstrip("-"), set()).add(fields[7])
    return {frozenset(names) for names in found.values()}


def _jdupes(program: str, tree: str, _: Path) -> set[frozenset[str]]:
    done = subprocess.run([program, "-r", "-q", "-H", tree], check=True, capture_output=True)
    blocks = done.stdout.decode(errors="surrogateescape").strip().split("\n\n")
    return {frozenset(block.splitlines()) for block in blocks}


def _fclones(program: str, tree: str, _: Path) -> set[frozenset[str]]:
    command = [program, "group", tree, "--hidden", "--no-ignore", "-f", "json", "--min", "1"]
    done = subprocess.run(command, check=True, capture_output=True)
    return {frozenset(g["files"]) for g in json.loads(done.stdout)["groups"]}


PEERS = {"rdfind": _rdfind, "jdupes": _jdupes, "fclones": _fclones}


def test_the_library_finds_what_the_program_finds(scan_json: ScanJson, root: Path) -> None:
    """`find_duplicates` and `dedupe scan` give the same groups."""
    result = find.find_duplicates(ScanConfig(roots=[root]))
    assert all_names(result) == groups(scan_json(root, "--no-cache"))


def test_across_and_redundant_list_what_of_the_second_folder_may_go(cli: Cli, tmp_path: Path) -> None:
    """The first folder stays whole; of the second, exactly what the first has is listed, for other programs."""
    for name in ("keep/a", "keep/a2", "old/a3"):
        write(tmp_path / name, b"a")
    write(tmp_path / "old/b", b"b")
    write(tmp_path / "old/b2", b"b")
    asked = ("scan", "keep", "old", "--no-cache", "--across", "--format")
    assert cli(*asked, "paths", "--redundant").stdout == os.fsencode(tmp_path / "old/a3") + b"\n"
    text = cli(*asked, "text").stdout.decode()
    assert f"{tmp_path / 'keep/a2'} (within {tmp_path / 'keep'})" in text
    assert "Group 2" not in text
    within = cli("scan", "keep", "old", "--no-cache", "--within", "--redundant", "--format", "paths", "--null")
    assert set(within.stdout.split(b"\0")) == {os.fsencode(tmp_path / name) for name in ("keep/a2", "old/b2")} | {b""}
    assert cli("scan", "keep", "old", "--no-cache", "--across-volumes", "--format", "paths").stdout == b""


@pytest.mark.parametrize(
    ("arguments", "words"),
    [(["a", "b", "--across", "--within"], b"contradict"), (["a", "a", "--across"], b"two folders")],
)
def test_scopes_without_sense_are_wrong_usage(cli: Cli, arguments: list[str], words: bytes) -> None:
    """What no group can be is not searched for."""
    done = cli("scan", *arguments)
    assert done.returncode == Exit.USAGE
    assert words in done.stderr


def test_accepted_duplicates_are_counted_and_hidden(cli: Cli, root: Path, tmp_path: Path) -> None:
    """A list of digests takes groups out, remembered or not; other algorithms and comments do not count."""
    digest = hashlib.sha256(b"text").hexdigest()
    wanted = write(tmp_path / "wanted", f"# texts\nsha256:{digest.upper()}  # two\nsha512:{digest}\n\n".encode())
    for _ in range(2):
        done = cli("scan", root, "--accept", wanted, "--format", "json")
        report = json.loads(done.stdout)
        assert found(report, root) == [PICTURES]
        assert report["totals"]["skipped"] == {"accepted": 2}
    assert b"2 accepted duplicates" in cli("scan", root, "--accept", wanted).stdout
    assert cli("scan", root, "--accept", write(tmp_path / "bad", b"sha256:xyz")).returncode == Exit.USAGE
    assert cli("scan", root, "--accept", wanted, "--confirm", "bytes").returncode == Exit.USAGE
    assert cli("scan", root, "--accept", "nowhere").returncode == Exit.NOTHING


def test_rules_of_an_ignore_file_leave_entries_out(cli: Cli, root: Path, tmp_path: Path) -> None:
    """What they match takes no part, in files and folders, and is counted."""
    rules = write(tmp_path / "rules", b"\xef\xbb\xbf*.TXT\r\n/sub/*.jpg\r\n")
    done = cli("scan", root, "--no-cache", "--exclude-from", rules, "--ignore-case", "--format", "json")
    report = json.loads(done.stdout)
    assert (found(report, root), report["totals"]["files"], report["totals"]["skipped"]) == ([], 1, {"excluded": 4})
    assert cli("scan", root, "--exclude-from", "nowhere").returncode == Exit.NOTHING
    assert cli("scan", root, "--exclude-from", "").returncode == Exit.USAGE


def test_rules_choose_which_copies_are_redundant(cli: Cli, tmp_path: Path) -> None:
    """`--redundant` takes the rules of `dedupe mark`; ties stay whole and are counted, unused rules are refused."""
    for name in ("a/1", "b/1", "b/2", "c/1", "c/2"):
        write(tmp_path / name, b"one" if name.endswith("1") else b"two")
    asked = ("scan", "a", "b", "c", "--no-cache", "--format")
    printed = cli(*asked, "paths", "--redundant", "--prefer", "b").stdout
    assert printed.splitlines() == [os.fsencode(tmp_path / name) for name in ("a/1", "c/1", "c/2")]
    tied = cli(*asked, "text", "--redundant", "--protect", "a")
    assert b"1 group is undecided" in tied.stderr
    assert f"kept: {tmp_path / 'a/1'}\n  {tmp_path / 'b/1'}\n  {tmp_path / 'c/1'}\n" in tied.stdout.decode()
    assert str(tmp_path / "b/2") not in tied.stdout.decode()
    saved = tmp_path / "found.json"
    assert cli(*asked, "json", "--output", saved).returncode == Exit.DONE
    again = cli("report", saved, "--format", "paths", "--redundant", "--prefer", "b")
    assert again.stdout == printed
    for command in (("scan", "a", "b"), ("report", saved)):
        alone = cli(*command, "--prefer", "b")
        assert alone.returncode == Exit.USAGE
        assert b"give --redundant" in alone.stderr
    misspelt = cli("report", saved, "--redundant", "--prefer", "d")
    assert misspelt.returncode == Exit.USAGE
    assert b"--prefer d matches no file" in misspelt.stderr
