"""Other programs are believed only with the right digest: real ones where they are, stand-ins where they are not."""

from __future__ import annotations

import base64
import hashlib
import os
import shutil
import sys
from pathlib import Path

import pytest

from dedupe.bench import programs as module
from dedupe.bench.block import block
from dedupe.bench.participants import participants
from dedupe.bench.peers import AnswerError, Inputs, Peer, answer, measure, run
from dedupe.bench.programs import DOTNET, Program, programs
from dedupe.errors import NothingUsableError

DATA = block(100_000)
HEX = hashlib.sha256(DATA).hexdigest()
DIGEST = bytes.fromhex(HEX)
OURS = {one.algorithm: one for one in participants()}
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="stand-ins are shell scripts")


@pytest.fixture
def inputs(tmp_path: Path) -> Inputs:
    """Return a file in a folder whose name is no program's friend, and an empty one."""
    folder = tmp_path / "it's é"
    folder.mkdir()
    (folder / "block.bin").write_bytes(DATA)
    (folder / "empty.bin").write_bytes(b"")
    return Inputs(
        str(folder),
        str(folder / "block.bin"),
        len(DATA),
        str(folder / "empty.bin"),
        {name: one.whole(DATA) for name, one in OURS.items()},
        {name: one.whole(b"") for name, one in OURS.items()},
    )


