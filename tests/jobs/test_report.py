"""`lookalike report`: the page says what run.json and the tables say, shows real texts, and is safe to open."""

from __future__ import annotations

import json
import re
import shlex
import shutil
from itertools import combinations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from selectolax.lexbor import LexborHTMLParser

import lookalike as la
from corpora import corpus
from lookalike.cli.main import run
from lookalike.report.html import show_number, show_share
from lookalike.report.stages import show_bytes, show_seconds


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """A finished run with a hostile text, and its folder; tests must not change it."""
    folder = tmp_path_factory.mktemp("report")
    texts = corpus(150)
    texts[7] = "<script>alert(1)</script> <img src=x onerror=alert(2)> \u202e " + texts[7]
    texts[8] = texts[7] + " end"
    lines = [json.dumps({"id": f"d{n}", "text": text, "site": f"s{n % 3}"}) for n, text in enumerate(texts)]
    (folder / "in.jsonl").write_text("\n".join(lines))
    assert run(["dedup", str(folder / "in.jsonl"), "-o", str(folder / "out"), "--shingle", "word:3",
                "--threshold", "0.7", "--method", "lsh", "--audit", "50", "--quiet"]) == 0  # fmt: skip
    assert run(["report", str(folder / "out"), "--quiet"]) == 0
    return folder


def read(page):
    tree = LexborHTMLParser(page.read_text("utf-8"))
    for node in tree.css("script, style"):
        node.decompose()
    return tree, tree.body.text(separator=" ")


def tables_of(tree, selector="table"):
    """The cells of each table that has a caption, by its caption."""
    return {
        table.css_first("caption").text(): [[cell.text() for cell in row.css("td")] for row in table.css("tbody tr")]
        for table in tree.css(selector)
        if table.css_first("caption")
    }


def check_bins(rows, values):
    """Every value is counted in its bin, and the last bin includes its upper end."""
    bins = [(float(low), float(high), int(number.replace(",", ""))) for low, high, number in rows]
    top = bins[-1][1]
    counted = [sum(low <= one < high or one == high == top for one in values) for low, high, _ in bins]
    assert [number for *_, number in bins] == counted
    assert sum(counted) == len(values)


def check_stages(tree, record):
    """Time, bytes and memory are those of the record."""
    stages = tables_of(tree)["Time and bytes by stage"]
    assert [row[0] for row in stages] == list(record["seconds"])
    for stage, seconds, read_bytes, written in stages:
        assert seconds == show_seconds(record["seconds"][stage])
        moved = record["bytes"].get(stage, {})
        assert [read_bytes, written] == [show_bytes(moved.get(way, 0)) for way in ("read", "written")]
    assert f"{show_bytes(record['peak_memory_bytes'])} of memory" in tree.css_first("#run").text()


def test_the_page_shows_the_numbers_of_the_run(finished):
    tree, _ = read(finished / "out" / "report.html")
    record = json.loads((finished / "out" / "run.json").read_text())
    counts, audit, rows = record["counts"], record["audit"], tables_of(tree)
    removed = pq.read_table(finished / "out" / "removed.parquet")
    assert counts["removed"] == len(removed)
    names = ["items", "kept", "removed", *(["identical"] if counts["identical"] else [])]
    tiles = [node.text() for node in tree.css(".tile b")]
    assert tiles == [*(f"{counts[name]:,}" for name in names), show_share(audit["recall"])]
    sentence = tree.css_first(".sentence").text()
    share = show_share(counts["removed"] / counts["items"])
    assert f"{counts['items']:,} items, {counts['kept']:,} were kept and {counts['removed']:,} ({share})" in sentence
    recall = tree.css_first("#recall p").text()
    numbers = [audit["found"], audit["pairs"], *(show_share(one) for one in (audit["recall"], *audit["interval"]))]
    assert [one for one in map(str, numbers) if one not in recall] == []
    check_bins(rows["Removed items by similarity"], removed["similarity"].to_pylist())
    clusters = pq.read_table(finished / "out" / "clusters.parquet")
    sizes = clusters.filter(clusters["kept"])["size"].to_pylist()
    assert [[int(one) for one in row] for row in rows["Clusters by size"]] == [
        [size, sizes.count(size)] for size in sorted(set(sizes))
    ]
    assert rows["Kept and removed items by file"] == [
        [str(finished / "in.jsonl"), *(f"{counts[name]:,}" for name in ("items", "kept", "removed")), share]
    ]
    check_stages(tree, record)


