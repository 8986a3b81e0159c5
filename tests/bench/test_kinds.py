"""Kinds of work do the same work for everybody."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedupe.bench.block import block
from dedupe.bench.kinds import KINDS, SMALL_CALLS, SMALL_TOTAL, Material, size_text
from dedupe.bench.participants import Participant, participants
from dedupe.bench.rounds import measure

WHO = [one for one in participants() if one.name in ("sha256/openssl", "sha256/builtin", "xxh3/xxhash")]
DATA = block(200_000)


class Spy:
    """A hash that keeps what it was given."""

    def __init__(self) -> None:
        self.updates: list[tuple[type, bytes]] = []

    def update(self, data: bytes | memoryview, /) -> None:
        """Keep a piece."""
        self.updates.append((type(data), bytes(data)))

    def digest(self) -> bytes:
        """Return nothing of interest."""
        return b"digest"


@pytest.fixture
def spied() -> tuple[Participant, list[Spy]]:
    """Return a participant that is watched, and its streams."""
    streams: list[Spy] = []

    def start() -> Spy:
        streams.append(Spy())
        return streams[-1]

    def whole(data: bytes | memoryview) -> bytes:
        start().update(data)
        return b"digest"

    return Participant("sha256", "spy", "", whole, start), streams


@pytest.fixture
def material(tmp_path: Path) -> Material:
    """Return 200,000 bytes, in memory and in a file."""
    path = tmp_path / "block.bin"
    path.write_bytes(DATA)
    return Material(memoryview(DATA), str(path), 2)


@pytest.mark.parametrize("kind", KINDS)
def test_all_agree(kind: str, material: Material) -> None:
    """Whatever the kind of work, everybody computes the same digests, and the bytes of a run are counted."""
    tasks = list(KINDS[kind].tasks(WHO, material, [1000, 70_000]))
    cells = measure(tasks, 1)
    assert {cell.participant for cell in cells} == {one.name for one in WHO}
    assert all(cell.size >= 1000 for cell in cells)
    assert len({(cell.participant, cell.case) for cell in cells}) == len(cells)


@pytest.mark.parametrize(
    ("kind", "size", "pieces"),
    [
        ("oneshot", 70_000, [70_000]),
        ("stream", 200_000, [200_000]),
        ("chunks", 70_000, [70_000, 70_000, 60_000]),
    ],
)
def test_pieces(
    kind: str, size: int, pieces: list[int], spied: tuple[Participant, list[Spy]], material: Material
) -> None:
    """Each kind hands over the bytes in the pieces that it names, without copying them."""
    one, streams = spied
    for task in KINDS[kind].tasks([one], material, [size]):
        task.run()
    ((spy),) = streams
    assert [len(piece) for _, piece in spy.updates] == pieces
    assert b"".join(piece for _, piece in spy.updates) == DATA[: sum(pieces)]
    assert {form for form, _ in spy.updates} == {memoryview}


def test_small_inputs_differ_and_are_counted(spied: tuple[Participant, list[Spy]], material: Material) -> None:
    """Small inputs are many, each a digest of its own, with as many bytes in all as are counted."""
    one, streams = spied
    (task,) = KINDS["small"].tasks([one], material, [64])
    assert len(task.run()) == len(b"digest") * SMALL_CALLS
    assert task.calls == SMALL_CALLS == len(streams)
    assert task.size == 64 * SMALL_CALLS <= SMALL_TOTAL
    assert len({spy.updates[0][1] for spy in streams}) > 1000


def test_copy_is_the_only_difference(spied: tuple[Participant, list[Spy]], material: Material) -> None:
    """The control hands over the same pieces, once as they are and once as copies."""
    one, streams = spied
    for task in KINDS["copy"].tasks([one], material, [len(DATA)]):
        task.run()
    plain, copied = streams
    assert [piece for _, piece in plain.updates] == [piece for _, piece in copied.updates]
    assert ({form for form, _ in plain.updates}, {form for form, _ in copied.updates}) == ({memoryview}, {bytes})


@pytest.mark.parametrize("size", [1, 1000, 65_536, 1 << 20])
def test_every_way_of_reading_reads_all(
    size: int, spied: tuple[Participant, list[Spy]], material: Material, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By read, readinto and maps the whole file is hashed, also in windows smaller than it."""
    monkeypatch.setattr("dedupe.bench.kinds.WINDOW", 1 << 16)
    one, streams = spied
    tasks = list(KINDS["file"].tasks([one], material, [max(size, 100)]))
    for task in tasks:
        task.run()
    assert [task.case.split()[0] for task in tasks] == ["read", "readinto", "mapped"]
    assert [b"".join(piece for _, piece in spy.updates) for spy in streams] == [DATA] * 3


def test_threads_hash_once_each(spied: tuple[Participant, list[Spy]], material: Material) -> None:
    """One thread to one a core, each over all bytes, whose sum counts."""
    one, streams = spied
    tasks = list(KINDS["threads"].tasks([one], material, [1000]))
    for task in tasks:
        task.run()
    assert [(task.case, task.size) for task in tasks] == [("1000 B, 1 thread", 1000), ("1000 B, 2 threads", 2000)]
    assert len(streams) == 3


@pytest.mark.parametrize(
    ("size", "text"),
    [(1, "1 B"), (1000, "1000 B"), (1024, "1 KiB"), (1536, "1536 B"), (64 << 20, "64 MiB"), (1 << 30, "1 GiB")],
)
def test_sizes_as_people_write_them(size: int, text: str) -> None:
    """Sizes are exact: what is no whole number of a unit is written in a smaller one."""
    assert size_text(size) == text


def test_default_sizes_fit_their_input() -> None:
    """The input is as large as the largest size needs."""
    for kind in KINDS.values():
        assert kind.input_size(kind.sizes) >= max(kind.sizes)
