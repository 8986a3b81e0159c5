"""What only the cng backend has to keep: handles, statuses and lengths, watched by a strict stand-in for the DLL."""

from __future__ import annotations

import ctypes
import gc
import hashlib
import sys
from concurrent.futures import ThreadPoolExecutor

import pytest

from dedupe.digests import cng
from dedupe.digests.cng import BLOCK, IDLE_MAX, CngBackend
from dedupe.errors import BackendError, DedupeError
from tests.strict_bcrypt import INVALID_HANDLE, INVALID_PARAMETER, NO_MEMORY, StrictBcrypt

UNKNOWN = 0xC0FFEE00


@pytest.fixture
def dll():
    """Make a strict stand-in for bcrypt.dll."""
    return StrictBcrypt()


def test_hash_objects_are_used_again(dll):
    """One hash object serves any number of digests one after another; only duplicates come and go."""
    backend = CngBackend(dll)
    for number in range(50):
        data = b"%d" % number
        assert backend.hasher("sha256", data).digest() == hashlib.sha256(data).digest()
    assert dll.calls.count("BCryptCreateHash") == 1
    assert len(dll.open_hashes) == 1


def test_all_hash_objects_are_freed(dll):
    """Hashers that were finished, copied, abandoned or refused leave no hash object but a few clean ones."""
    backend = CngBackend(dll)
    hashers = [backend.hasher("md5", b"x") for _ in range(3 * IDLE_MAX)]
    hashers += [hasher.copy() for hasher in hashers]
    for hasher in hashers[::2]:
        hasher.digest()
    with pytest.raises(BufferError):
        backend.hasher("md5", memoryview(b"abcd")[::2])
    assert len(dll.open_hashes) > 3 * IDLE_MAX
    del hashers, hasher
    gc.collect()
    assert 0 < len(dll.open_hashes) <= IDLE_MAX
    assert all(found.state.digest() == hashlib.md5().digest() for found in dll.open_hashes.values())


def test_one_provider_an_algorithm(dll):
    """Threads that ask at once for an algorithm open it once."""
    backend = CngBackend(dll)
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda number: backend.hasher(("sha1", "sha512")[number % 2]).digest(), range(64)))
    assert sorted(dll.open_providers.values()) == ["sha1", "sha512"]


def test_blocks_stay_far_below_32_bits(dll):
    """A large update goes to the DLL in pieces of at most BLOCK bytes."""
    data = bytes(BLOCK + 1)
    assert CngBackend(dll).hasher("sha1", data).digest() == hashlib.sha1(data).digest()
    assert dll.largest == BLOCK < 1 << 31


def test_before_windows_8():
    """Where the reusable flag is refused, it is asked for once, and hash objects serve once."""
    dll = StrictBcrypt(reusable_known=False)
    backend = CngBackend(dll)
    for _ in range(5):
        assert backend.hasher("sha256", b"abc").digest() == hashlib.sha256(b"abc").digest()
    # two in the test of the algorithm, one refused, five here
    assert dll.calls.count("BCryptCreateHash") == 8
    assert not dll.open_hashes


@pytest.mark.parametrize(
    ("function", "status", "text"),
    [
        ("BCryptOpenAlgorithmProvider", 0xC0000225, "STATUS_NOT_FOUND (0xC0000225)"),
        ("BCryptCreateHash", NO_MEMORY, "STATUS_NO_MEMORY (0xC0000017)"),
        ("BCryptCreateHash", INVALID_PARAMETER, "STATUS_INVALID_PARAMETER (0xC000000D)"),
        ("BCryptHashData", 0xC00000BB, "STATUS_NOT_SUPPORTED (0xC00000BB)"),
        ("BCryptDuplicateHash", 0xC0000002, "STATUS_NOT_IMPLEMENTED (0xC0000002)"),
        ("BCryptFinishHash", UNKNOWN, "an unknown status (0xC0FFEE00)"),
    ],
)
def test_an_algorithm_that_cannot_be_opened(dll, function, status, text):
    """A failure while an algorithm is opened names call and status, leaves nothing open, and may pass."""
    backend = CngBackend(dll)
    dll.fail[function] = status
    with pytest.raises(BackendError) as caught:
        backend.hasher("sha256")
    assert str(caught.value) == f"the cng backend cannot compute sha256 here: Windows refused {function}: {text}"
    del caught
    assert not dll.open_hashes
    assert not dll.open_providers
    dll.fail.clear()
    assert backend.hasher("sha256", b"abc").digest() == hashlib.sha256(b"abc").digest()


