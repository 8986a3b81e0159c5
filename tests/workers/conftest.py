"""Fixtures for tests of workers."""

from __future__ import annotations

import multiprocessing

import pytest

from dedupe.workers.tuning import WorkerTuning


@pytest.fixture(params=["fork", "forkserver", "spawn"])
def method(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Make workers start in each way that this system has."""
    name: str = request.param
    if name not in multiprocessing.get_all_start_methods():
        pytest.skip("this system starts no process that way")
    monkeypatch.setattr(WorkerTuning, "default", WorkerTuning(warm_files=1, start_method=name))  # type: ignore[arg-type]
    return name
