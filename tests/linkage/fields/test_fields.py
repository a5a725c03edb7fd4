from __future__ import annotations

import datetime
import decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from lookalike.errors import BadDataError, UsageError
from lookalike.linkage.fields import kinds, numbers
from lookalike.linkage.fields.kinds import recognise, recognise_sample, take_sample
from lookalike.linkage.fields.letters import pattern_for
from lookalike.linkage.fields.reader import FieldReader, choose_kinds, columns_of
from lookalike.linkage.fields.spec import KINDS, Field, parse_fields
from lookalike.types import strings_to_arrow

SURNAMES = ["Smith", "O'Brien", "van der Berg", "Zoë-Müller", "Nguyễn", "Ng", "Ivanov", "García Márquez"]
COLUMNS = [
    ("given_name", SURNAMES, "person"),
    ("x", SURNAMES, "person"),
    ("name", ["李小龙", "王伟", "张三丰四", "Иван Петров"], "person"),
    ("born", ["19561209", "19080419", "19991340", "19601122", "19300213", "19940319"], "date"),
    ("x", ["23/04/1990", "3/4/1991", "12/12/2001"], "date"),
    ("x", ["4-Apr-1990", "12 December 2001", "Dec 3, 1999"], "date"),
    ("x", ["2020-01-01T12:00:00", "2020-01-02 08:30"], "date"),
    ("x", ["0056-12-09", "0008-04-19", "0099-01-30"], "date"),  # the century is lost
    ("x", [datetime.date(56, 12, 9), datetime.date(8, 4, 19)], "date"),
    ("x", ["09/12/0056", "19.04.0008", "30/1/0099"], "date"),
    ("x", ["9999-12-31", "2500-01-01"], "date"),
    ("x", ["0056-1209-11", "0008-0419-12"], "phone"),
    ("x", ["00561209", "00080419"], "code"),  # any number of eight digits could be such a date
    ("year", ["1999", "2001", "1987"], "date"),
    ("x", [datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)], "date"),
    ("x", [datetime.datetime(2020, 1, 1, 3, 4, 5, 678), None], "date"),
    ("postcode", ["2000", "2010", "2099"], "code"),
    ("postcode", [2119, 3165, 4881, 2193], "code"),
    ("zip", [60302.0, 60640.0, None], "code"),
    ("postcode", ["SW1A 1AA", "EC1A 1BB", "W1A 0AX", "M1 1AE"], "code"),
    ("state", ["sa", "nsw", "wa", "vic"], "code"),
    ("sex", ["male", "female"] * 40, "code"),
    ("street_number", ["6", "69", "48", "177"], "code"),
    ("x", ["AB-1234", "XY-9981", "QQ-0017"], "code"),
    ("active", [True, False, None] * 20, "code"),
    ("phone", [3865286, 2859902, 5346361], "phone"),
    ("x", ["(312) 555-0123", "312-555-0199", "+1 312 555 0100"], "phone"),
    ("x", ["+44 20 7946 0958", "020 7946 0958"], "phone"),
    ("Provider ID", ["8581-4703-5433-004", "8581-4703-5434-012"], "code"),
    ("isbn", ["978-3-16-148410-0", "978-0-306-40615-7"], "code"),
    ("id of phone", ["312-555-0123", "312-555-0199"], "phone"),
    ("contact no", ["312-555-0123", "312-555-0199"], "phone"),
    ("contact", ["ann@a.com", "bob@b.org", "n/a"], "email"),
    ("x", [36.36, 221.91, 449.79], "number"),
    ("lat", ["51.490719", "-0.1276474", "48.20849"], "number"),
    ("phone", ["312.5550123", "312.5550199"], "phone"),
    ("x", ["555.0123", "555.0199"], "phone"),
    ("x", ["312.555.0123", "312.555.0199"], "phone"),
    ("x", ["$1,200.50", "$3.99", "$10.00"], "number"),
    ("price", [3, 4, 5, 100], "number"),
    ("amount", [decimal.Decimal("1.25"), decimal.Decimal("12.50")], "number"),
    ("x", [f"{n} EUR" for n in range(90, 120)], "number"),
    ("x", [f"{n}.99 EUR" for n in range(90, 120)], "number"),
    ("x", [f"{n}" if n % 2 else f"USD {n}" for n in range(900, 1200)], "number"),
    ("x", [f"{n:,} {'km' if n % 2 else 'mi'}" for n in range(900, 1200)], "number"),
    ("x", [f"{n} {['g', 'kg', 'l', 'ml'][n % 4]}" for n in range(1, 60)], "number"),
    ("x", [f"CHF {n}.-" for n in range(90, 120)], "number"),
    ("x", [f"{n}元" for n in range(90, 120)], "number"),
    ("x", [f"{n} m2" for n in range(90, 120)], "number"),
    ("price", ["99 EUR", "80 US $"], "number"),
    ("x", ["99 EUR", "80 US $"], "address"),  # too few values to tell
    ("x", [f"{n} Main Street" for n in range(90, 120)], "address"),
    ("x", [f"{n} Main St" for n in range(90, 120)], "address"),
    ("x", [f"{n} {street}" for n in (3, 5, 16) for street in ("Elm", "Oak", "Lake", "Hill", "Park", "Mill")], "code"),
    ("x", [f"Apt {n}" for n in range(1, 60)], "code"),
    ("x", [f"No. {n}" for n in range(1, 60)], "code"),
    ("x", [f"{n}{'ABC'[n % 3]}" for n in range(1, 60)], "code"),
    ("x", [f"{n} Wien" for n in range(1010, 1240, 10)], "code"),
    ("x", [f"LX{n}H" for n in range(90, 120)], "code"),
    ("x", [f"PS-{n}" for n in range(90, 120)], "code"),
    ("title", [f"Part {n}" for n in range(1, 60)], "code"),
    ("x", [f"{n}-{n + 500}" for n in range(3000, 9000, 50)], "code"),
    ("x", [f"555-{n}" for n in range(3000, 9000, 50)], "phone"),
    ("x", [f"{n} Fast {n} Furious" for n in range(1, 60)], "address"),  # as before; the name of a column helps
    ("title", [f"{n} Fast {n} Furious" for n in range(1, 60)], "text"),
    ("x", ["索尼黑胶唱片机全自动", "尼康单反相机锂电池", "节能灯泡螺口暖光"], "text"),
    ("x", ["12 Main Street", "221b Baker St", "5 rue de la Paix", "Am Markt 7"], "address"),
    ("address_1", ["tullaroop street", "giblin street", "goldfinch circuit", "wallaby place"], "address"),
    (
        "title",
        [
            "A user-centered interface for querying databases",
            "Benchmarking spatial joins",
            "The WASA2 object-oriented system",
        ],
        "text",
    ),
    ("name", ["sony turntable pslx350h", "nikon en-el9 battery", "lamp e27 9 w bulb"], "text"),
    ("title", ["Up", "The Third Man", "Titanic", "Les Amants du Pont"], "text"),
    ("Time", ["3:45", "4:01", "2:59", "1:02:03"], "number"),
    ("x", [None, None], "text"),
    ("x", ["n/a", "unknown", ""], "text"),
]


