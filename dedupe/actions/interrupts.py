"""Interrupts put off while names are being changed: a run ends between two files, never within one."""

from __future__ import annotations

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self

_SIGNALS = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")


class Deferred:
    """A context in which a signal that would end the program is only noted, and raised at its end.

    In another thread than the main one it changes nothing: signals go to the main one.
    """

    def __init__(self) -> None:
        self.asked = False
        self._usual: dict[int, Any] = {}

    def _note(self, _number: int, _frame: FrameType | None) -> None:
        self.asked = True

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():
            for name in _SIGNALS:
                number = getattr(signal, name, None)
                if number is not None and signal.getsignal(number) not in (signal.SIG_IGN, None):
                    self._usual[number] = signal.signal(number, self._note)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, usual in self._usual.items():
            signal.signal(number, usual)
        if self.asked and error is None:
            raise KeyboardInterrupt
