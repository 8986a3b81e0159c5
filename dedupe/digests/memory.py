"""Addresses of buffers, and comparing memory by them.  Copies nothing, and uses no address without its `Pinned`."""

from __future__ import annotations

import ctypes
import sys
from types import TracebackType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing_extensions import Buffer

_SIMPLE = 0  # PyBUF_SIMPLE: C-contiguous bytes; asks for no write access, so that a read-only map will do


class _PyBuffer(ctypes.Structure):
    """`Py_buffer` of Python's C interface; its layout is part of the stable ABI since 3.11."""

    _fields_ = (
        ("buf", ctypes.c_void_p),
        ("obj", ctypes.c_void_p),  # a counted reference that PyBuffer_Release gives back; ctypes must not count it
        ("len", ctypes.c_ssize_t),
        ("itemsize", ctypes.c_ssize_t),
        ("readonly", ctypes.c_int),
        ("ndim", ctypes.c_int),
        ("format", ctypes.c_void_p),
        ("shape", ctypes.c_void_p),
        ("strides", ctypes.c_void_p),
        ("suboffsets", ctypes.c_void_p),
        ("internal", ctypes.c_void_p),
    )


# Prototypes of our own: setting argtypes on ctypes.pythonapi would change them for every other user of it.
_get_buffer = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.c_void_p, ctypes.c_int)(
    ("PyObject_GetBuffer", ctypes.pythonapi)
)
_release_buffer = ctypes.PYFUNCTYPE(None, ctypes.c_void_p)(("PyBuffer_Release", ctypes.pythonapi))

# A library object of our own, for the same reason.  ctypes.CDLL gives up the GIL during the call.
_c_library = ctypes.CDLL("ucrtbase" if sys.platform == "win32" else None)
_memcmp = _c_library.memcmp
_memcmp.argtypes = (ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t)
_memcmp.restype = ctypes.c_int


class Pinned:
    """A C-contiguous buffer held in place: `address` and `length` in bytes are valid until `close`.

    While it is open its owner can be neither closed nor resized.  A context manager; closing twice is harmless, and an
    abandoned one closes itself.

    Raises:
        BufferError: the buffer is not C-contiguous.
        TypeError: `data` is no buffer.
    """

    __slots__ = ("_view", "address", "length")

    def __init__(self, data: Buffer) -> None:
        view = _PyBuffer()
        _get_buffer(data, ctypes.addressof(view), _SIMPLE)
        self._view: _PyBuffer | None = view
        self.address: int = view.buf or 0  # 0 only for some empty buffers
        self.length: int = view.len

    def close(self) -> None:
        """Release the buffer; its address must not be used again."""
        view, self._view = self._view, None
        if view is not None:
            self.address = self.length = 0
            _release_buffer(ctypes.addressof(view))

    def __enter__(self) -> Pinned:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.close()

    def __del__(self) -> None:
        if getattr(self, "_view", None) is not None:  # unset where __init__ raised
            self.close()


def equal(address_a: int, address_b: int, length: int) -> bool:
    """Return whether `length` bytes at two addresses are the same, by the C library's memcmp, without the GIL.

    The caller makes sure that both ranges are within open `Pinned` buffers.

    Raises:
        ValueError: `length` is negative, which C would take for a huge one.
    """
    if length < 0:
        raise ValueError(f"a length of {length} bytes")
    return length == 0 or _memcmp(address_a, address_b, length) == 0
