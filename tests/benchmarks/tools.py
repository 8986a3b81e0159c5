"""The finders that are compared: how each is called, and how its answer is read.

Classes: `sha256`, a SHA-256 stands for every group; `any`, whatever the tool has that is fastest; `rerun`, once more
over unchanged files with the tool's own cache.  Nothing here runs a finder; versions are asked.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass, replace

Groups = list[list[str]]


def blank_line_blocks(text: str) -> Groups:
    """Read one path a line, one blank line between groups."""
    return [block.split("\n") for block in re.split(r"\n{2,}", text.strip("\n")) if block]


def dedupe_json(text: str) -> Groups:
    """Read dedupe's report; hard links of one file would be further names of it."""
    return [[file["path"] for file in group["files"]] for group in json.loads(text)["groups"]]


def fclones_json(text: str) -> Groups:
    """Read fclones' JSON."""
    return [group["files"] for group in json.loads(text)["groups"]]


def czkawka_json(text: str) -> Groups:
    """Read czkawka's JSON: lists of groups by size."""
    by_size = json.loads(text)
    return [[file["path"] for file in group] for groups in by_size.values() for group in groups]


def rmlint_json(text: str) -> Groups:
    """Read rmlint's JSON: one item a file, a new group with every original."""
    groups: Groups = []
    for item in json.loads(text):
        if item.get("type") == "duplicate_file":
            if item["is_original"]:
                groups.append([])
            groups[-1].append(item["path"])
    return groups


def rdfind_results(text: str) -> Groups:
    """Read rdfind's results: a number a group, negative from its second file on, and the path in the last column."""
    groups: dict[str, list[str]] = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            _, number, *_, path = line.split(" ", 7)
            groups.setdefault(number.lstrip("-"), []).append(path)
    return list(groups.values())


@dataclass(frozen=True, slots=True)
class Tool:
    """One row of the table.  In the command {corpus} is what to scan and {scratch} a folder for caches and answers."""

    name: str
    mode: str
    program: str
    arguments: str
    read: Callable[[str], Groups]
    answer: str = "stdout"  # the file in the scratch folder that holds the groups
    remark: str = ""

    @property
    def ours(self) -> bool:
        """Return whether this is the program that the others are compared with."""
        return self.program == "dedupe"

    def command(self, path: str, corpus: str, scratch: str) -> list[str]:
        """Return the arguments of one run; the folders may hold spaces, the template's own words may not."""
        return [path, *(word.format(corpus=corpus, scratch=scratch) for word in self.arguments.split())]

    def groups(self, corpus: str, scratch: str) -> Groups:
        """Return the last run's groups, paths relative to the corpus; raises ValueError for what is no answer."""
        with open(os.path.join(scratch, self.answer), encoding="utf-8", errors="surrogateescape") as text:
            found = self.read(text.read())
        prefix = os.path.join(corpus, "")
        return [[path.removeprefix(prefix) for path in group] for group in found]


SCAN = "scan {corpus} --format json --no-progress"
CZKAWKA = "dup -d {corpus} -m 1 -s HASH -t XXH3 -N -M -W -C {scratch}/czkawka.json"
CZKAWKA_CACHE = "--minimal-cached-file-size 1 --use-prehash-cache --minimal-prehash-cache-file-size 1"
RDFIND = "-dryrun true -checksum sha256 -makeresultsfile true -outputname {scratch}/rdfind.txt {corpus}"
RMLINT = "-T df -r -o json:stdout {corpus} -a"

TOOLS = (
    Tool("dedupe sha256", "sha256", "dedupe", f"{SCAN} --no-cache --confirm sha256", dedupe_json),
    Tool("dedupe bytes", "any", "dedupe", f"{SCAN} --no-cache --confirm bytes", dedupe_json),
    Tool("dedupe rerun", "rerun", "dedupe", f"{SCAN} --cache {{scratch}}/dedupe.db", dedupe_json),
    Tool("fclones sha256", "sha256", "fclones", "group {corpus} --hidden -f json --hash-fn sha256", fclones_json),
    Tool("fclones", "any", "fclones", "group {corpus} --hidden -f json", fclones_json),
    Tool("fclones rerun", "rerun", "fclones", "group {corpus} --hidden -f json --cache", fclones_json),
    Tool("czkawka", "any", "czkawka_cli", f"{CZKAWKA} -H", czkawka_json, "czkawka.json"),
    Tool("czkawka rerun", "rerun", "czkawka_cli", f"{CZKAWKA} {CZKAWKA_CACHE}", czkawka_json, "czkawka.json"),
    Tool("rmlint sha256", "sha256", "rmlint", f"{RMLINT} sha256", rmlint_json),
    Tool("rmlint xxhash", "any", "rmlint", f"{RMLINT} xxhash", rmlint_json),
    Tool("rdfind sha256", "sha256", "rdfind", RDFIND, rdfind_results, "rdfind.txt"),
    Tool("jdupes", "any", "jdupes", "-r -q {corpus}", blank_line_blocks),
    Tool("jdupes -Q", "any", "jdupes", "-r -q -Q {corpus}", blank_line_blocks, remark="64-bit hashes only"),
    Tool("fdupes", "any", "fdupes", "-r -q -n {corpus}", blank_line_blocks),
    Tool("yadf", "any", "yadf", "--no-empty {corpus}", blank_line_blocks),
)


def other(tool: Tool) -> Tool:
    """Return a row for another installation of the same program, with a cache of its own."""
    name = tool.name.replace(tool.program, "other", 1)
    return replace(tool, name=name, program="another", arguments=tool.arguments.replace("dedupe.db", "other.db"))


def find_program(program: str) -> str | None:
    """Return a program's path; the one beside this Python goes before the others, as in a virtual environment."""
    beside = os.path.dirname(os.path.abspath(sys.executable))
    return shutil.which(program, path=os.pathsep.join((beside, os.environ.get("PATH", os.defpath))))


def version_of(path: str) -> str:
    """Return the version that a program states, or `unknown`."""
    flag = {"jdupes": "-v", "hashdeep": "-V"}.get(os.path.basename(path), "--version")
    stated = subprocess.run([path, flag], capture_output=True, text=True, timeout=60, check=False)
    found = re.search(r"\d+\.\d+[\w.+-]*", stated.stdout + stated.stderr)
    return found[0] if found else "unknown"
