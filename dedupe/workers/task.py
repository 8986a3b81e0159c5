"""What a task is: picklable work on one batch.  Knows nothing of who does it."""

from __future__ import annotations

from typing import Protocol, TypeVar, runtime_checkable

B = TypeVar("B")
R = TypeVar("R")
B_contra = TypeVar("B_contra", contravariant=True)
R_co = TypeVar("R_co", covariant=True)


class Task(Protocol[B_contra, R_co]):
    """Picklable work on one batch, which maps no file unless it was made by `with_maps`."""

    def __call__(self, batch: B_contra) -> R_co:
        """Do the work."""

    def lost(self, batch: B_contra) -> R_co:
        """Return the result to count with when workers died over this batch twice."""


@runtime_checkable
class MappingTask(Protocol[B_contra, R_co]):
    """A task that is quicker where it may map files."""

    def with_maps(self) -> Task[B_contra, R_co]:
        """Return the same task that maps files: only for a process whose death costs no more than a retry."""


def with_maps(task: Task[B, R]) -> Task[B, R]:
    """Return a task as it is done where files may be mapped: itself, if it would map none."""
    return task.with_maps() if isinstance(task, MappingTask) else task
