"""The rules by which files are left out of a catalog, as it keeps them.  Applies none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from dedupe.catalog.head import Head
from dedupe.config import ScanConfig
from dedupe.result import SkipReason

RULES = (  # settings that tell what takes part
    "cloud_files",
    "default_excludes",
    "exclude",
    "exclude_lines",
    "follow_symlinks",
    "ignore_case",
    "include",
    "max_size",
    "min_size",
    "one_file_system",
    "trash",
)


def rules_of(config: ScanConfig) -> str:
    """Return by which rules files are left out, as a catalog keeps them."""
    return json.dumps({name: _plain(getattr(config, name)) for name in RULES}, sort_keys=True)


def with_rules(config: ScanConfig, head: Head, **asked: bool | None) -> ScanConfig:
    """Return a configuration with the rules by which a catalog was made, as far as it says.

    Args:
        config: what else there is.
        head: of the catalog.
        asked: rules that take the place of those, None for none.
    """
    told = {**head.told_rules, **{name: value for name, value in asked.items() if value is not None}}
    return replace(config, **{name: told[name] for name in RULES if name in told})  # type: ignore[arg-type]


def _plain(value: object) -> object:
    return [str(each) for each in value] if isinstance(value, (list, tuple)) else value


def other_rules(name: str, head: Head, rules: str) -> str:
    """Return a sentence for a run by other rules than those that a catalog was made by."""
    before, now = head.told_rules, json.loads(rules)
    names = " and ".join(each.replace("_", " ") for each in RULES if before.get(each) != now[each])
    return f"The catalog {name} was made by other rules, and follows those of this run from now on: {names}."


def counts_of(skipped: Mapping[SkipReason, int]) -> str:
    """Return counts of what was left out as a catalog keeps them."""
    return json.dumps({str(reason): count for reason, count in sorted(skipped.items())})
