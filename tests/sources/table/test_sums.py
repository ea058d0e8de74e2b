"""Sums of tables by the database, against the rows added one by one."""

from decimal import Decimal

import numpy as np
import pytest

from oddarm.errors import SourceError
from oddarm.rewards import Clipped
from oddarm.sources.table.files import FileOptions
from oddarm.sources.table.opening import picked
from oddarm.sources.table.sums import sums_of_arrays, sums_of_table
from support.tables import KINDS, expected, rows, write_csv

pa = pytest.importorskip("pyarrow")
pytest.importorskip("duckdb")


def sums(data, reward, *, exact=True, **options):
    """Return the sums by host."""
    known = dict.fromkeys(["where", "table", "query", "rewards", "min_rows"])
    known |= {"bad_rows": "error", **options}
    encoding = known.pop("encoding", None)
    pick = picked("host", reward, **known)
    return sums_of_table(data, pick, FileOptions(encoding), exact)


def check(found, truth):
    """Compare sums with arrays of rewards by arm."""
    literal = sums_of_arrays(dict(sorted(truth.items())))
    assert found.arms == literal.arms
    assert found.counts.tolist() == literal.counts.tolist()
    means = found.centre + found.sums / found.counts
    assert means == pytest.approx(literal.centre + literal.sums / literal.counts, rel=1e-14)
    assert found.scatter == pytest.approx(literal.scatter, rel=1e-9, abs=1e-12)
    ends = (found.low, found.high, found.zero_one)
    assert ends == (literal.low, literal.high, literal.zero_one)
    assert found.exact is None or found.exact == literal.exact


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_table_gives_the_same_sums(tmp_path, kind):
    """Files, frames and databases give the sums of their rows, exact ones included."""
    data = rows()
    table = KINDS[kind](tmp_path, data)
    check(sums(table, "slow"), expected(data, data["slow"]))
    score = sums(table, "score")
    check(score, expected(data, data["score"]))
    assert score.exact is not None
    truth = expected({"host": data["host"][::2]}, [float(x > 5) for x in data["score"][::2]])
    check(sums(table, "score > 5", where="id % 2 = 0"), truth)


def test_an_offset_costs_no_digits():
    """Rewards of a billion and a little have the scatter of the little."""
    little = np.random.default_rng(0).random(900)
    host = list("abc") * 300
    frame = pa.table({"host": host, "x": 1e9 + little})
    found = sums(frame, "x")
    check(found, expected({"host": host}, 1e9 + little))
    spread = [np.var((1e9 + little)[k::3]) * 300 for k in range(3)]
    assert found.scatter == pytest.approx(spread, rel=1e-6)


def test_sums_of_decimals_are_exact():
    """Ten times 0.1 is 1; thirds, which have too many digits for DuckDB, are added by Python."""
    frame = pa.table({"host": list("abc") * 10, "x": [0.1] * 30, "y": [1 / 3] * 30})
    assert sums(frame, "x").exact == [Decimal(1)] * 3
    assert sums(frame, "y").exact == [10 * Decimal("0.3333333333333333")] * 3
    assert sums(frame, "x", exact=False).exact is None


def test_bad_rows_are_named_or_counted(tmp_path):
    """A missing reward is an error that names the row, or is left out and counted."""
    data = {"host": list("abcd"), "x": [1, "", 2, 3]}
    path = write_csv(tmp_path / "t.csv", data)
    with pytest.raises(SourceError, match="row 2"):
        sums(path, "x")
    assert sums(path, "x", bad_rows="skip").skipped == 1


def test_no_other_file_is_reached(tmp_path):
    """SQL of the caller reads only the data that was named, and is one expression."""
    other = write_csv(tmp_path / "other.csv", {"secret": [1]})
    for kind in ("csv", "parquet", "pyarrow", "duckdb"):
        data = KINDS[kind](tmp_path, rows(50))
        for where in (f"EXISTS (FROM read_csv('{other}'))", "true) OR (true", "true; SELECT 1"):
            with pytest.raises(SourceError):
                sums(data, "slow", where=where)


def test_rewards_that_are_no_numbers_are_refused():
    """An empty or infinite reward of an array, or too few arms, are errors that name the arm."""
    good = {"a": [1.0], "b": [2.0]}
    for bad, words in [([], "no rewards"), ([np.inf], "not a number"), (["x"], "not a number")]:
        with pytest.raises(SourceError, match=f"'c'.*{words}"):
            sums_of_arrays({**good, "c": bad})
    with pytest.raises(SourceError, match="3 or more"):
        sums_of_arrays(good)


def test_postgres_gives_the_same_sums(postgres):
    """A table of PostgreSQL gives the sums of its rows, and nothing is written."""
    psycopg = pytest.importorskip("psycopg")
    data = rows(300)
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute("CREATE TABLE scanned (id int, host text, score float8, slow boolean)")
        with connection.cursor().copy("COPY scanned (id, host, score, slow) FROM STDIN") as copy:
            for row in zip(*data.values(), strict=True):
                copy.write_row(row)
        check(sums(postgres, "slow", table="scanned"), expected(data, data["slow"]))
        check(sums(postgres, "score", table="scanned"), expected(data, data["score"]))
        clipped = sums(postgres, "score", table="scanned", rewards=Clipped(-1, 5))
        check(clipped, expected(data, np.minimum(data["score"], 5)))
        connection.execute("DROP TABLE scanned")
