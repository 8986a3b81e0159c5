"""Digests by Windows' own cryptography, CNG, in bcrypt.dll.  Never copies its input, and keeps no invalid handle.

The calls and their rules: https://learn.microsoft.com/windows/win32/api/bcrypt/.  A handle here is an int.
"""

from __future__ import annotations

import ctypes
import sys
import threading
from typing import TYPE_CHECKING, Any

from dedupe.digests.memory import Pinned
from dedupe.digests.registry import load, lookup
from dedupe.errors import BackendError, DedupeError

if TYPE_CHECKING:
    from typing_extensions import Buffer

BLOCK = 1 << 26  # bytes a call: a length is 32 bits wide there, and a short call lets Ctrl-C through
IDLE_MAX = 16  # clean hash objects kept for reuse, per algorithm

_REUSABLE = 0x20  # BCRYPT_HASH_REUSABLE_FLAG, from Windows 8
_INVALID_PARAMETER = 0xC000000D
_SYSTEM32_ONLY = 0x800  # LOAD_LIBRARY_SEARCH_SYSTEM32: no bcrypt.dll from the current folder

_STATUS_NAMES = {
    0xC0000001: "STATUS_UNSUCCESSFUL",
    0xC0000002: "STATUS_NOT_IMPLEMENTED",
    0xC0000008: "STATUS_INVALID_HANDLE",
    0xC000000D: "STATUS_INVALID_PARAMETER",
    0xC0000017: "STATUS_NO_MEMORY",
    0xC0000023: "STATUS_BUFFER_TOO_SMALL",
    0xC00000BB: "STATUS_NOT_SUPPORTED",
    0xC0000225: "STATUS_NOT_FOUND",
}

_HANDLE, _POINTER, _ULONG = ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32
_PROTOTYPES = {
    "BCryptOpenAlgorithmProvider": (_POINTER, ctypes.c_wchar_p, ctypes.c_wchar_p, _ULONG),
    "BCryptCloseAlgorithmProvider": (_HANDLE, _ULONG),
    "BCryptCreateHash": (_HANDLE, _POINTER, _POINTER, _ULONG, _POINTER, _ULONG, _ULONG),
    "BCryptHashData": (_HANDLE, _POINTER, _ULONG, _ULONG),
    "BCryptDuplicateHash": (_HANDLE, _POINTER, _POINTER, _ULONG, _ULONG),
    "BCryptFinishHash": (_HANDLE, _POINTER, _ULONG, _ULONG),
    "BCryptDestroyHash": (_HANDLE,),
}

