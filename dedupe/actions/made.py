"""The files that undo made again: further names of one of them become links to it, and to no other.  Makes nothing."""

from __future__ import annotations

from dedupe.actions.holding import Folders
from dedupe.actions.places import Place, place
from dedupe.actions.records import Intent
from dedupe.actions.runs import Known, Run


class Made:
    """What was made of each file that a run gave up, by this undo of the run and by earlier ones."""

    def __init__(self, run: Run, known: Known) -> None:
        self._found: dict[tuple[object, ...], tuple[bytes, int]] = {}  # a name of each, and its inode; 0 if not known
        for other in known.undos(run):
            for intent in other.done():
                before = run.intents.get(intent.undoes)
                if before and intent.verb.endswith(("delete", "hardlink")) and not other.is_elsewhere:
                    self._found[before.file] = intent.path, other.outcomes[intent.n].inode

    def note(self, before: Intent, path: bytes, made: Place) -> None:
        """Note that a file has a name again."""
        if made.look is not None:
            self._found[before.file] = path, made.look.inode

    def inode(self, before: Intent) -> int:
        """Return the inode of what was made of a file; 0 where nothing was, or that is not known."""
        return self._found.get(before.file, (b"", 0))[1]

    def first(self, before: Intent, source: Place, folders: Folders) -> Place | None:
        """Return what was made of a file, if its name means that still, and not the copy that stayed.

        Raises:
            OSError: it cannot be looked at.
        """
        path, inode = self._found.get(before.file, (b"", 0))
        if not inode or inode == before.keeper_inode or (source.look is not None and source.look.inode == inode):
            return None
        first = place(path, folders)
        if first.look is None or (first.look.inode, first.look.modified_ns) != (inode, before.modified_ns):
            return None
        return first if first.has_content(before) else None
