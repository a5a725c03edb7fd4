"""Messages say what to do, in the words of the command line."""

import pytest

from calling import FOX, jsonl

LATIN = b"id,text\n1,caf\xe9 b c\n"


@pytest.mark.parametrize(
    "command", ["pairs", "neighbors", "dedup -o out", "link -o out --fields text", "faces", "index create seen"]
)
def test_another_encoding_is_suggested(cli, tmp_path, command):
    (tmp_path / "latin.csv").write_bytes(LATIN)
    done = cli(*command.split(), "latin.csv")
    assert done.code == 3
    assert done.err.endswith("latin.csv:2: not valid UTF-8: byte 0xe9 at position 5; try --encoding latin-1\n")


def test_no_option_is_suggested_that_was_given_or_does_not_exist(cli, tmp_path):
    (tmp_path / "latin.csv").write_bytes(LATIN)
    assert "try --encoding" not in cli("pairs", "latin.csv", "--encoding", "ascii").err
    cli("index", "create", "seen")
    assert cli("index", "add", "seen", "latin.csv").err.endswith("not valid UTF-8: byte 0xe9 at position 5\n")


def test_binary_files_are_not_text(cli, tmp_path):
    (tmp_path / "a.pdf").write_bytes(b"%PDF-1.4\n\xe2\xe3\xcf\xd3\0")
    (tmp_path / "b.html").write_bytes(b"<p>caf\xe9")
    assert cli("pairs", "a.pdf").err.endswith("a.pdf: not valid UTF-8: byte 0xe2 at position 9; is this a text file?\n")
    assert cli("pairs", "b.html").err.endswith(
        "b.html: not valid UTF-8: byte 0xe9 at position 6; try --encoding latin-1\n"
    )


def test_another_separator_is_suspected(cli, tmp_path):
    (tmp_path / "a.csv").write_text("id;text\n1;a b c\n")
    done = cli("pairs", "a.csv")
    assert "its columns are 'id;text'; is it separated by ';'? Only commas (.csv)" in done.err


@pytest.mark.parametrize("command", ["pairs", "dedup -o out", "index create seen"])
def test_a_misspelt_column_is_reported_before_the_plan(cli, tmp_path, command):
    (tmp_path / "a.csv").write_text("id,text\n1,a b c\n")
    done = cli(*command.split(), "a.csv", "--column", "body")
    assert (done.code, done.err) == (3, "lookalike: a.csv: no column 'body'; its columns are 'id', 'text'\n")


def test_the_columns_are_listed_if_the_keep_rule_names_another(cli, news):
    done = cli("dedup", news, "-o", "out", "--keep", "max:score")
    assert done.code == 3
    assert done.err.endswith(
        "column 'score' of the keep rule has no value in any row of the input; its columns are 'id', 'text'\n"
    )


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
