"""Loaded code: images, filled in by hand, behave as if linked by llvmlite."""

import ctypes
import struct
import sys
from pathlib import Path

import llvmlite.binding as llvm
import pytest

from lookalike.errors import ResourceError
from lookalike.kernels.pack.image import make_image
from lookalike.kernels.pack.link import Images, ObjectFiles, linker_for

FIRST = """
@table = internal constant [4 x i64] [i64 3, i64 1, i64 4, i64 159]
@inner = internal constant i64* getelementptr ([4 x i64], [4 x i64]* @table, i64 0, i64 3)
declare i64 @lookalike.second(i64)
declare i64 @llabs(i64)

define internal i64 @chosen(i64 %at) {
  %place = getelementptr [4 x i64], [4 x i64]* @table, i64 0, i64 %at
  %value = load i64, i64* %place
  ret i64 %value
}

define i64 @lookalike.first(i64 %at) {
  %value = call i64 @chosen(i64 %at)
  %twice = call i64 @lookalike.second(i64 %value)
  %positive = call i64 @llabs(i64 %twice)
  %pointer = load i64*, i64** @inner
  %last = load i64, i64* %pointer
  %sum = add i64 %positive, %last
  ret i64 %sum
}
"""
SECOND = """
@scale = internal constant [3 x double] [double -2.5, double 8.0, double -2.0]
define i64 @lookalike.second(i64 %value) {
  %place = getelementptr [3 x double], [3 x double]* @scale, i64 0, i64 2
  %by = load double, double* %place
  %number = sitofp i64 %value to double
  %product = fmul double %number, %by
  %whole = fptosi double %product to i64
  ret i64 %whole
}
"""


def compile_object(text, level=0):
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(opt=level, codemodel="large", jit=True)
    return machine.emit_object(llvm.parse_assembly(text))


def as_unit(code):
    made = make_image(code)
    return ({"image": made[1]}, made[0]) if made else ({}, code)


def results_of(linker):
    first = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(linker.address("lookalike.first"))
    return [first(at) for at in range(4)]


EXPECTED = [165, 161, 167, 477]


@pytest.mark.parametrize("level", [0, 2])
def test_both_linkers_give_the_same(level):
    codes = [compile_object(text, level) for text in (FIRST, SECOND)]
    plain, images = ObjectFiles(), Images()
    plain.add([({}, code) for code in codes])
    images.add([as_unit(code) for code in codes])
    assert results_of(plain) == results_of(images) == EXPECTED


def test_units_may_call_what_was_added_before():
    images = Images()
    images.add([as_unit(compile_object(SECOND))])
    images.add([as_unit(compile_object(FIRST))])
    assert results_of(images) == EXPECTED


def test_the_kind_of_object_code_decides_the_linker():
    code = compile_object(SECOND)
    assert isinstance(linker_for(as_unit(code)), Images)
    assert isinstance(linker_for(({}, code)), ObjectFiles)


def test_code_for_other_systems_gives_no_image():
    code = compile_object(SECOND)
    assert make_image(b"MZ" + code) is None
    other = bytearray(code)
    struct.pack_into("<H", other, 18, 183)  # arm64
    assert make_image(bytes(other)) is None


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("@count = global i64 1 define i64 @lookalike.first() { ret i64 1 }", "variables of its own"),
        ("@own = thread_local constant i64 7 define i64* @lookalike.first() { ret i64* @own }", "variables|in a way"),
    ],
)
def test_code_that_cannot_be_laid_out_is_refused(text, why):
    with pytest.raises(ValueError, match=why):
        make_image(compile_object(text.replace("define", "\ndefine")))


def test_a_function_that_is_nowhere_is_an_error():
    with pytest.raises(AttributeError, match="nowhere_at_all"):
        Images().address("nowhere_at_all")


def test_a_system_that_forbids_executable_memory_is_reported(monkeypatch):
    images = Images()
    monkeypatch.setattr(images, "_library", type("Library", (), {"mprotect": lambda *given: -1}))
    with pytest.raises(ResourceError, match="executable"):
        images.add([as_unit(compile_object(SECOND))])


@pytest.mark.skipif(sys.platform != "linux", reason="Linux lists what memory may be used for")
def test_code_cannot_be_written_to():
    images = Images()
    images.add([as_unit(compile_object(SECOND))])
    lines = Path("/proc/self/maps").read_text().splitlines()
    spans = [(line.split()[0].split("-"), line.split()[1]) for line in lines]
    address = images.address("lookalike.second")
    [rights] = [rights for (start, end), rights in spans if int(start, 16) <= address < int(end, 16)]
    assert rights.startswith("r-x")
