"""The one conformance suite that every digest backend passes.  A new backend is a line in SUBJECTS and its vectors."""

from __future__ import annotations

import hashlib
import itertools
import mmap
import pickle
import random
import shutil
import sys
import tracemalloc
import zlib
from concurrent.futures import ThreadPoolExecutor

import pytest
import xxhash
from hypothesis import given, settings
from hypothesis import strategies as st

from dedupe.digests import blocks, cng
from dedupe.digests.blake3_backend import Blake3Backend
from dedupe.digests.cng import CngBackend
from dedupe.digests.registry import BACKENDS, load
from dedupe.errors import BackendError
from tests.memory_backend import MemoryBackend
from tests.strict_bcrypt import StrictBcrypt

SUBJECTS = {
    **{name: lambda name=name: load(name) for name in BACKENDS},
    "memory": MemoryBackend,
    "cng-strict": lambda: CngBackend(StrictBcrypt()),
    "cng-windows7": lambda: CngBackend(StrictBcrypt(reusable_known=False)),
}
NOT_EVERYWHERE = {"blake3", "cng"}

# the digests of b"" and of b"abc": FIPS 180-4 and 202, RFC 1321, 7693; the vectors of BLAKE3, xxHash and zlib
VECTORS = {
    "blake2b": (
        "786a02f742015903c6c6fd852552d272912f4740e15847618a86e217f71f5419"
        "d25e1031afee585313896444934eb04b903a685b1448b755d56f701afe9be2ce",
        "ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1"
        "7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923",
    ),
    "blake2s": (
        "69217a3079908094e11121d042354a7c1f55b6482ca1a51e1b250dfd1ed0eef9",
        "508c5e8c327c14e2e1a72ba34eeb452f37458b209ed63a294d999b4c86675982",
    ),
    "crc32": ("00000000", "352441c2"),
    "blake3": (
        "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262",
        "6437b3ac38465133ffb63b75273a8db548c558465d79db03fd359c6cd5bd9d85",
    ),
    "md5": ("d41d8cd98f00b204e9800998ecf8427e", "900150983cd24fb0d6963f7d28e17f72"),
    "sha1": ("da39a3ee5e6b4b0d3255bfef95601890afd80709", "a9993e364706816aba3e25717850c26c9cd0d89d"),
    "sha256": (
        "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
        "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad",
    ),
    "sha224": (
        "d14a028c2a3a2bc9476102bb288234c415a2b01f828ea62ac5b3e42f",
        "23097d223405d8228642a477bda255b32aadbce4bda0b3f7e36c9da7",
    ),
    "sha3_224": (
        "6b4e03423667dbb73b6e15454f0eb1abd4597f9a1b078e3f5b5a6bc7",
        "e642824c3f8cf24ad09234ee7d3c766fc9a3a5168d0c94ad73b46fdf",
    ),
    "sha3_384": (
        "0c63a75b845e4f7d01107d852e4c2485c51a50aaaa94fc61995e71bbee983a2ac3713831264adb47fb6bd1e058d5f004",
        "ec01498288516fc926459f58e2c6ad8df9b473cb0fc08c2596da7cf0e49be4b298d88cea927ac7f539f1edf228376d25",
    ),
    "sha3_512": (
        "a69f73cca23a9ac5c8b567dc185a756e97c982164fe25859e0d1dcc1475c80a6"
        "15b2123af1f5f94c11e3e9402c3ac558f500199d95b6d3e301758586281dcd26",
        "b751850b1a57168a5693cd924b6b096e08f621827444f70d884f5d0240d2712e"
        "10e116e9192af3c91a7ec57647e3934057340b4cf408d5a56592f8274eec53f0",
    ),
    "sha512_224": (
        "6ed0dd02806fa89e25de060c19d3ac86cabb87d6a0ddd05c333b84f4",
        "4634270f707b6a54daae7530460842e20e37ed265ceee9a43e8924aa",
    ),
    "sha512_256": (
        "c672b8d1ef56ed28ab87c3622c5114069bdd3ad7b8f9737498d0c01ecef0967a",
        "53048e2681941ef99b2e29b76b4c7dabe4c2d0c634fc6d46e0e2f13107e7af23",
    ),
    "sha384": (
        "38b060a751ac96384cd9327eb1b1e36a21fdb71114be07434c0cc7bf63f6e1da274edebfe76f65fbd51ad2f14898b95b",
        "cb00753f45a35e8bb5a03d699ac65007272c32ab0eded1631a8b605a43ff5bed8086072ba1e7cc2358baeca134c825a7",
    ),
    "sha3_256": (
        "a7ffc6f8bf1ed76651c14756a061d662f580ff4de43b49fa82d80a4b80f8434a",
        "3a985da74fe225b2045c172d6bd390bd855f086e3e9d525b46bfe24511431532",
    ),
    "sha512": (
        "cf83e1357eefb8bdf1542850d66d8007d620e4050b5715dc83f4a921d36ce9ce"
        "47d0d13c5d85f2b0ff8318d2877eec2f63b931bd47417a81a538327af927da3e",
        "ddaf35a193617abacc417349ae20413112e6fa4e89a97ea20a9eeee64b55d39a"
        "2192992a274fc1a836ba3c23a3feebbd454d4423643ce80e2a9ac94fa54ca49f",
    ),
    "xxh3": ("99aa06d3014798d86001c324468d497f", "06b05ab6733a618578af5f94892f3950"),
    "xxh32": ("02cc5d05", "32d153ff"),
    "xxh3_64": ("2d06800538d394c2", "78af5f94892f3950"),
    "xxh64": ("ef46db3751d8e999", "44bc2cf5ad770999"),
}

