"""Arrows run downwards: what may import what, who may print, and who may end the program."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import dedupe
from tests.conftest import need

PACKAGE = Path(dedupe.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))
# from the bottom up; a module may import from its own row and those before it
BELOW = {
    "errors": {"errors"},
    "digests": {"errors", "digests", "buffers", "names", "version"},
    "report": {
        "errors",
        "digests",
        "result",
        "report",
        "runs",
        "names",
        "folders",
        "foldertree",
        "paths",
        "winpath",
        "version",
    },
    "walk": {"cache", "fingerprint", "confirm", "partition", "scan", "find", "report", "cli", "digests.registry"},
}


def name_of(path: Path) -> str:
    """Return a module's name inside the package."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


def imports(path: Path) -> Iterator[str]:
    """Yield the package's own modules that a module imports anywhere, and other packages by their first name."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield node.module or ""
            if node.module == "dedupe" or (node.module or "").startswith("dedupe."):
                yield from (f"{node.module}.{alias.name}" for alias in node.names)


def own(path: Path) -> set[str]:
    """Return the rooms of the package that a module imports from."""
    return {
        n.split(".")[1] for n in imports(path) if n.startswith("dedupe.") and (PACKAGE / n.split(".")[1]).exists()
    } | {
        n.split(".")[1]
        for n in imports(path)
        if n.startswith("dedupe.") and (PACKAGE / f"{n.split('.')[1]}.py").exists()
    }


@pytest.mark.parametrize("room", ["digests", "report"])
def test_rooms_know_only_what_lies_below(room: str) -> None:
    """Backends know nothing of files, and reports open none."""
    for path in (PACKAGE / room).rglob("*.py"):
        assert own(path) <= BELOW[room], path


def test_the_walk_knows_no_cache_and_reads_nothing() -> None:
    """From directories to entries, and no further."""
    assert not own(PACKAGE / "walk.py") & BELOW["walk"]
    assert own(PACKAGE / "errors.py") == set()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_only_the_command_line_knows_the_command_line(path: Path) -> None:
    """Below cli nobody imports it, typer or rich; tqdm is progress's alone; the phases do not know the recipe."""
    name = name_of(path)
    there = set(imports(path))
    if not name.startswith("cli") and name != "__main__":
        assert not {n for n in there if n.startswith("dedupe.cli")}
        assert "typer" not in there
        if not name.startswith("bench"):
            assert not {n for n in there if n.split(".")[0] == "rich"}
    if name != "progress":
        assert "tqdm" not in there


@pytest.mark.parametrize("path", [p for p in MODULES if "cli" not in p.relative_to(PACKAGE).parts], ids=name_of)
def test_only_the_command_line_prints_or_ends_the_program(path: Path) -> None:
    """A library neither prints nor exits; a worker whose parent is gone is the one exception."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in {"print", "exit", "quit", "sys.exit"}
            assert called != "os._exit" or path.name == "workers.py"
        if isinstance(node, ast.Raise) and node.exc is not None:
            assert "SystemExit" not in ast.unparse(node.exc)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_are_short_and_say_what_they_own(path: Path) -> None:
    """At most 300 lines, beginning with a docstring."""
    text = path.read_text(encoding="utf-8")
    assert text.count("\n") <= 300
    assert not text.strip() or ast.get_docstring(ast.parse(text))


def linted(folder: Path) -> subprocess.CompletedProcess[bytes]:
    """Run import-linter on the package in a folder, with the contracts of the pyproject.toml beside it."""
    program = shutil.which("lint-imports", path=os.path.dirname(sys.executable)) or shutil.which("lint-imports")
    need(program, "import-linter")
    assert program is not None
    return subprocess.run([program, "--no-cache"], cwd=folder, capture_output=True, check=False)


def test_the_contracts_of_the_linter_hold() -> None:
    """The layers stand in pyproject.toml, where import-linter checks them with all that imports bring along."""
    done = linted(PACKAGE.parent)
    assert done.returncode == 0, done.stdout.decode()


@pytest.mark.parametrize(
    ("module", "line", "complaint"),
    [
        ("columns.py", "from dedupe import entries", b"dedupe.columns -> dedupe.entries"),
        ("walk.py", "from dedupe import cache", b"dedupe.walk -> dedupe.cache"),
        ("newcomer.py", "", b"dedupe.newcomer"),
    ],
    ids=["upwards", "sideways", "unnamed"],
)
def test_the_linter_refuses_what_breaks_the_layers(tmp_path: Path, module: str, line: str, complaint: bytes) -> None:
    """An import upwards or between neighbours, and a module that stands in no layer."""
    shutil.copytree(PACKAGE, tmp_path / "dedupe", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(PACKAGE.parent / "pyproject.toml", tmp_path)
    with open(tmp_path / "dedupe" / module, "a", encoding="utf-8") as file:
        file.write(f"\n{line}\n")
    done = linted(tmp_path)
    assert done.returncode == 1
    assert complaint in done.stdout
