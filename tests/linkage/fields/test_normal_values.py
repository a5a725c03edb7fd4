"""Values in normal form, against the same steps taken one after the other on every value, in plain Python."""

import datetime
import html
import re

import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lookalike.engine.workers import Workers
from lookalike.features.plain import pieces
from lookalike.kernels.folding import GAP
from lookalike.linkage.fields import reader as fields_reader
from lookalike.linkage.fields.normalise import FILLER, PLACEHOLDERS, STREET_WORDS, _short_words, fold_texts, normalise
from lookalike.linkage.fields.reader import FieldReader, columns_of
from lookalike.linkage.fields.spec import parse_fields

COUNTRY = r"^(?:\+|00)\s*(?:1|7|20|27|3[0-469]|4[013-9]|5[1-8]|6[0-6]|8[1246]|9[0-58]|\d\d\d)[^\d]*(?:\(0\))?"
EXTENSION = r"\s*(?:ext\.?|extension|x|#)\s*\d{1,6}\s*\Z"
BLANK = r"[\t\n\f\r ]"


STROKES = str.maketrans({
    **dict(zip("łŁøØđĐðÐħĦŧŦı", "llooddddhhtti")), "æ": "ae", "Æ": "ae", "œ": "oe", "Œ": "oe", "þ": "th", "Þ": "th",
})  # fmt: skip


def folded(text):
    plain = re.sub("['’ʼ`´\xad\u200b\u200c\u200d\u2060\ufeff]", "", text.translate(STROKES))
    letters = (piece for char in plain for piece in pieces(char))
    return re.sub(" +", " ", "".join(" " if kind == GAP else char for char, kind in letters)).strip(" ")


def lower(text):
    return pa.compute.utf8_lower(pa.scalar(text, pa.large_string())).as_py()


def strip(text):
    text = pa.compute.utf8_trim_whitespace(pa.scalar(text, pa.large_string())).as_py()
    return None if text in ("", "NA") or lower(text) in PLACEHOLDERS.to_pylist() else text


def sub(pattern, by, text):
    return re.sub(pattern.replace(r"\s", BLANK).replace("$", r"\Z"), by, text, flags=re.ASCII)


def is_filler(text):
    return re.search(FILLER.replace("$", r"\Z"), re.sub(r"[-\t\n\f\r .()/]", "", text)) is not None


def normal_code(text):
    if is_filler(text):
        return None
    packed = folded(sub(r"^(\d+)\.0+$", r"\1", text)).replace(" ", "")
    return sub(r"^0+(\d+)$", r"\1", packed)


def normal_phone(text):
    if is_filler(text):
        return None
    text = sub(EXTENSION, "", sub(r"^(\d+)\.0+$", r"\1", lower(text)))
    text = sub(r"[^0-9]", "", sub(COUNTRY, "", text))
    return sub("^0+", "", sub(r"^1([2-9]\d{9})$", r"\1", text))


def normal_email(text):
    return sub("^mailto:|^<|>$", "", sub(r"\s+", "", lower(text)))


def normal_name(text):
    entity = re.search(r"&(#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});", text)
    return folded(html.unescape(text) if entity else text)


def normal_text(text):
    spans = (0x3400, 0x4DBF), (0x4E00, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF), (0x3040, 0x309F)
    apart = (f" {one} " if any(low <= ord(one) <= high for low, high in spans) else one for one in normal_name(text))
    return re.sub(" +", " ", "".join(apart)).strip(" ")


def normal_address(text):
    return " ".join(STREET_WORDS.get(word, word) for word in normal_name(text).split(" "))


PLAIN = {
    "person": normal_name,
    "text": normal_text,
    "address": normal_address,
    "code": normal_code,
    "phone": normal_phone,
    "email": normal_email,
}
TEXTS = st.text() | st.text("0123456789")
DIGITS = st.from_regex(r"[0-9]{1,11}", fullmatch=True)
LIKELY = {
    "person": st.text("aZé ñ'’-. ﬁ한漢Σςß\u0301", max_size=12),
    "text": st.text("ab 1½.()&漢字かカไŁ\xad", max_size=12)
    | st.lists(st.sampled_from(["&", "&amp;", "&eacute;", "&#233;", "&#xe9;", "&T;", "&no", "caf", ";", " "])).map(
        "".join
    ),
    "address": st.lists(st.sampled_from([*STREET_WORDS, "Av.", "St", "12", "streets", "1st", "é"])).map(" ".join),
    "code": st.sampled_from(["1234567", "123456789", "0123456789", "1234567890", "12", "12345678", "0", "00"])
    | st.from_regex(r"[0-9]{1,10}|[0-9]{1,5}\.0{0,3}|[a-zA-Z][a-z0-9 -]{0,5}|([0-9])\1{0,9}", fullmatch=True),
    "phone": st.from_regex(
        r"(\+|00|1|0)?[ 0-9()./-]{1,14}(x[0-9]{1,3}|\.0)?|([0-9])\3{3,9}|0?123456789?0?", fullmatch=True
    ),
    "email": st.from_regex(r"(mailto:|<)?[a-zA-Z0-9._ +]{1,5}@[a-z0-9.]{1,5}>?", fullmatch=True),
}