# 4 GiB of zeros and then b"dedup", by sha256sum, md5sum, and xxh3_128 and blake3 in small blocks: a length that is cut
# to 32 bits leaves the digest of five bytes; one algorithm a backend
BIG_SIZE, BIG_TAIL = (1 << 32) + 5, b"dedup"
BIG = {
    "blake3": ("blake3", "68b7e8610c9e58281dbff1e273b10026ad3b84b63ee62f4531776465093de9d8"),
    "cng": ("md5", "b53751ca755ccb408ff37af803fc81e0"),  # the quickest one of Wine's, which are plain C
    "cng-strict": ("sha256", "3acbc3c562e608367d168b089926d86a9530173792b3a4c30fde09ea8bd15c98"),
    "hashlib": ("sha256", "3acbc3c562e608367d168b089926d86a9530173792b3a4c30fde09ea8bd15c98"),
    "zlib": ("crc32", "9c1be86c"),
    "xxhash": ("xxh3", "580651247f362558cde2915b8da62b83"),
}

DATA = random.Random(1).randbytes(100_003)
ONE_SHOT = {"xxh3": xxhash.xxh3_128, "xxh32": xxhash.xxh32, "xxh3_64": xxhash.xxh3_64, "xxh64": xxhash.xxh64}


def subjects(names=SUBJECTS):
    """Return a test parameter for each pair of backend and algorithm; one skipped parameter for an absent backend."""
    found = []
    for name in names:
        try:
            backend = SUBJECTS[name]()
        except BackendError as error:
            assert name in NOT_EVERYWHERE
            found.append(pytest.param(None, None, id=name, marks=pytest.mark.skip(reason=str(error))))
            continue
        found += [pytest.param(backend, a, id=f"{name}-{a}") for a in sorted(backend.algorithms)]
    return found


every = pytest.mark.parametrize(("backend", "algorithm"), subjects())


def expected(algorithm, data):
    """Return a digest computed in one go by the library at the bottom."""
    if algorithm == "blake3":
        return pytest.importorskip("blake3").blake3(bytes(data)).digest()
    if algorithm in ONE_SHOT:
        return ONE_SHOT[algorithm](bytes(data)).digest()
    if algorithm == "crc32":
        return zlib.crc32(bytes(data)).to_bytes(4, "big")
    return hashlib.new(algorithm, data).digest()


def read_only_map(path, data):
    """Write a file and map it for reading."""
    path.write_bytes(data)
    with path.open("rb") as file:
        return mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@every
def test_known_vectors(backend, algorithm):
    """The digests of nothing and of a published text are the published ones."""
    empty, abc = VECTORS[algorithm]
    assert backend.hasher(algorithm).digest().hex() == empty
    assert backend.hasher(algorithm, b"").digest().hex() == empty
    assert backend.hasher(algorithm, b"abc").digest().hex() == abc


@every
def test_every_small_size(backend, algorithm):
    """Sizes 0 to 130, at even and odd addresses, agree with the library's one-shot digest."""
    for size in range(131):
        for start in (0, 1):
            data = memoryview(DATA)[start : start + size]
            assert backend.hasher(algorithm, data).digest() == expected(algorithm, data), size


@every
@pytest.mark.parametrize("edge", [4096, 65536])
def test_sizes_around_page_edges(backend, algorithm, edge):
    """Sizes one less than, equal to and one more than a page or a map's granularity are right."""
    for size in (edge - 1, edge, edge + 1):
        assert backend.hasher(algorithm, DATA[:size]).digest() == expected(algorithm, DATA[:size])


