"""Generated products of two catalogues, some of them in both, described in different words.

Each table has id, title, description, maker and price. A product has a maker, a series of its maker, words of what it
is, and a model number; the products of a series differ in the model number and one or two words. The right-hand copy
of a shared product leaves words out, adds others, has them in another order, misspells some, may write the model number
with a hyphen or leave it out, and has another price. Knows nothing of the tools that read it.

    python benchmarks/products.py OUT --left 100000 --right 100000 --shared 0.3
"""

from __future__ import annotations

import argparse
import random
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

LETTERS = "abcdefghijklmnopqrstuvwxyz"


class Product(NamedTuple):
    """A product as its maker describes it."""

    maker: str
    words: tuple[str, ...]
    code: str
    about: tuple[str, ...]
    price: float


class Catalogue:
    """Makes products and the two ways in which shops describe them."""

    def __init__(self, seed: int, products: int) -> None:
        self._draw = random.Random(seed)
        self._words = [self._word() for _ in range(4_000)]
        self._makers = [self._word() for _ in range(max(20, products // 200))]
        self._series = [self._new_series() for _ in range(max(10, products // 8))]

    def _word(self) -> str:
        draw = self._draw
        return "".join(draw.choice("bcdfghklmnprstvw") + draw.choice("aeiou") for _ in range(draw.randint(2, 4)))

    def _some(self, count: int) -> tuple[str, ...]:
        """Words, of which some are far more common than others."""
        return tuple(self._words[int(len(self._words) * self._draw.random() ** 3)] for _ in range(count))

    def _new_series(self) -> tuple[str, tuple[str, ...], str, tuple[str, ...]]:
        letters = "".join(self._draw.choice(LETTERS) for _ in range(self._draw.randint(1, 3)))
        return self._draw.choice(self._makers), self._some(self._draw.randint(3, 5)), letters, self._some(12)

    def product(self) -> Product:
        """A new product of one of the series."""
        draw = self._draw
        maker, words, letters, about = draw.choice(self._series)
        code = f"{letters}{draw.randrange(10, 10_000)}{draw.choice(['', '', draw.choice(LETTERS)])}"
        return Product(maker, words + self._some(draw.randint(1, 2)), code, about + self._some(4), draw.uniform(5, 900))

    def plain(self, one: Product) -> dict[str, str]:
        """As the left shop describes it."""
        title = " ".join((one.maker, *one.words, one.code))
        return {"title": title, "description": " ".join(one.about), "maker": one.maker, "price": f"{one.price:.2f}"}

    def varied(self, one: Product) -> dict[str, str]:
        """As the right shop describes it."""
        draw = self._draw
        words = [self._misspelt(word) for word in one.words if draw.random() > 0.2] or list(one.words[:1])
        words += self._some(draw.randint(0, 2))
        if draw.random() < 0.8:
            words.append(one.code if draw.random() < 0.5 else one.code[:2] + "-" + one.code[2:])
        draw.shuffle(words)
        about = [word for word in one.about if draw.random() > 0.5]
        maker = one.maker if draw.random() < 0.6 else ""
        price = f"{one.price * draw.uniform(0.8, 1.2):.2f}" if draw.random() < 0.7 else ""
        return {"title": " ".join(words), "description": " ".join(about), "maker": maker, "price": price}

    def _misspelt(self, word: str) -> str:
        if self._draw.random() > 0.1:
            return word
        at = self._draw.randrange(len(word))
        return word[:at] + self._draw.choice(LETTERS) + word[at + 1 :]


def make_products(left: int, right: int, shared: float, seed: int = 1) -> tuple[pa.Table, pa.Table]:
    """Two tables; the products with the same id up to its first letter (a or b) are the same.

    Examples
    --------
    >>> one, other = make_products(30, 20, 0.5)
    >>> ids = [{name[1:] for name in table["id"].to_pylist()} for table in (one, other)]
    >>> len(one), len(other), len(ids[0] & ids[1])
    (30, 20, 10)
    """
    catalogue, both = Catalogue(seed, left), int(shared * min(left, right))
    products = [catalogue.product() for _ in range(left + right - both)]
    one = [{"id": f"a{n}", **catalogue.plain(products[n])} for n in range(left)]
    places = list(range(both)) + list(range(left, left + right - both))
    other = [{"id": f"b{n}", **catalogue.varied(products[n])} for n in places]
    random.Random(seed).shuffle(other)
    return pa.Table.from_pylist(one), pa.Table.from_pylist(other)


def main() -> None:
    """Write a.parquet and b.parquet to a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("out", type=Path)
    parser.add_argument("--left", type=int, default=100_000)
    parser.add_argument("--right", type=int, default=100_000)
    parser.add_argument("--shared", type=float, default=0.3)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    given.out.mkdir(parents=True, exist_ok=True)
    for name, table in zip("ab", make_products(given.left, given.right, given.shared, given.seed)):
        pq.write_table(table, given.out / f"{name}.parquet")


if __name__ == "__main__":
    main()