@pytest.mark.parametrize("broken", [{"pretend": "sha512"}, {"pretend": "md5"}, {"reuse_works": False}])
def test_a_dll_that_is_wrong(broken):
    """An algorithm that gives a wrong digest, at first or in a hash object used again, is never used."""
    dll = StrictBcrypt(**broken)
    if broken.get("pretend") == "md5":  # the right length and the wrong digest
        dll.BCryptFinishHash = ctypes.CFUNCTYPE(ctypes.c_int32, *dll.BCryptFinishHash.argtypes)(lambda *_: 0)
    with pytest.raises(BackendError, match="cannot compute sha256 here"):
        CngBackend(dll).hasher("sha256")
    assert not dll.open_hashes
    assert not dll.open_providers


@pytest.mark.parametrize("status", [NO_MEMORY, INVALID_HANDLE])
def test_a_failed_update_ends_the_hasher(dll, status):
    """After a refused update no digest of a part can be had: the hash object is freed, and later calls fail."""
    hasher = CngBackend(dll).hasher("sha256", b"a")
    before = len(dll.open_hashes)
    dll.fail["BCryptHashData"] = status
    with pytest.raises(DedupeError, match=f"BCryptHashData: STATUS_.*{status:X}"):
        hasher.update(b"b")
    dll.fail.clear()
    assert len(dll.open_hashes) == before - 1
    for use in (hasher.digest, hasher.copy, lambda: hasher.update(b"c")):
        with pytest.raises(DedupeError, match="failed before"):
            use()


def test_a_failed_digest_loses_nothing(dll):
    """A refused duplicate or finish raises; the bytes so far stay, and the ended hash object is not used again."""
    hasher = CngBackend(dll).hasher("sha256", b"ab")
    for function in ("BCryptDuplicateHash", "BCryptFinishHash"):
        dll.fail[function] = NO_MEMORY
        with pytest.raises(DedupeError, match=function):
            hasher.digest()
        dll.fail.clear()
    hasher.update(b"c")
    assert hasher.digest() == hashlib.sha256(b"abc").digest()
    assert len(dll.open_hashes) == 1  # the hasher's own: the first one was destroyed


def test_success_is_any_status_from_zero_up():
    """Statuses are signed: information and warnings of 0 or more are successes, the rest errors."""
    cng.check("BCryptHashData", 0)
    cng.check("BCryptHashData", 0x40000000)
    with pytest.raises(DedupeError, match="STATUS_INVALID_HANDLE"):
        cng.check("BCryptHashData", ctypes.c_int32(INVALID_HANDLE).value)


@pytest.mark.skipif(sys.platform != "win32", reason="needs Windows")
def test_the_real_dll_reuses_hash_objects():
    """The real bcrypt.dll resets a finished reusable hash object: many digests, one after another, are right."""
    backend = CngBackend()
    for number in range(500):
        data = b"%d" % number * number
        assert backend.hasher("sha256", data).digest() == hashlib.sha256(data).digest()


@pytest.mark.skipif(sys.platform != "win32", reason="needs Windows")
def test_the_real_dll_names_its_errors():
    """A real refusal comes with call and name: here for a handle that is none."""
    backend = CngBackend()
    hasher = backend.hasher("sha256", b"a")
    hasher.close()
    library = cng._declared(cng._system_library())
    with pytest.raises(DedupeError, match="BCryptHashData: STATUS_INVALID_HANDLE"):
        cng.check("BCryptHashData", library.BCryptHashData(0, 0, 0, 0))
