"""The results of one measurement with all its rounds, to JSON and back.  Measures nothing and draws nothing."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from dedupe.bench.control import Effect, Switch, Verdict
from dedupe.bench.environment import Environment
from dedupe.bench.participants import Use
from dedupe.bench.peers import Peer
from dedupe.bench.rounds import Cell
from dedupe.errors import UsageError

SCHEMA = "dedupe-bench/1"


@dataclass(frozen=True, slots=True)
class Described:
    """What a record says of a participant."""

    name: str
    algorithm: str
    code: str  # whose code it is, with its version
    use: Use


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One run."""

    version: str  # of dedupe
    started: str  # ISO 8601, UTC
    kind: str
    says: str  # the kind of work, in words
    seed: int | None  # None: random bytes
    rounds: int
    baseline: str  # the participant that the others are compared with
    environment: Environment
    participants: tuple[Described, ...] = ()
    cells: tuple[Cell, ...] = ()
    peers: tuple[Peer, ...] = ()
    switch: Switch | None = None
    effects: tuple[Effect, ...] = ()


def to_json(record: Record) -> str:
    """Return a record as JSON, with every timing in it."""
    return json.dumps({"schema": SCHEMA, **asdict(record)}, indent=1) + "\n"


def from_json(text: str, source: str) -> Record:
    """Return the record that `text` holds; `source` is what messages call it.

    Raises:
        UsageError: it holds none, or one of another version.
    """
    try:
        data = json.loads(text)
        if data.pop("schema") != SCHEMA:
            raise ValueError(f"its schema is not {SCHEMA}")
        return _record(data)
    except (ValueError, TypeError, KeyError, AttributeError) as error:
        raise UsageError(
            f"{source} is not a record of `dedupe bench --json` that this version can read: {error}"
        ) from error


def _record(data: dict[str, Any]) -> Record:
    parts: dict[str, Any] = {
        "environment": Environment(**_tuples(data.pop("environment"))),
        "participants": tuple(Described(**one | {"use": Use(one["use"])}) for one in data.pop("participants")),
        "cells": tuple(Cell(**_tuples(one)) for one in data.pop("cells")),
        "peers": tuple(Peer(**_tuples(one)) for one in data.pop("peers")),
        "effects": tuple(Effect(**one | {"verdict": Verdict(one["verdict"])}) for one in data.pop("effects")),
    }
    switch = data.pop("switch")
    return Record(**data, **parts, switch=Switch(**switch) if switch else None)


def _tuples(fields: Mapping[str, Any]) -> dict[str, Any]:
    """Return fields with the lists of JSON as the tuples that they were."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in fields.items()}
