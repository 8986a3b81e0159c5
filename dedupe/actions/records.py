"""The lines of a journal as objects: what is intended, and how it ended.  Reads and writes no file."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from dedupe.actions.marks import path_object
from dedupe.storage import display, metadata
from dedupe.storage.temporary_names import is_temporary

_MOVING = frozenset({"move", "trash"})
_REPLACING = frozenset({"delete", "hardlink"})
VERBS = _MOVING | _REPLACING | {"reflink"}


class Result(StrEnum):
    """How an intent ended."""

    DONE = "done"
    REFUSED = "refused"  # taken back, or not begun
    FAILED = "failed"  # the system said no; nothing was changed
    UNKNOWN = "unknown"  # it could not be put back: the reason says where the content lies
    PUT_BACK = "put-back"  # the run was killed, and a later one settled it


@dataclass(frozen=True, slots=True, kw_only=True)
class Intent:
    """One name that is going to be acted on, with all that undoing it takes.

    Attributes:
        n: the number within the run, from 1.
        verb: the action.
        path: the name, through real folders.
        shown: the name as the marks have it.
        size: bytes.
        algorithm: of the digest.
        digest: of the content, computed a moment ago.
        device: of the victim, a hint for as long as nothing is mounted anew.
        inode: of the victim.
        modified_ns: of the victim.
        metadata: of the victim, as `storage.metadata` writes it.
        names: how many names of the victim are known; nlink: how many it has.
        keeper: the path of the copy that stays, through real folders.
        keeper_inode: its inode.
        others: further names that were marked to stay with it; their content was not always compared.
        target: where the name goes, None if it goes nowhere.
        temporary: the name in the same folder that the victim or its successor has for a moment, None for none.
        info: the record of a trash that belongs to the target, None for none.
        file_system: that the victim lies on; volume: its id.
        undoes: of an undo, the number of the intent that it takes back.
    """

    n: int
    verb: str
    path: bytes
    shown: bytes
    size: int
    algorithm: str
    digest: bytes
    device: int
    inode: int
    modified_ns: int
    metadata: dict[str, Any] = field(default_factory=dict)
    names: int = 1
    nlink: int = 1
    keeper: bytes = b""
    keeper_inode: int = 0
    others: tuple[bytes, ...] = ()
    target: bytes | None = None
    temporary: bytes | None = None
    info: bytes | None = None
    file_system: str = ""
    volume: str = ""
    undoes: int = 0

    @property
    def file(self) -> tuple[object, ...]:
        """Return what all names of the victim share, and, as another may have its number, no other file's."""
        alone = self.path if self.nlink < 2 else b""
        return self.device, self.inode, self.size, self.modified_ns, self.digest, alone

    def as_object(self) -> dict[str, Any]:
        """Return the line of the journal."""
        found: dict[str, Any] = {"kind": "intent"}
        for name in self.__slots__:
            value = getattr(self, name)
            if name == "digest":
                found[name] = value.hex()
            elif isinstance(value, bytes):
                found |= path_object(value, name)
            elif name == "others":
                found[name] = [path_object(path) for path in value]
            else:
                found[name] = str(value) if name in ("device", "inode", "keeper_inode") else value
        return found

    @classmethod
    def from_object(cls, line: dict[str, Any]) -> Intent:
        """Return the intent of a line.

        Raises:
            ValueError, KeyError, TypeError or OverflowError: it is no such line.
        """
        _check_metadata(line["metadata"])
        found = cls(
            n=int(line["n"]),
            verb=str(line["verb"]),
            path=_exact(line, "path"),
            shown=_exact(line, "shown"),
            size=int(line["size"]),
            algorithm=_word(line["algorithm"]),
            digest=bytes.fromhex(line["digest"]),
            device=int(line["device"]),
            inode=int(line["inode"]),
            modified_ns=int(line["modified_ns"]),
            metadata=dict(line["metadata"]),
            names=int(line["names"]),
            nlink=int(line["nlink"]),
            keeper=_exact(line, "keeper"),
            keeper_inode=int(line["keeper_inode"]),
            others=tuple(_exact(each, "path") for each in line.get("others", ())),
            target=_maybe(line, "target"),
            temporary=_maybe(line, "temporary"),
            info=_maybe(line, "info"),
            file_system=str(line.get("file_system", "")),
            volume=str(line.get("volume", "")),
            undoes=int(line.get("undoes", 0)),
        )
        _check(found)
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How one intent ended."""

    n: int
    result: Result
    reason: str = ""
    errno: int | None = None
    freed: int = 0  # bytes
    inode: int = 0  # that the name has now, where the action gave it another file

    def as_object(self) -> dict[str, Any]:
        """Return the line of the journal."""
        return {"kind": "outcome"} | {name: getattr(self, name) for name in self.__slots__} | {"inode": str(self.inode)}

    @classmethod
    def from_object(cls, line: dict[str, Any]) -> Outcome:
        """Return the outcome of a line.

        Raises:
            ValueError, KeyError, TypeError or OverflowError: it is no such line.
        """
        return cls(
            n=int(line["n"]),
            result=Result(line["result"]),
            reason=str(line.get("reason", "")),
            errno=line.get("errno"),
            freed=int(line.get("freed", 0)),
            inode=int(line.get("inode", 0)),
        )


def _word(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError("no word")
    return value


def _exact(line: dict[str, Any], key: str) -> bytes:
    return display.exact(line[key], line.get(f"{key}_base64"))


def _maybe(line: dict[str, Any], key: str) -> bytes | None:
    return None if line.get(key) is None else _exact(line, key)


def _check(intent: Intent) -> None:
    """Make sure that an intent can be followed: a damaged line must not lead to names that nobody meant.

    Raises:
        ValueError: it cannot.
    """
    verb = intent.verb.removeprefix("undo-")
    if verb not in VERBS:
        raise ValueError("a verb that this version does not know")
    if intent.n < 1 or intent.size < 0:
        raise ValueError("a number that is none")
    for path in (intent.path, intent.keeper, *intent.others, intent.target, intent.info):
        if path is not None and not (os.path.isabs(path) and os.path.basename(path) not in (b"", b".", b"..")):
            raise ValueError("a path that names no file")
    if (intent.target is None) == (verb in _MOVING):
        raise ValueError("a target that is missing, or of no use")
    if (intent.temporary is None) == (verb in _REPLACING):
        raise ValueError("a temporary name that is missing, or of no use")
    if intent.temporary is not None and not is_temporary(intent.temporary):
        raise ValueError("a temporary name that is none of ours")


def _check_metadata(record: dict[str, Any]) -> None:
    """Make sure that metadata can be given to a file.

    Raises:
        ValueError, KeyError, TypeError or OverflowError: it cannot.
    """
    found = metadata.from_json(record)
    for number, bits in ((found.uid, 32), (found.gid, 32), (found.accessed_ns, 63), (found.modified_ns, 63)):
        if abs(number) >> bits or (bits == 32 and number < -1):
            raise ValueError("a number that no file has")
    if found.mode & ~0o7777 or found.flags & ~0xFFFF_FFFF or any("\0" in name for name in found.xattrs):
        raise ValueError("rights, flags or attributes that no file has")
