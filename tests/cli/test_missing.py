"""`dedupe missing` as people run it: exit codes that a script may trust, and every format."""

from __future__ import annotations

import csv
import io
import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from dedupe.cli.exits import Exit
from tests.conftest import need, write

Cli = Callable[..., "subprocess.CompletedProcess[bytes]"]


@pytest.fixture
def sides(tmp_path: Path) -> tuple[Path, Path]:
    """Make a card whose files an archive holds under other names."""
    write(tmp_path / "card/IMG_1", b"one")
    write(tmp_path / "card/IMG_2", b"two")
    write(tmp_path / "archive/2024/fjord", b"one")
    write(tmp_path / "archive/2024/garden", b"two")
    return tmp_path / "card", tmp_path / "archive"


def test_nothing_missing_is_success(cli: Cli, sides: tuple[Path, Path]) -> None:
    """All is held and all could be read: 0, and the answer is said in words."""
    card, archive = sides
    done = cli("missing", card, "--from", archive, "--no-cache")
    assert done.returncode == Exit.DONE
    assert done.stdout.startswith(b"Nothing is missing")


def test_something_missing_is_no(cli: Cli, sides: tuple[Path, Path]) -> None:
    """What is not there is named, with a code of its own."""
    card, archive = sides
    new = write(card / "new", b"new")
    done = cli("missing", card, "--from", archive, "--no-cache")
    assert done.returncode == Exit.NO
    assert f"  {new}".encode() in done.stdout
    assert b"1 file missing, 3 bytes" in done.stdout


@pytest.mark.parametrize("side", [0, 1])
def test_what_could_not_be_read_is_no_success(cli: Cli, sides: tuple[Path, Path], side: int) -> None:
    """Nothing was found missing, but not all was seen: 3, and the words say so."""
    need(sys.platform == "linux", "setpriv takes root's rights away")
    (sides[side] / "locked").mkdir(mode=0o000)
    without_rights = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"] if os.geteuid() == 0 else []
    command = [sys.executable, "-m", "dedupe", "missing", sides[0], "--from", sides[1], "--no-cache"]
    done = subprocess.run([*without_rights, *command], capture_output=True, check=False)
    assert done.returncode == Exit.INCOMPLETE, done.stderr
    assert b"Nothing was found missing, but not everything could be read" in done.stdout


def test_paths_are_exact_and_may_end_in_nul(cli: Cli, sides: tuple[Path, Path]) -> None:
    """Lists for other programs have every byte of a name; hard links are names too."""
    card, archive = sides
    name = os.fsencode(card) + (b"/a\nb\xff" if sys.platform == "linux" else b"/a b")
    with open(name, "wb") as file:
        file.write(b"new")
    os.link(name, name + b"2")
    done = cli("missing", card, "--from", archive, "--no-cache", "--format", "paths", "--null")
    assert done.returncode == Exit.NO
    expected = [os.path.normpath(name), os.path.normpath(name + b"2"), b""]
    assert [os.path.normpath(each) if each else each for each in done.stdout.split(b"\0")] == expected