# algorithm: CNG's name, and the digest of b"abc" (FIPS 180-4 examples; RFC 1321)
_ALGORITHMS = {
    "md5": ("MD5", "900150983cd24fb0d6963f7d28e17f72"),
    "sha1": ("SHA1", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    "sha256": ("SHA256", "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"),
    "sha384": (
        "SHA384",
        "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
    ),
    "sha512": (
        "SHA512",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ),
}


class _Provider:
    """One algorithm: its handle, open as long as the process lives, and clean hash objects that wait for another use.

    Safe for threads: CNG is, where no two calls use one hash object at once, and a hash object has one owner.
    """

    def __init__(self, library: Any, cng_name: str, digest_size: int, *, reuse: bool = True) -> None:
        self.library = library
        self._digest_size = digest_size
        self._create_flags = _REUSABLE if reuse else 0
        self._idle: list[int] = []  # its append and pop are atomic
        handle = ctypes.c_void_p()
        status = library.BCryptOpenAlgorithmProvider(ctypes.addressof(handle), cng_name, None, 0)
        check("BCryptOpenAlgorithmProvider", status)
        self._handle = handle.value

    def acquire(self) -> tuple[int, bool]:
        """Return a clean hash object, and whether it may be used again once it is finished."""
        try:
            return self._idle.pop(), True
        except IndexError:
            pass
        handle = ctypes.c_void_p()
        # no memory for the object is given: CNG then takes its own, of the size that it needs
        arguments = (self._handle, ctypes.addressof(handle), None, 0, None, 0)
        flags = self._create_flags
        status = self.library.BCryptCreateHash(*arguments, flags)
        if flags and status & 0xFFFFFFFF == _INVALID_PARAMETER:
            flags = self._create_flags = 0  # before Windows 8 a hash object serves once
            status = self.library.BCryptCreateHash(*arguments, flags)
        check("BCryptCreateHash", status)
        return handle.value or 0, flags == _REUSABLE

    def duplicate(self, handle: int) -> int:
        """Return a second hash object in the same state; for one use, as no page says that it may be used again."""
        new = ctypes.c_void_p()
        check("BCryptDuplicateHash", self.library.BCryptDuplicateHash(handle, ctypes.addressof(new), None, 0, 0))
        return new.value or 0

    def finish(self, handle: int) -> bytes:
        """Return the digest; a reusable hash object is clean then, any other is dead."""
        digest = ctypes.create_string_buffer(self._digest_size)
        status = self.library.BCryptFinishHash(handle, ctypes.addressof(digest), self._digest_size, 0)
        check("BCryptFinishHash", status)
        return digest.raw

    def put_back(self, handle: int) -> None:
        """Keep a clean, reusable hash object for another use."""
        if len(self._idle) < IDLE_MAX:
            self._idle.append(handle)
        else:
            self.destroy(handle)

    def destroy(self, handle: int) -> None:
        """Free a hash object in any state."""
        self.library.BCryptDestroyHash(handle)

    def close(self) -> None:
        """Free all that is held: for an algorithm that failed its test."""
        while self._idle:
            self.destroy(self._idle.pop())
        self.library.BCryptCloseAlgorithmProvider(self._handle, 0)


class CngHasher:
    """A hasher that owns one hash object, which it frees or gives back at the end."""

    __slots__ = ("_handle", "_provider", "_reusable")

    def __init__(self, provider: _Provider, clone: int | None = None) -> None:
        self._provider = provider
        self._handle = 0  # 0: no hash object, since a call failed
        self._handle, self._reusable = provider.acquire() if clone is None else (provider.duplicate(clone), False)

    def update(self, data: Buffer, /) -> None:
        """Take in a C-contiguous buffer of any size without copying it."""
        handle, hash_data = self._alive(), self._provider.library.BCryptHashData
        with Pinned(data) as pinned:
            for start in range(0, pinned.length, BLOCK):
                status = hash_data(handle, pinned.address + start, min(BLOCK, pinned.length - start), 0)
                if status < 0:
                    self.close()  # what the hash object holds is not known any more
                    check("BCryptHashData", status)

    def copy(self) -> CngHasher:
        """Return a second hasher that continues from here on its own."""
        return CngHasher(self._provider, self._alive())

    def digest(self) -> bytes:
        """Return the digest of the bytes so far; as this ends the hash object, a duplicate takes its place."""
        ended, reusable = self._alive(), self._reusable
        self._handle, self._reusable = self._provider.duplicate(ended), False
        clean = False
        try:
            digest = self._provider.finish(ended)
            clean = reusable
        finally:
            (self._provider.put_back if clean else self._provider.destroy)(ended)
        return digest

    def close(self) -> None:
        """Free the hash object, which may hold data: only a finished one is clean."""
        handle, self._handle = self._handle, 0
        if handle:
            self._provider.destroy(handle)

    def _alive(self) -> int:
        if not self._handle:
            raise DedupeError("this digest failed before and cannot be continued")
        return self._handle

    def __del__(self) -> None:
        self.close()


class CngBackend:
    """CNG, an algorithm at a time: one is opened and tested when it is first asked for.

    Without `reuse` every digest has a hash object of its own, to measure what reusing them gains.

    Raises:
        BackendError: this is not Windows, or its bcrypt.dll cannot be loaded.
    """

    name = "cng"
    algorithms = frozenset(_ALGORITHMS)

    def __init__(self, library: Any = None, *, reuse: bool = True) -> None:
        self._library = _declared(library or _system_library())
        self._reuse = reuse
        self._providers: dict[str, _Provider] = {}
        self._opening = threading.Lock()

    def hasher(self, algorithm: str, data: Buffer = b"", /, *, size_hint: int | None = None) -> CngHasher:  # noqa: ARG002
        """Return a new hasher that has taken in `data`."""
        made = CngHasher(self._providers.get(algorithm) or self._open(algorithm))
        made.update(data)
        return made

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return load, (self.name,)

    def _open(self, algorithm: str) -> _Provider:
        cng_name, vector = lookup(_ALGORITHMS, algorithm, self)
        with self._opening:
            if algorithm not in self._providers:
                try:
                    self._providers[algorithm] = _tested(
                        self._library, cng_name, bytes.fromhex(vector), reuse=self._reuse
                    )
                except DedupeError as error:
                    raise BackendError(f"the cng backend cannot compute {algorithm} here: {error}") from error
            return self._providers[algorithm]


def _tested(library: Any, cng_name: str, vector: bytes, *, reuse: bool) -> _Provider:
    """Open an algorithm and test it by a known digest: at once, continued after a digest, and with a reused object."""
    provider = _Provider(library, cng_name, len(vector), reuse=reuse)
    try:
        for first, rest in ((b"abc", b""), (b"a", b"bc")):  # the second time with the first one's hash object
            hasher = CngHasher(provider)
            try:
                hasher.update(first)
                hasher.digest()
                hasher.update(rest)
                if hasher.digest() != vector:
                    raise DedupeError("its digest of a known text is wrong")
            finally:
                hasher.close()
    except BaseException:
        provider.close()
        raise
    return provider


def _system_library() -> Any:
    if sys.platform == "win32":
        try:
            return ctypes.WinDLL("bcrypt.dll", winmode=_SYSTEM32_ONLY)
        except OSError as error:
            raise BackendError(f"the cng backend cannot load bcrypt.dll: {error}") from error
    raise BackendError("the cng backend is part of Windows, and this is not Windows")


def _declared(library: Any) -> Any:
    """Give the functions their types: without them ctypes would pass 32 bits of a 64-bit handle or pointer."""
    for name, types in _PROTOTYPES.items():
        function = getattr(library, name)
        function.argtypes = types
        function.restype = ctypes.c_int32  # an NTSTATUS; success is 0 or more
    return library


def check(function: str, status: int) -> None:
    """Raise a DedupeError with the function's name and the meaning of an NTSTATUS, unless it is a success."""
    if status < 0:
        code = status & 0xFFFFFFFF
        name = _STATUS_NAMES.get(code, "an unknown status")
        raise DedupeError(f"Windows refused {function}: {name} (0x{code:08X})")
