"""The models of requests and responses, shown by /docs and /openapi.json."""

from __future__ import annotations

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

Id = str | int


class ItemIn(BaseModel):
    """An item: an id, and one of text, tokens, vector and bits. Other fields are ignored."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"id": "a1", "text": "The quick brown fox"}]})

    id: Id | None = Field(None, description="A string or an integer of 64 bits; without one, the item is numbered.")
    text: str | None = None
    tokens: list[str] | list[int] | None = None
    vector: list[float] | None = None
    bits: str | list[int] | None = Field(None, description='Such as "0110".')


class ItemAnswer(BaseModel):
    """What became of an item; in a list, an item that was refused has `error` instead."""

    id: Id
    added: bool
    match: Id | None = Field(None, description="With if_new: the most similar item in the index.")
    similarity: float | None = Field(None, description="Of the match; `distance` for euclidean and hamming.")


class QuestionIn(BaseModel):
    """An item to look for."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "The quick brown fox", "k": 10}]})

    id: Id | None = Field(None, description="Returned with the answer.")
    text: str | None = None
    tokens: list[str] | list[int] | None = None
    vector: list[float] | None = None
    bits: str | list[int] | None = None
    k: int = Field(10, ge=1, description="Matches at most.")
    threshold: float | str | None = Field(None, description="The threshold of the index, or a stricter one.")


class Match(BaseModel):
    """A similar item."""

    id: Id
    similarity: float | None = Field(None, description="Exact; `distance` for euclidean and hamming.")
    text: str | None = Field(None, description="If the index stores texts.")


class QuestionAnswer(BaseModel):
    """The similar items, the most similar first."""

    id: Id | None = None
    matches: list[Match]


class CompareIn(BaseModel):
    """Two texts, or items of the index by id."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"left": "a rose is a rose", "right": {"id": "a1"}}]})

    left: str | dict[str, Any]
    right: str | dict[str, Any]


class Passage(BaseModel):
    """A passage that both texts have; positions count characters (code points) from 0."""

    left: list[int] | None
    right: list[int] | None
    text: str


class CompareAnswer(BaseModel):
    """How similar two items are, and why."""

    similarity: float | None
    shared: int
    left_only: int
    right_only: int
    passages: list[Passage]
    left_shared: list[list[int]]
    right_shared: list[list[int]]


class StoredItemAnswer(BaseModel):
    """What is stored of an item."""

    id: Id
    added_at: str
    size: int = Field(description="Distinct shingles or tokens; for a vector, its length.")
    text: str | None = None
    vector: list[float] | None = None
    bits: str | None = None


class ProblemAnswer(BaseModel):
    """An error (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    request_id: str | None = None
