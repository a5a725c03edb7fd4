"""Random histories of an index in a folder: changes, merges, kills and damage, next to a plain dictionary.

A child process changes the index and reports each step; it may be killed at any moment. Afterwards the index must be in
the state after the last step that was reported, or after the one that was under way. At the end a file may be damaged:
then every answer is right, or an error names a file.
"""

import os
import random
import shutil
import signal
import time
import traceback
from collections import Counter
from fractions import Fraction
from pathlib import Path

import lookalike as la
import reference
from lookalike.index.folder import store
from lookalike.index.stores import check_store

# recall that close to 1 leaves no pair at this threshold out, in sets as small as these
OPTIONS = {"threshold": 0.5, "shingle": "word:1", "recall": 0.999999, "hashes": 1024}
LIMITS = {"LOG_BYTES": 1 << 20, "LOG_RECORDS": 6, "LOG_ITEMS": 9}
"""The log becomes a segment so early that merges are under way most of the time."""


class WrongError(Exception):
    """The index is not what it should be."""


class Model:
    """What the index must contain: ids and texts, in input order."""

    def __init__(self, rows=()):
        self.rows = dict(rows)

    def after(self, step):
        """The model after a step."""
        name, argument = step
        rows = dict(self.rows)
        if name == "remove":
            for id in argument:
                rows.pop(id, None)
        elif name in ("add", "skip", "new"):
            for id, text in argument:
                if (name == "skip" and id in rows) or (name == "new" and self.similar(text, rows)):
                    continue
                rows.pop(id, None)
                rows[id] = text
        return Model(rows)

    def similar(self, text, rows=None):
        """The similar items, best first; of equals, the one that came first."""
        mine = reference.shingles(text, "word:1")
        matches = []
        for place, (id, other) in enumerate((self.rows if rows is None else rows).items()):
            theirs = reference.shingles(other, "word:1")
            if reference.holds("jaccard", mine, theirs, Fraction(1, 2)):
                matches.append((-reference.exact("jaccard", mine, theirs), place, id))
        return [(id, float(-minus)) for minus, _, id in sorted(matches)]


def draw_text(draw):
    return " ".join(draw.choices("abcdefghij", k=draw.randrange(7)))


def draw_step(draw):
    """A step: its name and argument."""
    name = draw.choice(["add", "add", "add", "new", "skip", "remove", "remove", "merge", "compact", "ask", "open"])
    ids = [f"i{draw.randrange(25)}" for _ in range(draw.choice([1, 1, 2, 5, 12]))]
    if name in ("add", "skip", "new"):
        return name, [(id, draw_text(draw)) for id in ids]
    return name, ids if name == "remove" else draw_text(draw)


def take_step(index, folder, model, step):
    """Do a step; return the index, which may have been opened again."""
    name, argument = step
    rows = [{"id": id, "text": text} for id, text in argument] if name in ("add", "skip", "new") else []
    if name == "remove":
        expect(index.remove(argument), len({*argument} & {*model.rows}), step)
    elif name == "merge":
        index.store.settle()
    elif name == "compact":
        index.compact()
    elif name == "ask":
        check_answers(index, model, [argument])
    elif name == "open":
        index.close()
        index = la.Index.open(folder)
    else:
        index.add(rows, if_new=name == "new", on_conflict="skip" if name == "skip" else "replace")
    return index


def expect(value, wanted, about):
    if value != wanted:
        raise WrongError(f"{about}: {value!r} instead of {wanted!r}")


def check_answers(index, model, texts):
    expect(index._index.ids().to_pylist(), [*model.rows], "ids")
    for text in texts:
        answer = index.query([text], k=None)
        expect([*zip(answer["right"].to_pylist(), answer["similarity"].to_pylist())], model.similar(text), text)


def live(folder, model, steps, report):
    """The life of a process that changes the index."""
    index = la.Index.open(folder)
    for step in steps:
        os.write(report, b"s")
        index = take_step(index, folder, model, step)
        model = model.after(step)
        os.write(report, b"d")
    index.close()


