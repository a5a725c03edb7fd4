"""Ten nearest sets of each of 100,000 baskets: `lookalike neighbors` against SciPy and SetSimilaritySearch.

The data is `baskets/T10I4D100K.dat` of the folder that LOOKALIKE_DATA names, by default ../shared/data beside the
project. Of lookalike the whole command counts, start and files included; of the peers only the work after reading. A
peer that would take an hour is asked for the first sets only, and its time is scaled up. Exits with 1 if lookalike is
less than 20 times as fast as the faster peer, with 2 if there is no such data.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq

import peer_env

ROOT = Path(__file__).resolve().parent.parent
PEERS = {"scipy": "scipy", "SetSimilaritySearch": "SetSimilaritySearch"}
"""Package -> what its adapter's name ends in."""
WANTED_RATIO = 20


def run_lookalike(path: Path, k: int, repeat: int) -> tuple[float, list[float]]:
    """Return the shortest of some runs of the command, and the similarities that it found for each item in turn."""
    seconds = []
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder, "near.parquet")
        command = [Path(sys.executable).with_name("lookalike"), "neighbors", path, "-k", str(k), "-o", out]
        for _ in range(repeat + 1):  # the first compiles
            started = time.perf_counter()
            subprocess.run([*command, "--overwrite", "--quiet"], check=True)
            seconds.append(time.perf_counter() - started)
        found = pq.read_table(out, columns=["left", "similarity"])
    rows = pc.cast(pc.list_element(pc.split_pattern(found["left"], ":", max_splits=1, reverse=True), 1), "int64")
    sums = [0.0] * (int(pc.max(rows).as_py()) + 1)
    for row, similarity in zip(rows.to_pylist(), found["similarity"].to_pylist()):
        sums[row] += similarity
    return min(seconds[1:]), sums


def run_peer(package: str, path: Path, k: int, items: int) -> dict[str, float]:
    """Return what the adapter of a peer reports."""
    if error := peer_env.install_packages((package,)):
        raise SystemExit(f"{package}: {error}")
    adapter = peer_env.HERE / "adapters" / f"neighbors_{PEERS[package].lower()}.py"
    command = [str(peer_env.PYTHON), str(adapter), str(path), str(k), str(items)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def main() -> int:
    """Measure, print a table, and tell whether the speed is as wanted."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("-k", type=int, default=10)
    parser.add_argument("--repeat", type=int, default=3)
    parser.add_argument("--items", type=int, default=0, help="of which SciPy finds the neighbours; 0: all")
    parser.add_argument("--few", type=int, default=500, help="of which SetSimilaritySearch finds them")
    arguments = parser.parse_args()
    path = Path(os.environ.get("LOOKALIKE_DATA", ROOT.parent / "shared" / "data")) / "baskets" / "T10I4D100K.dat"
    if not path.exists():
        print("neighbors: no baskets/T10I4D100K.dat in the folder of LOOKALIKE_DATA", file=sys.stderr)
        return 2
    seconds, sums = run_lookalike(path, arguments.k, arguments.repeat)
    print(f"{'tool':20} {'asked':>8} {'seconds for all':>16} {'ratio':>7}  similarities, and lookalike's for the same")
    print(f"{'lookalike':20} {len(sums):8,} {seconds:16.2f} {1:7.1f}")
    ratios = []
    for package, items in (("scipy", arguments.items), ("SetSimilaritySearch", arguments.few)):
        found = run_peer(package, path, arguments.k, items)
        scaled = found["seconds"] * len(sums) / found["items"]
        ratios.append(scaled / seconds)
        same = sum(sums[: int(found["items"])])
        asked = int(found["items"])
        print(f"{package:20} {asked:8,} {scaled:16.2f} {ratios[-1]:7.1f}  {found['sum']:.3f} {same:.3f}")
    return 0 if min(ratios) >= WANTED_RATIO else 1


if __name__ == "__main__":
    sys.exit(main())