@pytest.mark.parametrize(("name", "values", "kind"), COLUMNS)
def test_kinds_are_recognised(name, values, kind):
    found, why = recognise(name, pa.array(values))
    assert found == kind, why
    assert why


HINTED = [
    # The name of a column adds to what its values look like; it does not replace it.
    ("price", ["1999", "2001", "1987"], "number"),
    ("year", ["1999", "2001", "1987"], "date"),
    ("address id", ["AB-1234", "XY-9981", "QQ-0017"], "code"),
    ("address", ["AB-1234", "XY-9981", "QQ-0017"], "code"),
    ("product", ["PSLX-350H", "TR-2000", "KX-TG6700B"], "code"),
    ("phone", ["ann@a.com", "bob@b.org"], "email"),
    ("id", ["Smith", "O'Brien", "van der Berg"], "person"),
    ("product country", ["Norway", "Austria", "New Zealand"], "text"),
    ("title", ["12 Main Street", "221b Baker St", "5 rue de la Paix"], "text"),
    ("phone number", ["3865286", "2859902", "5346361"], "phone"),
    ("x", ["3865286", "2859902", "5346361"], "code"),
    ("x", ["0172.1234567", "0664.7654321"], "phone"),
    ("x", ["5550123 x12", "5550199 x7"], "phone"),
    ("id", ["(312) 555-0123", "(312) 555-0199"], "phone"),
    ("id", ["http://a.com/7", "http://a.com/19", "http://a.com/8"], "code"),
    ("x", ["http://a.com/lamp", "http://a.com/chair", "http://a.com/desk"], "text"),
    ("x", [*(f"{name} entrance" for name in ("Main", "Side", "Back", "West", "East")), "Main\nentrance"], "text"),
]


