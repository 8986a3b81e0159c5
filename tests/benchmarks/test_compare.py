"""The benchmark harness: it reads every finder rightly, voids wrong answers, and prints what was measured."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from tests import corpora
from tests.benchmarks import compare, growth, phases
from tests.benchmarks.measure import Measurer, Run
from tests.benchmarks.table import Row, Section, as_json, markdown, memory, timings
from tests.benchmarks.tools import TOOLS, Tool, blank_line_blocks, find_program, version_of
from tests.conftest import need

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the benchmarks read /proc")


@pytest.fixture(scope="module")
def small_corpus(tmp_path_factory: pytest.TempPathFactory) -> compare.Corpus:
    """Return a corpus in a folder with a space in its name."""
    folder, truth = corpora.keep(tmp_path_factory.mktemp("kept corpora"), "small", 0.001)
    return compare.Corpus("small", folder, truth)


@pytest.fixture
def measurer(tmp_path: Path) -> Measurer:
    """Return a measurer with a scratch folder of its own."""
    return Measurer(str(tmp_path), timeout_s=60)


def script(folder: Path, body: str) -> str:
    """Write an executable shell script and return its path."""
    path = folder / "finder"
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(0o755)
    return str(path)


@pytest.mark.parametrize("tool", TOOLS, ids=lambda tool: tool.name)
def test_every_installed_finder_is_read_rightly(tool: Tool, small_corpus: compare.Corpus, measurer: Measurer) -> None:
    """A real run of each finder, twice where it has a cache, gives the truth and figures."""
    path = find_program(tool.program)
    need(path or not tool.ours, "dedupe is not installed")
    if path is None:
        pytest.skip(f"{tool.program} is not installed")
    (row,) = compare.Contest(measurer, rounds=1).hold(small_corpus, [(tool, path)])
    assert row.fault == ""
    assert row.version != "unknown"
    assert 0 < row.wall_s < 60


def test_names_are_unique() -> None:
    """A row is named by its tool alone."""
    assert len({tool.name for tool in TOOLS}) == len(TOOLS)


@pytest.mark.parametrize(
    ("answer", "fault"),
    [
        ("echo a; echo b", ""),
        ("echo b; echo a; echo", ""),
        ("echo a; echo b; echo c", "wrong: 1 groups missing, 1 not in the truth"),
        ("true", "wrong: 1 groups missing, 0 not in the truth"),
        ("echo a; echo b; echo; echo c; echo d", "wrong: 0 groups missing, 1 not in the truth"),
        ("echo no luck >&2; exit 3", "failed: exit 3: no luck"),
    ],
)
def test_a_wrong_answer_voids_the_row(answer: str, fault: str, tmp_path: Path, measurer: Measurer) -> None:
    """Only the truth leaves figures in the table; a failure is told with the program's last words."""
    tool = Tool("finder", "any", "finder", "{corpus}", blank_line_blocks)
    corpus = compare.Corpus("made up", "/nowhere", [["a", "b"]])
    (row,) = compare.Contest(measurer, rounds=1).hold(corpus, [(tool, script(tmp_path, answer))])
    assert (row.fault, row.valid) == (fault, not fault)


def test_a_right_answer_does_not_excuse_a_later_wrong_one(tmp_path: Path, measurer: Measurer) -> None:
    """The answers of all rounds are checked, not the first one's only."""
    tool = Tool("finder", "rerun", "finder", "{corpus}", blank_line_blocks)
    path = script(tmp_path, "echo a; test -e again || echo b; test $1 = --version || : >again")
    corpus = compare.Corpus("made up", "/nowhere", [["a", "b"]])
    (row,) = compare.Contest(measurer, rounds=2).hold(corpus, [(tool, path)])
    assert row.fault.startswith("wrong")


def test_an_old_answer_is_not_read_again(tmp_path: Path, measurer: Measurer) -> None:
    """A finder that stops writing its results file is not credited with the last round's."""
    tool = Tool("finder", "any", "finder", "{corpus}", blank_line_blocks, answer="results")
    path = script(tmp_path, 'test $1 = --version && exit; test -e ran || printf "a\\nb\\n" >results; : >ran')
    corpus = compare.Corpus("made up", "/nowhere", [["a", "b"]])
    (row,) = compare.Contest(measurer, rounds=1).hold(corpus, [(tool, path)])
    assert row.fault.startswith("failed")


