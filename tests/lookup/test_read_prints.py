"""Files with minutiae: text, tables and templates; every malformed template is refused by name and byte."""

import contextlib

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lookalike.errors import BadDataError, UsageError
from lookalike.lookup.prints import Prints
from lookalike.lookup.read_prints import read_prints
from lookalike.lookup.read_templates import parse_template, write_template
from lookalike.lookup.simulated import draw_prints


def shown(prints):
    return [
        (name, list(zip(*(getattr(prints, side)[prints.owners == at].tolist() for side in ("x", "y", "angles")))))
        for at, name in enumerate(prints.names)
    ]


def test_text_files_of_a_folder(tmp_path):
    (tmp_path / "b.xyt").write_text("10 20 90 55\r\n\n30 40 180\n")
    (tmp_path / "a.xyt").write_text("1.5 -2 0 0")
    prints = read_prints([tmp_path])
    assert shown(prints) == [
        (f"{tmp_path}/a.xyt", [(1.5, -2.0, 0.0)]),
        (f"{tmp_path}/b.xyt", [(10.0, 20.0, 90.0), (30.0, 40.0, 180.0)]),
    ]


@pytest.mark.parametrize("line", ["1", "1 2 3 4 5", "1 x 3 4", "1 nan 3 4", "1 2 inf", "\udcff 2 3"])
def test_a_bad_line_is_named(tmp_path, line):
    (tmp_path / "a.xyt").write_bytes(b"1 2 3 4\n" + line.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadDataError, match=r"a\.xyt:2: not a minutia"):
        read_prints([tmp_path / "a.xyt"])


def test_tables_with_one_print_and_with_many(tmp_path):
    (tmp_path / "one.csv").write_text("X,Y\n1,2\n3,4\n")
    (tmp_path / "many.csv").write_text("print,x,y,theta,note\nleft,1,2,90,a\nright,3,4,0,b\nleft,5,6,45,c\n")
    pq.write_table(pa.table({"finger": [7], "x": [1], "y": [2.5], "angle": [10]}), tmp_path / "p.parquet")
    prints = read_prints([tmp_path / "one.csv", tmp_path / "many.csv", tmp_path / "p.parquet"])
    assert prints.names == [str(tmp_path / "one.csv"), "left", "right", "7"]
    assert shown(prints)[1:] == [
        ("left", [(1.0, 2.0, 90.0), (5.0, 6.0, 45.0)]),
        ("right", [(3.0, 4.0, 0.0)]),
        ("7", [(1.0, 2.5, 10.0)]),
    ]
    assert np.isnan(prints.angles[:2]).all()


def test_bad_tables_are_named(tmp_path):
    (tmp_path / "a.csv").write_text("x,z\n1,2\n")
    with pytest.raises(BadDataError, match=r"a\.csv: no column 'y'; its columns are 'x', 'z'"):
        read_prints([tmp_path / "a.csv"])
    (tmp_path / "a.csv").write_text("x,y\n1,2\n3,\n")
    with pytest.raises(BadDataError, match=r"a\.csv: row 1, column y: the value is missing"):
        read_prints([tmp_path / "a.csv"])
    with pytest.raises(UsageError, match=r"absent\.xyt: no such file"):
        read_prints([tmp_path / "absent.xyt"])
    with pytest.raises(UsageError, match="standard input"):
        read_prints(["-"])


def test_templates_are_read_back_as_written(tmp_path):
    prints = draw_prints(3)
    path = tmp_path / "fingers.fmr"
    path.write_bytes(write_template(prints))
    again = read_prints([path])
    assert again.names == [f"{path}#0", f"{path}#1", f"{path}#2"]
    assert again.indptr.tolist() == prints.indptr.tolist()
    assert np.abs(again.x - prints.x).max() < 0.51
    assert np.abs(again.y - prints.y).max() < 0.51
    off = np.abs(again.angles - prints.angles)
    assert np.minimum(off, 360 - off).max() <= 360 / 512 + 1e-9


def template():
    """One view: two minutiae (an ending at 10, 20 to the right; a bifurcation at 300, 400, half a turn), no more."""
    header = b"FMR\0 20\0" + bytes.fromhex("0000002a 0000 01f4 0258 00c5 018a 01 00".replace(" ", ""))
    view = bytes.fromhex("02 00 50 02".replace(" ", ""))
    minutiae = bytes.fromhex("400a 0014 00 32  812c 0190 80 00".replace(" ", ""))
    return header + view + minutiae + b"\0\0"


def test_a_template_byte_by_byte():
    data = template()
    prints = parse_template(data, "a")
    scale = 500 / 2.54
    assert prints.names == ["a"]
    assert prints.x == pytest.approx([10 * scale / 197, 300 * scale / 197])
    # 394 pixels per cm upwards; the lowest of 600 rows is 0
    assert prints.y == pytest.approx([579 * scale / 394, 199 * scale / 394])
    assert prints.angles.tolist() == [0.0, 180.0]


def changed(at, *values):
    data = bytearray(template())
    data[at : at + len(values)] = bytes(values)
    return bytes(data)


@pytest.mark.parametrize(
    ("data", "byte"),
    [
        (template()[:20], 20),
        (changed(0, ord("X")), 0),
        (changed(4, ord("3")), 4),
        (changed(11, 0x2B), 8),
        (template() + b"\0", 8),
        (template()[:-1], 8),
        (changed(14, 0, 0), 14),
        (changed(18, 0, 0), 18),
        (changed(22, 0), 22),
        (changed(22, 2), 42),
        (changed(27, 3), 28),
        (changed(27, 255), 28),
        (changed(27, 1), 36),
        (changed(28, 0x43, 0xFF), 28),
        (changed(28, 0x41, 0xF4), 28),
        (changed(36, 0x02, 0x58), 34),
        (changed(41, 1), 42),
        (changed(11, 0x2B) + b"\0", 42),
    ],
)
def test_malformed_templates_are_refused_by_byte(data, byte):
    with pytest.raises(BadDataError, match=rf"^thumb\.fmr: byte {byte}: "):
        parse_template(data, "thumb.fmr")


@given(st.lists(st.tuples(st.integers(0, 41), st.integers(0, 255)), max_size=4), st.integers(0, 42))
def test_no_bytes_do_any_harm(changes, length):
    data = bytearray(template())
    for at, value in changes:
        data[at] = value
    with contextlib.suppress(BadDataError):
        prints = parse_template(bytes(data[:length]), "a")
        assert prints.indptr[-1] == len(prints.x) == len(prints.angles)


def test_prints_that_do_not_fit_in_a_template():
    for x, count in ((600.0, 1), (-1.0, 1), (5.0, 256)):
        wrong = Prints(["a"], np.array([0, count]), np.full(count, x), np.full(count, 5.0), np.zeros(count))
        with pytest.raises(UsageError, match="a: a view holds at most 255 minutiae, all within the image"):
            write_template(wrong)