def test_a_recall_measured_on_few_pairs_is_shown_as_such(tmp_path):
    texts = [f"{n} " + " ".join(f"w{n}x{k}" for k in range(20)) for n in range(40)]
    path = tmp_path / "in.jsonl"
    path.write_text("".join(json.dumps({"text": text}) + "\n" for text in [*texts, *texts[:8]]))
    options = ["--method", "lsh", "--report", "--overwrite", "--quiet"]
    assert run(["dedup", str(path), "-o", str(tmp_path / "out"), "--audit", "20", *options]) == 0
    audit = json.loads((tmp_path / "out/run.json").read_text())["audit"]
    assert 0 < audit["found"] == audit["pairs"] < 8
    tree, _ = read(tmp_path / "out/report.html")
    low = f"{audit['interval'][0]:.0%}"
    assert (
        f"recall, measured on {audit['pairs']} pairs (95% interval: {low} to 100%)" in tree.css_first(".tiles").text()
    )
    assert "too few to confirm a recall of 99%" in tree.css_first("#warnings").text()
    assert "it is drawn in the middle of them" in tree.css_first("#recall").text()
    # a sample of everything is not a sample
    assert run(["dedup", str(path), "-o", str(tmp_path / "out"), "--audit", "100", *options]) == 0
    tree, _ = read(tmp_path / "out/report.html")
    assert "too few to confirm" not in tree.body.text()


def test_an_exact_method_has_no_recall_to_doubt(tmp_path):
    (tmp_path / "in.txt").write_text("a rose is a rose is a rose\n" * 2 + "something else\n" * 3)
    options = ["--method", "exact", "--audit", "1", "--report", "--quiet"]
    assert run(["dedup", str(tmp_path / "in.txt"), "-o", str(tmp_path / "out"), *options]) == 0
    tree, _ = read(tmp_path / "out/report.html")
    assert [node.text() for node in tree.css(".tile")][-1].split() == ["100%", "recall"]
    assert tree.css_first("#warnings") is None
    assert "The method is exact" in tree.css_first("#recall").text()


def test_the_command_on_the_page_repeats_the_run(finished, tmp_path):
    tree, _ = read(finished / "out" / "report.html")
    words = shlex.split(tree.css_first("#run pre").text())
    words[words.index("-o") + 1] = str(tmp_path / "again")
    for _ in range(2):  # the output of the run exists, and so does its report
        assert run([*words[1:], "--quiet"]) == 0
        assert (tmp_path / "again/report.html").is_file()
    for name in ("removed.parquet", "clusters.parquet", "kept/in.jsonl"):
        assert (tmp_path / "again" / name).read_bytes() == (finished / "out" / name).read_bytes()


def test_every_chart_has_a_title_and_its_numbers(finished):
    tree, _ = read(finished / "out" / "report.html")
    charts = tree.css("figure")
    assert [len(one.css("figcaption h3")) for one in charts] == [1] * 4
    assert [len(one.css("details table tbody")) for one in charts] == [1] * 4


