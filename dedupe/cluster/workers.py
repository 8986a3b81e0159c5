"""Workers of a cluster in the place of processes of this machine: handing out, checking answers, doing again here.

One thread has all that is known of the cluster; others only post to it, so that nothing of it is locked.  No future
ever ends with an error of the cluster's: whatever fails there is done by threads of this process, with plain reads.
"""

from __future__ import annotations

import contextlib
import pickle
import queue
import threading
import time
from collections import Counter as Tally
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from typing import Any, TypeVar

from dedupe.cluster.answers import is_true, may_send, names_own
from dedupe.cluster.crew import Crew
from dedupe.cluster.link import AnyFuture, Link
from dedupe.cluster.remote import Answer, Call, Unproven, work
from dedupe.files.table import FileTable
from dedupe.storage.volume import NOWHERE
from dedupe.walk.scanner import FolderScanner
from dedupe.workers import counters
from dedupe.workers.counters import SharedCounter, Stopped
from dedupe.workers.task import Task
from dedupe.workers.tuning import WorkerTuning

B = TypeVar("B")
R = TypeVar("R")

_BEAT = 0.5  # seconds between looks at who is there
_SETTLING = 15.0  # that workers have at most to show what they see before the scan begins without them
_TRIES = 3  # elsewhere, before a batch is done here


@dataclass(eq=False, slots=True)
class _Job:
    """A batch that is not done yet."""

    task: Any
    batch: Any
    future: Future[Any] = field(default_factory=Future)
    call: Call | None = None
    sent: AnyFuture | None = None  # that is awaited
    to: frozenset[str] = frozenset()  # workers that may do it
    tries: int = 0