def test_reports_go_to_files(cli: Cli, sides: tuple[Path, Path], tmp_path: Path) -> None:
    """The ending chooses the format, and an earlier answer may be replaced, any other file of the card may not."""
    card, archive = sides
    write(card / "new", b"new")
    for _ in range(2):
        outputs = [part for end in ("json", "csv", "txt", "paths") for part in ("--output", f"r.{end}")]
        done = cli("missing", card, "--from", archive, "--no-cache", *outputs)
        assert (done.returncode, done.stdout) == (Exit.NO, b"")
        assert b"1 file missing" in done.stderr
    told = json.loads((tmp_path / "r.json").read_bytes())
    assert told["schema"] == "dedupe-missing/1"
    assert [Path(file["path"]).name for file in told["missing"]] == ["new"]
    assert (told["totals"]["held_files"], told["totals"]["missing_files"], told["certain"]) == (2, 1, True)
    (row,) = csv.DictReader(io.StringIO((tmp_path / "r.csv").read_bytes().decode("utf-8-sig"), newline=""))
    assert (Path(row["path"]).name, row["size"], row["reason"]) == ("new", "3", "not-held")
    assert (tmp_path / "r.txt").read_text(encoding="utf-8").startswith("Missing: 1 file")
    refused = cli("missing", card, "--from", archive, "--no-cache", "--output", card / "IMG_1.txt")
    assert refused.returncode == Exit.NO
    kept = write(card / "notes.txt", b"mine")
    refused = cli("missing", card, "--from", archive, "--no-cache", "--output", kept)
    assert (refused.returncode, kept.read_bytes()) == (Exit.USAGE, b"mine")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--from", "archive"], "Nothing to look for"),
        (["card"], "--from"),
        (["card", "--from", ""], "empty"),
        (["card", "--from", "archive", "--confirm", "xxh3"], "no proof"),
        (["card", "--from", "archive", "--format", "html"], "no format"),
    ],
)
def test_wrong_usage_is_one_sentence(cli: Cli, sides: tuple[Path, Path], arguments: list[str], words: str) -> None:
    """What makes no sense ends with 2."""
    done = cli("missing", *arguments)
    assert done.returncode == Exit.USAGE
    assert words in done.stderr.decode()
    assert done.stderr.count(b"\n") == 1


def test_a_side_that_is_not_there_is_one_sentence(cli: Cli, sides: tuple[Path, Path]) -> None:
    """No answer is given about what is not there."""
    done = cli("missing", sides[0], "--from", "elsewhere", "--no-cache")
    assert (done.returncode, done.stdout) == (Exit.NOTHING, b"")
    assert b"elsewhere does not exist" in done.stderr


def test_both_sides_on_one_volume_are_told(cli: Cli, sides: tuple[Path, Path]) -> None:
    """Formatting a volume takes the archive on it too."""
    assert b"not if it is formatted" in cli("missing", sides[0], "--from", sides[1], "--no-cache").stderr


def test_empty_files_stand_apart(cli: Cli, sides: tuple[Path, Path]) -> None:
    """A file that holds nothing is counted, and neither held nor missing."""
    write(sides[0] / "empty", b"")
    done = cli("missing", sides[0], "--from", sides[1], "--no-cache")
    assert done.returncode == Exit.DONE
    assert b"Not looked for: 1 empty file." in done.stdout


@pytest.mark.parametrize("rule", [["--include", "IMG*"], ["--exclude", "new*"]])
def test_what_rules_leave_out_is_not_called_held(cli: Cli, sides: tuple[Path, Path], rule: list[str]) -> None:
    """Of what was not looked for nothing is known, and the first words say so."""
    write(sides[0] / "new.mov", b"new")
    write(sides[1] / "IMG_1", b"one")
    write(sides[1] / "IMG_2", b"two")
    done = cli("missing", sides[0], "--from", sides[1], "--no-cache", *rule)
    assert done.returncode == Exit.DONE
    assert done.stdout.startswith(
        b"Nothing of what was looked for is missing, but of 1 entry left out nothing is known"
    )


def test_a_catalog_of_the_card_promises_nothing(cli: Cli, sides: tuple[Path, Path], tmp_path: Path) -> None:
    """What was left out of a catalog, or came since, is not looked for: its disk must be asked before it is wiped."""
    write(sides[0] / ".Trash-1000/only", b"only here")
    catalog = tmp_path / "card.catalog"
    assert cli("catalog", "create", sides[0], "--output", catalog).returncode == Exit.DONE
    done = cli("missing", catalog, "--from", sides[1], "--no-cache")
    assert done.returncode == Exit.INCOMPLETE
    assert done.stdout.startswith(b"Nothing was found missing of what the catalog tells, which may not be all")