def test_the_page_shows_the_most_doubtful_removals_side_by_side(finished):
    tree, _ = read(finished / "out" / "report.html")
    removed = pq.read_table(finished / "out" / "removed.parquet").to_pylist()
    worst = sorted(removed, key=lambda row: row["similarity"])[0]
    first = tree.css_first("#doubtful details")
    assert worst["id"] in first.css_first("summary").text()
    texts = [json.loads(line)["text"] for line in (finished / "in.jsonl").read_text().splitlines()]
    boxes = [box.text() for box in first.css(".text")]
    assert [box.split()[0] for box in boxes] == [texts[worst[name]].split()[0] for name in ("row", "kept_row")]
    assert first.css("del")


def test_the_page_is_safe_and_needs_nothing_else(finished):
    raw = (finished / "out" / "report.html").read_text("utf-8")
    tree, _ = read(finished / "out" / "report.html")
    assert "<script>alert(1)" not in raw
    assert "&lt;script&gt;alert(1)" in raw
    assert not tree.css("img, iframe, link, object, embed, video, audio")
    assert [one.attributes["href"] for one in tree.css("[href]") if not one.attributes["href"].startswith("#")] == []


def test_writing_again_gives_the_same_bytes_and_replaces_only_our_page(finished, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(finished / "out", out)
    before = (out / "report.html").read_bytes()
    assert run(["report", str(out), "--quiet", "-o", str(tmp_path / "page.html")]) == 0
    again = (tmp_path / "page.html").read_bytes()
    assert again.replace(str(out).encode(), b"OUT") == before.replace(str(finished / "out").encode(), b"OUT")
    (out / "report.html").write_text("<p>mine</p>")
    assert run(["report", str(out), "--quiet"]) == 2
    assert (out / "report.html").read_text() == "<p>mine</p>"


def test_counts_by_a_column(finished, tmp_path):
    page = tmp_path / "by.html"
    assert run(["report", str(finished / "out"), "--by", "site", "-o", str(page), "--quiet"]) == 0
    tree, _ = read(page)
    rows = [[cell.text() for cell in row.css("td")] for row in tree.css("#sources details tbody tr")]
    lines = [json.loads(line) for line in (finished / "in.jsonl").read_text().splitlines()]
    gone = set(pq.read_table(finished / "out" / "removed.parquet")["row"].to_pylist())
    for name, items, kept, removed, _ in rows:
        mine = [row for row, line in enumerate(lines) if line["site"] == name]
        assert [int(items), int(kept), int(removed)] == [
            len(mine), len([row for row in mine if row not in gone]), len(gone & set(mine))
        ]  # fmt: skip
    assert len(rows) == 3


def test_without_its_inputs_the_page_says_so(finished, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(finished / "out", out)
    record = json.loads((out / "run.json").read_text())
    record["options"]["inputs"] = [str(tmp_path / "gone.jsonl")]
    (out / "run.json").write_text(json.dumps(record))
    assert run(["report", str(out), "--quiet"]) == 0
    tree, said = read(out / "report.html")
    assert "gone.jsonl: no such file" in tree.css_first(".warnings").text()
    assert "not available" in said
    assert len(tree.css("svg")) >= 3


@pytest.mark.parametrize("graph", [True, False])
def test_a_changed_input_is_not_shown(finished, tmp_path, graph):
    source = tmp_path / "in.jsonl"
    shutil.copy(finished / "in.jsonl", source)
    assert run(["dedup", str(source), "-o", str(tmp_path / "out"), "--threshold", "0.5", "--quiet"]) == 0
    source.write_text('{"text": "other"}\n' + source.read_text())
    if not graph:  # as after runs that save none
        shutil.rmtree(tmp_path / "out" / "graph")
    assert run(["report", str(tmp_path / "out"), "--quiet"]) == 0
    tree, said = read(tmp_path / "out" / "report.html")
    assert "changed after the run" in tree.css_first(".warnings").text()
    assert "not available" in said


@pytest.mark.parametrize(
    ("name", "rows"),
    [
        ("none.jsonl", ['{"text": "one two three four five six"}']),
        ("empty.jsonl", ['{"text": ""}'] * 30),
        ("all.txt", ["the same line of six words"] * 50),
        ("sets.dat", ["1 2 3 4 5", "1 2 3 4 5 6", "9 8"]),
        ("arabic.txt", ["السلام عليكم ورحمة الله وبركاته يا صديقي", "السلام عليكم ورحمة الله وبركاته يا صديقي العزيز"]),
        ("han.txt", ["我们今天去图书馆看书然后回家吃饭", "我们今天去图书馆看书然后回家睡觉"]),
    ],
)
def test_small_and_unusual_runs_have_a_page(tmp_path, name, rows):
    (tmp_path / name).write_text("\n".join(rows) + "\n", "utf-8")
    arguments = ["dedup", str(tmp_path / name), "-o", str(tmp_path / "out"), "--threshold", "0.4", "--quiet"]
    assert run(arguments) == 0
    assert run(["report", str(tmp_path / "out"), "--quiet"]) == 0
    counts = json.loads((tmp_path / "out" / "run.json").read_text())["counts"]
    tree, said = read(tmp_path / "out" / "report.html")
    assert f"{counts['removed']:,} removed" in said.replace("  ", " ")
    shown = sum(len(one.css(".text")) for one in tree.css("#doubtful details"))
    assert shown == 2 * min(10, counts["removed"])
    assert "not available" not in said


def test_an_output_of_something_else_is_refused(tmp_path, capfd):
    assert run(["report", str(tmp_path)]) == 2
    (tmp_path / "run.json").write_text("{}")
    assert run(["report", str(tmp_path)]) == 2
    said = f"lookalike: {tmp_path}: is not an output of lookalike (run.json is missing or not ours); "
    assert [line.startswith(said) for line in capfd.readouterr().err.splitlines()] == [True] * 2


def cut(path):
    path.write_bytes(path.read_bytes()[:-9])


def without_columns(path):
    pq.write_table(pa.table({"id": ["a"]}), path)


def forget(name):
    def edit(path):
        record = json.loads(path.read_text())
        del record["options"][name]
        path.write_text(json.dumps(record))

    return edit


@pytest.mark.parametrize(
    ("name", "damage"),
    [
        ("removed.parquet", cut),
        ("removed.parquet", without_columns),
        ("clusters.parquet", cut),
        ("run.json", forget("measure")),
        ("run.json", forget("column")),
    ],
)
def test_damaged_files_of_a_run_are_one_line(finished, tmp_path, capfd, name, damage):
    shutil.copytree(finished / "out", tmp_path / "out")
    damage(tmp_path / "out" / name)
    assert run(["report", str(tmp_path / "out"), "-o", str(tmp_path / "new.html")]) == 3
    said = capfd.readouterr().err
    assert said.startswith(f"lookalike: {tmp_path}/out: damaged or edited (")
    assert said.endswith("); run dedup again\n")
    assert said.count("\n") == 1
    assert not (tmp_path / "new.html").exists()


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.parquet", b"PAR1"),
        ("a.csv", b"left,right,similarity\na,b,high\n"),
        ("a.csv", b""),
        ("a.jsonl", b'{"left": 1, "right": [2], "similarity": 1}'),
        ("a.jsonl", b"{"),
    ],
)
def test_damaged_lists_of_pairs_are_one_line(tmp_path, capfd, name, content):
    (tmp_path / name).write_bytes(content)
    assert run(["report", str(tmp_path / name)]) == 3
    said = capfd.readouterr().err
    assert (said.startswith(f"lookalike: {tmp_path / name}: damaged or edited ("), said.count("\n")) == (True, 1)
    assert [path.name for path in tmp_path.iterdir()] == [name]


