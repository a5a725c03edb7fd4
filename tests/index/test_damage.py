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
    """An index with a segment, removed items and a log."""
    folder = tmp_path_factory.mktemp("intact") / "index"
    with la.Index.create(folder, TEXTS[:80], **OPTIONS) as index:
        index.store.publish(index.store.view)
        index.remove(range(0, 20, 3))
        index.store.publish(index.store.view)
        for text in TEXTS[80:]:
            index.add([text])
        index.remove([5])
    return folder


def answers(folder, alone=False):
    with la.Index.open(folder, read_only=True) as index:
        if alone:
            found = [index.query([text], k=None).to_pylist() for text in TEXTS]
            return [{**row, "left": left} for left, rows in enumerate(found) for row in rows]
        return index.query(TEXTS, k=None).to_pylist()


def files(folder):
    return [path.name for path in sorted(folder.iterdir()) if path.name != "writer.lock"]


def test_the_folder_has_every_kind_of_file(intact):
    assert [name.partition("-")[0] for name in files(intact)] == ["index.json", "log", "removed", "segment"]
    assert len(answers(intact)) > 100


def expect_noticed(folder, name, right):
    wrong = check_store(folder)
    assert wrong, f"check does not notice that {name} is damaged"
    assert all(name in line for line in wrong)
    for alone in (False, True):
        assert told(folder, alone) in (right, f"{name} is damaged")


def told(folder, alone):
    """The answers, or which file is damaged."""
    try:
        return answers(folder, alone)
    except la.LookalikeError as error:
        file = Path(str(error).partition(": ")[0])
        return f"{file.name} is damaged"


@pytest.mark.parametrize("kind", ["index.json", "log", "removed", "segment"])
@pytest.mark.parametrize("how", ["flip", "truncate", "delete"])
def test_damage_is_named(intact, tmp_path, kind, how):
    right = answers(intact)
    name = next(name for name in files(intact) if name.startswith(kind))
    size = (intact / name).stat().st_size
    places = [None] if how == "delete" else [*range(0, size, max(1, size // 40)), size - 1]
    for place in places:
        folder = tmp_path / "damaged"
        shutil.copytree(intact, folder)
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
        expect_noticed(folder, name, right)
        shutil.rmtree(folder)


def test_an_unfinished_record_at_the_end_of_the_log_is_ignored(intact, tmp_path):
    folder = tmp_path / "torn"
    shutil.copytree(intact, folder)
    log = next(folder.glob("log-*.bin"))
    with log.open("ab") as file:
        file.write(b"item" + b"\x07" * 30)
    assert check_store(folder) == []
    assert answers(folder) == answers(intact)
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
    told = (folder / "index.json").read_text()
    (folder / "index.json").write_text(told.replace('"format": 1', '"format": 9'))
    with pytest.raises(la.BadDataError, match=r"has format 9, and lookalike .* reads format 1; use the version"):
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
        index.store.publish(index.store.view)
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
