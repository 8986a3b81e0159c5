"""Numbers as people read them: binary sizes, grouped counts, shares, dates.  Knows nothing of reports."""

from __future__ import annotations

from datetime import date
from functools import lru_cache

_UNITS = ("KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
_EPOCH = date(1970, 1, 1).toordinal()


def binary_size(size: int) -> str:
    """Return bytes in the largest binary unit that leaves 1 or more, with one decimal: 41.0 GiB."""
    if size < 1024:
        return counted(size, "byte")
    value = float(size)
    for unit in _UNITS:
        value /= 1024
        if value < 1023.95 or unit == _UNITS[-1]:  # 1023.96 would print as 1024.0
            break
    return f"{value:,.1f} {unit}"


def counted(number: int, noun: str, nouns: str | None = None) -> str:
    """Return `1 file`, `1,203 files`; `nouns` where the plural is not noun + s."""
    return f"{number:,} {noun if number == 1 else nouns or noun + 's'}"


def percent(part: int, whole: int) -> str:
    """Return `98 %`, rounded, but never 100 % for less than all nor 0 % for more than nothing."""
    share = round(100 * part / whole) if whole else 0
    if part < whole:
        share = min(share, 99)
    if part:
        share = max(share, 1)
    return f"{share} %"


def utc_time(nanoseconds: int) -> str:
    """Return ISO 8601 in UTC with all nine decimals, from nanoseconds since 1970; "" outside the years 1 to 9999."""
    seconds, rest = divmod(nanoseconds, 1_000_000_000)
    day, second = divmod(seconds, 86_400)
    calendar_day = _date(day)
    minute, second = divmod(second, 60)
    return calendar_day and f"{calendar_day}T{minute // 60:02d}:{minute % 60:02d}:{second:02d}.{rest:09d}Z"


@lru_cache(maxsize=4096)  # files come in days: six times as fast as a datetime for each
def _date(day: int) -> str:
    """Return the ISO date of a day counted from 1970-01-01, "" where the calendar has none."""
    try:
        return date.fromordinal(_EPOCH + day).isoformat()
    except (ValueError, OverflowError):
        return ""