def test_tools_run_in_turn(tmp_path: Path, measurer: Measurer) -> None:
    """Each round runs every tool once, so that noise hits all alike, and the first round is not counted."""
    path = script(tmp_path, 'test $1 = --version || echo "$1" >>order; echo a; echo b')
    tools = [Tool(name, "any", "finder", name, blank_line_blocks) for name in ("one", "two")]
    corpus = compare.Corpus("made up", "/nowhere", [["a", "b"]])
    rows = compare.Contest(measurer, rounds=2).hold(corpus, [(tool, path) for tool in tools])
    assert (tmp_path / "order").read_text().split() == ["one", "two"] * 3
    assert [len(row.runs) for row in rows] == [2, 2]


def rows() -> list[Row]:
    """Return made-up results of two classes."""
    ours, peer = TOOLS[0], next(tool for tool in TOOLS if tool.name == "rdfind sha256")
    quick = next(tool for tool in TOOLS if tool.remark)
    return [
        Row(peer, "1.0", [Run(4.0, 5.0, 30 << 10, 9 << 10, None, 0), Run(3.0, 5.0, 40 << 10, 9 << 10, None, 0)]),
        Row(ours, "2.0", [Run(1.0, 1.5, 9 << 10, 9 << 10, None, 0)]),
        Row(quick, "3.0", [Run(0.5, 0.5, 9 << 10, 9 << 10, 2048, 0)]),
        Row(quick, "3.0", [Run(0.1, 0.5, 9 << 10, 9 << 10, None, 0)], fault="wrong: 1 groups missing"),
    ]


def test_timings_as_markdown() -> None:
    """Classes are together, the fastest first; ratios are to dedupe in the class; voided rows have no figure."""
    lines = timings(Section("made up", rows())).splitlines()
    assert lines[:2] == ["### made up", ""]
    assert lines[4:] == [
        "| jdupes -Q | 3.0 | any | right, not proven: 64-bit hashes only | 0.500 | 0.500 | 0.500 | 2 | - |",
        "| jdupes -Q | 3.0 | any | wrong: 1 groups missing | - | - | - | - | - |",
        "| dedupe sha256 | 2.0 | sha256 | right | 1.000 | 1.000 | 1.500 | < 9 | 1.00 |",
        "| rdfind sha256 | 1.0 | sha256 | right | 3.500 | 3.000 | 5.000 | 40 | 3.50 |",
    ]


def test_memory_as_markdown() -> None:
    """The table of peaks has no times."""
    heading = memory(Section("made up", rows())).splitlines()[2]
    assert heading == "| tool | version | class | groups | peak MiB of all processes |"


def test_columns_of_figures_are_right_aligned() -> None:
    """Text columns come first; the rest are aligned as numbers."""
    assert markdown([("name", "s"), ("x", "1")], left=1) == "| name | s |\n| --- | ---: |\n| x | 1 |\n"


def test_json_holds_every_run() -> None:
    """The machine, the commands and each single run are in the JSON."""
    report = json.loads(json.dumps(as_json({"date": "today"}, [Section("made up", rows())])))
    assert report["machine"] == {"date": "today"}
    first = report["corpora"][0]["rows"][0]
    assert list(first) == ["tool", "version", "class", "command", "fault", "runs"]
    assert [run["wall_s"] for run in first["runs"]] == [4.0, 3.0]


