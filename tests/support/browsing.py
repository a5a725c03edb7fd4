"""A real browser: Debian's Chromium, or one that `make browser` has installed."""

import shutil
from contextlib import contextmanager

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome")
WAIT_MS = 60_000


def find_browser():
    """The program; where there is none the test is skipped and says so."""
    found = next((place for name in NAMES if (place := shutil.which(name))), None)
    if found is None:
        pytest.skip("no Chromium: make browser")
    return found


@contextmanager
def browser():
    from playwright.sync_api import sync_playwright

    program = find_browser()
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        try:
            yield running
        finally:
            running.close()


class Visit:
    """A page that is watched: what it says on the console, and whom it asks."""

    def __init__(self, browser, **options):
        self.context = browser.new_context(**options)
        self.context.set_default_timeout(WAIT_MS)
        self.page = self.context.new_page()
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("request", lambda request: self.asked.append(request.url))

    def violations(self):
        """What axe-core finds wrong with the page, in a line each."""
        from axe_playwright_python.sync_playwright import Axe

        # the policy of the page forbids foreign scripts: this one is run by the browser's own tools
        found = Axe().run(self.page, options={"runOnly": ["wcag2a", "wcag2aa", "wcag21aa", "best-practice"]})
        return [f"{one['id']}: {one['nodes'][0]['html'][:150]}" for one in found.response["violations"]]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.context.close()
