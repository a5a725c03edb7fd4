"""A made-up report on links that looks like a real one, with values that try to break the page."""

from __future__ import annotations

import math

from lookalike.report.linkage.facts import Bin, FieldFact, HashFact, LevelWeight, LinkReport, PairExample, PairField

NAMES = (
    "given_name",
    "surname",
    "born",
    "street",
    "city",
    "zip",
    "phone",
    "email",
    "income",
    "a_field_with_a_rather_long_name",
)
VALUES = [
    ("Katharina", "Katarina"),
    ("Müller-Lüdenscheidt", "Mueller-Ludenscheidt"),
    ("1971-03-12", "1971-12-03"),
    ("<script>alert('left')</script>", "<img src=x onerror=alert(1)>"),
    ("北京市朝阳区", "北京市朝陽区"),
    ("محمد عبد الله الحسين", "محمد عبدالله الحسين"),
    (None, "+49 30 901820"),
    ("a" * 90 + "@example.org", "a" * 88 + "@example.org"),
    ("lorem ipsum dolor sit amet " * 30, "lorem ipsum"),
    ("नमस्ते दुनिया", "नमस्ते दुनीया & \"quotes\" 'too'"),
]
LEVELS = (
    ("equal", 0.86, 0.004),
    ("nearly equal", 0.1, 0.01),
    ("somewhat alike", 0.03, 0.11),
    ("different", 0.01, 0.876),
)


def make_example(left: str, right: str, score: float, seed: int = 0) -> PairExample:
    """A pair whose weights add up to its score."""
    prior = -13.25
    weights = [7.75, 3.3, -1.9, -6.4, 2.2, 3.1, 0.0, 4.6, -0.35]
    weights = weights[seed % 9 :] + weights[: seed % 9]
    adjusted = [0.0] * 10
    adjusted[1], adjusted[4] = -1.25, 2.5
    weights.append(score - prior - sum(weights) - sum(adjusted))
    fields = [
        PairField(name, *VALUES[place], LEVELS[(place + seed) % 4][0], weights[place], adjusted[place])
        for place, name in enumerate(NAMES)
    ]
    return PairExample(left, right, score, 1 / (1 + 2.0**-score), fields, prior)


def make_bins(count: int = 100) -> list[Bin]:
    """Many pairs with low scores, few in the middle, some with high ones; the precision rises in between."""
    bins = []
    for place in range(count):
        low = -30 + 60 * place / count
        high = -30 + 60 * (place + 1) / count
        middle = (low + high) / 2
        pairs = int(900_000 * math.exp(-(((middle + 20) / 6) ** 2)) + 12_000 * math.exp(-(((middle - 18) / 5) ** 2)))
        share = 1 / (1 + 2.0 ** (-0.8 * middle + 1))
        half = min(0.25, 1.0 / math.sqrt(pairs + 1))
        known = pairs > 0 and middle > -24
        bins.append(
            Bin(low, high, pairs, share, max(share - half, 0.0), min(share + half, 1.0))
            if known
            else Bin(low, high, pairs)
        )
    return bins


def make_report() -> LinkReport:
    """Ten fields, a hundred bins, long values, other scripts, markup in values."""
    weights = [
        LevelWeight(
            name, level, m, u * (place + 1) ** -1.5, math.log2(m / (u * (place + 1) ** -1.5)), 1234567 // (n + 1)
        )
        for place, name in enumerate(NAMES)
        for n, (level, m, u) in enumerate(LEVELS)
    ]
    hashes = [HashFact(f"{name}, exact", 987_654, 120_345, 812, 2_345_678, 12_345) for name in NAMES]
    hashes.append(
        HashFact(
            "zip, exact", 999_999, 8_123, 65_000, 0, 0, "the block '10115' with 65,000 records was refined by street"
        )
    )
    return LinkReport(
        title="lookalike link: customers_2019.csv and customers_of_the_other_company_export_final.csv",
        tables=[("customers_2019.csv", 1_000_000), ("customers_of_the_other_company_export_final.csv", 980_123)],
        fields=[
            FieldFact(name, "text", "97.3% of the values hold letters and spaces", 0.0371, 81_234) for name in NAMES
        ],
        hashes=hashes,
        recall=(0.9873, 0.9811, 0.9915),
        weights=weights,
        converged=True,
        iterations=17,
        bins=make_bins(),
        cut=6.0,
        cut_reason="the lowest score from which on the precision is at least 99%",
        source_of_precision="validated by 'created'",
        links=98_765,
        chosen=[make_example("A-1", "B-7", 21.5), make_example("A-2", "B-<b>8</b>", -9.125, 3)],
        around=[make_example(f"L{n}", f"R{n}", 8.4 - 0.6 * n, n) for n in range(9)],
        notes=["3 records have the id 'x'; they are kept apart by their row.", "The column 'fax' is empty: not used."],
    )
