"""A table is printed only where nobody else is busy, or with the word that somebody was."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.benchmarks import compare, quiet

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmarks are Linux only")


@pytest.fixture
def spinning() -> Iterator[str]:
    """Return the name of another program that takes a core, or half of it where all are taken."""
    process = subprocess.Popen([sys.executable, "-c", "while True: pass"])
    yield Path(sys.executable).name[:15]
    process.kill()
    process.wait()


def test_another_busy_program_is_found(spinning: str) -> None:
    """Whoever takes more than a tenth of a core is named, and this program is not."""
    assert quiet.busy_programs(0.5)[spinning] > quiet.BUSY
    assert spinning in quiet.complaint()


def test_the_cores_that_one_gets_are_no_more_than_two() -> None:
    """Two spinning processes have as much CPU time as there was for them."""
    assert 0.1 < quiet.cores_had() < 2.2


def test_no_table_beside_a_busy_program(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The table is refused with a sentence that names the other; `--busy` prints it all the same, and says so."""
    monkeypatch.setattr(quiet, "busy_programs", lambda: {"cc1": 0.5})
    arguments = ["--folder", str(tmp_path), "--corpora", "near", "--scale", "0.001", "--rounds", "1"]
    arguments += ["--only", "dedupe bytes"]
    with pytest.raises(SystemExit, match=r"cc1 takes 0.50 of a core.*--busy"):
        compare.main(arguments)
    assert "| --- |" not in capsys.readouterr().out
    compare.main([*arguments, "--busy"])
    told = capsys.readouterr().out
    assert "others busy: cc1 takes 0.50 of a core" in told
    assert "cores had: " in told
