"""The connection to a scheduler of dask.distributed: who works there, and calls to them.  Knows nothing of files.

The one module that imports dask, and only when a cluster is asked for.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import pickle
import time
import warnings
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import Executor, Future, wait
from typing import TYPE_CHECKING, Any

from dedupe.errors import NothingUsableError, UsageError

if TYPE_CHECKING:
    from dedupe.cluster.remote import Call

_NEEDS = "--cluster needs dask.distributed, which cannot be imported here ({}): pip install 'dedupe-files[cluster]'."
_SILENT = 60.0  # seconds without an answer after which a scheduler counts as lost: a busy one may take some
_BLIP = 3.0  # that a connection may be down
_SHORTLY = 1.0  # that the end of a scan may wait for news
_CLOSING = 5.0  # that taking leave may take
_OURS = (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning)  # of no concern to a user
_LARGEST = 8 << 20  # bytes of a call: dask warns of more than 10 million

AnyFuture = Future[Any]


class TooLargeError(ValueError):
    """A call is too large to be sent."""


class Link:
    """A connection to a scheduler.

    Args:
        address: such as `tcp://host:8786`; for `tls://`, keys and certificates are those of dask's own settings.
        seconds: that the scheduler has to answer.

    Attributes:
        address: as it was given.
        notes: sentences for the user.

    Raises:
        UsageError: dask is not there, or nothing can be made of the address.
        NothingUsableError: no scheduler answers.
    """

    def __init__(self, address: str, seconds: float = 10.0) -> None:
        self.address = address
        self.notes: list[str] = []
        self._log = logging.getLogger("distributed")
        self._level = self._log.level
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            self._client = self._connected(seconds)
        for warning in told:
            if not issubclass(warning.category, _OURS):
                self.notes.append(_sentence(warning))
        self._executors: dict[frozenset[str], Executor] = {}
        self._asked: AnyFuture | None = None
        self._heard = time.monotonic()
        self._up = time.monotonic()

    def submit(self, call: Call, workers: Iterable[str]) -> AnyFuture:
        """Have a call made by any of some workers; when one dies, another one of them makes it.

        Raises:
            TooLargeError: it is too large to be sent.
        """
        pickled = pickle.dumps(call, pickle.HIGHEST_PROTOCOL)
        if len(pickled) > _LARGEST:
            raise TooLargeError
        return self.call(pickle.loads, pickled, workers=frozenset(workers))

    def call(self, function: Callable[..., object], *arguments: object, workers: frozenset[str]) -> AnyFuture:
        """Have a function called that any Python knows."""
        executor = self._executors.get(workers)
        if executor is None:
            if len(self._executors) > 1:  # of one worker each, and of those that there were before
                self._executors.clear()
            executor = self._client.get_executor(
                pure=False, workers=sorted(workers), allow_other_workers=False, retries=0
            )
            self._executors[workers] = executor
        return executor.submit(function, *arguments)

    def workers(self) -> Mapping[str, int] | None:
        """Return the threads of each worker by its address, None where there is no news; waits for nothing."""
        if self._asked is None:
            self._asked = self._ask()
            return None
        if not self._asked.done():
            return None
        asked, self._asked = self._asked, None
        return self._told(asked)

    def workers_now(self) -> Mapping[str, int] | None:
        """Return the same as it is now, None where the scheduler does not tell within a second."""
        asked = self._ask()
        if asked is not None:
            wait([asked], _SHORTLY)
        return self._told(asked) if asked is not None and asked.done() else None

    def _ask(self) -> AnyFuture | None:
        scheduler, loop = self._client.scheduler, self._client.loop.asyncio_loop
        if self._client.status != "running" or scheduler is None:
            return None
        return asyncio.run_coroutine_threadsafe(scheduler.identity(), loop)

    def _told(self, asked: AnyFuture) -> Mapping[str, int] | None:
        if asked.cancelled() or asked.exception() is not None:
            return None
        self._heard = time.monotonic()
        found = asked.result()["workers"]
        return {str(address): int(each["nthreads"]) for address, each in found.items()}

    def lost(self) -> str:
        """Return why the scheduler counts as lost, as the end of a sentence; empty while it does not."""
        now = time.monotonic()
        if self._client.status == "running":
            self._up = now
        elif now - self._up > _BLIP or self._client.status == "closed":
            return "its connection broke"
        if now - self._heard > _SILENT:
            return f"it did not answer for {_SILENT:.0f} seconds"
        return ""

    def close(self) -> None:
        """Take leave; what was asked for and not answered is dropped there."""
        self._executors.clear()
        with contextlib.suppress(Exception):  # whatever it is, nothing depends on it any more
            self._client.close(timeout=_CLOSING)
        self._log.setLevel(self._level)

    def _connected(self, seconds: float) -> Any:
        try:
            import distributed
        except ImportError as error:
            raise UsageError(_NEEDS.format(error)) from error
        self._level = self._log.level  # that the import has set
        self._log.setLevel(logging.CRITICAL + 1)  # what there is to tell is told in our words
        try:
            return distributed.Client(self.address, timeout=seconds, set_as_default=False, name="dedupe")
        except OSError as error:  # of which dask's own TimeoutError is one
            why = (str(error).strip().splitlines() or [type(error).__name__])[0].rstrip(".")
            what = f"No scheduler answers at {self.address} ({why})"
            raise NothingUsableError(f"{what}: start one with `dask scheduler`, or leave out --cluster.") from error
        except (TypeError, ValueError) as error:  # an address that is none, tls:// without its files
            raise UsageError(f"--cluster {self.address} cannot be used: {error}") from error


def _sentence(warning: warnings.WarningMessage) -> str:
    text = str(warning.message)
    if warning.category.__name__ == "VersionMismatchWarning":  # a table of many lines
        return f"The cluster's machines have not the same programs as this one, says dask: {' '.join(text.split())}"
    return f"dask says: {' '.join(text.split())}"
