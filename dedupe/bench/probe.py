"""What a child process runs to see whether an environment switch has an effect: prints its timings as JSON.

All but `builtin` and `xxh3`, which no switch can change, is computed by the OpenSSL that Python uses.  AES is too,
through TLS in memory, since Python offers no other access to it.
"""

from __future__ import annotations

import contextlib
import json
import ssl
import sys
from collections.abc import Callable
from time import perf_counter

from dedupe.bench.block import block
from dedupe.bench.participants import participants

SIZE = 256 << 10  # bytes a run: short, so that on a busy machine some runs are not interrupted
RUNS = 60
RECORD = 1 << 14  # bytes of a TLS record at most
CIPHER = "AECDH-AES128-SHA"  # no certificate, no file: both ends are ours and need not prove who they are
AES = "aes128"
NAMES = ("sha1/openssl", "sha256/openssl", "sha512/openssl", "sha256/builtin", "xxh3/xxhash")


def workloads(data: bytes) -> dict[str, Callable[[], object]]:
    """Return what can be timed here: hashes of `data` by name, and `aes128` where this OpenSSL allows it."""
    found: dict[str, Callable[[], object]] = {}
    for one in participants():
        if one.name in NAMES:
            found[one.name] = lambda one=one: one.whole(data)  # type: ignore[misc]
    with contextlib.suppress(ssl.SSLError, OSError, ValueError):  # many builds leave such ciphers out
        found[AES] = _aes(data)
    return found


def _aes(data: bytes) -> Callable[[], object]:
    """Return what encrypts `data` by AES in CBC mode (and authenticates it by SHA-1), between two ends in memory.

    Raises:
        ssl.SSLError, OSError, ValueError: this OpenSSL does not do it.
    """
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    server = _context(ssl.PROTOCOL_TLS_SERVER).wrap_bio(outgoing, incoming, server_side=True)
    client = _context(ssl.PROTOCOL_TLS_CLIENT).wrap_bio(incoming, outgoing)
    waiting = [client, server]
    for _ in range(10):  # messages there and back: five would do
        for end in list(waiting):
            with contextlib.suppress(ssl.SSLWantReadError):
                end.do_handshake()
                waiting.remove(end)
    if waiting:
        raise ValueError("the two ends do not agree on a connection")
    records = [data[place : place + RECORD] for place in range(0, len(data), RECORD)]

    def encrypt() -> None:
        for record in records:
            client.write(record)
            outgoing.read()  # discarded: its content does not matter

    return encrypt


def _context(protocol: ssl._SSLMethod) -> ssl.SSLContext:
    context = ssl.SSLContext(protocol)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_2
    context.set_ciphers(f"{CIPHER}:@SECLEVEL=0")
    return context


def timings(size: int = SIZE, runs: int = RUNS) -> dict[str, float]:
    """Return the best seconds of several runs, in turn, by name."""
    work = workloads(block(size))
    best = dict.fromkeys(work, float("inf"))
    for _ in range(runs):
        for name, run in work.items():
            start = perf_counter()
            run()
            best[name] = min(best[name], perf_counter() - start)
    return best


if __name__ == "__main__":
    sys.stdout.write(json.dumps(timings()))
