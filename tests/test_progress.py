"""How far a scan is: what a library is told, which says nothing itself."""

from __future__ import annotations

from pathlib import Path

import pytest

from dedupe.config import ScanConfig
from dedupe.find import find_duplicates
from tests.conftest import write


class Listener:
    """Keeps what it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, object]] = []

    def begin(self, phase: str, total: int | None, *, in_bytes: bool = False) -> None:
        """Keep the phase and its total."""
        self.told.append((phase, (total, in_bytes)))

    def reach(self, count: int) -> None:
        """Keep the count."""
        self.told.append(("reach", count))

    def end(self) -> None:
        """Keep that it ended."""
        self.told.append(("end", None))


def test_phases_are_told_with_their_totals(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Walk, fingerprints and bytes, each begun and ended, counts rising to the total; nothing is printed."""
    for name in "abc":
        write(tmp_path / name, b"data")
    listener = Listener()
    find_duplicates(ScanConfig(roots=[tmp_path], jobs=1), progress=listener)
    phases = {p: v for p, v in listener.told if p not in ("reach", "end")}
    assert phases == {"walk": (None, False), "fingerprint": (3, False), "confirm": (12, True)}
    assert [v for p, v in listener.told if p == "reach"][-1] == 12
    assert listener.told[-1][0] == "end"
    assert capfd.readouterr() == ("", "")
