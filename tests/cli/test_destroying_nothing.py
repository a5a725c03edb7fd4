"""What is asked for is written, and nothing else is lost: inputs, other people's files, folders without permission."""

import json
import os
import subprocess

import pytest

from calling import COPY, FOX, IDEAS, RIVER, jsonl, kept, names

ROWS = jsonl({"id": "a", "text": FOX}, {"id": "b", "text": COPY}, {"id": "c", "text": RIVER})
FACES = b"id,height,weight\na,1,2\nb,1,2\nc,5,6\n"
PRINTS = b"print,x,y\na,1,2\na,3,4\na,9,9\n"

COMMANDS = {
    "pairs": ("g.jsonl", ROWS, []),
    "neighbors": ("g.jsonl", ROWS, []),
    "faces": ("g.csv", FACES, []),
    "fingerprints": ("g.csv", PRINTS, []),
}


@pytest.mark.parametrize("how", ["itself", "against", "symlink", "hard link", "folder", "glob", "url"])
@pytest.mark.parametrize("command", COMMANDS)
def test_a_file_that_is_read_is_not_replaced(cli, tmp_path, command, how):
    name, content, options = COMMANDS[command]
    target, other = tmp_path / "in" / name, tmp_path / f"other{name[1:]}"
    target.parent.mkdir()
    for path in (target, other):
        path.write_bytes(content)
    out, given = target, [target]
    if how == "against":
        given = [other, "--against", target]
    elif how in ("symlink", "hard link"):
        out = tmp_path / f"link{name[1:]}"
        out.symlink_to(target) if how == "symlink" else out.hardlink_to(target)
    elif how in ("folder", "glob", "url"):
        given = [{"folder": target.parent, "glob": f"{tmp_path}/i*/*", "url": f"file://{target}"}[how]]
    done = cli(command, *given, "-o", out, "--overwrite", *options)
    assert done.code == 2, done.err
    assert "is an input" in done.err
    assert target.read_bytes() == content


def test_a_file_next_to_the_output_is_not_replaced(cli, tmp_path):
    (tmp_path / "p.csv.rejected.jsonl").write_bytes(ROWS + b"{\n")
    skipping = ["-o", "p.csv", "--on-error", "skip"]
    for command in ("pairs", "neighbors"):
        assert cli(command, "p.csv.rejected.jsonl", *skipping).code == 2
        assert cli(command, "p.csv.rejected.jsonl", *skipping, "--overwrite").code == 2
        assert (tmp_path / "p.csv.rejected.jsonl").read_bytes() == ROWS + b"{\n"


@pytest.fixture
def earlier(cli, tmp_path):
    (tmp_path / "g.jsonl").write_bytes(ROWS)
    assert cli("dedup", "g.jsonl", "-o", "m").code == 0
    return tmp_path / "m"


@pytest.mark.parametrize(
    "arguments",
    [
        ["dedup", "m"],
        ["dedup", "m/kept/g.jsonl"],
        ["dedup", "m/kept/*.jsonl", "g.jsonl"],
        ["dedup", "g.jsonl", "--reference", "m"],
        ["dedup", "--from", "m"],
        ["dedup", "link.jsonl"],
        ["dedup", "links"],
        ["link", "m/kept/g.jsonl", "--fields", "text"],
        ["link", "g.jsonl", "--fields", "text", "--nicknames", "m/kept/g.jsonl"],
    ],
)
def test_a_folder_that_holds_input_is_not_replaced(cli, earlier, tmp_path, arguments):
    (tmp_path / "link.jsonl").symlink_to(earlier / "kept/g.jsonl")
    (tmp_path / "links").mkdir()
    (tmp_path / "links/a.jsonl").symlink_to(earlier / "kept/g.jsonl")
    before = kept(earlier)
    done = cli(*arguments, "-o", "m", "--overwrite")
    assert done.code == 2, done.err
    assert "output folder" in done.err
    assert kept(earlier) == before


@pytest.mark.parametrize("name", ["notes.txt", "kept/mine.jsonl", "graph/x"])
def test_files_of_others_in_an_old_output_are_named(cli, earlier, name):
    (earlier / name).write_text("mine")
    for command in (["dedup", "g.jsonl"], ["link", "g.jsonl", "--fields", "text"]):
        done = cli(*command, "-o", "m", "--overwrite")
        assert (done.code, name in done.err, (earlier / name).read_text()) == (2, True, "mine")
    (earlier / name).unlink()
    assert cli("dedup", "g.jsonl", "-o", "m", "--overwrite").code == 0


@pytest.mark.parametrize("work", [None, "tmp"])
@pytest.mark.parametrize("planted", ["link", "folder", "file"])
@pytest.mark.parametrize("command", [["dedup", "g.jsonl"], ["link", "g.jsonl", "--fields", "text"]])
def test_planted_work_folders_are_left_alone(cli, tmp_path, command, planted, work):
    from lookalike.write.outputs import _work_name

    (tmp_path / "g.jsonl").write_bytes(ROWS)
    (tmp_path / "target").mkdir()
    (tmp_path / "tmp").mkdir()
    place = tmp_path / "tmp" / _work_name(tmp_path / "o") if work else tmp_path / ".o.partial"
    mine = {"link": tmp_path / "target/x", "folder": place / "mine", "file": place}[planted]
    if planted == "link":
        place.symlink_to(tmp_path / "target")
    elif planted == "folder":
        place.mkdir()
    mine.write_text("p")
    for option in ([], ["--overwrite"], ["--resume"]):
        done = cli(*command, "-o", "o", *option, *(["--work", "tmp"] if work else []))
        assert done.code == 2, done.err
        assert str(place) in done.err
        assert mine.read_text() == "p"
        assert not os.path.lexists(tmp_path / "o")


