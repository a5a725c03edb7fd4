"""Whatever happens to a file of an index is noticed: it is named, and no answer is silently wrong."""

import shutil
from pathlib import Path

import pytest

import lookalike as la
from corpora import corpus
from lookalike.index import kind as kinds
from lookalike.index.folder.checked_file import CheckedFile
from lookalike.index.stores import check_store
from lookalike.kernels.checksums import BLOCK_BYTES

OPTIONS = {"threshold": 0.7, "shingle": "word:3"}
TEXTS = corpus(120, seed=4)


@pytest.fixture(scope="module")
def intact(tmp_path_factory):
    """An index with a segment, removed items and items that are in no segment yet, closed."""
    folder = tmp_path_factory.mktemp("intact") / "index"
    with la.Index.create(folder, TEXTS[:80], **OPTIONS) as index:
        index.store.settle()
        index.remove(range(0, 20, 3))
        for text in TEXTS[80:]:
            index.add([text])
        index.remove([5])
    return folder


@pytest.fixture(scope="module")
def killed(tmp_path_factory):
    """What a writer leaves behind that is killed: the last changes are in the log of SQLite only."""
    place = tmp_path_factory.mktemp("killed")
    with la.Index.create(place / "open", TEXTS[:80], **OPTIONS) as index:
        index.store.settle()
        for text in TEXTS[80:]:
            index.add([text])
        index.remove([5])
        shutil.copytree(place / "open", place / "index", ignore=shutil.ignore_patterns("*-shm"))
    return place / "index"


def answers(folder, alone=False):
    with la.Index.open(folder, read_only=True) as index:
        if alone:
            found = [index.query([text], k=None).to_pylist() for text in TEXTS]
            return [{**row, "left": left} for left, rows in enumerate(found) for row in rows]
        return index.query(TEXTS, k=None).to_pylist()


def files(folder):
    return [path.name for path in sorted(folder.iterdir()) if path.name != "writer.lock"]


def test_the_folders_have_every_kind_of_file(intact, killed):
    kinds = ["acknowledged.bin", "index.sqlite", "segment"]
    assert [name.partition("-")[0] for name in files(intact)] == kinds
    assert "index.sqlite-wal" in files(killed)
    assert len(answers(intact)) > 100


def expect_noticed(folder, name, right, always):
    """Damage is named; or, in the unused space of a file of SQLite, it makes no difference."""
    wrong = check_store(folder)
    assert wrong or not always, f"check does not notice that {name} is damaged"
    told = [answers_or_error(folder, alone) for alone in (False, True)]
    assert told in ([right, right], [f"{name} is damaged"] * 2, [right, f"{name} is damaged"])
    assert wrong or told == [right, right]
    assert all(name.removesuffix("-wal") in line for line in wrong)
    return bool(wrong)


def answers_or_error(folder, alone):
    """The answers, or which file is damaged."""
    try:
        return answers(folder, alone)
    except la.LookalikeError as error:
        place, _, what = str(error).partition(": ")
        name = Path(place).name
        return f"{name}-wal is damaged" if "-wal beside it is damaged or missing" in what else f"{name} is damaged"


@pytest.mark.parametrize("how", ["flip", "truncate", "delete"])
@pytest.mark.parametrize("kind", ["index.sqlite", "segment", "acknowledged.bin", "index.sqlite-wal"])
def test_damage_is_named(intact, killed, tmp_path, kind, how):
    whole = killed if kind.endswith("-wal") else intact
    shutil.copytree(whole, tmp_path / "whole")  # the last reader of a killed index removes the log of SQLite
    right = answers(tmp_path / "whole")
    name = next(name for name in files(whole) if name.startswith(kind))
    size = (whole / name).stat().st_size
    places = [None] if how == "delete" else [*range(0, size, max(1, size // 40)), size - 1]
    noticed = 0
    for place in places:
        folder = tmp_path / "damaged"
        shutil.copytree(whole, folder, ignore=shutil.ignore_patterns("*-shm"))
        path = folder / name
        if how == "delete":
            path.unlink()
        elif how == "truncate":
            with path.open("r+b") as file:
                file.truncate(place)
        else:
            content = bytearray(path.read_bytes())
            content[place] ^= 0x10
            path.write_bytes(content)
        noticed += expect_noticed(folder, name, right, always=kind == "segment")
        shutil.rmtree(folder)
    if (kind, how) != ("acknowledged.bin", "delete"):  # removing it is how a user accepts that changes are lost
        assert noticed > len(places) / 3  # of the rest, some is unused space


def test_a_change_that_was_not_finished_is_ignored(killed, tmp_path):
    folder = tmp_path / "torn"
    shutil.copytree(killed, folder)
    with (folder / "index.sqlite-wal").open("ab") as file:
        file.write(b"\x07" * 3000)
    assert check_store(folder) == []
    assert answers(folder) == answers(killed)
    with la.Index.open(folder) as index:
        index.add([{"id": "after", "text": "a text that comes after the accident, and stays"}])
    assert check_store(folder) == []
    with la.Index.open(folder, read_only=True) as index:
        assert index.query(["a text that comes after the accident, and stays"])["right"].to_pylist() == ["after"]


def test_a_folder_that_is_not_an_index_is_refused(tmp_path):
    with pytest.raises(la.UsageError, match="is not an index"):
        la.Index.open(tmp_path)


def test_another_format_is_refused_with_instructions(intact, tmp_path):
    folder = tmp_path / "newer"
    shutil.copytree(intact, folder)
    with (folder / "index.sqlite").open("r+b") as file:
        file.seek(60)
        file.write((9).to_bytes(4, "big"))
    with pytest.raises(la.BadDataError, match=r"has format 9, and lookalike .* reads format 2; use the version"):
        la.Index.open(folder)


def test_other_hash_functions_are_refused(intact, tmp_path, monkeypatch):
    monkeypatch.setattr(kinds, "_KNOWN_TEXTS", ["another text"])
    with pytest.raises(la.BadDataError, match="whose hash functions differ"):
        la.Index.open(intact)


@pytest.mark.parametrize("alone", [False, True])
def test_a_damaged_key_does_not_hide_an_item(tmp_path, alone):
    """With one band, nothing else leads to the item: the keys next to a missing one are checked."""
    folder, texts = tmp_path / "index", [f"a{n} b{n} c{n}" for n in range(6000)]
    with la.Index.create(folder, texts, recall=0.5, hashes=1) as index:
        assert index.store.kind.plan.bands == 1
        index.store.settle()
    path = next(folder.glob("segment-*.bin"))
    file, content = CheckedFile(path), path.read_bytes()
    numbers, begin = file.load("numbers")[0], file.begin("keys")
    first = -(-begin // BLOCK_BYTES) * BLOCK_BYTES  # a block that has only keys, and is not read when opening
    for place in range((first - begin) // 8, (first + BLOCK_BYTES - begin) // 8, 100):
        damaged = bytearray(content)
        damaged[begin + 8 * place + 5] ^= 0x40  # it stays in order, or nearly so
        path.write_bytes(damaged)
        asked = [texts[numbers[place]]] if alone else [texts[numbers[place]], ""]
        with la.Index.open(folder, read_only=True) as index, pytest.raises(la.LookalikeError, match="are damaged"):
            index.query(asked)