@pytest.mark.parametrize(("name", "values", "kind"), HINTED)
def test_the_name_of_a_column_is_a_hint(name, values, kind):
    found, why = recognise(name, pa.array(values))
    assert found == kind, why


LIKELY_VALUES = st.sampled_from([str(value) for _, values, _ in COLUMNS for value in values[:4] if value is not None])
NAMES = st.lists(st.sampled_from([words.split()[0] for words in kinds.HINTS.values()]), max_size=2).map(" ".join)


@given(NAMES, st.lists(LIKELY_VALUES, min_size=1, max_size=8, unique=True))
def test_the_best_of_all_scores_wins(name, values):
    """The rules that are left out score no more; each scores from 0 to 1."""
    sample = take_sample(strings_to_arrow(values), len(values))
    if not len(sample.values):
        return
    facts = kinds.Facts(name, sample)
    scores = {score.kind: score.value for rule in kinds.RULES if (score := rule(facts)).kind}
    assert all(0 < score <= 1 for score in scores.values())
    assert scores[recognise_sample(name, sample)[0]] == max(scores.values())


def test_the_kind_of_a_name_is_explained():
    towns, letters = (
        pa.array(["Hartsville", "New Haven", "Bergen"]),
        "100% of the values are one to four words of letters",
    )
    assert recognise("x", towns) == ("person", f"{letters}, like names of people, places or companies")
    for name in ("city", "Suburb", "birthPlace", "home_town", "country_of_residence"):
        assert recognise(name, towns) == ("place", f"{letters}, as the column's name suggests")


def test_the_kind_of_an_address_is_explained():
    """Not by numbers, if there are none."""
    why = recognise("address_1", pa.array(["tullaroop street", "giblin street", "12 wallaby place", "77"]))[1]
    assert why == "75% of the values have words, 25% also numbers, as the column's name suggests"


def test_dates_in_odd_years_are_named():
    """They are compared as dates, in the order that most of them show."""
    written = ["09/12/0056", "19/04/0008", "30/01/0099", "03/01/1956"]
    assert recognise("x", pa.array(written)) == (
        "date",
        "100% of the values are dates in the order day-month-year, only 25% of them in the years 1500 to 2099",
    )
    (column,) = columns_of(pa.table({"x": written}), None, parse_fields("x"))
    assert column.values.to_pylist() == ["0056-12-09", "0008-04-19", "0099-01-30", "1956-01-03"]


@pytest.mark.parametrize(("name", "other"), [("town", "x"), ("x", "town")])
def test_the_names_of_a_column_in_both_tables_are_hints(name, other):
    towns = pa.array(["Hartsville", "New Haven", "Bergen"])
    (field,) = choose_kinds(pa.table({name: towns}), pa.table({other: towns}), parse_fields(f"{name}={other}"))
    assert field.kind == "place"


def test_units_are_named():
    prices = pa.array([*(f"{n} EUR" for n in range(90, 120)), *(f"{n} USD" for n in range(7)), "12", "ask us"])
    assert recognise("x", prices)[1] == "97% of the values are numbers, with the unit EUR or USD"
    assert recognise("x", pa.array(["Wien"] * 10))[1] == "there is only 1 distinct value"
    chinese = pa.array(["索尼tv机。", "尼康en9相机"])
    assert recognise("x", chinese)[1].endswith("they have 4.5 words on average")


def test_values_that_are_no_numbers_count_as_missing():
    notes = []
    table = pa.table({"x": ["99 EUR", "1 250,50 €", "ask us", "ask us", "3-4"]})
    (column,) = FieldReader(table, None, parse_fields("x:number")).columns(notes.append)
    assert column.codes.tolist() == [0, 1, -1, -1, -1]
    assert column.values.to_pylist() == ["99", "1250.5"]
    assert notes == ["x: values such as 'ask us' count as missing (3 in total)"]


def test_a_few_bad_values_change_no_kind():
    dates = [f"19{year}0412" for year in range(10, 90)]
    assert recognise("x", pa.array([*dates, "?", "easter", "1956 or so"]))[0] == "date"
    assert recognise("x", pa.array([*dates[:3], "easter", "1956 or so", "later"]))[0] != "date"


