"""Text files that begin with a byte-order mark, as PowerShell's `>` and editors of Windows write them (F10)."""

from __future__ import annotations

import codecs
import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.conftest import write

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]

ENCODINGS = {
    "utf-8": codecs.BOM_UTF8,
    "utf-16-le": codecs.BOM_UTF16_LE,
    "utf-16-be": codecs.BOM_UTF16_BE,
    "utf-32-le": codecs.BOM_UTF32_LE,
    "utf-32-be": codecs.BOM_UTF32_BE,
}


def marked(text: bytes | str, encoding: str) -> bytes:
    """Return a text as such a program saves it: with a mark, and with the ends of lines that Windows has."""
    whole = text if isinstance(text, str) else text.decode("utf-8")
    return ENCODINGS[encoding] + "\r\n".join(whole.splitlines()).encode(encoding) + "\r\n".encode(encoding)


@pytest.fixture(params=ENCODINGS)
def encoding(request: pytest.FixtureRequest) -> str:
    """Return each of the encodings."""
    return str(request.param)


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """Return a folder with two equal files of names beyond ASCII."""
    write(tmp_path / "d/größe €.jpg", b"x" * 5000)
    write(tmp_path / "d/копия.jpg", b"x" * 5000)
    return tmp_path / "d"


def paths_of(report: bytes) -> list[list[str]]:
    """Return the names of the groups in a JSON report."""
    return [[Path(file["path"]).name for file in group["files"]] for group in json.loads(report)["groups"]]


PAIR = [["größe €.jpg", "копия.jpg"]]


@pytest.mark.parametrize("format_", ["json", "jsonl"])
def test_a_report_is_read(cli: Cli, tree: Path, tmp_path: Path, encoding: str, format_: str) -> None:
    """By `report` and by `mark`, from a file and from standard input."""
    text = cli("scan", tree, "--no-cache", "--format", format_).stdout
    saved = tmp_path / f"saved.{format_}"
    saved.write_bytes(marked(text, encoding))
    for done in (
        cli("report", saved, "--format", "json"),
        cli("report", "-", "--format", "json", input=saved.read_bytes()),
    ):
        assert (done.returncode, paths_of(done.stdout)) == (0, PAIR), done.stderr
    made = cli("mark", saved, "--protect-name", "größe*")
    assert made.returncode == 0, made.stderr
    assert [Path(group["redundant"][0]["path"]).name for group in json.loads(made.stdout)["groups"]] == ["копия.jpg"]


def test_marks_are_read(cli: Cli, tree: Path, tmp_path: Path, encoding: str) -> None:
    """By `apply`, which tells what it would do with them; where acting is refused, not for being no marks."""
    (tmp_path / "r.json").write_bytes(cli("scan", tree, "--no-cache", "--format", "json").stdout)
    text = cli("mark", tmp_path / "r.json", "--protect-name", "größe*").stdout
    saved = tmp_path / "marks.json"
    saved.write_bytes(text)
    plain = cli("apply", saved, "--delete", "--dry-run")
    assert sys.platform != "linux" or plain.returncode == 0, plain.stderr
    saved.write_bytes(marked(text, encoding))
    done = cli("apply", saved, "--delete", "--dry-run")
    assert (done.returncode, done.stdout, done.stderr) == (plain.returncode, plain.stdout, plain.stderr)
    again = cli("mark", saved, "--protect-name", "größe*")
    assert again.returncode == 2
    assert b"holds marks already" in again.stderr


def test_a_list_of_paths_is_read(cli: Cli, tree: Path, tmp_path: Path, encoding: str) -> None:
    """By `--files-from`, from a file and from standard input."""
    listing = marked("".join(f"{path}\n" for path in sorted(tree.iterdir())), encoding)
    (tmp_path / "list.txt").write_bytes(listing)
    for done in (
        cli("scan", "--files-from", tmp_path / "list.txt", "--no-cache", "--format", "json"),
        cli("scan", "--files-from", "-", "--no-cache", "--format", "json", input=listing),
    ):
        assert (done.returncode, paths_of(done.stdout)) == (0, PAIR), done.stderr


def test_rules_and_accepted_digests_are_read(cli: Cli, tree: Path, tmp_path: Path, encoding: str) -> None:
    """By `--exclude-from` and `--accept`."""
    (tmp_path / "ignore").write_bytes(marked("größe*\n", encoding))
    done = cli("scan", tree, "--exclude-from", tmp_path / "ignore", "--no-cache", "--format", "json")
    assert (done.returncode, json.loads(done.stdout)["totals"]["files"]) == (0, 1), done.stderr
    digest = json.loads(cli("scan", tree, "--no-cache", "--format", "json").stdout)["groups"][0]["digest"]
    (tmp_path / "wanted").write_bytes(marked(f"sha256:{digest}  # größe\n", encoding))
    done = cli("scan", tree, "--accept", tmp_path / "wanted", "--no-cache", "--format", "json")
    assert (done.returncode, paths_of(done.stdout)) == (0, []), done.stderr


def test_a_report_that_was_cut_off_is_broken(cli: Cli, tree: Path, tmp_path: Path) -> None:
    """Half a character at its end is no reason for another message, or none."""
    text = cli("scan", tree, "--no-cache", "--format", "json").stdout
    (tmp_path / "cut.json").write_bytes(marked(text, "utf-16-le")[:-7])
    done = cli("report", tmp_path / "cut.json")
    assert done.returncode == 1
    assert b"cut.json is broken" in done.stderr
    assert done.stderr.count(b"\n") == 1


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="names are text there")
def test_bytes_that_nul_ends_stay_as_they_are(cli: Cli, tmp_path: Path) -> None:
    """With `--null` a list holds exact bytes, and none of them is a mark."""
    folder = tmp_path / "d"
    folder.mkdir()
    for name in (b"\xff\xfea", b"\xff\xfeb"):
        Path(folder, name.decode("utf-8", "surrogateescape")).write_bytes(b"y" * 3000)
    done = cli("scan", "--files-from", "-", "--null", "--no-cache", cwd=folder, input=b"\xff\xfea\0\xff\xfeb\0")
    assert b"1 group" in done.stdout + done.stderr