def test_the_name_of_a_page_cannot_reach_the_terminal_raw(finished, tmp_path, capfd):
    assert run(["report", str(finished / "out"), "-o", str(tmp_path / "new\x1b\n.html")]) == 0
    assert capfd.readouterr().err == f"Report: {tmp_path}/new\\x1b\\n.html\n"


def test_many_files_are_counted_by_folder(tmp_path):
    for number in range(40):
        folder = tmp_path / "in" / f"part{number % 4}"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{number}.txt").write_text(f"document {number // 20} says the same as many others of its kind")
    assert run(["dedup", str(tmp_path / "in"), "-o", str(tmp_path / "out"), "--quiet"]) == 0
    assert run(["report", str(tmp_path / "out"), "--quiet"]) == 0
    tree, _ = read(tmp_path / "out" / "report.html")
    rows = [[cell.text() for cell in row.css("td")] for row in tree.css("#sources details tbody tr")]
    assert [row[1] for row in rows] == ["10"] * 4
    assert sum(int(row[3]) for row in rows) == len(pq.read_table(tmp_path / "out" / "removed.parquet"))


def test_a_large_run_has_a_small_page(tmp_path):
    """Ten thousand clusters, long ids and texts full of what must be escaped."""
    from lookalike.jobs.reports.dedup_report import facts_of_tables
    from lookalike.jobs.run_inputs import RunInputs
    from lookalike.read import open_data
    from lookalike.report.dedup.page import dedup_page
    from lookalike.types import Wanted

    items = 20_000
    hostile = "<&'" * 4000
    source = open_data([hostile + str(n) for n in range(60)], "text")
    ids = [f"{'i' * 5000}{n}" if n < 60 else str(n) for n in range(items)]
    rows = pa.table({
        "id": ids, "file": ["data"] * items, "row": [n % 60 for n in range(items)],
        "kept_id": [ids[n % 10_000] for n in range(items)],
        "kept_file": [f"data{'' if n % 2 else n}" for n in range(items)],
        "kept_row": list(range(items)), "similarity": [0.7 + n % 30 / 100 for n in range(items)],
    })  # fmt: skip
    clusters = pa.table({"id": ids, "cluster": range(items), "size": [2 + n % 9000 for n in range(items)],
                         "kept": [True] * items})  # fmt: skip
    counts = {"items": 2 * items, "kept": items, "removed": items, "empty": 0, "rejected": 0, "candidates": 0}
    record = {"counts": counts, "options": {"measure": "jaccard", "threshold": 0.7, "inputs": ["data"]},
              "plan": {"bands": 0}, "seconds": {}, "peak_memory_bytes": 0}  # fmt: skip
    page = dedup_page(facts_of_tables(record, rows, clusters, RunInputs([source], Wanted("text"))))
    assert len(page.encode()) < 2_000_000


def test_dedup_writes_the_same_page_during_the_run(finished, tmp_path):
    arguments = ["dedup", str(finished / "in.jsonl"), "-o", str(tmp_path / "out"), "--threshold", "0.6", "--quiet"]
    assert run([*arguments, "--report"]) == 0
    during = (tmp_path / "out" / "report.html").read_bytes()
    assert run(["report", str(tmp_path / "out"), "--quiet"]) == 0
    assert (tmp_path / "out" / "report.html").read_bytes() == during


def test_the_closest_kept_pairs_are_those_of_an_exhaustive_search(finished):
    tree, _ = read(finished / "out" / "report.html")
    texts = {line["id"]: line["text"] for line in map(json.loads, (finished / "in.jsonl").read_text().splitlines())}
    gone = set(pq.read_table(finished / "out" / "removed.parquet")["id"].to_pylist())
    kept = [name for name in texts if name not in gone]
    sets = {name: la.shingles(texts[name], "word:3") for name in kept}
    near = [(la.jaccard(sets[one], sets[other]), one, other) for one, other in combinations(kept, 2)]
    near = [f"similarity {round(value, 4):g}: {one} and {other}" for value, one, other in near if value >= 0.54]
    said = [one.text() for one in tree.css("#closest summary")]
    assert said
    assert set(said) <= set(near)
    assert all(float(one.split()[1].rstrip(":")) < 0.7 for one in said)


def closest_on(page):
    tree, _ = read(page)
    return [one.text() for one in tree.css("#closest summary")]


def closest_among(result, near, name="similarity"):
    """The ten closest pairs of kept items, from all pairs that are close."""
    gone = set(result.removed["id"].to_pylist())
    rows = [row for row in near.to_pylist() if not {row["left"], row["right"]} & gone]
    rows.sort(key=lambda row: row[name] if name == "distance" else -row[name])
    return [f"{name} {round(row[name], 4):g}: {row['left']} and {row['right']}" for row in rows[:10]]


@pytest.mark.parametrize("options", [{"method": "exact"}, {"method": "lsh", "policy": "connected", "keep": "longest"}])
def test_the_closest_kept_pairs_are_found_again_where_the_run_saved_none(finished, tmp_path, options):
    given = {"shingle": "word:3", "threshold": 0.7}
    near = la.pairs(finished / "in.jsonl", method="brute", **given | {"threshold": 0.63})
    result = la.dedup(finished / "in.jsonl", out=tmp_path / "out", **given, **options)
    found = closest_on(result.report())
    assert found
    assert found == closest_among(result, near)
    result = la.dedup(list(map(json.loads, (finished / "in.jsonl").read_text().splitlines())), **given, **options)
    assert closest_on(result.report(tmp_path / "memory.html")) == found


@pytest.mark.parametrize(("measure", "threshold", "relaxed"), [("cosine", 0.95, 0.855), ("euclidean", 1.8, 2)])
def test_the_closest_kept_vectors_are_found_again(tmp_path, measure, threshold, relaxed):
    draw = np.random.default_rng(3)
    vectors = np.repeat(draw.normal(size=(30, 12)), 3, axis=0) + draw.normal(size=(90, 12)) * 0.4
    given = {"id": "id", "column": "vector", "measure": measure}
    data = pa.table({"id": [f"v{n}" for n in range(90)], "vector": vectors.tolist()})
    result = la.dedup(data, threshold=threshold, **given)
    name = "distance" if measure == "euclidean" else "similarity"
    expected = closest_among(result, la.pairs(data, threshold=relaxed, method="brute", **given), name)
    assert len(expected) > 3
    assert closest_on(result.report(tmp_path / "vectors.html")) == expected


def test_pairs_and_links_have_pages_in_python(tmp_path):
    texts = ["the cat sat on the mat today", "the cat sat on the mat now", "a dog barked at the moon"]
    found = la.pairs(texts, threshold=0.3, shingle="word:3", report=tmp_path / "pairs.html")
    tree, said = read(tmp_path / "pairs.html")
    assert "1 similar pair connect" in said
    assert len(tree.css("#examples .text")) == 2 * len(found)
    assert "The run took" in said
    people = [{"name": "John Smith", "zip": "02134"}, {"name": "Jon Smith", "zip": "02134"}]
    result = la.link(people, fields="name,zip", scoring="points")
    _, said = read(result.report(tmp_path / "links.html"))
    assert "1 link was found among the records of left (2 records)" in said
    (tmp_path / "people.csv").write_text("id,name,zip\n1,John Smith,02134\n2,Jon Smith,02134\n")
    result = la.link(tmp_path / "people.csv", fields="name,zip", scoring="points", out=tmp_path / "out")
    before = (tmp_path / "out" / "report.html").read_bytes()
    assert result.report().read_bytes() == before
    (tmp_path / "mine.html").write_text("my own")
    for write in (result.report, lambda page: la.pairs(texts, report=page)):
        with pytest.raises(la.UsageError, match="not written by lookalike"):
            write(tmp_path / "mine.html")


def test_pairs_have_a_page_next_to_their_file(finished, tmp_path):
    arguments = [
        "pairs",
        str(finished / "in.jsonl"),
        "-o",
        str(tmp_path / "found.csv"),
        "--threshold",
        "0.6",
        "--quiet",
    ]
    assert run([*arguments, "--shingle", "word:3", "--report"]) == 0
    tree, said = read(tmp_path / "found.report.html")
    lines = (tmp_path / "found.csv").read_text().splitlines()[1:]
    ends = [line.split(",") for line in lines]
    items = {one for left, right, _ in ends for one in (left, right)}
    parts = {one: {one} for one in items}
    for left, right, _ in ends:
        joined = parts[left] | parts[right]
        parts |= dict.fromkeys(joined, joined)
    sizes = [len(part) for part in {id(part): part for part in parts.values()}.values()]
    assert [node.text() for node in tree.css(".tile b")] == [f"{n:,}" for n in (len(lines), len(items), len(sizes))]
    rows = tables_of(tree)
    check_bins(rows["Pairs by similarity"], [float(value) for *_, value in ends])
    assert [[int(one) for one in row] for row in rows["Components by size"]] == [
        [size, sizes.count(size)] for size in sorted(set(sizes))
    ]
    assert rows["Pairs in the drawing"]
    for left, right, value in rows["Pairs in the drawing"]:
        assert any([left, right] == end[:2] and value == f"{float(end[2]):.6g}" for end in ends)
    assert len(tree.css("#examples .text")) == 20
    assert "not available" not in said
    assert run(["report", str(tmp_path / "found.csv"), "--quiet"]) == 0
    again, _ = read(tmp_path / "found.report.html")
    numbers = [table.text() for table in again.css("figure details table")]
    assert numbers == [table.text() for table in tree.css("figure details table")]
    assert len(again.css("svg.graph")) == min(6, int(again.css(".tile b")[2].text()))


def test_the_page_of_links_shows_the_numbers_of_the_run(tmp_path):
    draw = np.random.default_rng(5)
    words = ["".join(draw.choice(list("aeioulnrst"), 6)) for _ in range(200)]
    rows = [f"{words[n]} {words[n + 90]},{n % 17} {words[3 * n % 200]} road,{5551000 + 37 * n}" for n in range(100)]
    rows += [row.replace("a", "e", 1) for row in rows[::3]]
    lines = ["id,name,address,phone", *(f"{n},{row}" for n, row in enumerate(rows))]
    (tmp_path / "people.csv").write_text("\n".join(lines))
    arguments = ["link", str(tmp_path / "people.csv"), "--fields", "name,address,phone", "-o", str(tmp_path / "out")]
    assert run([*arguments, "--quiet"]) == 0
    tree, _ = read(tmp_path / "out" / "report.html")
    record = json.loads((tmp_path / "out" / "run.json").read_text())
    counts, links = record["counts"], pq.read_table(tmp_path / "out" / "links.parquet")
    assert counts["links"] == len(links) > 20
    tiles = [node.text() for node in tree.css(".tile b")]
    assert tiles[:3] == [*(f"{counts[name]:,}" for name in ("links", "clusters")),
                         show_share(record["precision"]["estimate"])]  # fmt: skip
    bins = [[cell.text() for cell in row.css("td")] for row in tree.css("#scores details tbody tr")]
    assert sum(int(row[2].replace(",", "")) for row in bins) == counts["candidates"]
    assert f"cut {show_number(record['cut']['score'])}" in tree.css_first("#scores figure").text()
    for node in tree.css(".weights .level"):  # the word "assumed"
        node.decompose()
    shown = [[cell.text() for cell in row.css("td.number")] for row in tree.css(".weights tbody tr:not(.group)")]
    assert [row[:3] for row in shown] == [
        [show_number(one["weight"], sign=True), show_share(one["matches"]), show_share(one["others"])]
        for one in record["weights"]
    ]
    scores = dict(zip(zip(*(links[name].to_pylist() for name in ("left", "right"))), links["score"].to_pylist()))
    assert tree.css("#pairs details.example")
    for example in tree.css("#pairs details.example"):
        score, pair = re.match(r"score (\S+?),.*: (.*)", example.css_first("summary").text()).groups()
        assert score == show_number(scores[tuple(pair.split(" and "))])


@pytest.mark.parametrize("name", ["none.csv", "none.jsonl", "none.parquet", "none.tsv"])
def test_no_pairs_have_a_page_too(tmp_path, name):
    (tmp_path / "in.txt").write_text("one two three four five six\nseven eight nine ten\n")
    assert run(["pairs", str(tmp_path / "in.txt"), "-o", str(tmp_path / name), "--quiet", "--report"]) == 0
    assert run(["report", str(tmp_path / name), "--quiet"]) == 0
    assert "No similar pairs" in (tmp_path / "none.report.html").read_text()


def test_a_report_of_pairs_needs_a_file(finished, tmp_path, capfd):
    assert run(["pairs", str(finished / "in.jsonl"), "--report"]) == 2
    (tmp_path / "other.csv").write_text("a,b\n1,2\n")
    assert run(["report", str(tmp_path / "other.csv")]) == 2
    assert run(["report", str(tmp_path / "missing.csv")]) == 2
    assert run(["report", str(finished / "in.jsonl"), "--by", "site"]) == 2
    said = ["name that file with -o", "is not a list of pairs", "missing.csv: no such file", "--by site: only reports"]
    lines = capfd.readouterr().err.splitlines()
    assert [one in line for one, line in zip(said, lines, strict=True)] == [True] * 4


def test_results_in_memory_have_a_page(tmp_path):
    result = la.dedup(["the cat sat on the mat today", "The cat sat on the mat, today", "a dog barked at the moon"])
    page = result.report(tmp_path / "cats.html")
    tree, said = read(page)
    assert "1 removed" in said.replace("  ", " ")
    assert [one.text() for one in tree.css("#doubtful .text")] == [
        "The cat sat on the mat, today", "the cat sat on the mat today"
    ]  # fmt: skip
    assert "data:1" in said


def test_results_in_a_folder_have_their_page_there(finished, tmp_path):
    result = la.dedup(finished / "in.jsonl", out=tmp_path / "out", threshold=0.6)
    assert result.report() == tmp_path / "out" / "report.html"
    assert result.report(by="site") == tmp_path / "out" / "report.html"


def test_vectors_and_lists_are_shown(tmp_path):
    import numpy as np

    vectors = np.random.default_rng(1).normal(size=(50, 8)).astype(np.float32)
    vectors[1] = vectors[0] + 0.001
    result = la.dedup(vectors, measure="euclidean", threshold=0.5)
    tree, _ = read(result.report(tmp_path / "vectors.html"))
    assert len(tree.css("#doubtful del")) == 8
    words = la.dedup([["a", "b", "c", "d"], ["a", "b", "c", "d", "e"], ["z"]], threshold=0.7)
    tree, said = read(words.report(tmp_path / "lists.html"))
    assert tree.css_first("#doubtful del").text() == "e"
    assert "4 shared elements" in said


@pytest.mark.parametrize("ids", [[[1], [2], [3]], [{"a": 1}, {"a": 2}, {"a": 3}], [[b"a"], [b"b"], [b"c"]]])
def test_ids_that_arrow_cannot_compare(tmp_path, ids):
    pq.write_table(pa.table({"id": ids, "text": ["one two three four five six"] * 3}), tmp_path / "a.parquet")
    for command in (["dedup", "-o", "out"], ["pairs", "-o", "out.parquet"]):
        where = tmp_path / command[2]
        assert run([command[0], str(tmp_path / "a.parquet"), "-o", str(where), "--report", "--quiet"]) == 0
    assert (tmp_path / "out/report.html").exists()
    assert (tmp_path / "out.report.html").exists()
