"""Places whose files belong together: a copy inside one is held back unless its kind is named.

Decides by the names of folders, and by a file that marks a virtual environment; opens nothing.
"""

from __future__ import annotations

import functools
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


def kind_of(path: bytes) -> Kind | None:
    """Return why a file is held back by where it lies, or None."""
    return _of_folder(os.path.dirname(path))


@functools.lru_cache(maxsize=65536)
def _of_folder(folder: bytes) -> Kind | None:
    above, name = os.path.split(folder)
    if above == folder:
        return None
    if (kind := _of_folder(above)) is not None:
        return kind
    for kind, pattern in _FOLDERS.items():
        if pattern.fullmatch(name):
            return kind
    if _PLACES.search(os.path.join(folder, b"").replace(b"\\", b"/")):
        return Kind.PACKAGES
    return Kind.ENVIRONMENTS if os.path.lexists(os.path.join(folder, b"pyvenv.cfg")) else None


def forget() -> None:
    """Look anew from now on: an environment may have been made meanwhile."""
    _of_folder.cache_clear()