def test_digits_in_a_word_that_most_values_have_make_no_code():
    names = ["click", "rich", "requests", "yaml", "attr", "sphinx-argparse"]
    assert recognise("package", pa.array([f"python3-{one}" for one in names]))[0] != "code"
    assert recognise("package", pa.array([f"python3-{number}{one}" for number, one in enumerate(names)]))[0] == "code"
    assert recognise("model", pa.array(["TR-2000", "TR-2001", "TR-2040", "TR-77"]))[0] == "code"


def test_fields_are_parsed():
    fields = parse_fields(" name , surname = last_name,zip:code, born=dob : date")
    assert [(f.left, f.right, f.kind) for f in fields] == [
        ("name", "name", ""),
        ("surname", "last_name", ""),
        ("zip", "zip", "code"),
        ("born", "dob", "date"),
    ]
    assert parse_fields([Field("a:b", "c,d"), "e:text"]) == [
        Field("a:b", "c,d"),
        Field("e", "e", "text", "as specified"),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("name,zip:cod", "'zip:cod': unknown kind 'cod'.*person, place, text, code"),
        ("name,,zip", "names no column"),
        ("", "names no column"),
        ("=b", "'=b' names no column"),
        ("a=:code", "'a=:code' names no column"),
        ("a,b,a", "'a' is named twice"),
        ([], "at least one"),
        ([Field("a", "a", "b")], "unknown kind 'b'"),
    ],
)
def test_wrong_fields_are_named(text, message):
    with pytest.raises(UsageError, match=message):
        parse_fields(text)


def one_column(kind, values, other=None):
    notes = []
    right = None if other is None else pa.table({"x": pa.array(other)})
    (column,) = columns_of(pa.table({"x": pa.array(values)}), right, parse_fields(f"x:{kind}"), notes.append)
    assert column.codes.dtype == np.int32
    assert column.values.type == pa.large_string()
    stored = column.values.to_pylist()
    assert len(set(stored)) == len(stored)
    return [stored[code] if code >= 0 else None for code in column.codes], notes


NORMAL = [
    ("person", "  Zoë   O'Brien-SMITH ", "zoe obrien smith"),
    ("person", "Ｓｍｉｔｈ", "smith"),
    ("person", "李小龙", "李小龙"),
    ("person", "Na", "na"),
    ("person", "NA", None),
    ("person", "...", None),
    ("text", "The WASA2 (object-oriented) system", "the wasa2 object oriented system"),
    ("text", "Caf&eacute; &amp; Bar &#39;O&#x27;", "cafe bar o"),
    ("person", "Zo&euml; Lee", "zoe lee"),
    ("text", "AT&T; R&D", "at t r d"),
    ("address", "5 &Eacute;toile Street", "5 etoile st"),
    ("address", "12 North Main Street, Apartment 4", "12 n main st apt 4"),
    ("code", "SW1A 1AA", "sw1a1aa"),
    ("code", "60302.0", "60302"),
    ("code", "007", "7"),
    ("code", "0", "0"),
    ("code", "000", None),
    ("code", "99999", None),
    ("code", "111", "111"),
    ("phone", "(312) 555-0123", "3125550123"),
    ("phone", "+1 312.555.0123", "3125550123"),
    ("phone", "1-312-555-0123 ext. 44", "3125550123"),
    ("phone", "0044 20 7946 0958", "2079460958"),
    ("phone", "+44 (0)20 7946 0958", "2079460958"),
    ("phone", "+358 9 1234567", "91234567"),
    ("phone", "9999999999", None),
    ("phone", "none", None),
    ("email", " Ann.Lee@Example.COM ", "ann.lee@example.com"),
    ("email", "mailto:ann@a.com", "ann@a.com"),
    ("email", "<ann@a.com>", "ann@a.com"),
    ("number", "$1,234.50", "1234.5"),
    ("number", "(3.00)", "-3"),
    ("number", "1e3", "1000"),
    ("number", "-0.0", "0"),
    ("number", "007.10", "7.1"),
    ("number", "1e9999", "1e9999"),
    ("number", "about 3", "3"),
    ("number", "12550 Kč", "12550"),
    ("number", "CHF 12550.-", "12550"),
    ("number", "Rs.99", "99"),
    ("number", "$.99", "0.99"),
    ("number", "- EUR 5", "-5"),
    ("number", "85.5 m2", "85.5"),
    ("number", "99元", "99"),
    ("number", "3000-3500", "3000-3500"),
    ("number", "5 ft 3 in", "5 ft 3 in"),
    ("number", "12 Main Street", "12 main street"),
    ("number", "on request", "on request"),
    ("number", "3:45", "225"),
    ("number", "1:02:03", "3723"),
    ("number", "3:75", "3:75"),
    ("number", "nan", None),
    ("date", "1990-04-03", "1990-04-03"),
    ("date", "1990/4/3", "1990-04-03"),
    ("date", "3 Apr 1990", "1990-04-03"),
    ("date", "April 3rd, 1990", "1990-04-03"),
    ("date", "1990", "1990"),
    ("date", "1990-4", "1990-04"),
    ("date", "1956-13-40", "1956-13-40"),
    ("date", "195612", "195612"),
    ("date", "Easter", "easter"),
    ("date", "0000-00-00", None),
    ("date", "9999-12-31", None),
]