def run_life(folder, model, steps, draw, kill):
    """Let a child do the steps, and perhaps kill it; return the states that the index may be in."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        code = 1
        try:
            os.close(reading)
            live(folder, model, steps, writing)
            code = 0
        except BaseException:
            os.write(writing, traceback.format_exc().encode())
        finally:
            os._exit(code)
    os.close(writing)
    told = b""
    last = draw.randrange(2 * len(steps)) if kill else None
    while piece := os.read(reading, 1 if kill else 4096):
        told += piece
        if last is not None and len(told) > last:
            time.sleep(draw.choice([0, 0.0001, 0.0005, 0.002, 0.01]) * draw.random())
            os.kill(child, signal.SIGKILL)
            last = None
    os.close(reading)
    code = os.waitpid(child, 0)[1]
    if code not in (0, signal.SIGKILL):
        raise WrongError(told.decode())
    done, started = told.count(b"d"), told.count(b"s")
    models = [model]
    for step in steps[:started]:
        models.append(models[-1].after(step))
    return models[done:]


def check_state(folder, models, draw):
    """The state that the index is in, which must be one of these."""
    with la.Index.open(folder, read_only=True) as index:
        for model in models:
            try:
                check_answers(index, model, [*model.rows.values()][:8] + [draw_text(draw) for _ in range(3)])
                return model
            except WrongError:
                if model is models[-1]:
                    raise
    return None


def damage(folder, draw):
    """Change, cut or remove a file; return its name."""
    files = sorted(path for path in folder.iterdir() if path.name not in ("writer.lock", "index.sqlite-shm"))
    path = draw.choice(files)
    content = bytearray(path.read_bytes())
    how = draw.choice(["flip", "flip", "cut", "remove"])
    if how == "remove" or not content:
        path.unlink()
    elif how == "cut":
        path.write_bytes(content[: draw.randrange(len(content))])
    else:
        content[draw.randrange(len(content))] ^= 1 << draw.randrange(8)
        path.write_bytes(content)
    return f"{how} {path.name}"


def check_damaged(folder, models, draw):
    """Every answer is right, or an error says which file is damaged.

    What was not acknowledged may be lost with the end of a file.
    """
    noticed = False
    for _ in range(2):
        try:
            check_state(folder, models, draw)
        except (la.BadDataError, la.UsageError) as error:
            noticed = True
            if str(folder) not in str(error):
                raise WrongError(f"does not say where: {error}") from error
    return noticed


def run_history(seed, folder):
    """One history; what happened in it, counted.

    Raises
    ------
    WrongError
        If the index was wrong.
    """
    draw, happened = random.Random(seed), Counter()
    for name, value in LIMITS.items():
        setattr(store, name, value)
    la.Index.create(folder, store=draw.choice(["sets", "text"]), **OPTIONS).close()
    model = Model()
    for _ in range(draw.randrange(1, 4)):
        steps = [draw_step(draw) for _ in range(draw.randrange(1, 25))]
        kill = draw.random() < 0.7
        models = run_life(folder, model, steps, draw, kill)
        happened.update({"steps": len(steps), "kills": kill, "under way": len(models) > 1})
        before = draw.getstate()
        copy = folder.with_name(f"{folder.name}-damaged")
        if draw.random() < 0.3:  # before anything else has opened it
            shutil.copytree(folder, copy, ignore=shutil.ignore_patterns("*-shm"))
        draw.setstate(before)
        model = check_state(folder, models, draw)
        expect(check_store(folder), [], "check")
        if copy.exists():
            how = damage(copy, draw)
            try:
                happened.update({"damaged": 1, "damage noticed": check_damaged(copy, models, draw)})
            except WrongError as error:
                raise WrongError(f"{how}: {error}") from error
            shutil.rmtree(copy)
    return happened


def run_histories(first, count, folder):
    """Many histories; what happened in all of them."""
    happened = Counter()
    with la.Index.create(Path(folder) / "first", **OPTIONS) as index:
        index.add([{"id": "a", "text": "b"}, {"id": "c", "text": "d"}])  # imports here what each child would import
    shutil.rmtree(Path(folder) / "first")
    for seed in range(first, first + count):
        place = Path(folder) / f"history-{seed}"
        try:
            happened.update({"histories": 1, **run_history(seed, place)})
        except Exception as error:
            raise WrongError(f"history {seed} in {place}: {error}") from error
        shutil.rmtree(place)
    return happened
