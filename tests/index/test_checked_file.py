"""Files of arrays: whatever is written comes back, from any address, and what was changed is noticed."""

import mmap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.index.folder.checked_file import CheckedFile, CheckedWriter
from lookalike.index.folder.errors import DamagedError
from lookalike.kernels.checksums import BLOCK_BYTES
from lookalike.types import words_in

LENGTHS = st.integers(0, 9) | st.integers(0, 3 * BLOCK_BYTES) | st.sampled_from([BLOCK_BYTES, BLOCK_BYTES - 1])
PIECES = st.lists(st.tuples(st.sampled_from([np.uint8, np.int32, np.uint64]), st.integers(0, 9), LENGTHS), max_size=6)


@pytest.fixture(scope="module")
def mapped(tmp_path_factory):
    """Random bytes of a file, mapped: slices of it start at any address, as when segments are merged."""
    path = tmp_path_factory.mktemp("mapped") / "random"
    path.write_bytes(np.random.default_rng(5).bytes(32 * BLOCK_BYTES))
    with path.open("rb") as file:
        yield mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)


@given(pieces=PIECES)
def test_arrays_at_any_address_come_back(tmp_path_factory, mapped, pieces):
    path = tmp_path_factory.mktemp("checked") / "file"
    arrays = {}
    with CheckedWriter(path) as writer:
        for number, (dtype, offset, count) in enumerate(pieces):
            values = np.frombuffer(mapped, dtype, count, offset)
            writer.begin(f"a{number}", dtype)
            for piece in (values[: count // 3], values[count // 3 :]):
                writer.extend(f"a{number}", piece)
            arrays[f"a{number}"] = values
        writer.finish({})
    file = CheckedFile(path)
    file.check_all()
    for name, values in arrays.items():
        assert np.array_equal(file.load(name), values)


@given(dtype=st.sampled_from(["u1", "<i4", "<u8", "<f8"]), offset=st.integers(0, 40), count=st.integers(0, 50))
def test_words_at_any_address_are_aligned(mapped, dtype, offset, count):
    values = words_in(mapped, dtype, count, offset)
    assert values.flags.aligned
    assert values.tobytes() == mapped[offset : offset + values.nbytes]
    assert len(values) == count


@given(pieces=PIECES.filter(lambda pieces: sum(count for _, _, count in pieces)), place=st.randoms())
def test_a_changed_byte_is_noticed(tmp_path_factory, mapped, pieces, place):
    path = tmp_path_factory.mktemp("checked") / "file"
    with CheckedWriter(path) as writer:
        for number, (dtype, offset, count) in enumerate(pieces):
            writer.write(f"a{number}", np.frombuffer(mapped, dtype, count, offset))
        writer.finish({})
    content = bytearray(path.read_bytes())
    content[place.randrange(len(content))] ^= 1 << place.randrange(8)
    path.write_bytes(content)
    with pytest.raises(DamagedError):
        CheckedFile(path).check_all()
