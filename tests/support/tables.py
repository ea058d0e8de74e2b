"""Tables of events in every form that a table can be opened in."""

import gzip
import json

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")

ARMS = ["a", "b", "c", "d"]


def rows(n=2000, seed=0):
    """Events of four arms: an id, the arm, a bounded score and whether it was slow."""
    rng = np.random.default_rng(seed)
    return {
        "id": list(range(n)),
        "host": [ARMS[i] for i in rng.choice(4, n, p=[0.1, 0.2, 0.3, 0.4])],
        "score": np.round(rng.random(n) * 10, 2).tolist(),
        "slow": (rng.random(n) < 0.3).tolist(),
    }


def write_csv(path, data):
    """Write a CSV file with a header."""
    lines = [",".join(data), *(",".join(map(str, row)) for row in zip(*data.values(), strict=True))]
    path.write_text("\n".join(lines) + "\n")
    return path


def write_jsonl(path, data):
    """Write a JSON lines file, compressed if the name says so."""
    text = "".join(
        json.dumps(dict(zip(data, row, strict=True))) + "\n"
        for row in zip(*data.values(), strict=True)
    )
    path.write_bytes(gzip.compress(text.encode()) if path.suffix == ".gz" else text.encode())
    return path


def write_parquet(path, data):
    """Write a Parquet file."""
    import pyarrow.parquet as pq

    pq.write_table(pa.table(data), path)
    return path


def write_duckdb(path, data, table="events"):
    """Write a DuckDB file with one table."""
    events = pa.table(data)
    with duckdb.connect(str(path)) as connection:
        connection.register("given", events)
        connection.execute(f"CREATE TABLE {table} AS FROM given")
    return path


def as_pandas(_, data):
    """Make a pandas frame."""
    return pytest.importorskip("pandas").DataFrame(data)


def as_polars(_, data):
    """Make a polars frame."""
    return pytest.importorskip("polars").DataFrame(data)


def as_lazy(_, data):
    """Make a polars frame that is not computed yet."""
    return pytest.importorskip("polars").LazyFrame(data)


KINDS = {
    "csv": lambda folder, data: write_csv(folder / "t.csv", data),
    "jsonl": lambda folder, data: write_jsonl(folder / "t.jsonl", data),
    "jsonl.gz": lambda folder, data: write_jsonl(folder / "t.jsonl.gz", data),
    "parquet": lambda folder, data: write_parquet(folder / "t.parquet", data),
    "duckdb": lambda folder, data: write_duckdb(folder / "t.duckdb", data),
    "pyarrow": lambda folder, data: pa.table(data),  # noqa: ARG005
    "pandas": as_pandas,
    "polars": as_polars,
    "polars, lazy": as_lazy,
}


def drawn(source):
    """Draw all that there is, in uneven batches."""
    found = {arm: [] for arm in source.arms}
    for arm in source.arms:
        for count in (1, 2, 50, 10_000):
            found[arm] += source.draw(arm, count).tolist()
    return found


def expected(data, reward):
    """The rewards of each arm, as they stand in the data."""
    found = {}
    for arm, value in zip(data["host"], reward, strict=True):
        found.setdefault(arm, []).append(float(value))
    return found