class ClusterWorkers:
    """The workers of a cluster; used as `Workers` of a pool.

    Args:
        link: to the scheduler, which is closed at the end.
        roots: folders that workers should see, each with the paths that it may have there.
        jobs: threads that do here what is not done elsewhere.
        tuning: how workers are kept busy.
    """

    may_map = False  # a death there would be one of a whole process of threads
    can_inherit = False

    def __init__(
        self, link: Link, roots: Sequence[tuple[bytes, tuple[bytes, ...]]], jobs: int, tuning: WorkerTuning
    ) -> None:
        self._link = link
        self._jobs = jobs
        self._tuning = tuning
        self._counter = SharedCounter()
        self._table: FileTable | None = None
        self._mail: queue.SimpleQueue[Callable[[], object]] = queue.SimpleQueue()
        self._here = ThreadPoolExecutor(jobs, "dedupe here")
        self._crew = Crew(link, roots, self._mail.put)
        self._in_hand: set[_Job] = set()
        self._over = ""  # why the cluster helps no more, as a sentence
        self._again = Tally[str]()  # batches done again here, by the worker whose answer was not believed
        self._stopping = False
        self._settled = threading.Event()
        self._thread = threading.Thread(target=self._run, name="dedupe cluster", daemon=True)
        self._thread.start()
        self._settled.wait(_SETTLING)

    @property
    def max_in_flight(self) -> int:
        """Return how many batches keep all of them busy now: workers come and go."""
        return max(self._crew.threads, self._jobs) * self._tuning.ahead

    def share(self, table: FileTable) -> None:
        """Take note of the files, by which answers are checked."""
        self._table = table

    def submit(self, task: Task[B, R], batch: B) -> Future[R]:
        """Hand over a batch."""
        job = _Job(task, batch)
        self._mail.put(partial(self._send, job))
        return job.future

    def discard(self) -> None:
        """Do nothing: no death is told."""

    def counted(self) -> int:
        """Return the bytes counted here, and by workers whose answers have come."""
        return self._counter.done

    def notes(self) -> list[str]:
        """Return sentences for the user: what became of the cluster and of its workers."""
        found: list[str] = []
        told = threading.Event()

        def tell() -> None:
            try:
                there = None if self._over else self._link.workers_now()
                if there is not None:
                    self._crew.update(there)
                found.extend(self._notes())
            finally:
                told.set()

        self._mail.put(tell)
        while self._thread.is_alive() and not told.wait(_BEAT):
            pass
        return found

    def stop(self, *, abort: bool) -> None:
        """Leave the cluster; `abort` breaks off what is done here and drops what waits there."""
        self._counter.stopped = abort
        self._mail.put(self._end)
        self._here.shutdown(wait=not abort, cancel_futures=abort)
        self._thread.join(self._tuning.grace_seconds if abort else None)

    def _run(self) -> None:
        """Do what is posted, and look around in between; whatever goes wrong with it, the scan goes on here."""
        looked = 0.0
        while not self._stopping:
            event: Callable[[], object] | None = None
            with contextlib.suppress(queue.Empty):
                event = self._mail.get(timeout=_BEAT if self._settled.is_set() else _BEAT / 10)
            try:
                if event is not None:
                    event()
                if not self._over and time.monotonic() - looked > (_BEAT if self._settled.is_set() else 0):
                    looked = time.monotonic()
                    self._look()
            except Exception as error:  # dask's own, of whatever kind; nobody else would see it
                self._lose(f"The cluster at {self._link.address} failed ({error})")
        self._link.close()

    def _look(self) -> None:
        """Take note of who came, who left, and whether the scheduler is there."""
        if why := self._link.lost():
            self._lose(f"The scheduler at {self._link.address} was lost: {why}")
            return
        there = self._link.workers()
        if there is not None:
            self._crew.update(there)
            for job in [job for job in self._in_hand if job.to.isdisjoint(there)]:  # nobody is left who may do it
                self._take_back(job)
                self._send(job)
        if self._crew.is_settled:
            self._settled.set()

    def _send(self, job: _Job) -> None:
        able = self._crew.able()
        if self._over or not able or job.tries >= _TRIES or not may_send(job.task, job.batch, self._table):
            self._do_here(job)
            return
        try:
            if job.call is None:
                job.call = Call(work, self._crew.run, pickle.dumps((job.task, job.batch), pickle.HIGHEST_PROTOCOL))
            job.sent = self._link.submit(job.call, able)
        except Exception:  # it is too large, or the connection has just broken, which `_look` tells
            self._do_here(job)
            return
        job.tries += 1
        job.to = able
        self._in_hand.add(job)
        job.sent.add_done_callback(lambda told: self._mail.put(partial(self._take, job, told)))

    def _take(self, job: _Job, told: AnyFuture) -> None:
        """Take what came back for a job."""
        if job.sent is not told:
            return  # it was given to others meanwhile
        self._in_hand.discard(job)
        job.sent = None
        if told.cancelled() or told.exception() is not None:
            self._send(job)
            return
        answer: Answer | Unproven = told.result()
        if isinstance(answer, Unproven):
            self._crew.unproven(answer.worker)
            self._send(job)
        elif answer.result is None or names_own(job.task, answer):
            self._do_here(job)
        elif is_true(job.task, job.batch, answer, self._table):
            with contextlib.suppress(Stopped):
                self._counter.advance(answer.counted)
            job.future.set_result(answer.result)
        else:
            self._again[answer.worker] += 1
            self._crew.doubt(answer.worker)
            self._do_here(job)

    def _take_back(self, job: _Job) -> None:
        self._in_hand.discard(job)
        sent, job.sent = job.sent, None
        if sent is not None:
            sent.cancel()

    def _do_here(self, job: _Job) -> None:
        if isinstance(job.task, FolderScanner):  # on which mount another host saw them means nothing here
            job.batch = [pending._replace(mount=NOWHERE) for pending in job.batch]
        try:
            self._here.submit(self._run_here, job)
        except RuntimeError:  # it is stopped: nobody waits for this any more
            job.future.cancel()

    def _run_here(self, job: _Job) -> None:
        try:
            result = counters.run(self._counter, job.task, job.batch)
        except BaseException as error:  # whoever waits for it raises it
            job.future.set_exception(error)
        else:
            job.future.set_result(result)

    def _lose(self, sentence: str) -> None:
        """Give the cluster up, and do here what it had in hand."""
        if not self._over:
            self._over = f"{sentence}; the rest was done on this machine."
        self._settled.set()
        for job in list(self._in_hand):
            self._take_back(job)
            self._do_here(job)

    def _notes(self) -> list[str]:
        found = [*self._link.notes, *self._crew.notes()]
        for worker, count in self._again.items():
            batches = "1 batch was" if count == 1 else f"{count} batches were"
            found.append(f"{batches} done again on this machine: the worker {worker} did not see there what is here.")
        if self._over:
            found.append(self._over)
        elif not self._crew.able():
            found.append(f"No worker of {self._link.address} could help in the end: this machine did what was left.")
        return found

    def _end(self) -> None:
        for job in list(self._in_hand):
            self._take_back(job)
        self._stopping = True
