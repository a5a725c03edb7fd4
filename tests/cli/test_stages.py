"""Every second of a run belongs to a stage of its record."""

import json
import random
import time

import pytest

WORDS = [f"word{number}" for number in range(300)]
COMMANDS = {
    "dedup": ["dedup", "texts.jsonl"],
    "pairs": ["pairs", "texts.jsonl"],
    "neighbors": ["neighbors", "texts.jsonl"],
    "link": ["link", "left.csv", "right.csv", "--fields", "name:person,city:text,born:date"],
    "faces": ["faces", "faces.csv"],
    "fingerprints": ["fingerprints", "prints.csv"],
}
UNTIMED_SECONDS = 0.05
"""For options, the record and what it prints; on a busy machine more."""


@pytest.fixture
def inputs(tmp_path):
    draw = random.Random(1)
    texts = [" ".join(draw.choices(WORDS, k=40)) for _ in range(3000)]
    lines = [json.dumps({"id": str(number), "text": text}) for number, text in enumerate(texts + texts[:300])]
    (tmp_path / "texts.jsonl").write_text("\n".join(lines))
    people = []
    for number in range(400):
        name, born = f"{draw.choice(WORDS)} {draw.choice(WORDS)}", f"{draw.randint(1950, 1999)}-01-1{number % 9}"
        people.append(f"{number},{name},{draw.choice(WORDS)},{born}")
    (tmp_path / "left.csv").write_text("\n".join(["id,name,city,born", *people]))
    (tmp_path / "right.csv").write_text("\n".join(["id,name,city,born", *people[:300]]))
    faces = [",".join([str(number), *(f"{draw.random():.3f}" for _ in range(5))]) for number in range(400)]
    (tmp_path / "faces.csv").write_text("\n".join(["id,a,b,c,d,e", *faces]))
    places = [(draw.randint(0, 300), draw.randint(0, 300), draw.randint(0, 359)) for _ in range(3000)]
    prints = [f"{number // 30},{x},{y},{angle}" for number, (x, y, angle) in enumerate(places)]
    (tmp_path / "prints.csv").write_text("\n".join(["print,x,y,angle", *prints]))
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_stages_add_up_to_the_whole(cli, inputs, command):
    out = "out" if command in ("dedup", "link") else "out.csv"
    ratios = []
    for _ in range(4):  # the first also imports modules and loads kernels
        started = time.perf_counter()
        done = cli(*COMMANDS[command], "-o", out, "--overwrite", "--json", "--quiet")
        whole = time.perf_counter() - started
        assert done.code == 0, done.err
        stages = done.json()["seconds"]
        ratios.append((sum(stages.values()) + UNTIMED_SECONDS) / whole)
    assert max(ratios) >= 0.9, (stages, whole)
