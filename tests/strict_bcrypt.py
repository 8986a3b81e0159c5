"""bcrypt.dll's hash functions as their documentation has them, so that the cng backend runs, and is watched, anywhere.

Real C function pointers: arguments go through ctypes as on Windows, so that a length beyond 32 bits would be cut short.
Stricter than Wine, which takes a finished hash object or a wrong size for good.  Counts what is open.
"""

# ruff: noqa: ARG002, N802, PLR0917 - the functions have the names and the arguments of the DLL's
from __future__ import annotations

import ctypes
import hashlib
import itertools
from dataclasses import dataclass, field
from typing import Any

OK, NO_MEMORY, INVALID_HANDLE, INVALID_PARAMETER, NOT_FOUND = 0, 0xC0000017, 0xC0000008, 0xC000000D, 0xC0000225
REUSABLE = 0x20
POINTER, ULONG, TEXT = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_wchar_p


@dataclass
class HashObject:
    """The state behind a hash handle."""

    algorithm: str
    reusable: bool
    state: Any = field(default=None)
    dead: bool = False


class StrictBcrypt:
    """A stand-in for the loaded DLL.  `fail` maps a function's name to a status that it is to return."""

    def __init__(self, *, reusable_known=True, reuse_works=True, pretend=None):
        self.fail: dict[str, int] = {}
        self.calls: list[str] = []
        self.largest = 0
        self.open_hashes: dict[int, HashObject] = {}
        self.open_providers: dict[int, str] = {}
        self._reusable_known, self._reuse_works, self._pretend = reusable_known, reuse_works, pretend
        self._handles = itertools.count(0x7FF0_0000_0001)  # needs more than 32 bits
        for name, types in {
            "BCryptOpenAlgorithmProvider": (POINTER, TEXT, TEXT, ULONG),
            "BCryptCloseAlgorithmProvider": (POINTER, ULONG),
            "BCryptCreateHash": (POINTER, POINTER, POINTER, ULONG, POINTER, ULONG, ULONG),
            "BCryptHashData": (POINTER, POINTER, ULONG, ULONG),
            "BCryptDuplicateHash": (POINTER, POINTER, POINTER, ULONG, ULONG),
            "BCryptFinishHash": (POINTER, POINTER, ULONG, ULONG),
            "BCryptDestroyHash": (POINTER,),
        }.items():
            setattr(self, name, ctypes.CFUNCTYPE(ctypes.c_int32, *types)(self._entry(name)))

    def _entry(self, name):
        """Return the Python side of a function: count it, fail if told to, else do it."""

        def entry(*arguments):
            self.calls.append(name)
            status = self.fail.get(name) or getattr(self, f"_{name}")(*arguments)
            return ctypes.c_int32(status).value

        return entry

    def _BCryptOpenAlgorithmProvider(self, out, name, implementation, flags):
        """Open an algorithm by CNG's name for it."""
        if name not in {"MD5", "SHA1", "SHA256", "SHA384", "SHA512"}:
            return NOT_FOUND
        self.open_providers[self._new(out)] = (self._pretend or name).lower()
        return OK

    def _BCryptCloseAlgorithmProvider(self, handle, flags):
        """Close an open algorithm; closing it twice is an error."""
        return OK if self.open_providers.pop(handle, None) else INVALID_HANDLE

    def _BCryptCreateHash(self, provider, out, memory, memory_size, secret, secret_size, flags):
        """Make a hash object; CNG's own memory, no secret, and no flag but the reusable one."""
        if provider not in self.open_providers:
            return INVALID_HANDLE
        if (
            memory
            or memory_size
            or secret
            or secret_size
            or flags not in ({0, REUSABLE} if self._reusable_known else {0})
        ):
            return INVALID_PARAMETER
        algorithm = self.open_providers[provider]
        self.open_hashes[self._new(out)] = HashObject(algorithm, flags == REUSABLE, hashlib.new(algorithm))
        return OK

    def _BCryptHashData(self, handle, data, size, flags):
        """Take in `size` bytes at an address, unless the object is finished."""
        found = self.open_hashes.get(handle)
        if found is None or found.dead:
            return INVALID_HANDLE
        if flags or (size and not data):
            return INVALID_PARAMETER
        self.largest = max(self.largest, size)
        found.state.update((ctypes.c_char * size).from_address(data))
        return OK

    def _BCryptDuplicateHash(self, handle, out, memory, memory_size, flags):
        """Copy an unfinished hash object."""
        found = self.open_hashes.get(handle)
        if found is None or found.dead:
            return INVALID_HANDLE
        if memory or memory_size or flags:
            return INVALID_PARAMETER
        # no page says that the duplicate of a reusable hash object is one: here it is not
        self.open_hashes[self._new(out)] = HashObject(found.algorithm, reusable=False, state=found.state.copy())
        return OK

    def _BCryptFinishHash(self, handle, out, size, flags):
        """Write a digest of exactly its size; only a reusable hash object lives on, and starts anew."""
        found = self.open_hashes.get(handle)
        if found is None or found.dead:
            return INVALID_HANDLE
        if flags or size != found.state.digest_size:
            return INVALID_PARAMETER
        ctypes.memmove(out, found.state.digest(), size)
        if not found.reusable:
            found.dead = True
        elif self._reuse_works:
            found.state = hashlib.new(found.algorithm)
        return OK

    def _BCryptDestroyHash(self, handle):
        """Free a hash object in any state."""
        return OK if self.open_hashes.pop(handle, None) else INVALID_HANDLE

    def _new(self, out):
        """Write a new handle through a pointer, and return it."""
        handle = next(self._handles)
        ctypes.c_void_p.from_address(out).value = handle
        return handle
