"""Standard streams: what may go where, and how the program ends.  The one place that prints."""

from __future__ import annotations

import contextlib
import errno
import functools
import os
import signal
import stat
import sys
import threading
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any, NoReturn

import typer

from dedupe.cli import streams
from dedupe.cli.exits import Exit
from dedupe.errors import DedupeError, NothingUsableError

if TYPE_CHECKING:
    from dedupe.progress import Progress


def prepare() -> None:
    """Prepare the process: streams that take any name, SIGTERM and SIGHUP like Ctrl-C; on Windows, more."""
    streams.prepare()
    if sys.platform == "win32":
        from dedupe.storage import windows, windows_job

        windows.expose_placeholders()
        windows_job.end_all_together()
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(errors="backslashreplace")
    for name in ("SIGINT", "SIGTERM", "SIGHUP"):
        if hasattr(signal, name) and signal.getsignal(getattr(signal, name)) != signal.SIG_IGN:  # nohup stays nohup
            signal.signal(getattr(signal, name), _interrupt)


_at_work = threading.Event()  # a command runs that has something to put in order before it ends
_KEPT = {
    True: "what was read is kept: the same command goes on from there",
    False: "nothing is kept, as there is no cache",
}
_if_interrupted: list[str] = []  # what is left then, as the command that runs has told


def at_work() -> bool:
    """Return whether a command runs, not only typer's own reading of the command line."""
    return _at_work.is_set()


def tell_if_interrupted(*, cached: bool) -> None:
    """Have an interruption tell what is kept of this run, and how to go on."""
    _if_interrupted[:] = [_KEPT[cached]]


def _interrupted() -> NoReturn:
    """End after an interruption, with what is kept; what stands on the line, such as ^C, is cleared."""
    _at_work.clear()  # a second one ends the program where it is
    if on_terminal(sys.stderr) and sys.platform != "win32":
        with contextlib.suppress(OSError):  # nobody sits there any more
            print(end="\r\x1b[K", file=sys.stderr, flush=True)  # noqa: T201
    say("; ".join(["dedupe: interrupted", *_if_interrupted]))
    leave(Exit.INTERRUPTED)


def _interrupt(*_: object) -> NoReturn:
    if not at_work():
        os._exit(Exit.INTERRUPTED)
    raise KeyboardInterrupt


def say(sentence: str) -> None:
    """Print a sentence for the user on standard error, with nothing in it that could steer a terminal."""
    from dedupe.storage import display  # `--version` needs none of it

    if sys.stderr is not None:  # closed by the caller; `print` would take standard output in its place
        with contextlib.suppress(OSError):  # nobody reads it: no reason to withhold the result
            print(display.shown_text(sentence), file=sys.stderr, flush=True)  # noqa: T201


def say_phases(phases: Mapping[str, float], seconds: float, bytes_read: int) -> None:
    """Print how long each phase took, and all of it."""
    for phase, took in phases.items():
        say(f"{phase:12} {took:9.3f} s")
    say(f"{'all':12} {seconds:9.3f} s; {bytes_read:,} bytes read")


def expect_output() -> None:
    """Refuse a closed standard output before the work for it is done.

    Raises:
        NothingUsableError: it is closed.
    """
    if streams.stdout_is_closed():
        raise NothingUsableError("The result cannot be written: standard output is closed.")


def ask(question: str) -> str:
    """Return the line that a user types after a question; empty where nobody answers."""
    if sys.stderr is None or sys.stdin is None:
        return ""
    print(question, end="", file=sys.stderr, flush=True)  # noqa: T201
    try:
        return sys.stdin.readline().strip()
    except (OSError, ValueError):
        return ""


def write(pieces: Iterable[bytes], *, text: bool = True) -> None:
    """Write a result to standard output; on a terminal, in the terminal's encoding.

    Raises:
        NothingUsableError: it could not be written.
        BrokenPipeError: the program at the other end of the pipe has ended.
    """
    expect_output()
    out = sys.stdout
    if text and out.isatty():
        from dedupe.storage import display

        pieces = (display.for_console(piece, out.encoding) for piece in pieces)
    for piece in pieces:  # making a piece may fail too, and its errors are not those of the stream
        try:
            out.buffer.write(piece)
        except OSError as error:
            raise output_error(error) from error
    flush()


def flush() -> None:
    """Send what was written to standard output on its way.

    Raises:
        NothingUsableError: it could not be written.
        BrokenPipeError: the program at the other end of the pipe has ended.
    """
    try:
        sys.stdout.flush()
    except OSError as error:
        raise output_error(error) from error


def output_error(error: OSError) -> NothingUsableError | BrokenPipeError:
    """Return what to raise for an error of standard output."""
    if isinstance(error, BrokenPipeError) or _is_broken_pipe(error):
        return BrokenPipeError()
    return NothingUsableError(f"Standard output could not be written: {error.strerror or error}.")


def _is_broken_pipe(error: OSError) -> bool:
    """Return whether an error means a broken pipe on Windows, whose C library reports EINVAL for it."""
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


def bars(asked: bool | None, *, quiet: bool = False, steps: str = "") -> Progress:
    """Return what shows progress, in `steps` of dedupe/cli/progress_line.py, or a substitute that shows nothing."""
    from dedupe.progress import Silent

    if quiet or not wants_progress(asked):
        return Silent()
    from dedupe.cli import progress_line

    return progress_line.ProgressLine(progress_line.STEPS[steps])


def wants_colour() -> bool:
    """Return whether standard output is to be coloured: https://no-color.org."""
    return not os.environ.get("NO_COLOR") and on_terminal(sys.stdout)


def failed(error: DedupeError | OSError) -> Exit:
    """Say in one sentence what went wrong, and return the exit code; a broken pipe is no failure."""
    if isinstance(error, BrokenPipeError):
        return Exit.DONE
    say(f"dedupe: {error}")
    return Exit(error.exit_code) if isinstance(error, DedupeError) else Exit.NOTHING


def guarded(command: Callable[..., Exit]) -> Callable[..., None]:
    """Make a command end with its exit code, and an error that a user can cause with one sentence."""

    @functools.wraps(command)
    def run(*args: Any, **kwargs: Any) -> None:
        try:
            _at_work.set()
            code = command(*args, **kwargs)
        except (DedupeError, BrokenPipeError) as error:
            code = failed(error)
        except KeyboardInterrupt:
            _interrupted()
        _silence_broken_pipes()
        _at_work.clear()
        raise typer.Exit(code)

    return run


def _silence_broken_pipes() -> None:
    """Flush the streams now, so that the interpreter prints no error about them when it ends."""
    for stream in (sys.stdout, sys.stderr):
        try:
            if stream is not None:
                stream.flush()
        except OSError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def leave(code: int | str | None) -> NoReturn:
    """End at once, without freeing a million objects, which would take longer than writing a report.

    Nor does the program wait for a worker that hangs in a system call.
    """
    for stream in (sys.stdout, sys.stderr):
        with contextlib.suppress(OSError, AttributeError):  # a closed stream is None
            stream.flush()
    os._exit(code if isinstance(code, int) else bool(code))