def test_one_command_makes_corpora_and_prints_tables(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], small_corpus: compare.Corpus
) -> None:
    """The command makes what is missing, prints where it was measured and a table a corpus, and exits 0."""
    peers = [tool for tool in TOOLS if tool.program in ("jdupes", "rdfind", "fdupes") and find_program(tool.program)]
    if not peers:
        pytest.skip("none of jdupes, rdfind and fdupes is installed")
    report = tmp_path / "report.json"
    only = ("--only", peers[0].name, "--rounds", "1", "--busy", "--json", str(report))
    assert compare.main(["--folder", str(tmp_path), "--corpora", "flat,near", "--scale", "0.002", *only]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("date: ")
    assert "### flat: 200 files" in printed
    assert "### near: 16 files" in printed
    assert printed.count(f"| {peers[0].name} | {version_of(find_program(peers[0].program) or '')} |") == 2
    assert len(json.loads(report.read_text())["corpora"]) == 2


@pytest.mark.parametrize("wish", [["--only", "nonsense"], ["--corpora", "nonsense"]])
def test_unknown_names_are_told(wish: list[str], tmp_path: Path) -> None:
    """A name that is none ends with a sentence, before anything is made."""
    with pytest.raises(SystemExit, match="There is no"):
        compare.main(["--folder", str(tmp_path), *wish])
    assert os.listdir(tmp_path) == []


def test_phases_are_read_from_what_verbose_prints() -> None:
    """A line that is a name and its seconds is a phase; sentences that mention seconds are none."""
    told = "Digests: best of 3 in 0.1 s\nwalk             1.234 s\nconfirm         10.500 s\nall  12.0 s; 5 bytes\n"
    assert phases.phases_in(told) == {"walk": 1.234, "confirm": 10.5}


def test_jobs_are_compared_with_the_first() -> None:
    """The table of phases gives medians, and how many times as fast as with the first number of jobs."""
    one = phases.Profile(1, [4.0, 2.0, 3.0], [3.0] * 3, [{"walk": 1.0}, {"walk": 2.0}, {"walk": 9.0, "confirm": 0.5}])
    two = phases.Profile(2, [1.5], [3.5], [{"walk": 0.5}])
    assert phases.profile_table([one, two]).splitlines()[2:] == [
        "| 1 | 3.000 | 3.000 | 1.00 | 2.000 | 0.000 |",
        "| 2 | 1.500 | 3.500 | 2.00 | 0.500 | 0.000 |",
    ]


def test_phases_of_a_real_scan(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The profile names the start, and the phases of a scan with one job and with two."""
    need(find_program("dedupe"), "dedupe is not installed")
    options = ["--folder", str(tmp_path), "--corpora", "flat", "--scale", "0.001", "--rounds", "1", "--starts", "1"]
    assert phases.main(options) == 0
    printed = capsys.readouterr().out
    assert "| dedupe --version | " in printed
    assert "| jobs | wall s | CPU s | times as fast | walk s | " in printed
    assert "\n| 2 | " in printed


def test_growth_of_a_real_finder(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One shape is measured at three scales, with time and memory a file."""
    peers = [tool for tool in TOOLS if tool.program in ("jdupes", "rdfind", "fdupes") and find_program(tool.program)]
    if not peers:
        pytest.skip("none of jdupes, rdfind and fdupes is installed")
    options = ["--folder", str(tmp_path), "--corpora", "million", "--scale", "0.0004", "--rounds", "1"]
    assert growth.main([*options, "--only", peers[0].name]) == 0
    cells = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[4:]]
    assert [line[2] for line in cells] == ["100", "200", "400"]
    assert all(float(line[4]) > 0 for line in cells)


def test_growth_is_told_by_further_files() -> None:
    """What a further file costs is the difference to the next smaller scale, of the same tool and corpus only."""
    points = [
        growth.Point("b", "flat", 100, 0, 1.0, 1.0, 1 << 20),
        growth.Point("a", "flat", 300, 10**6, 2.0, 3.0, 2 << 20),
        growth.Point("a", "flat", 100, 10**6, 1.0, 1.5, 1 << 20),
        growth.Point("a", "flat", 500, 10**6, fault="wrong"),
    ]
    assert growth.table(points).splitlines()[2:] == [
        "| a | flat | 100 | 1.0 | 1.000 | 1.500 | 1 | - | - |",
        "| a | flat | 300 | 1.0 | 2.000 | 3.000 | 2 | 5000.00 | 5243 |",
        "| a | flat | 500 | 1.0 | wrong | - | - | - | - |",
        "| b | flat | 100 | 0.0 | 1.000 | 1.000 | 1 | - | - |",
    ]


def test_another_installation_runs_in_turn(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """An older dedupe stands beside ours, with a cache of its own, as a ratio to ours."""
    program = find_program("dedupe")
    need(program, "the command beside this Python")
    options = ["--folder", str(tmp_path), "--scale", "0.002", "--corpora", "photos", "--rounds", "1", "--busy"]
    assert compare.main([*options, "--only", "dedupe sha256,dedupe rerun", "--against", str(program)]) == 0
    rows = [line.split(" | ") for line in capsys.readouterr().out.splitlines() if line.startswith("| ")]
    told = {row[0].strip("| "): row[-1].strip("| ") for row in rows}
    assert told["dedupe rerun"] == "1.00"
    assert float(told["other rerun"]) > 0
    assert float(told["other sha256"]) > 0
