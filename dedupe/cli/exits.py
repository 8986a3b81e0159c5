"""The exit codes, one meaning each.  Printed in `--help`; only dedupe/cli ends the program."""

from __future__ import annotations

from enum import IntEnum


class Exit(IntEnum):
    """What the program's exit code says."""

    DONE = 0
    NOTHING = 1
    USAGE = 2
    INCOMPLETE = 3
    NO = 4
    INTERRUPTED = 130


MEANINGS = {
    Exit.DONE: "done",
    Exit.NOTHING: "nothing usable could be done, or nothing was done",
    Exit.USAGE: "wrong usage, or marks that are refused as a whole, or nobody to ask",
    Exit.INCOMPLETE: "done, but some files could not be read or acted on, or changed meanwhile",
    Exit.NO: "the answer is no",
    Exit.INTERRUPTED: "interrupted",
}
