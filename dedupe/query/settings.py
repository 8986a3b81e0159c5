"""The settings of a search for what is missing, checked once; each side's walk gets a `ScanConfig` of its own."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dedupe.config import AnyPath, BackendName, Confirm, ScanConfig
from dedupe.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class MissingConfig:
    """All settings of `find_missing`.

    Raises:
        UsageError: a value makes no sense, or a side has no root.
    """

    card: Sequence[AnyPath]  # files and folders whose contents are looked for
    archive: Sequence[AnyPath]  # files and folders that may hold them
    confirm: Confirm = Confirm.SHA256  # xxh3 is refused: it proves nothing
    backend: BackendName = BackendName.AUTO
    cache: AnyPath | None = None  # the cache's file; None remembers nothing
    jobs: int | None = None  # files read at once; None: one a core, or what suits the disk or the server better
    include: Sequence[str] = ()  # patterns; if there are any, files that match none are left out, on both sides
    exclude: Sequence[str] = ()  # patterns; files are left out, folders not entered, on both sides
    exclude_lines: Sequence[str] = ()  # rules as .gitignore has them, for paths below each root of both sides
    ignore_case: bool = False  # of patterns and rules
    default_excludes: bool = True  # leave out trash and snapshots of the archive; those of the card always take part
    follow_symlinks: bool = False  # in the archive: what a link on the card leads to is not on the card
    one_file_system: bool = False
    cloud_files: bool = False
    own_files: Sequence[AnyPath | int] = ()

    def __post_init__(self) -> None:
        """Check the values."""
        if self.confirm == Confirm.XXH3:
            raise UsageError("xxh3 is no proof, and what it calls held may not be: choose another --confirm.")
        if not self.archive:
            raise UsageError("Nothing to look in: name the archive with --from.")
        if not self.card:
            raise UsageError("Nothing to look for: name at least one file or folder.")
        self.card_scan()
        self.archive_scan()

    def card_scan(self) -> ScanConfig:
        """Return what takes part of the card: all that may be lost with it, empty files to be counted."""
        return self._scan(self.card, min_size=0, default_excludes=True, trash=True, follow_symlinks=False)

    def archive_scan(self) -> ScanConfig:
        """Return what takes part of the archive."""
        return self._scan(
            self.archive,
            min_size=1,
            default_excludes=self.default_excludes,
            trash=False,
            follow_symlinks=self.follow_symlinks,
        )

    def _scan(
        self, roots: Sequence[AnyPath], *, min_size: int, default_excludes: bool, trash: bool, follow_symlinks: bool
    ) -> ScanConfig:
        return ScanConfig(
            roots=roots,
            confirm=self.confirm,
            backend=self.backend,
            cache=self.cache,
            jobs=self.jobs,
            min_size=min_size,
            include=self.include,
            exclude=self.exclude,
            exclude_lines=self.exclude_lines,
            ignore_case=self.ignore_case,
            default_excludes=default_excludes,
            trash=trash,
            follow_symlinks=follow_symlinks,
            one_file_system=self.one_file_system,
            cloud_files=self.cloud_files,
            own_files=self.own_files,
        )
