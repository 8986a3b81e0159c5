"""Lists are checked as sha256sum, b2sum, shasum, xxhsum and cksum check them: the same words, the same exit code."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.checksums.conformance import Answer, ask, dedupe, program, tree

CONTENTS = {
    "x": b"x",
    "y": b"y",
    "new": b"new\nline",
    "back": b"back\\slash",
    "dash": b"-dash",
    "star": b"*star",
    "none": b"",
    "latin": b"caf\xe9",
    "trail": b"trailing ",
    "in": b"in",
}
# what a list holds; {x} is the digest of x, {x:.5} its first five digits, {tag} what lines in BSD's style call it
LISTS = {
    "all right": "{x}  x\n{y}  y\n",
    "one wrong": "{x}  x\n{x}  y\n",
    "one missing": "{x}  x\n{x}  gone\n",
    "only missing": "{x}  gone\n",
    "one that may not be read": "{x}  x\n{x}  secret\n",
    "a folder": "{x}  d\n",
    "wrong, missing, malformed": "{y}  x\n{x}  gone\nrubbish\n{y}  y\n",
    "one malformed": "rubbish\n{x}  x\n",
    "two malformed": "rubbish\n{x}  x\nrubbish\n",
    "only rubbish": "rubbish\n",
    "empty": "",
    "empty lines": "\n{x}  x\n\n",
    "comments": "# hello\n{x}  x\n",
    "a line of blanks": "   \n{x}  x\n",
    "CRLF": "{x}  x\r\n{y}  y\r\n",
    "no end of the last line": "{x}  x",
    "capitals": "{capitals}  x\n",
    "binary": "{x} *x\n",
    "one blank": "{x} x\n",
    "a tab": "{x}\tx\n",
    "indented": "  {x}  x\n",
    "tagged": "{tag} (x) = {x}\n{tag} (y) = {y}\n",
    "tagged by OpenSSL": "{tag}(x)= {x}\n",
    "an unknown tag": "FOO (x) = {x}\n",
    "tagged and not": "{tag} (x) = {x}\n{y}  y\n",
    "a digit short": "{x:.13}  x\n",
    "no name": "{x}\n",
    "no blank": "{x}x\n",
    "no digit": "{x:.14}gg  x\n",
    "one file twice": "{x}  x\n{x}  x\n",
    "a new line in a name": "\\{new}  new\\nline\n",
    "a new line in a missing name": "\\{x}  gone\\nhere\n",
    "a backslash in a name": "\\{back}  back\\\\slash\n",
    "a backslash as it is": "{back}  back\\slash\n",
    "an escape that means nothing": "\\{x}  a\\qb\n",
    "an escape at the end": "\\{x}  a\\\n",
    "a link": "{x}  link\n",
    "a link to nothing": "{x}  dangling\n",
    "a dash before a name": "{dash}  -dash\n",
    "a star before a name": "{star}  *star\n",
    "a blank after a name": "{trail}  trailing \n",
    "an empty file": "{none}  empty\n",
    "a path with dots": "{x}  ./d/../x\n",
    "no UTF-8": "{latin}  caf\udce9\n",
    "standard input": "{in}  -\n",
}
OPTIONS = [
    "--quiet",
    "--status",
    "--strict",
    "--warn",
    "--ignore-missing",
    "--strict --ignore-missing",
    "--warn --status",
]
TOLD = ["all right", "wrong, missing, malformed", "one missing", "only missing", "two malformed", "only rubbish"]
# programs, our options that mean the same, their tag
OTHERS = {
    "b2sum": ("-a blake2b", "BLAKE2b"),
    "shasum -a 256": ("-a sha256", "SHA256"),
    "xxhsum -H1": ("-a xxh64", "XXH64"),
}
# where another program reads less than sha256sum or says it otherwise, so that we follow sha256sum
LESS = {
    "shasum -a 256": {"CRLF", "one blank", "a tab", "tagged by OpenSSL", "a new line in a name"}
    | {"an escape that means nothing", "an escape at the end", "a new line in a missing name"},
    "xxhsum -H1": {name for name in LISTS if "missing" in name or "escape" in name or "may not" in name}
    | {"a new line in a name", "a backslash in a name", "a backslash as it is", "a folder", "a link to nothing", "CRLF"}
    | {"comments", "one blank", "a tab", "indented", "tagged by OpenSSL", "binary", "a star before a name"}
    | {"standard input", "a line of blanks", "empty lines", "an unknown tag"},
}
# arguments, a list, our exit code, what we print, why
DIFFERENCES = {
    "a mark of UTF-8": ("-c L", "\ufeff{x}  x\n{y}  y\n", 0, "x: OK\ny: OK\n", "editors of Windows write one"),
    "lists of several algorithms": (
        "-c L",
        "{x}  x\nMD5 (y) = 415290769594460e2e485922904f345d\n",
        0,
        "x: OK\ny: OK\n",
        "a tag or a length tells the algorithm; --algorithm sha256 is as strict as sha256sum",
    ),
    "backslashes of Windows": ("-c L", "{z} *d\\z\n", 0, "d\\z: OK\n", "lists travel with the files that they are of"),
    "tag": ("-c --tag L", "{x}  x\n", 2, "", "wrong usage ends with 2 in all our commands"),
    "zero": ("-c -z L", "{x}  x\n", 2, "", "wrong usage ends with 2 in all our commands"),
    "binary": ("-c -b L", "{x}  x\n", 2, "", "wrong usage ends with 2 in all our commands"),
    "status, then warn": ("-c --status --warn L", "{x}  x\n", 0, "", "the order of options means nothing to us"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the tree of hostile names."""
    return tree(tmp_path_factory.mktemp("tree"))


