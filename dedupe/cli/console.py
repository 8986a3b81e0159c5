"""Standard streams: what may go where, and how the program ends.  The one place that prints."""

from __future__ import annotations

import contextlib
import errno
import functools
import io
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, BinaryIO, NoReturn

import typer

from dedupe.cli.exits import Exit
from dedupe.errors import DedupeError, NothingUsableError

if TYPE_CHECKING:
    from dedupe.progress import Progress


def prepare() -> None:
    """Make the streams survive any name, placeholders show as what they are, and SIGTERM end us as Ctrl-C does."""
    if sys.platform == "win32":
        from dedupe.storage import windows

        windows.expose_placeholders()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    for name in ("SIGINT", "SIGTERM"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) != signal.SIG_IGN:  # nohup stays nohup
            signal.signal(getattr(signal, name), _interrupt)


_at_work = threading.Event()  # a command runs that has something to put in order before it ends


def _interrupt(*_: object) -> NoReturn:
    if not _at_work.is_set():
        os._exit(Exit.INTERRUPTED)
    raise KeyboardInterrupt


def stdin() -> BinaryIO:
    """Return standard input as bytes; nothing where it is closed."""
    return sys.stdin.buffer if sys.stdin is not None else io.BytesIO()


def say(sentence: str) -> None:
    """Print a sentence for the user on standard error, with nothing in it that could steer a terminal."""
    from dedupe.storage import display  # `--version` needs none of it

    if sys.stderr is not None:  # closed by the caller; `print` would take standard output in its place
        with contextlib.suppress(OSError):  # nobody reads it: no reason to withhold the result
            print(display.shown_text(sentence), file=sys.stderr, flush=True)  # noqa: T201


def write(pieces: Iterable[bytes], *, text: bool = True) -> None:
    """Write a result to standard output; on a terminal, in the terminal's encoding.

    Raises:
        NothingUsableError: it could not be written.
        BrokenPipeError: the reader wants no more.
    """
    out = sys.stdout
    if out is None:
        raise NothingUsableError("The result cannot be written: standard output is closed.")
    if text and out.isatty():
        from dedupe.storage import display

        pieces = (display.for_console(piece, out.encoding) for piece in pieces)
    for piece in pieces:
        _put(piece)
    _put(b"")


def _put(piece: bytes) -> None:
    """Write one piece; an empty one flushes.  Only these errors are the stream's: rendering has its own."""
    try:
        if piece:
            sys.stdout.buffer.write(piece)
        else:
            sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as error:
        if _reader_has_left(error):
            raise BrokenPipeError from error
        raise NothingUsableError(f"Standard output could not be written: {error.strerror}.") from error


def _reader_has_left(error: OSError) -> bool:
    """Return whether an error is Windows' word for a broken pipe: its C library knows none better than EINVAL."""
    pipe = sys.platform == "win32" and stat.S_ISFIFO(os.fstat(sys.stdout.fileno()).st_mode)
    return pipe and error.errno == errno.EINVAL


def on_terminal(stream: Any) -> bool:
    """Return whether a stream is a terminal that can do more than print lines."""
    return bool(stream is not None and stream.isatty() and os.environ.get("TERM") != "dumb")


def wants_progress(asked: bool | None) -> bool:
    """Return whether progress is shown: only on a terminal, and in CI only if asked for."""
    if asked is None:
        asked = not os.environ.get("CI")
    return asked and on_terminal(sys.stderr)


def bars(asked: bool | None, *, quiet: bool = False) -> Progress:
    """Return what shows progress, or what shows none."""
    from dedupe.progress import Bars, Silent

    return Bars() if wants_progress(asked) and not quiet else Silent()


def wants_colour() -> bool:
    """Return whether standard output takes colours: https://no-color.org."""
    return not os.environ.get("NO_COLOR") and on_terminal(sys.stdout)


def guarded(command: Callable[..., Exit]) -> Callable[..., None]:
    """Make a command end with its exit code, and say in one sentence what a user can cause."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            _at_work.set()
            code = command(*args, **kwargs)
        except DedupeError as error:
            say(f"dedupe: {error}")
            code = Exit(error.exit_code)
        except BrokenPipeError:
            code = Exit.DONE
        except KeyboardInterrupt:
            _at_work.clear()  # a second one ends the program where it is
            say("dedupe: interrupted")
            leave(Exit.INTERRUPTED)
        _silence_broken_pipes()
        _at_work.clear()
        raise typer.Exit(code)

    return run


def _silence_broken_pipes() -> None:
    """Flush the streams now, so that the interpreter has nothing left to complain about at its end."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def leave(code: int | str | None) -> NoReturn:
    """End at once: all is written and closed, and taking a million objects apart would take longer than a report.

    Neither must a worker that hangs in a system call hold the user up.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, AttributeError):  # a closed stream is None
            stream.flush()
    os._exit(code if isinstance(code, int) else bool(code))
