"""The web page in a real browser: every flow, light, dark and on a phone, with a keyboard, and nothing foreign."""

import json

import pytest
from playwright.sync_api import expect

import lookalike as la
from browsing import WAIT_MS, Visit, browser
from calling import process
from serving import TEXTS, Serving, make_index

ROSE, ROSES = TEXTS["rose"], TEXTS["roses"]
PHONE = {"viewport": {"width": 390, "height": 844}, "color_scheme": "dark"}


@pytest.fixture(scope="module")
def chromium():
    with browser() as running:
        yield running


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """An index, and a run to review."""
    folder = tmp_path_factory.mktemp("site")
    lines = [{"id": id, "text": text} for id, text in TEXTS.items()]
    (folder / "in.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    assert process("dedup", folder / "in.jsonl", "-o", folder / "out", "--threshold", "0.6").code == 0
    assert process("index", "compact", make_index(folder / "index")).code == 0  # buckets are counted in segments
    with Serving(folder / "index", "--run", folder / "out") as server:
        server.folder = folder
        yield server


@pytest.fixture(params=[{"color_scheme": "light"}])
def visit(request, chromium, site):
    with Visit(chromium, **request.param) as one:
        yield one
        assert one.said == []
        assert {url.split("/")[2] for url in one.asked if not url.startswith("blob:")} == {site.url.split("/")[2]}
        wide = "document.documentElement.scrollWidth <= window.innerWidth"
        assert one.page.evaluate(wide), "the page can be scrolled sideways"


BOTH = pytest.mark.parametrize("visit", [{"color_scheme": "light"}, PHONE], ids=["light", "dark phone"], indirect=True)


@BOTH
def test_ask_compare_and_add_if_new(visit, site):
    page = visit.page
    page.goto(f"{site.url}/")
    page.fill("#text", ROSE + " and wind")
    page.wait_for_selector(".match")
    assert page.locator(".match .name").all_inner_texts() == ["rose", "roses"]
    page.locator(".match").nth(1).click()
    page.wait_for_selector("#compared")
    marked = page.locator("#details .side").nth(1).locator("mark").all_inner_texts()
    assert marked == [ROSES.removesuffix(" sun")]
    shown = page.locator("#details .legend").inner_text()
    assert f"{len(la.shingles(ROSE) & la.shingles(ROSES))} shingles shared" in shown
    assert visit.violations() == []
    page.locator("#details summary").click()
    assert "curl" in page.locator("#details pre").inner_text()
    page.click("text=Add if new")
    page.wait_for_selector("text=Not added: rose has similarity")


def test_the_threshold_slider_and_the_keyboard(visit, site):
    page = visit.page
    page.goto(f"{site.url}/")
    page.wait_for_selector("#text")
    page.focus("#text")
    page.keyboard.insert_text(ROSE)
    page.keyboard.press("Control+Enter")
    expect(page.locator(".match")).to_have_count(2, timeout=WAIT_MS)
    page.focus("#threshold")
    page.keyboard.press("End")
    expect(page.locator(".match")).to_have_count(1, timeout=WAIT_MS)
    assert page.locator("output").inner_text() == "1"
    page.focus(".match")
    page.keyboard.press("Enter")
    page.wait_for_selector("#compared")


def test_a_file_is_dropped(visit, site):
    page = visit.page
    page.goto(f"{site.url}/")
    page.wait_for_selector("#text")
    drop = """text => { const data = new DataTransfer(); data.items.add(new File([text], "fox.txt"));
        document.getElementById("text").dispatchEvent(new DragEvent("drop", {dataTransfer: data, bubbles: true})) }"""
    page.evaluate(drop, TEXTS["fox"])
    page.wait_for_selector(".match .name:text('fox')")
    assert page.input_value("#new-id") == "fox.txt"


@BOTH
def test_explore_items_charts_and_a_random_cluster(visit, site):
    page = visit.page
    page.goto(f"{site.url}/#explore")
    expect(page.locator("svg.chart")).to_have_count(2, timeout=WAIT_MS)
    assert page.locator(".tiles dd").first.inner_text() == str(len(TEXTS))
    assert page.locator("svg.chart text").first.evaluate("text => text.getBoundingClientRect().height") > 12
    page.fill("#item-id", "rose")
    page.keyboard.press("Enter")
    page.wait_for_selector("#found .name:text('roses')")
    assert visit.violations() == []
    page.click("text=A random cluster")
    expect(page.locator("#found h2").first).not_to_be_empty(timeout=WAIT_MS)


def test_an_unknown_item_is_explained(chromium, site):
    with Visit(chromium) as visit:
        visit.page.goto(f"{site.url}/#explore")
        visit.page.fill("#item-id", "nobody")
        visit.page.keyboard.press("Enter")
        visit.page.wait_for_selector("[role=alert]:text('has no item')")


@BOTH
def test_review_decisions_are_saved(visit, site):
    page = visit.page
    saved = site.folder / "out.decisions.jsonl"
    saved.unlink(missing_ok=True)
    page.goto(f"{site.url}/#review")
    page.locator(".groups button").first.click()
    page.wait_for_selector("#group-title")
    kept, removed = (page.locator("#group .side").nth(at).locator("mark") for at in (0, 1))
    own = [[word for word in one.split() if word not in other.split()] for one, other in ((ROSE, ROSES), (ROSES, ROSE))]
    assert [" ".join(one.all_inner_texts()).split() for one in (kept, removed)] == own
    assert visit.violations() == []
    button = page.locator("#group .route .decide button", has_text="Unsure")
    if button.get_attribute("aria-pressed") == "true":  # from the visit before
        button.click()
        expect(page.locator("#group .route .decide [aria-pressed=true]")).to_have_count(0, timeout=WAIT_MS)
    button.click()
    page.wait_for_selector("#group .route .decide [aria-pressed=true]")
    last = json.loads(saved.read_text().splitlines()[-1])
    assert (last["id"], last["decision"]) == ("roses", "unsure")


def test_review_scrolls_to_the_first_difference(chromium, tmp_path):
    words = [f"word{number}" for number in range(3000)]
    texts = [" ".join(words), " ".join([*words[:1500], "extra", *words[1500:]])]
    (tmp_path / "in.jsonl").write_text("".join(json.dumps({"text": text}) + "\n" for text in texts))
    assert process("dedup", tmp_path / "in.jsonl", "-o", tmp_path / "out").code == 0
    with Serving("--run", tmp_path / "out") as server, Visit(chromium) as visit:
        page = visit.page
        page.goto(f"{server.url}/#review")
        page.locator(".groups button").first.click()
        page.wait_for_selector("#group-title")
        assert page.locator("#group mark").all_inner_texts() == ["extra"]
        inside = (
            "mark => { const box = mark.closest('.text').getBoundingClientRect(), at = mark.getBoundingClientRect();"
        )
        assert page.locator("#group mark").evaluate(inside + "return at.top > box.top && at.bottom < box.bottom; }")
        tops = [page.locator("#group .text").nth(at).evaluate("box => box.scrollTop") for at in (0, 1)]
        assert tops[0] == tops[1] > 0


def test_links_are_filtered_by_source(chromium, tmp_path):
    for name, rows in {"old": "1,John Smith,Boston\n2,Mary Jones,Denver", "new": "3,Ann Lee,Reno"}.items():
        (tmp_path / name).with_suffix(".csv").write_text(f"id,name,city\n{rows}\n")
    (tmp_path / "b.csv").write_text("id,name,city\n7,Jon Smith,Boston\n8,Mary Jones,Denver\n9,Ann Lee,Reno\n")
    options = ("--fields", "name,city", "--scoring", "points", "-o", tmp_path / "out")
    assert process("link", str(tmp_path / "[on]*.csv"), tmp_path / "b.csv", *options).code == 0
    with Serving("--run", tmp_path / "out") as server, Visit(chromium) as visit:
        page, titles = visit.page, visit.page.locator(".groups button span")
        page.goto(f"{server.url}/#review")
        expect(titles).to_have_text(["1 - 7", "3 - 9", "2 - 8"], timeout=WAIT_MS)
        page.select_option("#source", label="new.csv")
        expect(titles).to_have_text(["3 - 9"], timeout=WAIT_MS)
        titles.first.click()
        expect(page.locator("#group .note")).to_contain_text("new.csv and", timeout=WAIT_MS)
        page.select_option("#source", label="old.csv")
        expect(titles).to_have_text(["1 - 7", "2 - 8"], timeout=WAIT_MS)
        assert visit.violations() == []
        assert visit.said == []


def test_the_description_of_the_api_is_readable_offline(visit, site):
    visit.page.goto(f"{site.url}/docs")
    visit.page.wait_for_selector("code:text-is('/v1/query')")
    assert "`" not in visit.page.locator("main").inner_text()
    expect(visit.page.locator("#about")).to_have_text(f"{len(TEXTS)} items", timeout=WAIT_MS)
    assert [one for one in visit.page.locator("nav a").all_inner_texts() if one] == ["Ask", "Explore", "Review", "API"]
    assert visit.violations() == []


def test_the_page_asks_for_a_key(chromium, tmp_path):
    (tmp_path / "keys").write_text("read 0123456789abcdef0123 reader\n")
    with Serving(make_index(tmp_path / "index"), "--keys", tmp_path / "keys") as server, Visit(chromium) as visit:
        page = visit.page
        page.goto(f"{server.url}/")
        page.fill("#key-input", "0123456789abcdef0123")
        page.keyboard.press("Enter")
        page.fill("#text", ROSE)
        page.wait_for_selector(".match")
        page.click("text=Add if new")
        page.wait_for_selector("text=may read, but not write")


def test_escape_closes_the_key_dialog_for_good(chromium, tmp_path):
    (tmp_path / "keys").write_text("read 0123456789abcdef0123 reader\n")
    with Serving(make_index(tmp_path / "index"), "--keys", tmp_path / "keys") as server, Visit(chromium) as visit:
        page = visit.page
        page.goto(f"{server.url}/#explore")
        page.wait_for_selector("#key-dialog[open]")
        page.keyboard.press("Escape")
        page.wait_for_selector("[role=alert]:text('needs a key')")
        page.wait_for_timeout(300)
        assert page.locator("#key-dialog[open]").count() == 0
        page.click("text=Try again")
        page.fill("#key-input", "0123456789abcdef0123")
        page.keyboard.press("Enter")
        page.wait_for_selector(".tiles")


def test_only_the_latest_answer_is_shown(chromium, site):
    """The first answer of each kind arrives after the second."""
    with Visit(chromium) as visit:
        page, held = visit.page, []

        def hold_first(route):
            if not held:
                held.append(route)
            else:
                route.continue_()

        def let_go():
            held.pop().continue_()
            page.wait_for_timeout(300)

        page.goto(f"{site.url}/")
        page.fill("#text", ROSE)
        expect(page.locator(".match")).to_have_count(2, timeout=WAIT_MS)
        page.route("**/v1/compare", hold_first)
        page.locator(".match").nth(0).click()
        page.wait_for_function("() => document.querySelector('.match[aria-pressed=true]')")
        page.locator(".match").nth(1).click()
        page.wait_for_selector("#compared")
        shown = page.locator("#compared").inner_text()
        assert shown != "Similarity 1"
        let_go()
        assert page.locator("#compared").inner_text() == shown

        page.locator(".match").nth(0).click()  # answered at once, held is empty: it waits
        page.fill("#text", TEXTS["fox"])
        expect(page.locator(".match .name")).to_have_text(["fox"], timeout=WAIT_MS)
        let_go()
        assert page.locator("#compared").count() == 0

        page.goto(f"{site.url}/#explore")
        page.wait_for_selector(".tiles")
        page.route("**/v1/neighbors?*", hold_first)
        for id in ("fox", "rose"):
            page.fill("#item-id", id)
            page.keyboard.press("Enter")
        page.wait_for_selector("#found h2:text-is('rose')")
        let_go()
        assert page.locator("#found h2").first.inner_text() == "rose"


def test_the_page_works_under_the_path_of_a_proxy(chromium, tmp_path):
    with Serving(make_index(tmp_path / "index"), "--root-path", "/seen") as server, Visit(chromium) as visit:
        for path in ("/seen", "/seen/"):
            visit.page.goto(f"{server.url}{path}")
            visit.page.fill("#text", ROSE)
            visit.page.wait_for_selector(".match")
        assert f"{server.url}/seen/v1/query" in visit.page.locator("details pre").first.text_content()
        visit.page.click("nav >> text=API")
        visit.page.wait_for_selector("code:text-is('/v1/query')")
        assert {"/" + url.split("/")[3] for url in visit.asked} == {"/seen"}
        assert visit.said == []


def test_an_index_of_vectors_makes_sense(chromium, tmp_path):
    la.Index.create(tmp_path / "v", [[1.0, 0.0, 0.5], [0.0, 1.0, 0.0]], measure="cosine", threshold=0.9).close()
    with Serving(tmp_path / "v") as server, Visit(chromium) as visit:
        visit.page.goto(f"{server.url}/")
        visit.page.fill("#text", "[2, 0, 1]")
        visit.page.wait_for_selector(".match")
        visit.page.locator(".match").click()
        visit.page.wait_for_selector("text=[1,0,0.5]")
        assert visit.said == []
