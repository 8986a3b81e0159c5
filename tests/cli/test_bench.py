"""`dedupe bench` from its options to its output."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result  # noqa: TID251 - runs in this process, in a tenth of the time

from dedupe.bench import laboratory
from dedupe.bench.kinds import KINDS
from dedupe.bench.laboratory import BenchConfig
from dedupe.bench.record import from_json
from dedupe.cli import app
from dedupe.errors import UsageError


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def bench(*arguments: str) -> Result:
    """Run `dedupe bench` in this process."""
    return CliRunner().invoke(app, ["bench", *arguments])


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_runs(kind: str, folder: Path) -> None:
    """Every kind of work runs, and its record has all rounds of every participant."""
    result = bench("--kind", kind, "--size", "4k", "--rounds", "2", "--algorithm", "xxh3", "--json", "b.json")
    assert result.exit_code == 0, result.output
    assert "xxh3/xxhash" in result.stdout
    found = from_json(Path("b.json").read_text(encoding="utf-8"), "b.json")
    assert found.kind == kind
    assert {len(cell.seconds) for cell in found.cells} == {2}
    assert {cell.participant for cell in found.cells} == {"xxh3/xxhash"}


def test_digest_in_the_record_is_of_the_published_block(folder: Path) -> None:
    """The record's digest is that of the published block, and another seed or random bytes give another."""
    digests = []
    for options in (["--size", "128M"], ["--size", "128M", "--seed", "20260806"], ["--size", "1M", "--random"]):
        assert bench(*options, "--rounds", "1", "--algorithm", "sha256/openssl", "--json", "b.json").exit_code == 0
        digests.append(json.loads(Path("b.json").read_text(encoding="utf-8"))["cells"][0]["digest"])
    assert digests[0].startswith("885a4d877a6979ff")
    assert digests[1].startswith("a807ffe621f53323")
    assert not digests[2].startswith("885a")


def test_baseline(folder: Path) -> None:
    """Ratios are against the baseline that was named."""
    options = ["--size", "4k", "--rounds", "1", "--algorithm", "sha256"]
    assert "x sha256/builtin" in bench(*options, "--baseline", "sha256/builtin").stdout
    assert "x sha256/openssl" in bench(*options).stdout


def test_peers(folder: Path) -> None:
    """With --peers other programs are measured on the same bytes: Python itself is always there."""
    result = bench("--size", "64k", "--rounds", "1", "--algorithm", "blake2s", "--peers", "--json", "b.json")
    assert result.exit_code == 0, result.output
    assert "blake2s/python" in result.stdout
    peers = from_json(Path("b.json").read_text(encoding="utf-8"), "b.json").peers
    (python,) = (peer for peer in peers if peer.participant == "blake2s/python")
    assert (python.size, len(python.seconds), len(python.startup)) == (65536, 1, 1)


def test_control(folder: Path) -> None:
    """With --control only the switch is tried."""
    result = bench("--control", "--rounds", "1", "--json", "b.json")
    if result.exit_code == 1:
        assert "no such switch" in result.stderr
        pytest.skip("OpenSSL has no switch for this processor")
    assert "takes" in result.stdout
    assert from_json(Path("b.json").read_text(encoding="utf-8"), "b.json").effects


def test_compare_with_an_old_run_and_of_two(folder: Path) -> None:
    """A record is shown beside the run that follows; of two records nothing is measured."""
    options = ["--size", "4k", "--rounds", "1", "--algorithm", "xxh3"]
    assert bench(*options, "--json", "old.json").exit_code == 0
    both = bench(*options, "--compare", "old.json")
    assert "new / old" in both.stdout
    assert "spread" in both.stdout
    only = bench("--compare", "old.json", "--compare", "old.json")
    assert "new / old" in only.stdout
    assert "spread" not in only.stdout


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["--kind", "nothing"], "oneshot"),
        (["--rounds", "0"], "rounds"),
        (["--size", "0"], "sizes"),
        (["--size", "many"], "size"),
        (["--seed", "0"], "seed"),
        (["--algorithm", "sha257"], "sha257"),
        (["--algorithm", "xxh3", "--baseline", "sha256/openssl"], "xxh3/xxhash"),
        (["--compare", "missing.json"], "missing.json"),
        (["--compare", "text"], "text"),
        (["--compare", "text", "--compare", "text", "--compare", "text"], "text"),
    ],
)
def test_wrong_usage(arguments: list[str], word: str, folder: Path) -> None:
    """A request that makes no sense ends with 2 and one sentence that says what would."""
    Path("text").write_bytes(b"\xff")
    result = bench(*arguments)
    assert result.exit_code == 2
    assert word in result.stderr
    assert result.stdout == ""


def test_output_is_opened_before_anything_is_measured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A record that cannot be written is told before the time is spent."""
    monkeypatch.setattr(laboratory, "run", lambda *_: pytest.fail("it was measured"))
    result = bench("--json", "no/such/folder.json")
    assert result.exit_code == 1
    assert "folder.json cannot be written" in result.stderr


def test_failed_run_keeps_the_old_record(folder: Path) -> None:
    """A run that fails leaves the record of before, and no part of a new one."""
    Path("b.json").write_text("old", encoding="utf-8")
    assert bench("--algorithm", "sha257", "--json", "b.json").exit_code == 2
    assert [path.name for path in folder.iterdir()] == ["b.json"]
    assert Path("b.json").read_text(encoding="utf-8") == "old"


def test_disagreement_ends_with_one(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Participants that disagree end the run with 1 and both digests."""
    everybody = laboratory.participants()
    one, other = (next(p for p in everybody if p.name == name) for name in ("sha256/openssl", "sha512/openssl"))
    liar = type(one)("sha256", "liar", "", other.whole, other.start)
    monkeypatch.setattr(laboratory, "participants", lambda: [one, liar])
    result = bench("--size", "4k", "--rounds", "1")
    assert result.exit_code == 1
    assert "sha256/liar" in result.stderr
    assert "sha256/openssl" in result.stderr


def test_plan_is_checked_for_the_library_too() -> None:
    """Whoever makes a plan without the command line gets the same answers."""
    with pytest.raises(UsageError, match="kind"):
        BenchConfig(kind="nothing")
