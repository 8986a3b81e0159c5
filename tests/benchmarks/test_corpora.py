"""The corpora that tests and benchmarks share: the same each time, and with duplicates that a plain search confirms."""

from __future__ import annotations

import hashlib
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests import corpora

# the share of the full corpus that takes well under a second
SCALES = {
    "small": 0.003,
    "photos": 0.008,
    "big": 0.001,
    "near": 0.008,
    "flat": 0.01,
    "million": 0.001,
    "onegroup": 0.005,
}


# what is made does not depend on the system, and tests of scans compare its truth with what is found, there too
slow_in_wine = pytest.mark.skipif(os.environ.get("DEDUPE_LANE") == "wine", reason="a file takes ten times as long")


def contents(folder: Path) -> dict[str, str]:
    """Return the digest of every file, by its path relative to the folder."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def naive_groups(folder: Path) -> corpora.Truth:
    """Return the groups of files with the same digest, empty ones left out."""
    groups: dict[str, list[str]] = {}
    for path, digest in contents(folder).items():
        if (folder / path).stat().st_size:
            groups.setdefault(digest, []).append(path)
    return sorted(sorted(paths) for paths in groups.values() if len(paths) > 1)


def test_every_shape_has_a_scale_here() -> None:
    """A new shape takes part in these tests."""
    assert list(SCALES) == list(corpora.SHAPES)


@slow_in_wine
@pytest.mark.parametrize("name", SCALES)
def test_truth_is_what_a_plain_search_finds(name: str, tmp_path: Path) -> None:
    """The truth holds exactly the sets of files with equal content, and there are some."""
    truth = corpora.build(tmp_path, name, SCALES[name])
    assert truth
    assert truth == naive_groups(tmp_path)


@slow_in_wine
@pytest.mark.parametrize("name", ["small", "photos", "near"])
def test_a_corpus_is_the_same_each_time(name: str, tmp_path: Path) -> None:
    """Building a corpus twice gives the same names, bytes and truth."""
    truths = [corpora.build(tmp_path / each, name, SCALES[name]) for each in ("one", "two")]
    assert truths[0] == truths[1]
    assert contents(tmp_path / "one") == contents(tmp_path / "two")


@slow_in_wine
@pytest.mark.parametrize(
    ("name", "files", "gigabytes", "folders"),
    [
        ("small", 300_000, (1.1, 1.5), 3_000),
        ("photos", 4_000, (6.0, 6.8), 60),
        ("big", 11, (8.0, 8.2), 1),
        ("near", 16, (4.2, 4.4), 1),
        ("flat", 100_000, (0.2, 0.21), 1),
        ("million", 1_000_000, (0.04, 0.06), 1_000),
        ("onegroup", 200_000, (0.2, 0.21), 200),
    ],
)
def test_full_scale_has_the_promised_size(name: str, files: int, gigabytes: tuple[float, float], folders: int) -> None:
    """At scale 1 the plan holds as many files, bytes and folders as the description says."""
    count, size, parents = 0, 0, set()
    for planned in corpora.SHAPES[name](1.0):
        count, size = count + 1, size + planned.size
        parents.add(os.path.dirname(planned.path))
    assert (count, len(parents)) == (files, folders)
    assert gigabytes[0] < size / 1e9 < gigabytes[1]


def copies(plan: Iterator[corpora.Planned]) -> float:
    """Return the share of the files whose content an earlier one holds."""
    identities = Counter(planned.identity() for planned in plan)
    return 1 - len(identities) / identities.total()


@pytest.mark.parametrize(
    ("name", "share"), [("small", 0.4), ("photos", 1 / 3), ("flat", 0.1), ("million", 0.1), ("onegroup", 1.0)]
)
def test_share_of_copies(name: str, share: float) -> None:
    """As many files are copies as the description says."""
    assert copies(corpora.SHAPES[name](0.3)) == pytest.approx(share, abs=0.03)


def test_near_images_agree_at_both_ends(tmp_path: Path) -> None:
    """Images of `near` have one size, one head and one tail, and are 9 different ones all the same."""
    corpora.build(tmp_path, "near", SCALES["near"])
    images = [path.read_bytes() for path in tmp_path.iterdir()]
    assert len({(len(image), image[: 256 << 10], image[-(256 << 10) :]) for image in images}) == 1
    assert len(set(images)) == 9


@pytest.mark.parametrize("name", ["million", "flat", "onegroup"])
def test_all_files_are_candidates(name: str) -> None:
    """Where every file is to be a candidate, no size is there only once."""
    sizes = Counter(planned.size for planned in corpora.SHAPES[name](0.01))
    assert min(sizes.values()) > 1


def test_a_folder_in_use_is_refused(tmp_path: Path) -> None:
    """Nothing is written among files that are there already."""
    (tmp_path / "mine").touch()
    with pytest.raises(FileExistsError):
        corpora.build(tmp_path, "flat", 0.001)
    assert [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_kept_corpora_are_made_once(tmp_path: Path) -> None:
    """The second call finds the folder of the first; another scale has a folder of its own."""
    folder, truth = corpora.keep(tmp_path, "flat", 0.001)
    before = os.stat(folder).st_mtime_ns
    assert corpora.keep(tmp_path, "flat", 0.001) == (folder, truth)
    assert os.stat(folder).st_mtime_ns == before
    other, _ = corpora.keep(tmp_path, "flat", 0.002)
    assert other != folder
    assert corpora.files_and_bytes(folder) == (100, 100 * 2048)


def test_keeping_leaves_foreign_folders_alone(tmp_path: Path) -> None:
    """A folder of the same name that has no truth beside it is somebody else's."""
    (tmp_path / "flat@0.001").mkdir()
    with pytest.raises(FileExistsError, match="choose another folder"):
        corpora.keep(tmp_path, "flat", 0.001)
    assert os.listdir(tmp_path) == ["flat@0.001"]


def test_an_interrupted_corpus_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A build that breaks off is not taken for a corpus later, and its files are gone."""

    def breaks_off(scale: float) -> Iterator[corpora.Planned]:
        yield corpora.Planned("one", "content", 10)
        raise KeyboardInterrupt

    monkeypatch.setitem(corpora.SHAPES, "flat", breaks_off)
    with pytest.raises(KeyboardInterrupt):
        corpora.keep(tmp_path, "flat", 0.001)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize(
    ("found", "missing", "wrong"),
    [
        ([["d", "c"], ["b", "a"]], 0, 0),
        ([["a", "b"]], 1, 0),
        ([["a", "b"], ["c", "d"], ["e", "f"]], 0, 1),
        ([["a", "b"], ["c", "d", "e"]], 1, 1),
        ([["a", "b"], ["c", "d"], ["c", "d"]], 0, 1),
        ([], 2, 0),
    ],
)
def test_answers_are_compared_with_the_truth(found: corpora.Truth, missing: int, wrong: int) -> None:
    """Order is no difference; a missing, foreign, incomplete or repeated group is one."""
    assert corpora.differences(found, [["a", "b"], ["c", "d"]]) == (missing, wrong)
