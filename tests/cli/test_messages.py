"""Messages say what to do, in the words of the command line."""

import pyarrow as pa
import pyarrow.csv as csv
import pyarrow.parquet as pq
import pytest

import lookalike as la
from calling import FOX, jsonl

SKIP = "; leave it out with --on-error skip"
NAME = "; if all of the input is in another encoding, name it, as in --encoding latin-1"
LATIN = b"id,text\n1,caf\xe9 b c\n"


@pytest.mark.parametrize(
    "command", ["pairs", "neighbors", "dedup -o out", "link -o out --fields text", "faces", "index create seen"]
)
def test_another_encoding_is_suggested(cli, tmp_path, command):
    (tmp_path / "latin.csv").write_bytes(LATIN)
    done = cli(*command.split(), "latin.csv")
    assert done.code == 3
    skipping = "" if command.startswith(("link", "faces")) else SKIP
    assert done.err.endswith(f"latin.csv:2: not valid UTF-8: byte 0xe9 at position 5{skipping}{NAME}\n")


def test_no_option_is_suggested_that_was_given_or_does_not_exist(cli, tmp_path):
    (tmp_path / "latin.csv").write_bytes(LATIN)
    assert NAME not in cli("pairs", "latin.csv", "--encoding", "ascii").err
    cli("index", "create", "seen")
    assert cli("index", "add", "seen", "latin.csv").err.endswith("not valid UTF-8: byte 0xe9 at position 5\n")


