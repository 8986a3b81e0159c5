"""Opening what a plan names, and nothing that took its place: folders without a link on the way, files within them.

Every step that changes a folder goes through the folder that was opened here, so that no link that is put in its path
meanwhile can lead it elsewhere.  Reads no content.
"""

from __future__ import annotations

import errno
import os
import stat
import sys

if sys.platform == "win32":
    from dedupe.storage import windows_acts

    def open_folder(path: bytes, root: bytes | None = None) -> int:
        """Open a folder whose real path is the one that was planned; while it is open nobody can rename it.

        Args:
            path: absolute, extended-length.
            root: a folder above it; links up to and in this one are followed.

        Raises:
            OSError: it is not there, or (ELOOP) a junction or link is on the way.
        """
        planned = path if root is None else _below(os.path.realpath(root), path, root)
        descriptor = windows_acts.open_folder(path)
        try:
            if os.path.normcase(windows_acts.path_of(descriptor)) != os.path.normcase(planned):
                raise OSError(errno.ELOOP, "a junction or a link is on the way to this folder", path)
        except OSError:
            os.close(descriptor)
            raise
        return descriptor

    def open_nofollow(folder: int, name: bytes) -> int:
        """Open a regular file of an open folder for reading.

        Raises:
            OSError: it is not there, or is no regular file: ELOOP for a link, EINVAL for others.
        """
        return windows_acts.open_file(windows_acts.at(folder, _checked(name)))

    def stat_at(folder: int, name: bytes) -> os.stat_result:
        """Return the stat of a name in an open folder; a link's own."""
        return os.lstat(windows_acts.at(folder, _checked(name)))

    def create_new(folder: int, name: bytes) -> int:
        """Make a new file in an open folder, for reading and writing; replaces nothing."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_BINARY | os.O_NOINHERIT
        return os.open(windows_acts.at(folder, _checked(name)), flags, 0o600)

    def make_folder(folder: int, name: bytes) -> None:
        """Make a folder in an open one.

        Raises:
            FileExistsError: something has that name.
            OSError: it was not made.
        """
        os.mkdir(windows_acts.at(folder, _checked(name)))

    def longest_name(folder: int) -> int:  # noqa: ARG001
        """Return how long a name may be: counted in UTF-16 units there, of which none takes less than a byte."""
        return 255

    def unlink_at(folder: int, name: bytes) -> None:
        """Remove a file's name from an open folder."""
        os.unlink(windows_acts.at(folder, _checked(name)))

    def link_at(source_dir: int, source: bytes, target_dir: int, target: bytes) -> None:
        """Give a file of one open folder another name in a second; replaces nothing."""
        source, target = windows_acts.at(source_dir, _checked(source)), windows_acts.at(target_dir, _checked(target))
        os.link(source, target)

    def link_open(descriptor: int, target_dir: int, target: bytes) -> None:
        """Give an open file another name; replaces nothing.  Its path holds while its folder or itself is pinned."""
        os.link(windows_acts.path_of(descriptor), windows_acts.at(target_dir, _checked(target)))

