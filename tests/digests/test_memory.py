"""Addresses and comparing by address, on every kind of buffer and at every edge."""

from __future__ import annotations

import ctypes
import mmap
import random
import sys
import threading
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupe.digests.memory import Pinned, equal

DATA = random.Random(2).randbytes(70_000)


def content(pinned):
    """Return the bytes that a Pinned points at."""
    return ctypes.string_at(pinned.address, pinned.length)


@pytest.fixture
def mapped(tmp_path):
    """Map DATA for reading."""
    path = tmp_path / "f"
    path.write_bytes(DATA)
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as found:
        yield found


def test_every_kind_of_buffer(mapped):
    """Bytes, bytearray, slices of memoryviews, wide items and read-only maps give their own memory's address."""
    view = memoryview(DATA)
    for data in (DATA, bytearray(DATA), view, view[3:], view[5:5000], view.cast("I"), mapped, memoryview(bytearray(9))):
        with Pinned(data) as pinned:
            assert pinned.length == memoryview(data).nbytes
            assert content(pinned) == bytes(data)
    with memoryview(mapped) as whole, whole[7:] as odd, Pinned(mapped) as first, Pinned(odd) as second:
        assert second.address == first.address + 7


def test_what_is_no_buffer():
    """A str is a TypeError, a buffer with gaps a BufferError, and neither leaves anything pinned."""
    array = bytearray(8)
    with memoryview(array) as view, view[::2] as gaps:
        for wrong, error in (("text", TypeError), (5, TypeError), (gaps, BufferError)):
            with pytest.raises(error):
                Pinned(wrong)
    array.append(1)


def test_empty_buffers():
    """Nothing has length 0 and equals nothing, whatever its address."""
    with Pinned(b"") as nothing, Pinned(bytearray()) as none, Pinned(memoryview(DATA)[9:9]) as slice_:
        assert nothing.length == none.length == slice_.length == 0
        assert equal(nothing.address, none.address, 0)


def test_the_owner_is_held_and_let_go(mapped):
    """While pinned a map cannot be closed nor an array resized; after closing, leaving or dropping they can."""
    array = bytearray(10)
    pinned = Pinned(array)
    with pytest.raises(BufferError):
        array.append(1)
    pinned.close()
    array.append(1)
    with pytest.raises(RuntimeError, match="inside"), Pinned(array):
        raise RuntimeError("inside")
    array.append(2)
    dropped = Pinned(mapped)
    with pytest.raises(BufferError):
        mapped.close()
    del dropped
    mapped.close()


def test_closing_twice_is_harmless():
    """A second close does nothing, and a closed one has no address or length to misuse."""
    pinned = Pinned(DATA)
    pinned.close()
    pinned.close()
    assert (pinned.address, pinned.length) == (0, 0)


def test_references_are_balanced():
    """Pinning and letting go leaves the owner's count of references as it was."""
    data = bytes(100)
    before = sys.getrefcount(data)
    for _ in range(1000):
        Pinned(data).close()
        Pinned(data)
    assert sys.getrefcount(data) == before


@settings(deadline=None)
@given(st.binary(min_size=1, max_size=300), st.integers(0, 299), st.integers(1, 255))
def test_one_changed_byte_is_seen(data, place, change):
    """Equal bytes are equal, and a change of any one byte is seen."""
    other = bytearray(data)
    with Pinned(data) as a, Pinned(other) as b:
        assert equal(a.address, b.address, a.length)
        other[place % len(data)] ^= change
        assert not equal(a.address, b.address, a.length)
        assert equal(a.address, b.address, place % len(data))


def test_a_negative_length_is_refused():
    """A negative length is an error, not a comparison of nearly all memory."""
    with pytest.raises(ValueError, match="-1"):
        equal(1, 1, -1)


@pytest.mark.skipif(sys.platform == "win32", reason="anonymous maps are charged in full there")
def test_lengths_beyond_4_gib():
    """A length beyond 4 GiB is taken whole: cut to its low 32 bits it would end before the difference."""
    size = (1 << 32) + 4096
    private = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | getattr(mmap, "MAP_NORESERVE", 0)  # zeros that take no memory
    with mmap.mmap(-1, size, flags=private) as a, mmap.mmap(-1, size, flags=private) as b:
        b[1 << 20] = 1
        with Pinned(a) as first, Pinned(b) as second:
            assert first.length == second.length == size
            assert equal(first.address, second.address, 4096)
            assert not equal(first.address, second.address, size)


def test_other_threads_run_meanwhile():
    """Comparing gives up the GIL: another thread gets on while large windows are compared."""
    data, steps, done = bytearray(64 << 20), [], threading.Event()

    def count():
        while not done.is_set():
            steps.append(len(steps))
            time.sleep(0.0001)

    with Pinned(data) as a, Pinned(bytearray(len(data))) as b:
        counter = threading.Thread(target=count)
        interval = sys.getswitchinterval()
        sys.setswitchinterval(100)  # the GIL is not taken away: it has to be given up
        try:
            counter.start()
            before = len(steps)
            for _ in range(3):
                assert equal(a.address, b.address, a.length)
            assert len(steps) > before
        finally:
            done.set()
            sys.setswitchinterval(interval)
            counter.join()
