"""A record survives being written and read, and its tables say what is in it."""

from __future__ import annotations

import io
import json
from dataclasses import replace

import pytest
from rich.console import Console  # noqa: TID251 - what draws is tested by what it draws

from dedupe.bench.control import Effect, Switch, Verdict
from dedupe.bench.draw import draw, draw_comparison
from dedupe.bench.environment import Environment
from dedupe.bench.participants import Use
from dedupe.bench.peers import Peer
from dedupe.bench.record import SCHEMA, Described, Record, from_json, to_json
from dedupe.bench.rounds import Cell
from dedupe.bench.tables import about, cases, compare, differences, notes, rows, turn_text, turns
from dedupe.errors import UsageError

MB = 1_000_000


def record(**changes: object) -> Record:
    """Return a record whose numbers were made up to be easily calculated with."""
    made = Record(
        version="1.0",
        started="2026-08-04T00:00:00+00:00",
        kind="oneshot",
        says="a whole buffer at once",
        seed=20260804,
        rounds=3,
        baseline="sha256/openssl",
        environment=Environment("A CPU", ("sha_ni",), 4, "Linux", "CPython 3.13", "OpenSSL 3", "0.8.3", ("Careful.",)),
        participants=(
            Described("sha256/openssl", "sha256", "OpenSSL 3", Use.CRYPTOGRAPHIC),
            Described("sha256/builtin", "sha256", "Python 3.13", Use.CRYPTOGRAPHIC),
            Described("xxh3/xxhash", "xxh3", "xxHash", Use.CHECKSUM),
        ),
        cells=(
            Cell("sha256/openssl", "10 MB", 10 * MB, 1, (0.010, 0.010, 0.010), "aa"),
            Cell("sha256/builtin", "10 MB", 10 * MB, 1, (0.040, 0.020, 0.080), "aa"),
            Cell("xxh3/xxhash", "10 MB", 10 * MB, 1, (0.001, 0.001, 0.002), "bb"),
        ),
        peers=(
            Peer("sha256/node", "v20", 10 * MB, True, (0.01, 0.02), (0.1, 0.1)),  # noqa: FBT003
            Peer("sha256/dotnet", "", 10 * MB, True, (), (), "it printed nothing"),  # noqa: FBT003
            Peer("sha256/certutil", "", 10 * MB, False, (0.5, 0.5), ()),  # noqa: FBT003
        ),
    )
    return replace(made, **changes)  # type: ignore[arg-type]


def small(**seconds: tuple[float, float, float]) -> Record:
    """Return a record of the kind `small` with these times at 64, 512 and 4096 bytes."""
    sizes = (64, 512, 4096)
    cells = [
        Cell(name.replace("_", "/"), f"{size} B", size * 10, 10, (time, 2 * time), "aa")
        for name, times in seconds.items()
        for size, time in zip(sizes, times, strict=True)
    ]
    names = [name.replace("_", "/") for name in seconds]
    described = tuple(Described(name, name.partition("/")[0], "", Use.CRYPTOGRAPHIC) for name in names)
    return record(kind="small", cells=tuple(cells), participants=described, peers=(), baseline=names[0])


def drawn(found: Record, *, terminal: bool = False, encoding: str = "utf-8") -> str:
    """Return what is drawn of a record."""
    raw = io.BytesIO()
    file = io.TextIOWrapper(raw, encoding=encoding, errors="strict")
    draw(found, Console(file=file, force_terminal=terminal, width=160, no_color=True, highlight=False))
    file.flush()
    return raw.getvalue().decode(encoding)


CONTROL = record(
    kind="control",
    cells=(),
    peers=(),
    switch=Switch("OPENSSL_ia32cap", "~0", "the AES instructions"),
    effects=(Effect("aes128", 0.001, 0.004, 4.0, Verdict.ACTS), Effect("sha256/openssl", 1, 1, 1, Verdict.IGNORED)),
)


@pytest.mark.parametrize("found", [record(), CONTROL, record(seed=None)], ids=["oneshot", "control", "random"])
def test_json_and_back(found: Record) -> None:
    """A record that was written is read as the same record, with every round in it."""
    text = to_json(found)
    assert from_json(text, "a.json") == found
    assert json.loads(text)["schema"] == SCHEMA


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        "null",
        '{"schema": "dedupe-bench/2"}',
        '{"schema": "dedupe-report/1"}',
        f'{{"schema": "{SCHEMA}"}}',
    ],
)
def test_other_files_are_no_records(text: str) -> None:
    """Anything else is refused by its name."""
    with pytest.raises(UsageError, match=r"a\.json"):
        from_json(text, "a.json")


