"""Reports in a real browser: nothing is requested, nothing fails, everything is valid, accessible and readable."""

from __future__ import annotations

import json
import shutil

import pytest

from corpora import corpus
from lookalike.cli.main import run

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
pytestmark = pytest.mark.skipif(BROWSER is None, reason="needs Chromium in the PATH")


@pytest.fixture(scope="module")
def browser():
    """One browser for all tests."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    with playwright.sync_playwright() as started:
        opened = started.chromium.launch(executable_path=BROWSER, args=["--no-sandbox", "--disable-gpu"])
        yield opened
        opened.close()


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """A report of each command, on texts that try to break out."""
    folder = tmp_path_factory.mktemp("pages")
    texts = corpus(80)
    texts[3] = "<script>document.title = 'broken'</script><img src=x onerror=fetch('/')> \u202e " + texts[3]
    texts[4] = texts[3] + " \u0627\u0644\u0633\u0644\u0627\u0645 </textarea>"
    lines = [json.dumps({"id": f"{n}<b>", "text": text}) for n, text in enumerate(texts)]
    (folder / "in.jsonl").write_text("\n".join(lines))
    words = sorted({word for text in texts for word in text.split() if word.isalpha()})
    people = [f"{words[n]} {words[-n]},{words[3 * n]} street {n % 17},{5551000 + 37 * n}" for n in range(1, 100)]
    copies = [one.replace("a", "e", 1) for one in people[::3]]
    rows = [f"{n},{one}" for n, one in enumerate(people + copies)]
    (folder / "people.csv").write_text("\n".join(["id,name,address,phone", *rows]))
    given = [str(folder / "in.jsonl"), "--shingle", "word:3", "--threshold", "0.6", "--quiet", "--report"]
    assert run(["dedup", *given, "-o", str(folder / "dedup"), "--audit", "20"]) == 0
    assert run(["pairs", *given, "-o", str(folder / "pairs.csv")]) == 0
    link = ["link", str(folder / "people.csv"), "--fields", "name,address,phone", "-o", str(folder / "link"), "--quiet"]
    assert run(link) == 0
    return [folder / "dedup" / "report.html", folder / "pairs.report.html", folder / "link" / "report.html"]


@pytest.mark.parametrize("number", [0, 1, 2], ids=["dedup", "pairs", "link"])
def test_pages_request_nothing_and_report_no_error(browser, pages, number):
    asked, wrong = [], []
    for width, scheme in ((1100, "light"), (380, "dark")):
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=scheme)
        page = context.new_page()
        page.on("request", lambda request: asked.append(request.url))
        page.on("console", lambda message: wrong.append(message.text))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.goto(pages[number].as_uri())
        assert "broken" not in page.title()
        # nothing is wider than the screen
        assert page.evaluate("document.documentElement.scrollWidth") <= width
        context.close()
    assert asked == [pages[number].as_uri()] * 2
    assert wrong == []


@pytest.mark.parametrize(("number", "scheme"), [(0, "light"), (0, "dark"), (1, "light"), (2, "dark")])
def test_pages_are_accessible(browser, pages, number, scheme):
    axe = pytest.importorskip("axe_playwright_python.sync_playwright", reason="needs axe")
    # axe is put into the page as a script, which the policy of the page forbids
    context = browser.new_context(color_scheme=scheme, bypass_csp=True)
    page = context.new_page()
    page.goto(pages[number].as_uri())
    found = axe.Axe().run(page).response["violations"]
    context.close()
    assert [(one["id"], one["nodes"][0]["html"][:200]) for one in found] == []


def test_links_can_be_filtered_by_score(browser, pages):
    page = browser.new_page()
    page.goto(pages[2].as_uri())
    shown = page.locator("#pairs details.example:visible")
    before = shown.count()
    scores = page.eval_on_selector_all("#pairs details.example", "all => all.map(one => Number(one.dataset.score))")
    middle = sorted(scores)[len(scores) // 2] + 0.001
    page.locator("#pairs .least").fill(str(middle))
    assert shown.count() == sum(score >= middle for score in scores) < before
    page.close()


def test_pages_are_readable_without_script(browser, pages):
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(pages[0].as_uri())
    assert page.locator("#doubtful .text:visible").count() >= 2
    assert page.locator("svg:visible").count() >= 3
    assert page.locator(".tools:visible").count() == 0
    context.close()


@pytest.mark.parametrize("number", [0, 1, 2], ids=["dedup", "pairs", "link"])
def test_pages_are_valid(pages, number):
    html5lib = pytest.importorskip("html5lib", reason="needs html5lib")
    html5lib.HTMLParser(strict=True).parse(pages[number].read_text("utf-8"))