def stand_in(folder: Path, name: str, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Put a shell script of that name first on PATH."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f"#!/bin/sh\n{script}\n", encoding="utf-8")
    (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def named(name: str, algorithm: str = "sha256") -> Program:
    """Return the one program of that name."""
    (found,) = (one for one in programs() if (one.name, one.algorithm) == (name, algorithm))
    return found


SLOW = ("dotnet", "powershell", "pwsh")  # seconds a run
EMPTY = ("certutil",) if os.environ.get("DEDUPE_LANE") == "wine" else ()  # Wine's does nothing, and says so by 0
REAL = [one for one in programs() if one.algorithm in OURS and one.name not in (*SLOW, *EMPTY)]


@pytest.mark.parametrize("program", REAL, ids=lambda one: f"{one.algorithm}-{one.name}")
def test_real_programs(program: Program, inputs: Inputs) -> None:
    """Every program that is here gives the right digest, for the file and for the empty one."""
    digests = (inputs.digests[program.algorithm], inputs.empty_digests[program.algorithm])
    seconds, found = run(program, inputs.path, inputs.size, digests[0], inputs.folder)
    assert seconds > 0
    assert found.digest == digests[0]
    if program.timed:
        assert found.size == inputs.size
        assert 0 <= (found.seconds or 0) < seconds
    if program.name != "certutil":
        assert run(program, inputs.empty, 0, digests[1], inputs.folder)[1].digest == digests[1]


def test_node_and_python_are_fed_their_lines(inputs: Inputs) -> None:
    """Node, where it is, and Python itself take part with a few lines of ours."""
    names = {one.name for one in programs()}
    assert "python" in names
    assert ("node" in names) == bool(shutil.which("node"))


@POSIX
def test_dotnet_is_fed_a_script(inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """.NET's interpreter gets a script with our lines and the file's path, and its answer counts by its own clock."""
    kept = tmp_path / "kept"
    script = f'[ "$1" = --version ] && echo 8.0.100 && exit; printf "%s\\n" "$@" > {kept}; cp "$4" {kept}.fsx\n'
    script += f"echo '{inputs.size} {HEX.upper()} 0.250000000'"
    stand_in(tmp_path / "bin", "dotnet", script, monkeypatch)
    _, found = run(named("dotnet"), inputs.path, inputs.size, DIGEST, inputs.folder)
    assert (found.seconds, found.size) == (0.25, inputs.size)
    *options, path, file = kept.read_text(encoding="utf-8").splitlines()
    assert (options, file) == (["fsi", "--quiet", "--nologo"], inputs.path)
    assert path.endswith(".fsx")
    text = Path(f"{kept}.fsx").read_text(encoding="utf-8")
    assert text == DOTNET.replace("ALGORITHM", "SHA256")
    assert "SHA256.HashData data" in text


@pytest.mark.parametrize("shell", ["powershell", "pwsh"])
def test_powershell_is_asked_in_a_form_that_nothing_changes(shell: str) -> None:
    """PowerShell's lines hold the path quoted, and travel as base64 of UTF-16, which no code page can change."""
    (program,) = (one for one in module._all() if (one.name, one.algorithm) == (shell, "sha256"))
    command = program.command("C:\\it's é.bin")
    assert command[-2] == "-EncodedCommand"
    text = base64.b64decode(command[-1]).decode("utf-16-le")
    assert "$file = 'C:\\it''s é.bin'" in text
    assert "-Algorithm SHA256" in text
    assert "UTF8Encoding" in text


ANSWERS = {
    "coreutils": f"{HEX}  /tmp/block.bin\n",
    "escaped": f"\\{HEX}  C:\\\\block.bin\n",
    "openssl": f"{HEX} */tmp/block.bin\n",
    "certutil": f"SHA256 hash of C:\\block.bin:\r\n{HEX}\r\nCertUtil: -hashfile command completed successfully.\r\n",
    "old certutil": f"SHA256-Hash der Datei:\r\n{' '.join(HEX[i : i + 2] for i in range(0, 64, 2))}\r\nCertUtil\r\n",
    "capitals": HEX.upper(),
    "with a mark": f"\ufeff{HEX}",
}


@pytest.mark.parametrize("text", ANSWERS.values(), ids=ANSWERS)
def test_answers(text: str) -> None:
    """A digest is found in what each program prints."""
    assert answer(text.encode(), 32, timed=False).digest == DIGEST


def test_answer_in_another_code_page() -> None:
    """Bytes that are no UTF-8, from a console's code page, do not hide the digest."""
    assert answer(f"SHA256-Hash von Gr\x81\xe1e:\r\n{HEX}\r\n".encode("latin-1"), 32, timed=False).digest == DIGEST


@pytest.mark.parametrize("output", [b"", b" \r\n", b"\xef\xbb\xbf", HEX[:62].encode(), f"{HEX}00".encode(), b"error"])
@pytest.mark.parametrize("timed", [False, True])
def test_no_answer_is_a_failure(output: bytes, *, timed: bool) -> None:
    """Nothing, a shorter or a longer number, and words are failures, never a time."""
    with pytest.raises(AnswerError, match="printed"):
        answer(output, 32, timed=timed)


@POSIX
@pytest.mark.parametrize(
    ("script", "word"),
    [
        ("exit 0", "printed nothing"),
        ("echo no such option >&2; exit 3", "3: no such option"),
        ("exit 1", "without a message"),
    ],
)
def test_failing_program_has_no_time(
    script: str, word: str, inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that says nothing or fails has no time, and is told with what it said; the others are measured."""
    stand_in(tmp_path / "bin", "b3sum", script, monkeypatch)
    monkeypatch.setitem(inputs.digests, "blake3", bytes(32))
    broken, good = measure([named("b3sum", "blake3"), named("python")], inputs, 2)
    assert broken.seconds == ()
    assert word in broken.failure
    assert (len(good.seconds), len(good.startup), good.failure) == (2, 2, "")


@POSIX
def test_input_that_was_not_read_is_a_failure(inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that read fewer bytes than the file has is a failure, whatever its digest."""
    stand_in(tmp_path / "bin", "node", f"echo '5 {HEX} 0.1'", monkeypatch)
    with pytest.raises(AnswerError, match="5 bytes of 100000"):
        run(named("node"), inputs.path, inputs.size, DIGEST, inputs.folder)


@POSIX
def test_wrong_digest_ends_the_run(inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another digest than ours ends everything, with both digests."""
    wrong = "0" * 64
    stand_in(tmp_path / "bin", "sha256sum", f"echo '{wrong}  x'", monkeypatch)
    with pytest.raises(NothingUsableError) as caught:
        measure([named("sha256sum")], inputs, 1)
    assert wrong in str(caught.value)
    assert HEX in str(caught.value)


@POSIX
def test_refused_empty_file_leaves_the_start_unknown(
    inputs: Inputs, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A program that refuses an empty file, as certutil may, still has its times, with its start in them."""
    stand_in(tmp_path / "bin", "certutil", f'[ -s "$2" ] || exit 1; echo {HEX}', monkeypatch)
    (peer,) = measure([named("certutil")], inputs, 2)
    assert (peer.startup, len(peer.seconds), peer.failure) == ((), 2, "")
    assert peer.net == peer.seconds


def test_start_is_taken_off() -> None:
    """What a whole run took is told without the best start; what was timed inside is told as it is."""
    whole = Peer("sha256/sha256sum", "", 1, False, (3.0, 2.0, 0.5), (1.5, 1.0))  # noqa: FBT003
    timed = Peer("sha256/node", "", 1, True, (3.0, 2.0), (1.5, 1.0))  # noqa: FBT003
    assert whole.net == (2.0, 1.0, 0.0)
    assert timed.net == (3.0, 2.0)
