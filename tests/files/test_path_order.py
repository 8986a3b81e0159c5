"""The order of files by path: the same as if all paths were made and sorted, however folders and names lie."""

from __future__ import annotations

from array import array

from hypothesis import given
from hypothesis import strategies as st

from dedupe.files.path_order import PathOrder
from dedupe.files.table import FileTable

# few letters, around the slash on both sides: so folders and names begin alike, and sort between each other
_names = st.text("-/0a", min_size=1, max_size=3).map(lambda name: name.replace("/", "\x2e").encode())
_folders = st.lists(_names, max_size=3).map(lambda parts: b"/" + b"".join(part + b"/" for part in parts))
_trees = st.dictionaries(st.tuples(_folders, _names), st.none(), min_size=2, max_size=24).map(list)


def table_of(files: list[tuple[bytes, bytes]], *, twice: bool = False) -> FileTable:
    """Return a table of files by folder and name; `twice`: each file's folder is entered anew."""
    made = FileTable()
    folders: dict[bytes, int] = {}
    for folder, name in files:
        if twice or folder not in folders:
            folders[folder] = made.enter(folder)
        made.add(folders[folder], name, (1, 2, 3, len(made) + 1))
    return made


@given(_trees, st.data())
def test_each_class_is_in_the_order_of_its_paths(files: list[tuple[bytes, bytes]], data: st.DataObject) -> None:
    """Members of classes are sorted class by class as their whole paths are."""
    table = table_of(files, twice=data.draw(st.booleans()))
    members = data.draw(st.permutations(range(len(files))))
    cut = data.draw(st.integers(1, len(files) - 1))
    expected = [sorted(part, key=table.path) for part in (members[:cut], members[cut:])]
    found = PathOrder(table).sorted(array("I", members), (cut, len(members) - cut))
    assert list(found) == expected[0] + expected[1]