@pytest.mark.parametrize(("kind", "value", "normal"), NORMAL)
def test_values_have_one_normal_form(kind, value, normal):
    other = "1990-04-03" if kind == "date" else "77"
    assert one_column(kind, [value, other])[0] == [normal, other]
    if normal is not None:
        assert one_column(kind, [normal, other])[0] == [normal, other]


def test_a_column_of_dates_has_one_order():
    assert one_column("date", ["03/04/1990", "23/04/1990"])[0] == ["1990-04-03", "1990-04-23"]
    assert one_column("date", ["03/04/1990", "04/23/1990"])[0] == ["1990-03-04", "1990-04-23"]
    assert one_column("date", ["03041990", "04231990"])[0] == ["1990-03-04", "1990-04-23"]
    assert one_column("date", ["3.4.68", "23.4.05"])[0] == ["1968-04-03", "2005-04-23"]
    values, notes = one_column("date", ["03/04/1990"])
    assert values == ["1990-04-03"]
    assert notes == ["x: no value shows whether day or month comes first; read as day-month-year"]


def test_two_tables_can_have_different_orders_and_types():
    values, notes = one_column("date", ["23/04/1990", "03/04/1990"], ["04/23/1990", "04/03/1990"])
    assert values == ["1990-04-23", "1990-04-03"] * 2
    # one does not tell: it is read as the other
    assert one_column("date", ["04/23/1990"], ["03/04/1990"])[0] == ["1990-04-23", "1990-03-04"]
    assert one_column("date", [datetime.date(1990, 4, 3)], ["4/3/1990", "4/30/1990"])[0] == ["1990-04-03"] * 2 + [
        "1990-04-30"
    ]
    assert one_column("code", [60302, None], ["60302", "n/a"])[0] == ["60302", None, "60302", None]
    assert one_column("number", ["1.234,5", "0,5"], ["1,234.5", "0.5"])[0] == ["1234.5", "0.5"] * 2
    assert notes == []


def test_other_types():
    assert one_column("code", [True, False, None])[0] == ["true", "false", None]
    assert one_column("number", [1.5, float("nan"), float("inf"), 2.0])[0] == ["1.5", None, None, "2"]
    assert one_column("number", [decimal.Decimal("1.50")])[0] == ["1.5"]
    assert one_column("text", [["a", "B c"], None, ["d"]])[0] == ["a b c", None, "d"]
    assert one_column("text", [b"abc", None])[0] == ["abc", None]
    assert one_column("text", pa.array(["a", None, "b", "a"]).dictionary_encode())[0] == ["a", None, "b", "a"]
    for bad in ([{"a": 1}], [b"\xff"]):
        with pytest.raises(BadDataError, match=r"column x: .*give a column of text"):
            one_column("text", bad)


def test_chunks_do_not_matter():
    chunked = pa.chunked_array([["a", None], [], ["b", "a"]])
    (column,) = columns_of(pa.table({"x": chunked}), None, parse_fields("x:text"))
    assert column.codes.tolist() == [0, -1, 1, 0]


def test_values_that_count_as_missing_are_noted():
    values, notes = one_column("phone", ["312 555 0123", "n/a", "unknown", "n/a", "", None, "0000000"])
    assert values == ["3125550123"] + [None] * 6
    assert notes == ["x: values such as 'n/a' count as missing (4 in total)"]
    assert one_column("text", ["a", "", " ", None])[1] == []
    assert one_column("text", ["a", "", "", "", "none"])[1] == [
        "x: values such as 'none' count as missing (1 in total)"
    ]
    assert one_column("date", ["1990-01-01", "easter", "195612"])[1] == [
        "x: some values are not dates and are compared as they are (2 distinct)"
    ]