@every
def test_sizes_around_the_block_edges(backend, algorithm, monkeypatch):
    """Where an update is fed in blocks, no byte at an edge is lost or taken twice."""
    monkeypatch.setattr(blocks, "BLOCK", 16)
    monkeypatch.setattr(cng, "BLOCK", 16)
    for size in (15, 16, 17, 31, 32, 33, 48, 1000):
        assert backend.hasher(algorithm, DATA[:size]).digest() == expected(algorithm, DATA[:size])


@every
def test_every_kind_of_buffer(backend, algorithm, tmp_path):
    """Bytes, bytearray, memoryview, items wider than a byte, and a read-only map with odd slices give one digest."""
    data = DATA[:8192]
    with read_only_map(tmp_path / "f", b"x" + data) as mapped, memoryview(mapped) as view, view[1:] as odd:
        kinds = [data, bytearray(data), memoryview(data), memoryview(bytearray(data)), memoryview(data).cast("I"), odd]
        for kind in kinds:
            assert backend.hasher(algorithm, kind).digest() == expected(algorithm, data), type(kind)
        assert backend.hasher(algorithm, mapped).digest() == expected(algorithm, b"x" + data)


@every
def test_buffers_are_let_go(backend, algorithm, tmp_path):
    """A map can be closed, and a bytearray resized, as soon as update returns: Windows holds mapped files fast."""
    hasher = backend.hasher(algorithm)
    mapped, array = read_only_map(tmp_path / "f", DATA), bytearray(DATA)
    hasher.update(mapped)
    hasher.update(array)
    mapped.close()
    array.append(0)
    assert hasher.digest() == expected(algorithm, DATA + DATA)


@every
@pytest.mark.parametrize("wrong", ["text", None, 5, ["list"]])
def test_what_is_no_buffer(backend, algorithm, wrong):
    """What is no buffer, a str above all, is refused by TypeError and leaves the hasher as it was."""
    hasher = backend.hasher(algorithm, b"ab")
    with pytest.raises(TypeError):
        hasher.update(wrong)
    hasher.update(b"c")
    assert hasher.digest().hex() == VECTORS[algorithm][1]


@every
def test_a_buffer_with_gaps(backend, algorithm):
    """A buffer that is not contiguous is refused by BufferError and leaves the hasher as it was."""
    hasher = backend.hasher(algorithm, b"ab")
    with pytest.raises(BufferError):
        hasher.update(memoryview(DATA)[::2])
    hasher.update(b"c")
    assert hasher.digest().hex() == VECTORS[algorithm][1]


@every
def test_empty_updates_change_nothing(backend, algorithm):
    """Nothing, in any shape, adds nothing."""
    hasher = backend.hasher(algorithm, b"abc")
    for nothing in (b"", bytearray(), memoryview(b""), memoryview(DATA)[5:5]):
        hasher.update(nothing)
    assert hasher.digest().hex() == VECTORS[algorithm][1]


@every
def test_copies_go_on_apart(backend, algorithm):
    """A copy starts with the same bytes; after that neither sees the other's, and either may go first."""
    first = backend.hasher(algorithm, b"ab")
    second = first.copy()
    third = second.copy()
    first.update(b"c")
    second.update(b"d")
    assert first.digest().hex() == VECTORS[algorithm][1]
    del first
    assert second.digest() == expected(algorithm, b"abd")
    assert third.digest() == expected(algorithm, b"ab")
    assert third.copy().digest() == expected(algorithm, b"ab")


@every
def test_a_digest_ends_nothing(backend, algorithm):
    """A digest may be asked for again, between updates, and before a copy."""
    hasher = backend.hasher(algorithm)
    for end in range(0, 300, 50):
        assert hasher.digest() == hasher.digest() == hasher.copy().digest() == expected(algorithm, DATA[:end])
        hasher.update(DATA[end : end + 50])


@every
def test_an_abandoned_hasher_leaves_no_trace(backend, algorithm):
    """Bytes of a hasher that was dropped half-way never reach a later one."""
    for _ in range(40):
        backend.hasher(algorithm, b"dropped")
        assert backend.hasher(algorithm, b"abc").digest().hex() == VECTORS[algorithm][1]


@every
@settings(max_examples=40, deadline=None)  # for every backend; a busy computer is no failure
@given(data=st.binary(max_size=600), cuts=st.lists(st.integers(0, 600), max_size=6))
def test_splits_make_no_difference(backend, algorithm, data, cuts):
    """However the bytes are cut into updates, the digest is that of the whole."""
    hasher = backend.hasher(algorithm)
    edges = [0, *sorted(cuts), len(data)]
    for start, end in itertools.pairwise(edges):
        hasher.update(data[start:end])
    assert hasher.digest() == expected(algorithm, data[: max(edges)])


