"""The index and a plain-Python model of it, driven side by side."""

import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

import lookalike as la
from databases import server
from modelling import OPTIONS, put, similar

TEXTS = st.lists(st.sampled_from("abcdefg"), max_size=6).map(" ".join)
IDS = st.sampled_from([f"i{n}" for n in range(12)])
ROWS = st.lists(st.tuples(IDS, TEXTS), min_size=1, max_size=5)


class IndexModel(RuleBasedStateMachine):
    @initialize(store=st.sampled_from(["sets", "text"]))
    def create(self, store):
        self.folder = Path(tempfile.mkdtemp())
        self.place = self.new_place()
        self.index = la.Index.create(self.place, store=store, **OPTIONS)
        self.model = []  # (id, text), in input order

    def new_place(self):
        return self.folder / "index"

    def teardown(self):
        if hasattr(self, "index"):
            self.index.close()
            shutil.rmtree(self.folder)

    def similar(self, text):
        return similar(self.model, text)

    def put(self, name, text):
        self.model = put(self.model, name, text)

    @rule(rows=ROWS)
    def add(self, rows):
        self.index.add([{"id": name, "text": text} for name, text in rows])
        for name, text in rows:
            self.put(name, text)

    @rule(rows=ROWS)
    def add_and_skip(self, rows):
        told = self.index.add([{"id": name, "text": text} for name, text in rows], on_conflict="skip").to_pylist()
        for (name, text), row in zip(rows, told):
            known = name in dict(self.model)
            assert row["added"] == (not known)
            if not known:
                self.put(name, text)

    @rule(rows=ROWS)
    def add_if_new(self, rows):
        told = self.index.add([{"id": name, "text": text} for name, text in rows], if_new=True).to_pylist()
        for (name, text), row in zip(rows, told):
            best = self.similar(text)
            assert row["added"] == (not best)
            assert (row["match"], row["similarity"]) == (best[0] if best else (None, None))
            if not best:
                self.put(name, text)

    @rule(names=st.lists(IDS, max_size=4))
    def remove(self, names):
        there = {name for name, _ in self.model} & set(names)
        assert self.index.remove(names) == len(there)
        self.model = [row for row in self.model if row[0] not in there]

    @rule()
    def compact(self):
        self.index.compact()

    @rule()
    def reopen(self):
        self.index.close()
        self.index = la.Index.open(self.place)

    @rule(texts=st.lists(TEXTS, min_size=2, max_size=3), k=st.integers(1, 4))
    def query(self, texts, k):
        """All texts in one call, and each in a call of its own."""
        found = self.index.query(texts, k=k)
        for row, text in enumerate(texts):
            alone = self.index.query([text], k=k)
            mine = [(one["right"], one["similarity"]) for one in found.to_pylist() if one["left"] == row]
            assert mine == self.similar(text)[:k]
            assert alone.schema == found.schema
            assert alone.to_pylist() == [{**one, "left": 0} for one in found.to_pylist() if one["left"] == row]

    @invariant()
    def has_the_same_items(self):
        if hasattr(self, "index"):
            assert len(self.index) == len(self.model)
            assert self.index._index.ids().to_pylist() == [name for name, _ in self.model]


class FolderModel(IndexModel):
    @rule()
    def make_a_segment_of_the_log(self):
        self.index.store.settle()


class DatabaseModel(IndexModel):
    def new_place(self):
        return server.new_index()


@pytest.mark.usefixtures("database")
class TestDatabase(DatabaseModel.TestCase):
    settings = settings(max_examples=6, stateful_step_count=20, deadline=None, derandomize=True)


TestFolder = FolderModel.TestCase
TestFolder.settings = settings(max_examples=25, stateful_step_count=25, deadline=None, derandomize=True)
