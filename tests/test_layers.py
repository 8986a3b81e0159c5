"""The layers hold, by the linter's contracts; who may print, and who may end the program."""

from __future__ import annotations

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import dedupe
from tests.conftest import need

PACKAGE = Path(dedupe.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))


def name_of(path: Path) -> str:
    """Return a module's name inside the package."""
    return ".".join(path.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__")


@pytest.mark.parametrize("path", [p for p in MODULES if "cli" not in p.relative_to(PACKAGE).parts], ids=name_of)
def test_only_the_command_line_prints_or_ends_the_program(path: Path) -> None:
    """A library neither prints nor exits; a worker whose parent is gone is the one exception."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Call):
            called = ast.unparse(node.func)
            assert called not in {"print", "exit", "quit", "sys.exit"}
            assert called != "os._exit" or path.name == "processes.py"
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
        ("storage/paths.py", "from dedupe.files import table", b"dedupe.storage is not allowed to import dedupe.files"),
        ("walk/walker.py", "from dedupe.cache import store", b"dedupe.walk is not allowed to import dedupe.cache"),
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
