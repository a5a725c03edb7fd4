"""The same article in two pages' surroundings: real pages whose article is replaced by another."""

import gzip
import html
import json
import re
from html.parser import HTMLParser

import numpy as np

from lookalike.features.stopwords import stop_words
from lookalike.read.documents import page_text

WORD = re.compile(r"\w+")
ENGLISH = 0.25
"""At least this share of the words of an English article are English stop words; of other languages' far fewer are."""


class _Parts(HTMLParser):
    """A page cut into tags and texts: (is it text that a reader sees, what is written)."""

    def __init__(self, page):
        super().__init__()
        self.parts, self._shown = [], True
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.parts.append((False, self.get_starttag_text()))
        self._shown = tag not in ("script", "style")

    def handle_startendtag(self, tag, attrs):
        self.parts.append((False, self.get_starttag_text()))

    def handle_endtag(self, tag):
        self.parts.append((False, f"</{tag}>"))
        self._shown = True

    def handle_data(self, data):
        self.parts.append((self._shown, data))


class Page:
    """A page of which it is known which texts are its article."""

    def __init__(self, page, article):
        self.article = article
        self.parts = _Parts(page).parts
        words = [word.lower() for word in WORD.findall(article)]
        runs = {tuple(words[i : i + 5]) for i in range(len(words) - 4)}
        seen = [(part, word.lower()) for part, (text, data) in enumerate(self.parts) if text
                for word in WORD.findall(data)]  # fmt: skip
        covered = np.zeros(len(seen), bool)
        for i in range(len(seen) - 4):
            if tuple(word for _, word in seen[i : i + 5]) in runs:
                covered[i : i + 5] = True
        owners = [part for part, _ in seen]
        count = np.bincount(owners, minlength=len(self.parts))
        self.is_article = 2 * np.bincount(owners, covered, minlength=len(self.parts)) > count
        self.found = covered.sum() / max(1, len(words))
        """How much of the article was found in the page."""
        self.english = np.mean([word in stop_words("en") for word in words]) >= ENGLISH

    def with_article(self, article):
        """The page with another article in the place of its own."""
        written, planted = [], False
        for (text, data), mine in zip(self.parts, self.is_article):
            if not text:
                written.append(data)
            elif not mine:
                written.append(html.escape(data, quote=False))
            elif not planted:
                written.append(html.escape(article, quote=False))
                planted = True
        assert planted
        return "".join(written)


def load_pages(folder, every=False):
    """The pages in English (or every page) with their articles, as `pages` of the real data has them."""
    truth = json.loads((folder / "ground-truth.json").read_text("utf-8"))
    pages = []
    for name, known in truth.items():
        raw = gzip.decompress((folder / "html" / f"{name}.html.gz").read_bytes())
        pages.append(Page(raw.decode("utf-8", "replace"), known["articleBody"]))
    return [page for page in pages if every or page.english]


def plant(pages, seed):
    """Every article twice, each time in another page's surroundings; all surroundings are used twice, too.

    Returns the texts that a reader sees: those of articles 0, 1, ... and then of the same articles again.
    """
    draw = np.random.default_rng(seed)
    count = len(pages)
    pages = [pages[i] for i in draw.permutation(count)]
    shifts = draw.choice(np.arange(1, count), 2, replace=False)
    return [
        page_text(pages[(number + shift) % count].with_article(page.article))
        for shift in shifts
        for number, page in enumerate(pages)
    ]


def split(similarities):
    """Those of pairs with the same article, and those of all others (of which some share their surroundings)."""
    count = len(similarities) // 2
    same = np.zeros(similarities.shape, bool)
    same[np.arange(count), count + np.arange(count)] = True
    return similarities[same], similarities[np.triu(~same, 1)]


def best_f1(planted, others):
    """(F1, threshold) at the threshold that tells the two apart best."""
    f1 = [
        (2 * np.sum(planted >= t) / (len(planted) + np.sum(planted >= t) + np.sum(others >= t)), t)
        for t in np.unique(planted)
    ]
    return max(f1)
