"""splink with DuckDB: people of two tables, three blocking rules (name, address, phone), weights by its own EM."""

import json
import sys
import time

import pandas as pd
import splink.comparison_library as cl
from splink import DuckDBAPI, Linker, SettingsCreator, block_on


def main() -> None:
    """Arguments: left, right, where the links go; prints seconds and how many there are."""
    left, right, out = sys.argv[1:4]
    started = time.perf_counter()
    tables = [pd.read_parquet(left), pd.read_parquet(right)]
    settings = SettingsCreator(
        link_type="link_only",
        unique_id_column_name="id",
        comparisons=[
            cl.JaroWinklerAtThresholds("name", [0.92, 0.8]).configure(term_frequency_adjustments=True),
            cl.LevenshteinAtThresholds("address", [2, 5]),
            cl.LevenshteinAtThresholds("postcode", [1]),
            cl.LevenshteinAtThresholds("phone", [1, 2]),
        ],
        blocking_rules_to_generate_predictions=[block_on("name"), block_on("address"), block_on("phone")],
    )
    engine = DuckDBAPI()
    registered = [
        engine.register(table, dataset_display_name=name)
        for table, name in zip(tables, ("left_people", "right_people"))
    ]
    linker = Linker(registered, settings)
    linker.training.estimate_probability_two_random_records_match(
        [block_on("phone"), block_on("name", "postcode")], 0.7
    )
    linker.training.estimate_u_using_random_sampling(max_pairs=1_000_000)
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("phone"))
    linker.training.estimate_parameters_using_expectation_maximisation(block_on("name"))
    found = linker.inference.predict(threshold_match_probability=0.5).as_pandas_dataframe()
    swapped = found["source_dataset_l"] == "right_people"
    links = pd.DataFrame(
        {
            "left": found["id_l"].where(~swapped, found["id_r"]),
            "right": found["id_r"].where(~swapped, found["id_l"]),
            "probability": found["match_probability"],
        }
    )
    links.to_parquet(out)
    print(json.dumps({"seconds": time.perf_counter() - started, "links": len(links)}))


if __name__ == "__main__":
    main()
