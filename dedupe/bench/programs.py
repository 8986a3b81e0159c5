"""The other programs that compute hashes, and the command for each.  Runs none of them."""

from __future__ import annotations

import base64
import shutil
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Program:
    """A program that prints a file's digest.

    One that is `timed` runs a script of ours: it prints how many bytes it read, the digest, and the seconds that its
    hash took, so that neither its start nor its reading counts.  Of the others only the whole run can be timed.
    """

    name: str
    algorithm: str
    version: tuple[str, ...]  # the command that prints it
    command: Callable[[str], tuple[str, ...]]  # for a file
    text: str = ""  # what it gets on its standard input
    timed: bool = False


_COREUTILS = {"md5": "md5sum", "sha1": "sha1sum", "sha256": "sha256sum", "sha512": "sha512sum", "blake2b": "b2sum"}
_OPENSSL = {
    "md5": "md5",
    "sha1": "sha1",
    "sha256": "sha256",
    "sha512": "sha512",
    "sha3_256": "sha3-256",
    "blake2b": "blake2b512",
    "blake2s": "blake2s256",
}
_SHASUM = {"sha1": "1", "sha256": "256", "sha512": "512"}
_XXHSUM = {"xxh32": "0", "xxh64": "1", "xxh3": "2", "xxh3_64": "3"}
_WINDOWS = {"md5": "MD5", "sha1": "SHA1", "sha256": "SHA256", "sha512": "SHA512"}
_DOTNET = _WINDOWS | {"sha3_256": "SHA3_256"}
_HASHLIB = dict.fromkeys(("md5", "sha1", "sha256", "sha512", "sha3_256", "blake2b", "blake2s"))

NODE = """\
const [file, name] = process.argv.slice(2);
const data = require('fs').readFileSync(file);
const start = process.hrtime.bigint();
const digest = require('crypto').createHash(name).update(data).digest('hex');
const seconds = Number(process.hrtime.bigint() - start) / 1e9;
console.log(data.length, digest, seconds.toFixed(9));
"""
PYTHON = """\
import hashlib, sys, time
file, name = sys.argv[1:]
data = open(file, 'rb').read()
start = time.perf_counter()
digest = hashlib.new(name, data).hexdigest()
seconds = time.perf_counter() - start
print(len(data), digest, f'{seconds:.9f}')
"""
# Runs under `dotnet fsi` of every SDK from .NET 5 on; `args` would hold the script itself first
DOTNET = """\
open System
open System.Diagnostics
open System.Globalization
open System.IO
open System.Security.Cryptography
let args = fsi.CommandLineArgs
let data = File.ReadAllBytes args.[1]
let watch = Stopwatch.StartNew()
let digest = ALGORITHM.HashData data
let seconds = watch.Elapsed.TotalSeconds
let hex = Convert.ToHexString digest
Console.WriteLine(String.Format(CultureInfo.InvariantCulture, "{0} {1} {2:F9}", data.Length, hex, seconds))
"""
POWERSHELL = """\
$ErrorActionPreference = 'Stop'
[Console]::OutputEncoding = New-Object System.Text.UTF8Encoding $false
$file = 'PATH'
$watch = [Diagnostics.Stopwatch]::StartNew()
$digest = (Get-FileHash -LiteralPath $file -Algorithm ALGORITHM).Hash
$seconds = $watch.Elapsed.TotalSeconds.ToString('F9', [Globalization.CultureInfo]::InvariantCulture)
[Console]::WriteLine("$((Get-Item -LiteralPath $file).Length) $digest $seconds")
"""


def programs() -> list[Program]:
    """Return every program that is on PATH, with every algorithm that it offers."""
    return [one for one in _all() if shutil.which(one.command("")[0])]


def _all() -> Iterator[Program]:
    for algorithm, name in _COREUTILS.items():
        yield Program(name, algorithm, (name, "--version"), _with(name, "--"))
    for algorithm, name in _OPENSSL.items():
        yield Program("openssl", algorithm, ("openssl", "version"), _with("openssl", "dgst", "-r", f"-{name}"))
    for algorithm, bits in _SHASUM.items():
        yield Program("shasum", algorithm, ("shasum", "--version"), _with("shasum", "-a", bits))
    yield Program("b3sum", "blake3", ("b3sum", "--version"), _with("b3sum"))
    for algorithm, number in _XXHSUM.items():
        yield Program("xxhsum", algorithm, ("xxhsum", "--version"), _with("xxhsum", f"-H{number}"))
    for algorithm, name in _WINDOWS.items():
        yield Program("certutil", algorithm, (), _before(("certutil", "-hashfile"), name))
        for shell in ("powershell", "pwsh"):
            yield Program(shell, algorithm, _asking(shell), _powershell(shell, name), timed=True)
    yield from _scripted()


def _scripted() -> Iterator[Program]:
    """Yield the languages that run a script of ours."""
    for algorithm, name in _OPENSSL.items():
        yield Program("node", algorithm, ("node", "--version"), _before(("node", "-"), name), NODE, timed=True)
    for algorithm in _HASHLIB:
        start = (sys.executable, "-I", "-")
        yield Program("python", algorithm, (sys.executable, "-V"), _before(start, algorithm), PYTHON, timed=True)
    for algorithm, name in _DOTNET.items():
        text = DOTNET.replace("ALGORITHM", name)
        yield Program("dotnet", algorithm, ("dotnet", "--version"), _with(*DOTNET_COMMAND), text, timed=True)


SCRIPT = "SCRIPT"  # stands for a file with the text, where a program does not take it from its standard input
DOTNET_COMMAND = ("dotnet", "fsi", "--quiet", "--nologo", SCRIPT)


def _with(*command: str) -> Callable[[str], tuple[str, ...]]:
    return lambda path: (*command, path)


def _before(command: tuple[str, ...], *after: str) -> Callable[[str], tuple[str, ...]]:
    return lambda path: (*command, path, *after)


def _powershell(shell: str, algorithm: str) -> Callable[[str], tuple[str, ...]]:
    def command(path: str) -> tuple[str, ...]:
        text = POWERSHELL.replace("ALGORITHM", algorithm).replace("PATH", path.replace("'", "''"))
        # as base64 of UTF-16, the one way in which no code page and no quoting can change it
        encoded = base64.b64encode(text.encode("utf-16-le", "surrogatepass")).decode()
        return (shell, "-NoProfile", "-NonInteractive", "-EncodedCommand", encoded)

    return command


def _asking(shell: str) -> tuple[str, ...]:
    return (shell, "-NoProfile", "-NonInteractive", "-Command", "$PSVersionTable.PSVersion.ToString()")