def test_a_file_that_is_not_text_can_be_left_out(cli, tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\n\xe2\xe3\xcf\xd3\0")
    (tmp_path / "b.html").write_bytes(b"<p>caf\xe9")
    assert cli("pairs", "a.pdf").err.endswith(
        "a.pdf: not valid UTF-8: byte 0xe2 at position 9; is this a text file? If not, leave it out with "
        "--on-error skip\n"
    )
    assert cli("pairs", "b.html").err.endswith(f"b.html: not valid UTF-8: byte 0xe9 at position 6{SKIP}{NAME}\n")


def test_files_that_are_not_text_are_reported(cli, tmp_path):
    (tmp_path / "in").mkdir()
    (tmp_path / "in/a.txt").write_text(FOX)
    (tmp_path / "in/b.md").write_text(FOX)
    (tmp_path / "in/c.png").write_bytes(b"\x89PNG\r\n\x1a\n\0")
    note = "in: skipped 1 file that is not text: c.png."
    for command in ("dedup in -o out", "pairs in -o pairs.csv", "neighbors in -o nearest.csv"):
        done = cli(*command.split(), "--json")
        assert note in done.err
        assert (done.json()["notes"], done.json()["counts"]["items"]) == ([note], 2)
    assert note in cli("index", "create", "seen", "in").err
    with pytest.warns(UserWarning, match="skipped 1 file that is not text"):
        assert la.pairs(tmp_path / "in").num_rows == 1
    links = cli("link", "in", "in", "-o", "links", "--fields", "text", "--json")
    assert links.json()["notes"][:2] == [note, note]


SEPARATED = {
    ("a.csv", ";"): "separated by ';': write the file with commas (.csv) or tabs (.tsv)",
    ("a.csv", "|"): "separated by '|': write the file with commas (.csv) or tabs (.tsv)",
    ("a.csv", "\t"): "separated by tabs: rename the file to .tsv",
    ("a.tsv", ";"): "separated by ';': write the file with commas (.csv) or tabs (.tsv)",
}
READING = [
    "dedup FILE -o out",
    "pairs FILE -o pairs.csv --column title",
    "neighbors FILE -o nearest.csv --column title",
    "index create seen FILE --column title",
    "link FILE -o links --fields title",
    "link FILE -o links --fields all",
    "link FILE -o links --fields record:text",
    "link one.csv FILE -o links --fields all",
]


@pytest.mark.parametrize(("file", "separator"), SEPARATED)
@pytest.mark.parametrize("command", READING)
def test_columns_that_are_separated_otherwise_are_an_error(cli, tmp_path, command, file, separator):
    rows = ["id,title,year", "1,Lamp A60 9 W,1999", "2,Lamp A60 11 W,2001"]
    (tmp_path / "one.csv").write_text("title\nLamp A60 9 W\nLamp A60 11 W\n")
    (tmp_path / file).write_text("\n".join(rows).replace(",", separator))
    done = cli(*command.replace("FILE", file).split())
    assert done.code == 3
    header = repr(rows[0].replace(",", separator))
    said = f"its header has one column, {header}, which looks like columns {SEPARATED[file, separator]}"
    assert f"{file}: " in done.err
    assert said in done.err
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([file, "one.csv"])


@pytest.mark.parametrize("header", ["title", "title of film", "title/name", "title: all"])
def test_a_file_can_have_one_column(cli, tmp_path, header):
    (tmp_path / "a.csv").write_text(f"{header}\nLamp A60; 9 W\nLamp A60; 11 W\n")
    assert cli("link", "a.csv", "-o", "links", "--fields", "all").code == 0
    done = cli("pairs", "a.csv", "-o", "pairs.csv", "--column", "text")
    assert f"a.csv: no column 'text'; its columns are {header!r}" in done.err


def test_one_of_several_columns_can_have_a_separator_in_its_name(cli, tmp_path):
    (tmp_path / "a.csv").write_text("title; subtitle,year\nLamp A60; 9 W,1999\nLamp A60; 11 W,2001\n")
    assert cli("link", "a.csv", "-o", "links", "--fields", "all").code == 0
    done = cli("pairs", "a.csv", "-o", "pairs.csv")
    assert "a.csv: no column 'text'; its columns are 'title; subtitle', 'year'" in done.err


def test_a_table_without_a_header_can_have_any_column(cli, tmp_path):
    pq.write_table(pa.table({"title; subtitle": ["Lamp A60; 9 W", "Lamp A60; 11 W"]}), tmp_path / "a.parquet")
    assert cli("link", "a.parquet", "-o", "links", "--fields", "all").code == 0


def test_a_long_header_is_shortened(cli, tmp_path):
    header = ";".join(f"column{number}" for number in range(1000))
    (tmp_path / "a.csv").write_text(f"{header}\n")
    assert f"its header has one column, '{header[:100]}...', which looks" in cli("pairs", "a.csv").err


def test_a_column_with_a_separator_in_its_name_can_be_named(cli, tmp_path):
    (tmp_path / "a.csv").write_text("title; subtitle\nLamp A60; 9 W\nLamp A60; 11 W\n")
    assert cli("pairs", "a.csv", "-o", "pairs.csv", "--column", "title; subtitle").code == 0
    assert cli("link", "a.csv", "-o", "links", "--fields", "title; subtitle").code == 0


ROWS = {"id": ["a", "b"], "body": ["a b c", "a b d"], "title": ["x", "y"]}


def write_rows(folder):
    """The same rows as tables and as lines of JSON, and an empty file of lines."""
    pq.write_table(pa.table(ROWS), folder / "a.parquet")
    csv.write_csv(pa.table(ROWS), folder / "a.csv")
    (folder / "a.jsonl").write_bytes(jsonl(*pa.table(ROWS).to_pylist()))
    (folder / "empty.jsonl").write_bytes(b"\n")


COMMANDS = ["dedup -o out", "pairs", "pairs --method lsh", "neighbors", "index create seen", "pairs --explain"]
WRONG_COLUMNS = {
    "--column text": "no column 'text'; its columns are 'id', 'body', 'title'; choose another with --column",
    "--column bodi": "no column 'bodi'; its columns are 'id', 'body', 'title'; did you mean --column body?",
    "--column BODY": "no column 'BODY'; its columns are 'id', 'body', 'title'; did you mean --column body?",
    "--column body --id key": "no column 'key'; its columns are 'id', 'body', 'title'; choose another with --id",
    "--column body --id idd": "no column 'idd'; its columns are 'id', 'body', 'title'; did you mean --id id?",
}


@pytest.mark.parametrize("wrong", WRONG_COLUMNS)
@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_column_is_all_that_is_reported_and_another_is_suggested(cli, tmp_path, command, name, wrong):
    write_rows(tmp_path)
    done = cli(*command.split(), name, "empty.jsonl", *wrong.split())
    assert (done.code, done.out, done.err) == (3, "", f"lookalike: {name}: {WRONG_COLUMNS[wrong]}\n")


@pytest.mark.parametrize("name", ["a.csv", "a.parquet", "a.jsonl"])
@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("dedup -o out --column body --keep max:titel", "did you mean --keep max:title?"),
        ("dedup -o out --column body --keep min:score", "choose another with --keep"),
        ("link -o out --fields title --id idd", "did you mean --id id?"),
        ("pairs --column bodi --transpose", "did you mean --column body?"),
        ("pairs --column body --id idd --against a.csv", "did you mean --id id?"),
    ],
)
def test_columns_of_other_options_are_suggested_as_well(cli, tmp_path, name, options, says):
    write_rows(tmp_path)
    command, *others = options.split()
    done = cli(command, name, *others)
    assert (done.code, done.err.count("\n")) == (3, 1)
    assert done.err.endswith(f"'id', 'body', 'title'; {says}\n")


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda data: la.dedup(data), "choose another with column="),
        (lambda data: la.dedup(data, column="body", keep="max:titel"), "did you mean keep='max:title'?"),
        (lambda data: la.pairs(data, column="bodi"), "did you mean column='body'?"),
        (lambda data: la.pairs(data, column="body", id="key"), "choose another with id="),
        (lambda data: la.neighbors(data, column="body", id="idd"), "did you mean id='id'?"),
        (lambda data: la.sketch(data, column="bodi"), "did you mean column='body'?"),
        (lambda data: la.kernel(data, column="bodi"), "did you mean column='body'?"),
        (lambda data: la.transpose(data, column="bodi"), "did you mean column='body'?"),
        (lambda data: la.link(data, data, fields="title", id="idd"), "did you mean id='id'?"),
    ],
)
@pytest.mark.parametrize("stored", [False, True])
def test_python_callers_are_told_their_own_option(tmp_path, call, says, stored):
    write_rows(tmp_path)
    with pytest.raises(la.BadDataError) as error:
        call(tmp_path / "a.jsonl" if stored else pa.table(ROWS))
    assert str(error.value).endswith(f"'id', 'body', 'title'; {says}")


