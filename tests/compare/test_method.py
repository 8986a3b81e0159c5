"""What proves equality: bytes always, digests only where the method says so."""

from __future__ import annotations

import hashlib
import pickle

import pytest

from dedupe.compare.method import Method
from dedupe.config import Confirm
from dedupe.errors import BackendError


@pytest.mark.parametrize("confirm", [c for c in Confirm if c != Confirm.BLAKE3])
def test_only_bytes_alone_have_no_digest(confirm: Confirm) -> None:
    """A class has a digest in every method but one; its width is that of the digests."""
    method = Method.of(confirm)
    assert method.has_digest == (confirm != Confirm.BYTES)
    hasher = method.hasher(1, b"x", needs_digest=False)
    assert (hasher is not None) == method.has_digest
    if hasher is not None:
        assert len(hasher.digest()) == method.width


def test_parts_are_joined_by_sha256_where_bytes_prove() -> None:
    """Only to say what is to be compared with each other: by a digest whose collisions nobody can make."""
    hasher = Method.of("bytes").hasher(1, b"x", needs_digest=True)
    assert hasher is not None
    assert hasher.digest() == hashlib.sha256(b"x").digest()


def test_a_method_travels_to_workers() -> None:
    """What a worker gets is the same method, with the same backend."""
    for method in (Method.of("bytes"), Method.of("sha256", "hashlib")):
        assert pickle.loads(pickle.dumps(method)) == method


def test_the_choice_of_a_backend_has_its_reason() -> None:
    """Who computes digests is told, and nobody does where none is wanted."""
    assert Method.of("bytes").chosen("auto", None)[1].name == "none"
    method, choice = Method.of("sha256", "hashlib").chosen("hashlib", None)
    assert (method.backend and method.backend.name, choice.name, choice.reason) == ("hashlib", "hashlib", "asked for")
    with pytest.raises(BackendError):
        Method.of("no such", "auto")