def test_fields_without_values_are_ignored():
    table = pa.table({"a": ["x", "y"], "b": pa.nulls(2), "c": ["n/a", ""]})
    notes = []
    assert [column.name for column in columns_of(table, None, parse_fields("a,b,c"), notes.append)] == ["a"]
    assert "b: no record has a value; the field is ignored" in notes
    assert "c: no record has a value; the field is ignored" in notes
    with pytest.raises(BadDataError, match="none of the fields b, c has a value"):
        columns_of(table, None, parse_fields("b,c"))


def test_wrong_columns_are_named():
    left, right = pa.table({"a": ["x"], "b": ["y"]}), pa.table({"c": ["x"]})
    with pytest.raises(BadDataError, match="the left table has no column 'z'; its columns are a, b"):
        columns_of(left, right, parse_fields("z=c"))
    with pytest.raises(BadDataError, match="the right table has no column 'a'; its columns are c"):
        columns_of(left, right, parse_fields("a"))
    with pytest.raises(UsageError, match="'a=b' needs two tables, but there is only one"):
        columns_of(left, None, parse_fields("a=b"))
    twice = pa.Table.from_arrays([pa.array(["x"]), pa.array(["y"])], ["a", "a"])
    with pytest.raises(BadDataError, match="has 2 columns 'a'"):
        columns_of(twice, None, parse_fields("a"))


def test_kinds_are_chosen_by_both_tables():
    left = pa.table({"a": ["Smith", "Lee", "Brown"], "b": pa.nulls(3)})
    right = pa.table({"a": ["Jones"], "b": ["ann@a.com"]})
    fields = choose_kinds(left, right, parse_fields("a,b"))
    assert [field.kind for field in fields] == ["person", "email"]
    assert all(field.why for field in fields)


def test_a_table_can_be_empty():
    empty, full = pa.table({"a": pa.array([], pa.string())}), pa.table({"a": ["x"]})
    (column,) = columns_of(empty, full, parse_fields("a"))
    assert column.codes.tolist() == [0]
    (column,) = columns_of(empty, None, parse_fields("a"))
    assert (len(column), len(column.values)) == (0, 0)
    with pytest.raises(BadDataError, match="has a value"):
        columns_of(pa.table({"a": pa.array([None], pa.string())}), None, parse_fields("a"))


@pytest.mark.parametrize("kind", KINDS)
@settings(max_examples=30)
@given(data=st.data())
def test_any_value_has_a_normal_form(kind, data):
    """Never an error, no empty value, and the same whether values come together or alone in another table."""
    nasty = st.text() | st.text("0123456789-/.,+()e x@", max_size=12) | st.none()
    values = [*data.draw(st.lists(nasty, min_size=1, max_size=6)), "1990-04-23"]
    normal, _ = one_column(kind, values)
    assert len(normal) == len(values)
    assert all(value is None or (value and value == value.strip(" ")) for value in normal)
    assert all(value is None for value, raw in zip(normal, values) if raw is None or not raw.strip())
    if kind not in ("date", "number"):  # tables may write these in different ways
        assert one_column(kind, values[:1], values[1:])[0] == normal
    # In normal form, by the same reading, nothing changes any more (codes and phones can lose more digits).
    if kind in ("person", "text", "address"):
        assert one_column(kind, normal)[0] == normal
    recognise("x", pa.array(values, pa.string()))


PATTERNS = [pattern for pattern in kinds.PATTERNS.values() if r"\p" in pattern]


@given(st.lists(st.text(st.characters(max_codepoint=127), min_size=1), min_size=1))
@example(["12 Main St", "kx-tg67 b", "O'Brien, A.-B", "5 lamp", "x 9 b"])
def test_values_of_ascii_match_the_patterns_for_them_as_they_match_those_for_all_letters(texts):
    assert len(PATTERNS) >= 4
    values = strings_to_arrow(texts)
    for pattern in [*PATTERNS, numbers._SIMPLE, r"[^\pL\d]+"]:
        assert r"\p" not in pattern_for(values, pattern)
        assert pc.count_substring_regex(values, pattern_for(values, pattern)).equals(
            pc.count_substring_regex(values, pattern)
        )
