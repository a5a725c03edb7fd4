"""splink with DuckDB on one table, with the settings of its own documented examples for that very table.

Run as ``python ADAPTER EXAMPLE TABLE OUT``: writes every pair that it predicts (left, right, probability), so that the
benchmark can judge any threshold, and prints one line of JSON: {"threshold": the example's own}.
"""

import json
import sys
from dataclasses import dataclass
from typing import Any

import pandas as pd
import splink.comparison_library as cl
from splink import ColumnExpression, DuckDBAPI, Linker, SettingsCreator, block_on

SEED = 1


@dataclass(frozen=True)
class Example:
    """What an example compares, where it looks, how it learns, and from which probability on it links.

    Attributes
    ----------
    comparisons, blocking
        Of the settings.
    certain, recall
        Rules that only matches meet, and the share of the matches that meets them: the guess of the example.
    learn
        The blocks in which the weights are learned, one after the other.
    threshold
        The probability from which on the example links or clusters.
    """

    comparisons: list[Any]
    blocking: list[Any]
    certain: list[Any]
    recall: float
    learn: list[Any]
    threshold: float
    id: str = "unique_id"
    max_pairs: float = 1e6
    without_frequencies: bool = False


CITY = cl.ExactMatch("city").configure(term_frequency_adjustments=True)
ONE_OFF = "levenshtein(r.dob, l.dob) <= 1"

EXAMPLES = {
    "quick start": Example(
        comparisons=[
            cl.NameComparison("first_name"),
            cl.JaroAtThresholds("surname"),
            cl.DateOfBirthComparison("dob", input_is_string=True),
            CITY,
            cl.EmailComparison("email"),
        ],
        blocking=[block_on("first_name", "dob"), block_on("surname")],
        certain=[block_on("first_name", "surname")],
        recall=0.7,
        learn=[block_on("first_name", "surname"), block_on("email")],
        threshold=0.95,
    ),
    "tutorial": Example(
        comparisons=[
            cl.NameComparison("first_name"),
            cl.NameComparison("surname"),
            cl.LevenshteinAtThresholds(ColumnExpression("dob").cast_to_string(), 1),
            CITY,
            cl.EmailComparison("email"),
        ],
        blocking=[block_on("first_name", "city"), block_on("surname")],
        certain=[
            block_on("first_name", "dob"),
            "l.first_name = r.first_name and levenshtein(r.surname, l.surname) <= 2",
            block_on("email"),
        ],
        recall=0.7,
        max_pairs=2e6,
        learn=[block_on("first_name", "surname"), block_on("dob")],
        threshold=0.2,
    ),
    "accuracy analysis": Example(
        comparisons=[
            cl.ForenameSurnameComparison("first_name", "surname"),
            cl.DateOfBirthComparison("dob", input_is_string=True),
            CITY,
            cl.EmailComparison("email"),
        ],
        blocking=[block_on(field) for field in ("first_name", "surname", "dob", "email")],
        certain=[
            f"l.first_name = r.first_name and {ONE_OFF}",
            f"l.surname = r.surname and {ONE_OFF}",
            "l.first_name = r.first_name and levenshtein(r.surname, l.surname) <= 2",
            "l.email = r.email",
        ],
        recall=0.7,
        learn=[block_on("dob"), block_on("email"), block_on("first_name", "surname")],
        without_frequencies=True,
        threshold=0.5,
    ),
    "febrl3": Example(
        comparisons=[
            cl.NameComparison("given_name"),
            cl.NameComparison("surname"),
            cl.DateOfBirthComparison("date_of_birth", input_is_string=True, datetime_format="%Y%m%d"),
            cl.DamerauLevenshteinAtThresholds("soc_sec_id", [2]),
            cl.ExactMatch("street_number").configure(term_frequency_adjustments=True),
            cl.ExactMatch("postcode").configure(term_frequency_adjustments=True),
        ],
        blocking=[block_on(field) for field in ("soc_sec_id", "given_name", "surname", "date_of_birth", "postcode")],
        certain=[
            block_on("soc_sec_id"),
            block_on("given_name", "surname", "date_of_birth"),
            "l.given_name = r.surname and l.surname = r.given_name and l.date_of_birth = r.date_of_birth",
        ],
        recall=0.9,
        learn=[block_on("date_of_birth"), block_on("postcode")],
        threshold=0.2,
        id="rec_id",
    ),
}


def main() -> None:
    """Read the table, learn, predict, write."""
    name, table, out = sys.argv[1:4]
    example = EXAMPLES[name]
    settings = SettingsCreator(
        link_type="dedupe_only",
        unique_id_column_name=example.id,
        comparisons=example.comparisons,
        blocking_rules_to_generate_predictions=example.blocking,
    )
    linker = Linker(DuckDBAPI().register(pd.read_parquet(table)), settings)
    learn = linker.training
    learn.estimate_probability_two_random_records_match(example.certain, recall=example.recall)
    learn.estimate_u_using_random_sampling(max_pairs=example.max_pairs, seed=SEED)
    for rule in example.learn:
        learn.estimate_parameters_using_expectation_maximisation(
            rule, estimate_without_term_frequencies=example.without_frequencies
        )
    found = linker.inference.predict().as_pandas_dataframe()
    columns = {f"{example.id}_l": "left", f"{example.id}_r": "right", "match_probability": "probability"}
    found[list(columns)].rename(columns=columns).to_parquet(out)
    print(json.dumps({"threshold": example.threshold}))


if __name__ == "__main__":
    main()
