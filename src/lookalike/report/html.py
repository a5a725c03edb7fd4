"""HTML that no content can break: all text is escaped unless it is already `Markup`.

Knows nothing about runs, results or charts.
"""

from __future__ import annotations

import base64
import hashlib
import html
import math
import re
from collections.abc import Iterable, Sequence
from importlib import resources

from lookalike.tuning.wording import percent
from lookalike.version import __version__

GENERATOR = f"lookalike {__version__}"
OURS = '<meta name="generator" content="lookalike '
"""The beginning of every page, by which pages of lookalike are recognised."""
SMALLEST_SHARE = 1e-6
"""Smaller shares are shown only as smaller: no model has seen enough pairs to be sure to ten digits."""
_VOID = {"col", "input", "meta"}
# Not allowed in HTML or in UTF-8: control characters, lone surrogates, noncharacters.
_UNFIT = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\ufdd0-\ufdef\ufffe\uffff]")

_OPTION = re.compile(r"(?<![\w-])(--[a-z][a-z-]*(?: (?:[A-Z]+|[0-9]+)\b)?)")


class Markup(str):
    """Text that is already HTML."""

    __slots__ = ()


def escape(text: object) -> Markup:
    """Text as HTML, safe between tags and inside quotes. Characters not allowed in HTML become U+FFFD.

    Examples
    --------
    >>> escape("<b>"), escape(Markup("<b>"))
    ('&lt;b&gt;', '<b>')
    """
    return text if isinstance(text, Markup) else Markup(html.escape(_UNFIT.sub("\ufffd", str(text))))


def join(parts: Iterable[object], between: str = "") -> Markup:
    """Concatenated parts, each escaped unless it is `Markup`.

    Examples
    --------
    >>> join(["a & b", Markup("<hr>")], " ")
    'a &amp; b <hr>'
    """
    return Markup(escape(between).join(escape(part) for part in parts))


def tag(name: str, /, *children: object, **attributes: object) -> Markup:
    """An element. In attribute names, a trailing `_` is dropped and other `_` become `-`; None and False are omitted.

    Examples
    --------
    >>> tag("a", "to < from", href="#top", class_="nav", hidden=True, title=None)
    '<a href="#top" class="nav" hidden>to &lt; from</a>'
    """
    opening = name
    for key, value in attributes.items():
        attribute = key.rstrip("_").replace("_", "-")
        if value is True:
            opening += f" {attribute}"
        elif value is not None and value is not False:
            opening += f' {attribute}="{escape(value)}"'
    return Markup(f"<{opening}>" if name in _VOID else f"<{opening}>{join(children)}</{name}>")


def code_options(text: str) -> Markup:
    """Text in which options of commands are set as code.

    Examples
    --------
    >>> code_options("Label pairs (--review 60) or <use> --validate FIELD.")
    'Label pairs (<code>--review 60</code>) or &lt;use&gt; <code>--validate FIELD</code>.'
    """
    return join(tag("code", part) if place % 2 else part for place, part in enumerate(_OPTION.split(text)))


def table(
    heads: Sequence[str], rows: Iterable[Sequence[object]], numeric: Iterable[int] = (), caption: str = ""
) -> Markup:
    """A table that scrolls sideways if it is too wide. Columns in `numeric` are right-aligned.

    Examples
    --------
    >>> table(["stage", "seconds"], [["read", 1]], numeric=[1]).count('class="number"')
    2
    """
    right = set(numeric)

    def cell(kind: str, place: int, content: object) -> Markup:
        scope = "col" if kind == "th" else None
        return tag(kind, content, scope=scope, class_="number" if place in right else None)

    def line(kind: str, cells: Sequence[object]) -> Markup:
        return tag("tr", *(cell(kind, place, content) for place, content in enumerate(cells)))

    parts = [tag("caption", caption)] if caption else []
    parts += [tag("thead", line("th", heads)), tag("tbody", *(line("td", row) for row in rows))]
    # A scrolling box must be reachable by keyboard, and then has a name.
    return tag("div", tag("table", *parts), class_="scroll", tabindex="0", role="group", aria_label=caption or "table")


def page(title: str, body: Markup) -> str:
    """A complete file of this content, with style and script inline and a policy that forbids loading anything else."""
    style, script = _part("page.css"), _part("page.js")
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src 'sha256-{digest}'"
    head = join(
        [
            tag("meta", charset="utf-8"),
            tag("meta", http_equiv="Content-Security-Policy", content=policy),
            tag("meta", name="generator", content=GENERATOR),
            tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
            tag("meta", name="color-scheme", content="light dark"),
            tag("title", title),
            tag("style", style),
        ],
        "\n",
    )
    content = join([body, tag("script", script)], "\n")
    return f"<!doctype html>\n{tag('html', tag('head', head), tag('body', content), lang='en')}\n"


def _part(name: str) -> Markup:
    """A file of this folder, verbatim."""
    return Markup(resources.files("lookalike.report").joinpath(name).read_text(encoding="utf-8"))


def show_number(value: float, sign: bool = False) -> str:
    """A number with two decimals, or none if it is an integer, and thousands separators.

    Examples
    --------
    >>> show_number(1234567), show_number(2.345), show_number(-3.5, sign=True), show_number(4.0, sign=True)
    ('1,234,567', '2.35', '−3.50', '+4')
    """
    if not math.isfinite(value):
        return "unknown" if math.isnan(value) else "∞" if value > 0 else "−∞"
    digits = 0 if value == round(value) else 2
    return format(float(value), f"{'+' if sign and value else ''},.{digits}f").replace("-", "−")


def show_share(share: float | None) -> str:
    """A share as a percentage, in a few digits; a dash if unknown. Only 0 and 1 themselves are 0% and 100%.

    Examples
    --------
    >>> show_share(0.987), show_share(None), show_share(1 - 1e-9), show_share(1e-9), show_share(1.0)
    ('98.7%', '–', '>99.9999%', '<0.0001%', '100%')
    """
    if share is None or math.isnan(share):
        return "–"
    share = min(max(float(share), 0.0), 1.0)
    if 0 < min(share, 1 - share) < SMALLEST_SHARE:
        return "<0.0001%" if share < 0.5 else ">99.9999%"
    return percent(share)


def show_about(share: float) -> str:
    """An estimated share in words.

    Examples
    --------
    >>> show_about(0.987), show_about(1 - 1e-9), show_about(1e-9)
    ('about 98.7%', 'over 99.9999%', 'under 0.0001%')
    """
    shown = show_share(share)
    return {"<": "under ", ">": "over "}.get(shown[0], f"about {shown[0]}") + shown[1:]


def show_interval(low: float | None, high: float | None) -> str:
    """An interval of shares; empty if unknown.

    Examples
    --------
    >>> show_interval(0.95, 0.99), show_interval(None, 0.99)
    ('95% to 99%', '')
    """
    return "" if low is None or high is None else f"{show_share(low)} to {show_share(high)}"


def show_roughly(low: float, high: float) -> str:
    """A wide interval of shares, whose decimals mean nothing; only 0 and 1 themselves are 0% and 100%.

    Examples
    --------
    >>> show_roughly(0.775, 0.99066), show_roughly(0.0012, 0.9997), show_roughly(0.0, 1.0)
    ('78% to 99%', '<1% to >99%', '0% to 100%')
    """
    near = {"0%": "<1%", "100%": ">99%"}
    rounded = [(f"{share:.0%}", 0 < share < 1) for share in (low, high)]
    return " to ".join(near.get(shown, shown) if inside else shown for shown, inside in rounded)