def filled(template: str, by: str, tag: str, folder: Path) -> bytes:
    """Return a list with digests by a program."""
    digests = {
        name: ask([*program(by), "-"], folder, data).out.split()[0].decode()
        for name, data in CONTENTS.items()
        if "{" + name in template
    }
    digests["z"] = ask([*program(by), "d/z"], folder).out.split()[0].decode()
    digests["capitals"] = ask([*program(by), "x"], folder).out.split()[0].decode().upper()
    return template.format(tag=tag, **digests).encode("utf-8", "surrogateescape")


def both(folder: Path, by: str, ours: str, tag: str, name: str, *options: str) -> tuple[Answer, Answer]:
    """Return what a program and we say of a list."""
    (folder / "L").write_bytes(filled(LISTS[name], by, tag, folder))
    theirs = ask([*program(by), "-c", *options, "L"], folder, b"in", obeys=True)
    return theirs, ask(dedupe(*ours.split(), "-c", *options, "L"), folder, b"in", obeys=True)


@pytest.mark.parametrize("name", LISTS)
def test_as_sha256sum(folder: Path, name: str) -> None:
    """Results, warnings and exit code are those of sha256sum, and whoever is silent is so for both."""
    theirs, ours = both(folder, "sha256sum", "-a sha256", "SHA256", name)
    assert ours == theirs


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", TOLD)
def test_as_sha256sum_with_options(folder: Path, name: str, options: str) -> None:
    """So they are with each option; without --algorithm too."""
    theirs, ours = both(folder, "sha256sum", "", "SHA256", name, *options.split())
    assert ours == theirs


@pytest.mark.parametrize(
    ("by", "name"), [(by, name) for by in OTHERS for name in LISTS if name not in LESS.get(by, ())]
)
def test_as_other_programs(folder: Path, by: str, name: str) -> None:
    """Results and exit code are those of other programs where these read what sha256sum reads."""
    theirs, ours = both(folder, by, *OTHERS[by], name)
    results = b"".join(line for line in theirs.out.splitlines(keepends=True) if b": " in line)  # xxhsum adds warnings
    assert (ours.code, ours.out) == (theirs.code, results)


@pytest.mark.parametrize("difference", DIFFERENCES)
def test_what_differs_on_purpose(folder: Path, difference: str) -> None:
    """Each difference from sha256sum has a reason, and is there."""
    arguments, template, code, out, reason = DIFFERENCES[difference]
    (folder / "L").write_bytes(filled(template, "sha256sum", "SHA256", folder))
    ours = ask(dedupe(*arguments.split()), folder)
    assert (ours.code, ours.out.decode()) == (code, out), reason
    theirs = ask([*program("sha256sum"), *arguments.split()], folder)
    assert theirs[:2] != ours[:2], "it is no difference any more"


def test_several_lists(folder: Path) -> None:
    """Each is checked, whatever became of those before it; one that is missing, a folder or no list fails."""
    (folder / "good").write_bytes(filled("{x}  x\n", "sha256sum", "", folder))
    for lists in (["good", "good"], ["good", "gone", "good"], ["d", "good"], ["good", "x"], ["gone"]):
        theirs = ask([*program("sha256sum"), "-c", *lists], folder)
        assert ask(dedupe("-c", *lists), folder) == theirs
    os.unlink(folder / "good")


@pytest.mark.parametrize("arguments", [(), ("-",)])
def test_a_list_on_standard_input(folder: Path, arguments: tuple[str, ...]) -> None:
    """It is what is checked where no list is named."""
    made = filled("{x}  x\n{x}  y\n", "sha256sum", "", folder)
    theirs = ask([*program("sha256sum"), "-c", *arguments], folder, made)
    assert ask(dedupe("-c", *arguments), folder, made) == theirs


def test_tags_of_several_algorithms(folder: Path) -> None:
    """A list of several algorithms is checked as cksum checks it."""
    for name in ("sha1", "sha256", "md5", "sha384", "blake2b"):
        with (folder / "L").open("ab" if name != "sha1" else "wb") as file:
            file.write(ask([*program(f"cksum -a {name}"), "x", "y"], folder).out)
    theirs = ask([*program("cksum"), "-c", "L"], folder)
    assert theirs.out.count(b": OK") == 10
    assert ask(dedupe("-c", "L"), folder) == theirs
