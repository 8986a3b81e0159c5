"""What users type: sizes and lists of paths."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dedupe.cache import store
from dedupe.cli import values
from dedupe.errors import NothingUsableError, UsageError
from tests.conftest import write


@pytest.mark.parametrize(
    ("text", "wanted"),
    [
        ("0", 0),
        ("4096", 4096),
        ("10k", 10240),
        ("10K", 10240),
        ("10kB", 10240),
        ("4M", 4 << 20),
        ("1GiB", 1 << 30),
        ("1.5M", 3 << 19),
        ("0.1k", 102),
        (" 2 T ", 2 << 40),
        ("1P", 1 << 50),
        ("8E", 8 << 60),
        ("1.00000000000000000000000000001k", 1024),
        ("0.99999999999999999999999999999999k", 1023),
        ("9007199254740993", 9007199254740993),  # more than a float holds
    ],
)
def test_sizes_are_bytes_with_k_as_1024(text: str, wanted: int) -> None:
    """Letters in either case, with or without B or iB, fractions cut to whole bytes."""
    assert values.size(text) == wanted


@pytest.mark.parametrize("text", ["", "k", "-1", "1e3", "ten", "1 k k", "0x10", "1,5M", "nan", "1Z", "9" * 5000, "1."])
def test_what_is_no_size_is_wrong_usage(text: str) -> None:
    """The sentence shows what was typed and what would be right."""
    with pytest.raises(UsageError, match="is not a size"):
        values.size(text)


@given(st.integers(0, 2**40), st.sampled_from(["", "k", "M", "G", "T"]))
def test_whole_numbers_are_exact(number: int, unit: str) -> None:
    """No size is rounded."""
    assert values.size(f"{number}{unit}") == number << 10 * " kMGT".index(unit or " ")


# what Windows keeps is UTF-16, whose lone halves of pairs pass; elsewhere a name is any bytes
names = (
    st.text(st.characters(), min_size=1, max_size=9).map(os.fsencode)
    if sys.platform == "win32"
    else st.binary(min_size=1, max_size=9)
)


def path_list(folder: Path, data: bytes, *, null: bool = False) -> list[bytes]:
    """Read a list from a file."""
    return values.path_list(str(write(folder / "list", data)), null=null)


@given(st.lists(names.filter(lambda n: b"\0" not in n)))
def test_nul_keeps_every_name(tmp_path_factory: pytest.TempPathFactory, listed: list[bytes]) -> None:
    """Names ended by NUL come back exactly, new lines and carriage returns in them too."""
    data = b"".join(n + b"\0" for n in listed)
    assert path_list(tmp_path_factory.getbasetemp(), data, null=True) == listed


@pytest.mark.parametrize(
    ("data", "wanted"),
    [
        (b"a\nb\n", [b"a", b"b"]),
        (b"a\r\nb\r\n", [b"a", b"b"]),
        (b"\xef\xbb\xbfa\r\nb", [b"a", b"b"]),
        (b"a\rb\n", [b"a\rb"]),
        (b"a\x0bb\x0cc\x1cd\xc2\x85e\n", [b"a\x0bb\x0cc\x1cd\xc2\x85e"]),
        (b"icon\r\nb\n", [b"icon\r", b"b"]),
        (b" a \n", [b" a "]),
        (b"", []),
    ],
)
def test_lines_end_in_new_lines(tmp_path: Path, data: bytes, wanted: list[bytes]) -> None:
    """Only a new line ends a name; a carriage return before it belongs to it where every line has one."""
    assert path_list(tmp_path, data) == wanted


def test_a_list_that_is_not_there(tmp_path: Path) -> None:
    """One sentence tells which."""
    with pytest.raises(NothingUsableError, match=r"The list .*gone cannot be read: No such file"):
        values.path_list(str(tmp_path / "gone"), null=False)


def test_rules_called_minus_are_a_file(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Standard input can be read once only, and is for paths: a second list from it would be empty without a word."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(NothingUsableError, match=r"The list - cannot be read: No such file"):
        values.exclude_lines(["-"])
    (tmp_path / "-").write_text("*.tmp\n", encoding="utf-8")
    assert values.exclude_lines(["-"]) == ["*.tmp"]


def test_the_cache_lies_where_the_user_says(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A name counts from the current folder, without one the user's own is meant, and refused is refused."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(store, "default_path", lambda: "/own/store.db")
    assert values.cache_file("c.db") == values.wanted_cache("c.db", no_cache=False) == str(tmp_path / "c.db")
    assert values.cache_file(None) == values.wanted_cache(None, no_cache=False) == "/own/store.db"
    assert values.wanted_cache(None, no_cache=True) is None
    with pytest.raises(UsageError, match="contradict each other"):
        values.wanted_cache("c.db", no_cache=True)
    with pytest.raises(UsageError, match="names no file"):
        values.cache_file("")