else:
    _FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
    _PASSING = _FOLDER  # which needs the right to list a folder, where Linux needs only that to pass through
    if sys.platform == "linux":
        _PASSING = os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC | os.O_NOFOLLOW
    _FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC

    def open_folder(path: bytes, root: bytes | None = None) -> int:
        """Open a folder whose real path is the one that was planned: no symbolic link on the way is followed.

        Args:
            path: absolute.
            root: a folder above it, or itself; links up to and in this one are followed, as the user wrote them.

        Raises:
            OSError: it is not there, or (ELOOP) a link is on the way.
        """
        if not path.startswith(b"/"):
            raise OSError(errno.EINVAL, "it is no absolute path", path)
        top = b"/" if root is None else root
        rest = _below(b"", path, top).strip(b"/")
        start = os.open(top, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        if not rest:
            return start
        try:
            return _open_below(start, rest)
        except OSError as error:
            is_link = error.errno == errno.ELOOP
            said = "a symbolic link is on the way to this folder" if is_link else error.strerror
            raise OSError(error.errno, said, path) from error
        finally:
            os.close(start)

    def open_nofollow(folder: int, name: bytes) -> int:
        """Open a regular file of an open folder for reading.

        Raises:
            OSError: it is not there, or is no regular file: ELOOP for a symbolic link, EINVAL for others.
        """
        descriptor = os.open(_checked(name), _FILE, dir_fd=folder)
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.close(descriptor)
            raise OSError(errno.EINVAL, "it is no regular file", name)
        return descriptor

    def stat_at(folder: int, name: bytes) -> os.stat_result:
        """Return the stat of a name in an open folder; a symbolic link's own."""
        return os.stat(_checked(name), dir_fd=folder, follow_symlinks=False)

    def create_new(folder: int, name: bytes) -> int:
        """Make a new file of mode 600 in an open folder, for reading and writing; replaces nothing."""
        flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        return os.open(_checked(name), flags, 0o600, dir_fd=folder)

    def make_folder(folder: int, name: bytes) -> None:
        """Make a folder in an open one.

        Raises:
            FileExistsError: something has that name.
            OSError: it was not made.
        """
        os.mkdir(_checked(name), dir_fd=folder)

    def longest_name(folder: int) -> int:
        """Return how many bytes a name in an open folder may have."""
        return min(255, os.fpathconf(folder, "PC_NAME_MAX"))

    def unlink_at(folder: int, name: bytes) -> None:
        """Remove a file's name from an open folder."""
        os.unlink(_checked(name), dir_fd=folder)

    def link_at(source_dir: int, source: bytes, target_dir: int, target: bytes) -> None:
        """Give a file of one open folder another name in a second; replaces nothing and follows no link."""
        os.link(_checked(source), _checked(target), src_dir_fd=source_dir, dst_dir_fd=target_dir, follow_symlinks=False)

    if sys.platform == "linux":
        from dedupe.storage.linux_open import open_without_links

        def link_open(descriptor: int, target_dir: int, target: bytes) -> None:
            """Give an open file another name, whatever its own is by now; replaces nothing.

            Raises:
                OSError: ENOENT where its last name is gone.
            """
            os.link(b"/proc/self/fd/%d" % descriptor, _checked(target), dst_dir_fd=target_dir, follow_symlinks=True)

        def _open_below(start: int, rest: bytes) -> int:
            # without O_NOFOLLOW, for which a link as the last part is "no folder"
            found = open_without_links(start, rest, _FOLDER & ~os.O_NOFOLLOW)
            return _open_by_steps(start, rest) if found is None else found

    else:

        def link_open(descriptor: int, target_dir: int, target: bytes) -> None:  # noqa: ARG001
            """Raise OSError: this system links names only, no open files."""
            raise OSError(errno.ENOTSUP, "this system cannot give an open file another name", target)

        def _open_below(start: int, rest: bytes) -> int:
            return _open_by_steps(start, rest)

    def _open_by_steps(start: int, rest: bytes) -> int:
        """Open a folder one part of its path after the other, each without following a link."""
        parts = [part for part in rest.split(b"/") if part]
        here = start
        try:
            for part in parts:
                try:
                    below = os.open(part, _FOLDER if part is parts[-1] else _PASSING, dir_fd=here)
                except NotADirectoryError:
                    if stat.S_ISLNK(os.stat(part, dir_fd=here, follow_symlinks=False).st_mode):
                        raise OSError(errno.ELOOP, os.strerror(errno.ELOOP), part) from None
                    raise
                if here != start:
                    os.close(here)
                here = below
        except OSError:
            if here != start:
                os.close(here)
            raise
        return here


if sys.platform == "win32":

    def open_files() -> int:
        """Return how many files this process may have open at a time: as many as the C library's table has."""
        return 512

else:

    def open_files() -> int:
        """Return how many files this process may have open at a time."""
        import resource

        soft = resource.getrlimit(resource.RLIMIT_NOFILE)[0]
        return 1 << 20 if soft == resource.RLIM_INFINITY else soft


def _below(real: bytes, path: bytes, root: bytes) -> bytes:
    """Return a path with its root in another form; refuse one that does not lie below the root or steps back."""
    separator = os.fsencode(os.sep)
    top = root.rstrip(separator)
    if path.rstrip(separator) != top and not path.startswith(top + separator):
        raise OSError(errno.EINVAL, f"it does not lie below {os.fsdecode(root)}", path)
    rest = path[len(top) :]
    if b".." in rest.split(separator):
        raise OSError(errno.EINVAL, "a planned path has no '..' in it", path)
    return real.rstrip(separator) + rest.rstrip(separator)


def _checked(name: bytes) -> bytes:
    """Return a name that is one: no path, no folder itself."""
    if name in (b"", b".", b"..") or b"/" in name or (sys.platform == "win32" and b"\\" in name):
        raise OSError(errno.EINVAL, "it is no name within a folder", name)
    return name