@every
def test_a_size_hint_is_only_a_hint(backend, algorithm):
    """A hint, even a wrong one, never changes a digest."""
    for hint in (None, 0, 3, 1 << 40):
        assert backend.hasher(algorithm, b"abc", size_hint=hint).digest().hex() == VECTORS[algorithm][1]


@pytest.mark.parametrize(("backend", "algorithm"), subjects([name for name in SUBJECTS if name != "memory"]))
def test_nothing_is_copied(backend, algorithm):
    """A large update allocates next to nothing; only the in-memory fake copies, on purpose."""
    data = memoryview(bytearray(16 << 20))[1:]
    tracemalloc.start()
    try:
        backend.hasher(algorithm, data).update(data)
        assert tracemalloc.get_traced_memory()[1] < 100_000
    finally:
        tracemalloc.stop()


@every
def test_several_threads(backend, algorithm):
    """Hashers of one backend in several threads do not disturb each other."""

    def work(seed):
        piece = memoryview(DATA)[seed : seed + 5000]
        hasher = backend.hasher(algorithm, piece)
        copy = hasher.copy()
        hasher.update(piece)
        return hasher.digest(), copy.digest(), seed

    with ThreadPoolExecutor(4) as pool:
        for twice, once, seed in pool.map(work, range(100)):
            piece = DATA[seed : seed + 5000]
            assert (twice, once) == (expected(algorithm, piece * 2), expected(algorithm, piece))


@pytest.fixture(scope="module")
def big(tmp_path_factory):
    """Map a sparse file of 4 GiB and five bytes."""
    path = tmp_path_factory.mktemp("big") / "sparse"
    if sys.platform == "win32" and shutil.disk_usage(path.parent).free < 2 * BIG_SIZE:
        pytest.skip("no room for a file of 4 GiB, which a Windows drive may really allocate")
    with path.open("wb") as file:
        file.seek(BIG_SIZE - len(BIG_TAIL))
        file.write(BIG_TAIL)
    if getattr(path.stat(), "st_blocks", 0) > 1 << 16:
        pytest.skip("this file system has no sparse files")
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped:
        yield mapped
    path.unlink()


STAND_IN = pytest.mark.skipif(sys.platform == "win32", reason="stands for what is tried there itself, and takes long")


@pytest.mark.parametrize("name", [pytest.param(n, marks=STAND_IN) if n == "cng-strict" else n for n in BIG])
def test_one_update_of_more_than_4_gib(name, big):
    """Every byte of a single update beyond 4 GiB counts: no length is cut to 31 or 32 bits."""
    try:
        backend = SUBJECTS[name]()
    except BackendError as error:
        pytest.skip(str(error))
    algorithm, digest = BIG[name]
    assert backend.hasher(algorithm, big).digest().hex() == digest


@every
def test_an_unknown_algorithm(backend, algorithm):
    """An algorithm that is not offered is named in the error, beside those that are."""
    with pytest.raises(BackendError, match=rf"no whirlpool.*{algorithm}") as caught:
        backend.hasher("whirlpool")
    assert caught.value.exit_code == 2


@pytest.mark.parametrize("name", BACKENDS)
def test_backends_travel_by_name(name):
    """A pickled backend is the process's own one again, under the name that it was asked for."""
    try:
        backend = load(name)
    except BackendError as error:
        pytest.skip(str(error))
    assert backend.name == name
    assert pickle.loads(pickle.dumps(backend)) is backend is load(name)


def test_backends_are_sorted():
    """The list of backends is in the order that the user reads."""
    assert list(BACKENDS) == sorted(BACKENDS)


def test_an_unknown_backend():
    """A name that is no backend is answered by those that are."""
    with pytest.raises(BackendError, match=r"backend openssl: .*blake3, cng, hashlib, xxhash"):
        load("openssl")


@pytest.mark.skipif(sys.platform == "win32", reason="there it is available")
def test_cng_says_why_it_is_absent():
    """Off Windows the module can be imported, and its backend says in a sentence why it cannot be had."""
    with pytest.raises(BackendError, match="part of Windows, and this is not Windows"):
        load("cng")


def test_blake3_says_how_to_get_it(monkeypatch):
    """Without its package the blake3 backend names the command that installs it."""
    monkeypatch.setitem(sys.modules, "blake3", None)
    with pytest.raises(BackendError, match=r"pip install dedupe-files\[blake3\]"):
        Blake3Backend()
