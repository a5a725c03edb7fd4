"""What an editor shows of the public functions: every parameter, with a type and a description."""

import inspect
import pkgutil
import re
from typing import get_args, get_type_hints

import pytest

import lookalike as la
from lookalike import api
from lookalike.api import inputs
from lookalike.engine.settings import METHODS, POLICIES, Settings
from lookalike.lecture.halving import Halving
from lookalike.linkage.settings import ASSIGNMENTS, SCORINGS, LinkSettings
from lookalike.lookup.face_plan import plan_faces
from lookalike.lookup.fingerprints import find_prints
from lookalike.tuning.thresholds import MEASURES
from lookalike.verify.measures import NUMBERS

FUNCTIONS = [name for name in dir(la) if inspect.isfunction(getattr(la, name))]
POSITIONAL = {
    "connect": ["url", "key"],
    "dedup": ["data", "column"],
    "dedup_again": ["earlier", "out"],
    "faces": ["probes", "gallery"],
    "fingerprints": ["probes", "gallery"],
    "hamming_lsh": ["sets"],
    "jaccard": ["left", "right"],
    "kernel": ["a", "b"],
    "link": ["left", "right", "fields"],
    "neighbors": ["data", "k", "column"],
    "pairs": ["data", "column"],
    "shingles": ["text", "shingle"],
    "sketch": ["data", "column"],
    "transpose": ["data", "column"],
}


def parameters(name):
    return inspect.signature(getattr(la, name)).parameters


def test_no_function_is_left_out():
    assert {*POSITIONAL, "tune"} == set(FUNCTIONS)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_every_parameter_is_named_typed_and_described(name):
    found = parameters(name)
    for one in found.values():
        assert one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL), one
        assert one.annotation is not one.empty, one
    assert set(get_type_hints(getattr(la, name))) == {*found, "return"}  # and the types exist
    described = re.findall(r"^    (\w+(?:, \w+)*) : ", inspect.getdoc(getattr(la, name)).replace("\n", "\n    "), re.M)
    assert {one for names in described for one in names.split(", ")} == set(found)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_the_sections_of_a_docstring_are_there(name):
    doc = inspect.getdoc(getattr(la, name))
    for section in ("Parameters", "Returns", "Raises", "Examples"):
        assert f"\n{section}\n{'-' * len(section)}\n" in doc, section
    assert doc.splitlines()[0].endswith(".")


@pytest.mark.parametrize("name", POSITIONAL)
def test_only_data_is_positional(name):
    assert [one.name for one in parameters(name).values() if one.kind is not one.KEYWORD_ONLY] == POSITIONAL[name]


@pytest.mark.parametrize(
    ("name", "checked"),
    [
        ("dedup", Settings.parse),
        ("pairs", Settings.parse),
        ("link", LinkSettings.parse),
        ("faces", plan_faces),
        ("fingerprints", find_prints),
        ("hamming_lsh", Halving),
    ],
)
def test_defaults_are_those_of_the_work(name, checked):
    ours, theirs = parameters(name), inspect.signature(checked).parameters
    left_out = {"gallery", "fields", "grid", "progress", "probes_at_once", "probes"}
    for parameter in theirs.values():
        if parameter.name not in left_out:
            assert ours[parameter.name].default == parameter.default, parameter.name


def test_choices_are_those_of_the_work():
    assert get_args(inputs.Method) == METHODS
    assert set(get_args(inputs.DedupMethod)) == {*METHODS} - {"merge"}
    assert get_args(inputs.Policy) == POLICIES
    assert set(get_args(inputs.Measure)) == set(MEASURES)
    assert set(get_args(inputs.SetMeasure)) == set(NUMBERS)
    link = get_type_hints(la.link)
    assert (get_args(link["one_to_one"]), get_args(link["scoring"])) == (ASSIGNMENTS, SCORINGS)


def test_no_module_has_the_name_of_a_public_function():
    modules = {one.name for one in pkgutil.iter_modules([*la.__path__, *api.__path__])}
    assert "inputs" in modules
    assert not modules & set(la.__all__)


@pytest.mark.parametrize(
    ("call", "option"),
    [
        (lambda **given: la.neighbors(["a"], **given), "recall"),
        (lambda **given: la.neighbors(["a"], **given), "method"),
        (lambda **given: la.kernel(["a"], **given), "seed"),
        (lambda **given: la.dedup(["a"], **given), "treshold"),
    ],
)
def test_an_unknown_option_is_an_error(call, option):
    with pytest.raises(TypeError, match=option):
        call(**{option: 1})