def test_an_id_in_some_lines_of_json_is_enough(cli, tmp_path):
    write_rows(tmp_path)
    (tmp_path / "b.jsonl").write_bytes(jsonl({"body": "a b c", "key": "k"}))
    done = cli("pairs", "a.jsonl", "b.jsonl", "--column", "body", "--id", "key", "--threshold", "1")
    assert done.rows()[1:] == [["a.jsonl:0", "k", "1"]]


@pytest.mark.parametrize(("url", "extra"), [("https://host/a.jsonl", "http"), ("s3://bucket/a.jsonl", "s3")])
def test_the_extra_for_a_url_is_named(cli, monkeypatch, url, extra):
    import fsspec

    def missing(given):
        raise ImportError("some package is missing")

    monkeypatch.setattr(fsspec.core, "url_to_fs", missing)
    done = cli("pairs", url)
    assert done.err == f"lookalike: {url}: needs an extra package; pip install 'lookalike[{extra}]'\n"
    assert cli("pairs", "gs://a/b").err == "lookalike: gs://a/b: some package is missing\n"


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ("--threshold 7", "--threshold must be above 0"),
        ("--threshold 0.12345678901", "--threshold 0.12345678901 has more than nine decimals"),
        ("--measure euclid", "--measure must be one of"),
        ("--method lsh --hashes 1", "1 hash cannot find pairs of similarity 0.8 with recall 0.99: set --hashes to 3"),
        ("--bagg", "No such option '--bagg'. Did you mean '--bag'? See lookalike pairs -h"),
    ],
)
def test_errors_name_options_as_they_are_typed(cli, news, options, says):
    done = cli("pairs", news, *options.split())
    assert done.code == 2
    assert done.err.startswith(f"lookalike: {says}")


def test_errors_in_the_data_name_options_too(cli, tmp_path):
    (tmp_path / "a.csv").write_text("name\nAnn\n")
    assert cli("faces", "a.csv").err.endswith("no column looks like a measurement; name them with --columns\n")


def test_a_command_is_suggested(cli):
    done = cli("deduplicate", "a.jsonl")
    assert (done.code, done.err) == (
        2, "lookalike: No such command 'deduplicate'. Did you mean 'dedup'? See lookalike -h\n"
    )  # fmt: skip
    assert "Did you mean 'neighbors'?" in cli("neighbours").err
    assert cli("xyz").err == "lookalike: No such command 'xyz'; see lookalike -h\n"


def test_help_is_a_command(cli):
    assert cli("help").out == cli("-h").out
    assert cli("help", "index", "create").out == cli("index", "create", "-h").out


def test_one_of_a_thing_is_singular(cli, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl({"text": FOX}))
    said = cli("dedup", "a.jsonl", "-o", "out").err
    assert "for about 1 item.\n" in said
    assert "Expected: about 1 item in under 1 kB; up to" in said
    assert "of memory, under 1 kB of results on disk." in said
    assert "\n1 record, " in cli("link", "a.jsonl", "-o", "links", "--fields", "text").err


def test_stages_that_did_not_run_are_not_listed(cli, tmp_path):
    (tmp_path / "a.jsonl").write_bytes(jsonl({"text": FOX}))
    said = cli("dedup", "a.jsonl", "-o", "out", "--method", "exact").err
    assert "joining bands" not in said
    assert said.count(" 0.00 s") <= 1  # the longest stage is listed in any case


@pytest.mark.parametrize("command", ["audit nope", "dedup --from nope -o out", "serve --run nope"])
def test_a_folder_that_does_not_exist(cli, command):
    assert cli(*command.split()).err == "lookalike: nope: no such folder\n"