def test_rows() -> None:
    """The rows of a case come fastest first, with rates of the median and ratios pair by pair."""
    found = rows(record(), "10 MB")
    assert [row.cell.participant for row in found] == ["xxh3/xxhash", "sha256/openssl", "sha256/builtin"]
    assert [row.rate for row in found] == pytest.approx([10.0, 1.0, 0.25])
    assert [row.ratio for row in found] == pytest.approx([10.0, 1.0, 0.25])


def test_turns_with_known_numbers() -> None:
    """Where overhead decides at 64 bytes and speed at 4096, the crossover of each pair is found."""
    found = small(sha256_cng=(4.0, 4.0, 4.0), sha256_openssl=(1.0, 4.0, 16.0), xxh3_xxhash=(0.1, 0.1, 0.1))
    first, *others = turns(found)
    assert (first.first, first.second, first.faster_when_small) == ("sha256/cng", "sha256/openssl", "sha256/openssl")
    assert first.sizes == (pytest.approx(512),)
    assert turn_text(first) == "sha256/openssl is faster below 512 B, sha256/cng above"
    assert [turn.sizes for turn in others] == [(), ()]


def test_turns_only_where_sizes_are_of_inputs() -> None:
    """Cases that are not sizes of inputs have no crossovers."""
    assert turns(record()) == []


@pytest.mark.parametrize(
    ("size", "text"), [(512.4, "512 B"), (1536, "1.5 KiB"), (200 * 1024, "200 KiB"), (3 << 20, "3 MiB")]
)
def test_calculated_sizes_are_rounded(size: float, text: str) -> None:
    """A size that was calculated is not told more exactly than it is known."""
    assert about(size) == text


def test_notes() -> None:
    """Noise, failed programs and starts that are not known are told in sentences."""
    noisy, failed, unknown = notes(record())
    assert noisy.startswith("1 of 3 medians")
    assert "sha256/builtin, 10 MB" in noisy
    assert failed == "sha256/dotnet gave no time: it printed nothing."
    assert "sha256/certutil refuses an empty file" in unknown


def test_comparison() -> None:
    """Two records are held against each other cell by cell, and what differs around them is named."""
    cells = tuple(replace(cell, seconds=tuple(s / 2 for s in cell.seconds)) for cell in record().cells[:2])
    new = record(cells=cells, started="2026-08-05T00:00:00+00:00")
    assert [(change.participant, change.ratio) for change in compare(record(), new)] == [
        ("sha256/openssl", pytest.approx(2.0)),
        ("sha256/builtin", pytest.approx(2.0)),
    ]
    assert [name for name, _, _ in differences(record(), new)] == ["date"]
    assert compare(record(), record(kind="stream")) == []


def test_drawing_says_everything() -> None:
    """The drawing has every participant and program, who can be trusted, and the notes."""
    text = drawn(record())
    for part in ("A CPU (4 cores); sha_ni", "10 MB", "OpenSSL 3", "x sha256/openssl", "10.00", "it failed", "Careful."):
        assert part in text
    assert "checksum (xxh3): finds accidents only" in text
    assert "cryptographic (sha256): nobody knows" in text


def test_bars_only_on_a_terminal() -> None:
    """Bars are drawn on a terminal, in characters that it has; elsewhere there are none, and no escapes."""
    assert "\u2588" in drawn(record(), terminal=True)
    assert "####" in drawn(record(), terminal=True, encoding="cp1252")
    plain = drawn(record(), encoding="ascii")
    assert "####" not in plain
    assert "\x1b" not in plain


def test_many_cases_share_a_table() -> None:
    """With many cases there is a column for each, and small inputs are told in microseconds."""
    found = small(sha256_cng=(4.0, 4.0, 4.0), sha256_openssl=(1.0, 4.0, 16.0))
    assert "sha256/openssl is faster below 512 B, sha256/cng above" in drawn(found)
    five = [Cell("sha256/openssl", f"{n} B", n * 1000, 1000, (0.002,), "") for n in range(1, 6)]
    text = drawn(replace(found, cells=tuple(five), participants=found.participants[1:], baseline=""))
    assert "us an input" in text
    assert cases(replace(found, cells=tuple(five))) == ["1 B", "2 B", "3 B", "4 B", "5 B"]


def test_control_is_drawn_with_its_verdicts() -> None:
    """Of a control the switch and the verdicts are drawn."""
    text = drawn(CONTROL)
    assert "OPENSSL_ia32cap=~0 takes the AES instructions away" in text
    assert "the switch has an effect" in text
    assert "the switch is ignored here" in text


def test_comparison_is_drawn() -> None:
    """Two records stand side by side, or it is said that they have nothing in common."""
    for other, part in ((record(version="2.0"), "1.00"), (record(kind="small"), "nothing in common")):
        file = io.StringIO()
        draw_comparison(record(), other, Console(file=file, width=160, no_color=True))
        assert part in file.getvalue()