def test_links_inside_our_own_work_folder_are_not_followed(cli, tmp_path):
    from lookalike.write.ownership import LOCK_TEXT

    (tmp_path / "g.jsonl").write_bytes(ROWS)
    (tmp_path / "target").mkdir()
    (tmp_path / "target/x").write_text("p")
    (tmp_path / ".o.partial").mkdir()
    (tmp_path / ".o.partial/lock").write_bytes(LOCK_TEXT)
    for name in ("work", "kept"):
        (tmp_path / ".o.partial" / name).symlink_to(tmp_path / "target")
        assert cli("dedup", "g.jsonl", "-o", "o", "--resume").code == 2
        (tmp_path / ".o.partial" / name).unlink()
    (tmp_path / ".o.partial/lock").unlink()
    (tmp_path / ".o.partial/lock").symlink_to(tmp_path / "target/x")
    assert cli("dedup", "g.jsonl", "-o", "o").code == 2
    assert (tmp_path / "target/x").read_text() == "p"


@pytest.mark.parametrize(
    "command", [["dedup", "g.jsonl"], ["link", "g.jsonl", "--fields", "text"], ["pairs", "g.jsonl"]]
)
def test_an_empty_name_is_refused_as_output(cli, tmp_path, command):
    (tmp_path / "g.jsonl").write_bytes(ROWS)
    for more in ([], ["--overwrite"]):
        done = cli(*command, "-o", "", *more)
        assert (done.code, "empty string" in done.err) == (2, True)
    if command[0] != "pairs":
        assert cli(*command, "-o", "x", "--work", "").code == 2
    assert names(tmp_path) == ["g.jsonl"]


@pytest.fixture
def close(monkeypatch):
    """Closes a folder. Root can list everything, so the system call is replaced."""

    def closing(folder):
        scandir = os.scandir

        def refusing(path="."):
            if not isinstance(path, int) and os.path.abspath(path) == str(folder):  # noqa: PTH100
                raise PermissionError(13, "Permission denied", os.fspath(path))
            return scandir(path)

        monkeypatch.setattr(os, "scandir", refusing)

    return closing


@pytest.fixture
def tree(tmp_path):
    (tmp_path / "in/sub").mkdir(parents=True)
    (tmp_path / "in/a.jsonl").write_bytes(ROWS)
    (tmp_path / "in/sub/b.jsonl").write_bytes(jsonl({"id": "d", "text": IDEAS}))
    return tmp_path


def test_a_folder_without_permission_is_reported(cli, tree, close):
    close(tree / "in/sub")
    for command in (["dedup", "in", "-o", "out"], ["link", "in", "-o", "out", "--fields", "text"], ["pairs", "in"]):
        done = cli(*command, "--quiet")
        assert done.code == 3, done.err
        assert "in/sub: cannot be read: Permission denied" in done.err
        assert names(tree) == ["in"]
    done = cli("dedup", "in", "-o", "out", "--quiet", "--on-error", "skip", "--json")
    assert done.code == 0, done.err
    assert done.json()["counts"] | {"items": 3, "rejected": 1} == done.json()["counts"]
    (bad,) = map(json.loads, (tree / "out/rejected.jsonl").read_text().splitlines())
    assert (bad["file"], bad["error"]) == ("in/sub", "cannot be read: Permission denied")


def test_folders_that_are_too_deep_are_reported(cli, tree):
    """More than Python can walk through, or remove."""
    deep = tree / "in/sub"
    for _ in range(1100):
        deep /= "d"
        deep.mkdir()
    (deep / "c.jsonl").write_bytes(ROWS)
    for command, code in ((["dedup", "in", "-o", "out"], 3), (["pairs", "in"], 3), (["pairs", "in/**/*.jsonl"], 2)):
        done = cli(*command, "--quiet")
        assert (done.code, done.err.count("\n"), "500 folders deep" in done.err) == (code, 1, True), done.err[-300:]
    done = cli("dedup", "in", "-o", "out", "--quiet", "--on-error", "skip", "--json")
    assert (done.code, done.json()["counts"]["rejected"]) == (0, 1)
    subprocess.run(["rm", "-r", tree / "in/sub/d"], check=True)  # pytest cannot


def test_an_input_folder_without_permission_is_named(cli, tree, close):
    close(tree / "in")
    for command in (["dedup", "in", "-o", "out"], ["link", "in", "-o", "out", "--fields", "text"], ["pairs", "in"]):
        done = cli(*command, "--quiet")
        assert (done.code, done.err) == (2, "lookalike: in: cannot be read: Permission denied\n")
