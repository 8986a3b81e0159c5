"""Places whose files belong together: a copy inside one is held back unless its kind is named.

Decides by the names of folders, and by what marks a virtual environment or a bare repository; opens nothing.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum


class Kind(StrEnum):
    """What is held back unless it is named."""

    BUNDLES = "bundles"
    REPOSITORIES = "repositories"
    PHOTO_LIBRARIES = "photo-libraries"
    ENVIRONMENTS = "environments"
    PACKAGES = "packages"
    SYMLINK_TARGETS = "symlink-targets"


MEANINGS = {
    Kind.BUNDLES: "folders that are one document or program (.app, .framework, .sparsebundle, .screenflow, ...)",
    Kind.REPOSITORIES: ".git, .hg, .svn and bare repositories",
    Kind.PHOTO_LIBRARIES: "libraries of Photos, Lightroom, Music and the like",
    Kind.ENVIRONMENTS: "virtual environments of Python and conda",
    Kind.PACKAGES: "stores of package managers (node_modules, site-packages, .cargo, .m2, /nix/store, ...)",
    Kind.SYMLINK_TARGETS: "files that a symbolic link in the report leads to, where the name would go",
}

_FOLDERS = {
    Kind.PHOTO_LIBRARIES: re.compile(
        rb".+\.(photoslibrary|photolibrary|aplibrary|migratedphotolibrary|lrlibrary|lrdata|musiclibrary|tvlibrary"
        rb"|imovielibrary|fcpbundle|theater)",
        re.IGNORECASE,
    ),
    Kind.BUNDLES: re.compile(
        rb".+\.(app|appex|bundle|framework|plugin|kext|component|vst3?|xpc|sparsebundle|screenflow|rtfd|logicx|band"
        rb"|pages|numbers|key|dsym|xcodeproj|xcworkspace|pkg|mpkg|prefpane|qlgenerator|saver|scptd|wdgt|backupbundle)",
        re.IGNORECASE,
    ),
    Kind.REPOSITORIES: re.compile(rb"\.git|\.hg|\.svn|\.bzr|_darcs|\.jj|.+\.git", re.IGNORECASE),
    Kind.ENVIRONMENTS: re.compile(rb"\.venv|\.virtualenvs|conda-meta|\.tox|\.nox", re.IGNORECASE),
    Kind.PACKAGES: re.compile(
        rb"node_modules|site-packages|dist-packages|\.pnpm-store|\.npm|\.yarn|\.cargo|\.rustup|\.m2|\.gradle|\.nuget"
        rb"|\.gem|\.bundle|\.stack|\.cabal|\.opam|\.julia|\.conda|\.platformio|winsxs|homebrew|cellar|flatpak|snapd?",
        re.IGNORECASE,
    ),
}
_PLACES = re.compile(
    rb"/(nix|gnu)/store/|/go/pkg/mod/|/var/lib/(docker|containers|dpkg|rpm|pacman)/|/miniconda\d?/pkgs/"
)

_known: dict[bytes, Kind | None] = {}  # folders of this plan


def kind_of(path: bytes) -> Kind | None:
    """Return why a file is held back by where it lies, or None."""
    return _of_folder(os.path.dirname(path))


def _of_folder(folder: bytes) -> Kind | None:
    """Return why a folder, or one above it, is held back; a loop, as trees may be deeper than Python calls itself."""
    unknown = []
    while folder not in _known and folder != os.path.dirname(folder):
        unknown.append(folder)
        folder = os.path.dirname(folder)
    kind = _known.get(folder)
    for each in reversed(unknown):
        kind = kind or _by_itself(each)
        _known[each] = kind
    return kind


def _by_itself(folder: bytes) -> Kind | None:
    name = os.path.basename(folder)
    for kind, pattern in _FOLDERS.items():
        if pattern.fullmatch(name):
            return kind
    if _PLACES.search(os.path.join(folder, b"").replace(b"\\", b"/")):
        return Kind.PACKAGES
    if all(os.path.lexists(os.path.join(folder, each)) for each in (b"HEAD", b"objects", b"refs")):
        return Kind.REPOSITORIES  # a bare one
    return Kind.ENVIRONMENTS if os.path.lexists(os.path.join(folder, b"pyvenv.cfg")) else None


def forget() -> None:
    """Look anew from now on: an environment may have been made meanwhile."""
    _known.clear()