@pytest.mark.parametrize("kind", PLAIN)
@given(data=st.data())
def test_the_normal_form_is_that_of_plain_steps(kind, data):
    texts = data.draw(st.lists(LIKELY[kind] | DIGITS | TEXTS | st.none(), max_size=6))
    expected = [None if text is None or (bare := strip(text)) is None else PLAIN[kind](bare) or None for text in texts]
    assert normalise(kind, pa.array(texts, pa.large_string())).to_pylist() == expected


@given(st.lists(st.text() | st.text("a -'é한ﷺ½", max_size=9) | st.none()))
@example(["ﷺﷺ", "한국어"])  # longer than they were
@example([None, "a", None])
def test_texts_are_folded(texts):
    values = pa.array(["left out", *texts, "left out"], pa.large_string()).slice(1, len(texts))
    expected = [None if text is None else folded(text) for text in texts]
    assert fold_texts(values).to_pylist() == expected


def test_every_character_is_folded():
    texts = [f"a{chr(code)}B" for span in ((1, 0x3100), (0xF900, 0x10000), (0x1D400, 0x1D800)) for code in range(*span)]
    assert fold_texts(pa.array(texts, pa.large_string())).to_pylist() == list(map(folded, texts))


def test_words_of_addresses_are_all_known():
    texts = [f"{word} {word}s x{word} {word}" for word in STREET_WORDS]
    assert normalise("address", pa.array(texts, pa.large_string())).to_pylist() == list(map(normal_address, texts))
    keys = _short_words()[0].tolist()
    assert keys == sorted(set(keys))
    assert len(keys) == len(STREET_WORDS)


TABLE = {
    "name": ["Zoë Lee", "n/a", "Anna", None, "anna ", "N/A", "Bobby", "Anna", "李小龙王", " "] * 7,
    "born": ["3/4/1990", "easter", "4/3/1990", None, "12/12/2001", "unknown", "1999", "?", "3/4/1990", "0000"] * 7,
    "price": ["1.5", "$2", "n/a", None, "about 3", "1,000.50", "2", "2.0", "none", "7"] * 7,
    "phone": ["0000000", "312-555-0123", "+1 312 555 0123", None, "9999999", "9999999", "1", "2", "23", "x"] * 7,
    "empty": [None] * 70,
}


def test_threads_slices_and_chunks_change_nothing():
    left = pa.table(TABLE)
    right = left.slice(13, 31)
    fields = parse_fields("name,born:date,price:number,phone:phone,empty")
    told, expected_notes = [], []
    expected = columns_of(left, right, fields, expected_notes.append)
    chunked = pa.concat_tables([left.slice(0, 29), left.slice(29, 0), left.slice(29)])
    with Workers(3) as workers:
        reader = FieldReader(chunked, right, fields, workers.map, values_at_once=3)
        found = reader.columns(told.append)
    assert [field.kind for field in reader.fields] == ["person", "date", "number", "phone", "text"]
    assert told == expected_notes
    assert [note.partition(":")[0] for note in told] == ["name"] * 2 + ["born"] * 4 + ["price"] * 2 + ["phone"] * 2 + [
        "empty"
    ]
    assert len(found) == len(expected) == 4
    for one, other in zip(found, expected):
        assert (one.name, one.kind) == (other.name, other.kind)
        assert one.codes.tolist() == other.codes.tolist()
        assert one.values.equals(other.values)


@pytest.mark.parametrize("right", [False, True])
def test_kinds_are_recognised_by_distinct_texts(monkeypatch, right):
    """Eight timestamps of one day are one date, and values that differ in surrounding spaces are one text."""
    days = [datetime.datetime(2020, 1, 1, hour) for hour in range(8)] + [datetime.datetime(2020, 1, d) for d in (2, 3)]
    texts = ["a" + " " * spaces for spaces in range(6)] + ["b", "c", "n/a", "d"]
    table = pa.table({"day": days, "text": texts})
    seen = {}

    def look(name, sample):
        seen[name] = (sample.values.to_pylist(), sample.rows, sample.distinct)
        return "text", "it was seen"

    monkeypatch.setattr(fields_reader, "recognise_sample", look)
    FieldReader(table, table if right else None, parse_fields("day,text"), sample=4)
    rows = 20 if right else 10
    assert seen["day"] == (["2020-01-01", "2020-01-02", "2020-01-03"], rows, 6 if right else 3)
    assert seen["text"] == (["a", "b", "c", "d"], rows, 8 if right else 4)
