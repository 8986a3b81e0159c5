"""How users and lists call the algorithms, and which of them a digest of some length may be of.  Computes nothing."""

from __future__ import annotations

import re

# What lists in the style of BSD call the algorithms, and how many bytes their digests have
TAGS = {
    "md5": "MD5",
    "sha1": "SHA1",
    "sha224": "SHA224",
    "sha256": "SHA256",
    "sha384": "SHA384",
    "sha512": "SHA512",
    "sha512_224": "SHA512/224",
    "sha512_256": "SHA512/256",
    "sha3_224": "SHA3-224",
    "sha3_256": "SHA3-256",
    "sha3_384": "SHA3-384",
    "sha3_512": "SHA3-512",
    "blake2b": "BLAKE2b",
    "blake2s": "BLAKE2s",
    "blake3": "BLAKE3",
    "crc32": "CRC32",
    "xxh32": "XXH32",
    "xxh64": "XXH64",
    "xxh3_64": "XXH3",
    "xxh3": "XXH128",
}
SIZES = {
    "md5": 16,
    "sha1": 20,
    "sha224": 28,
    "sha256": 32,
    "sha384": 48,
    "sha512": 64,
    "sha512_224": 28,
    "sha512_256": 32,
    "sha3_224": 28,
    "sha3_256": 32,
    "sha3_384": 48,
    "sha3_512": 64,
    "blake2b": 64,
    "blake2s": 32,
    "blake3": 32,
    "crc32": 4,
    "xxh32": 4,
    "xxh64": 8,
    "xxh3_64": 8,
    "xxh3": 16,
}
# An untagged line of this many bytes is of one of these, most likely of the first: that is what md5sum and its kin
# write.  Where one of them withstands attackers none is taken that does not: a file made to collide would pass.
_BY_SIZE = {
    4: ("crc32", "xxh32"),
    8: ("xxh64", "xxh3_64"),
    16: ("md5", "blake2b-128"),
    20: ("sha1", "blake2b-160"),
    28: ("sha224", "sha3_224", "sha512_224", "blake2b-224"),
    32: ("sha256", "blake3", "sha3_256", "blake2b-256", "blake2s", "sha512_256"),
    48: ("sha384", "sha3_384", "blake2b-384"),
    64: ("sha512", "blake2b", "sha3_512"),
}
_WEAK_BY_SIZE = {16: ("xxh3",)}  # told where such a digest fits, but no proof
_LARGEST = 64  # bytes of a digest of BLAKE2b

_MARKS = re.compile(r"[-_/ ]")
_SHORT_BLAKE2B = re.compile(r"blake2b(\d{1,3})")


def _plain(text: str) -> str:
    return _MARKS.sub("", text.lower())


# OpenSSL calls the SHA-2 family by another name
_ALIASES = {f"sha2{name[3:]}": name for name in TAGS if name.startswith("sha") and name != "sha1"} | {
    "blake2s256": "blake2s"
}
_BY_TAG = {_plain(tag): name for name, tag in TAGS.items()} | {_plain(a): name for a, name in _ALIASES.items()}
_BY_NAME = _BY_TAG | {_plain(name): name for name in TAGS}  # `xxh3` is the long one to users, the short one in tags


def of_name(text: str) -> str | None:
    """Return the algorithm that a user means, such as `SHA-256`, `sha3_256` or `blake2b-256`; None if there is none."""
    return _BY_NAME.get(_plain(text)) or _short_blake2b(_plain(text))


def of_tag(text: str) -> str | None:
    """Return the algorithm that a line names, such as `SHA2-256` or `BLAKE2b-256`; None if there is none."""
    return _BY_TAG.get(_plain(text)) or _short_blake2b(_plain(text))


def _short_blake2b(text: str) -> str | None:
    found = _SHORT_BLAKE2B.fullmatch(text)
    return blake2b(int(found[1])) if found else None


def blake2b(bits: int) -> str | None:
    """Return BLAKE2b of so many bits; None if there is no such length."""
    if bits % 8 or not 0 < bits <= 8 * _LARGEST:
        return None
    return "blake2b" if bits == 8 * _LARGEST else f"blake2b-{bits}"


def tag(algorithm: str) -> str:
    """Return what lists in the style of BSD call an algorithm."""
    return TAGS[algorithm] if algorithm in TAGS else algorithm.replace("blake2b", TAGS["blake2b"])


def size(algorithm: str) -> int:
    """Return how many bytes the digests of an algorithm have."""
    return SIZES[algorithm] if algorithm in SIZES else int(algorithm.partition("-")[2]) // 8


def of_size(length: int, named: str | None = None) -> tuple[str, ...]:
    """Return the algorithms that an untagged digest of so many bytes may be of, the likeliest first.

    Args:
        length: bytes.
        named: the only one that counts, if the user named it; as b2sum does, `blake2b` takes lines of every length.
    """
    if named is None:
        return _BY_SIZE.get(length, ())
    if named == "blake2b":
        short = blake2b(8 * length)
        return (short,) if short else ()
    return (named,) if size(named) == length else ()


def weak_of_size(length: int) -> tuple[str, ...]:
    """Return further algorithms that a digest of so many bytes may be of, but whose digests can be forged."""
    return _WEAK_BY_SIZE.get(length, ())


def is_ambiguous(algorithm: str) -> bool:
    """Return whether an untagged line of an algorithm would be taken for another's."""
    return of_size(size(algorithm))[:1] != (algorithm,)
