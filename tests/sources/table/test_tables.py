"""Tables as sources: files, frames and DuckDB."""

import signal
import subprocess
import sys
import threading
from collections import Counter

import numpy as np
import pytest
from scipy import stats

import oddarm
from oddarm.errors import MissingExtraError, OddarmError, SourceError
from oddarm.rewards import Bernoulli, Bounded, Clipped, SubGaussian
from oddarm.sources.table.duckdb import LOADER, Connection
from oddarm.testing import check_source
from reproduction.shared import shared_set
from support.tables import ARMS, KINDS, drawn, expected, rows, write_duckdb

pa = pytest.importorskip("pyarrow")
duckdb = pytest.importorskip("duckdb")
pytest.importorskip("narwhals")


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_agree(tmp_path, kind):
    """Every kind of data gives the same arms and pools, and each row exactly once."""
    data = rows()
    opened = KINDS[kind](tmp_path, data)
    with oddarm.open_table(opened, arm="host", reward="id") as source:
        truth = expected(data, data["id"])
        assert source.arms == ARMS
        assert source.rewards == Bounded(
            minimum=0, maximum=1999, rows=tuple(len(truth[arm]) for arm in ARMS)
        )
        assert (source.rows, source.skipped) == (2000, 0)
        found = drawn(source)
        assert {arm: sorted(values) for arm, values in found.items()} == truth
        assert found != truth
        assert source.draw("a", 5).size == 0


@pytest.mark.parametrize("kind", KINDS)
def test_conditions_and_expressions(tmp_path, kind):
    """A reward may be an SQL expression, and where an SQL condition, on any kind of data."""
    data = rows()
    opened = KINDS[kind](tmp_path, data)
    with oddarm.open_table(opened, "host", "score > 5", where="id % 2 = 0 -- even") as source:
        truth = expected(
            {"host": data["host"][::2]}, [float(score > 5) for score in data["score"][::2]]
        )
        assert isinstance(source.rewards, Bernoulli)
        assert {arm: sum(values) for arm, values in drawn(source).items()} == {
            arm: sum(values) for arm, values in truth.items()
        }


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "duckdb", "pyarrow"])
def test_arms_by_expression(tmp_path, kind):
    """An arm may be an SQL expression of columns, alone or beside a column."""
    data = {"host": [" A", "a", "B ", "b", "c", "C"] * 2, "slow": [0, 1] * 6, "day": [1, 2] * 6}
    opened = KINDS[kind](tmp_path, data)
    with oddarm.open_table(opened, "lower(trim(host)) -- as one", "slow") as source:
        assert source.arms == ["a", "b", "c"]
        assert source.rewards.rows == (4, 4, 4)
    with oddarm.open_table(opened, ["upper(trim(host))", "day"], "slow") as source:
        assert source.arms[0][0] == "A"
        assert len(source.arms) == 6


def test_the_seed_decides_the_order():
    """The same seed gives the same order, another seed another one."""
    table = pa.table(rows())
    one, two, other = (
        drawn(oddarm.open_table(table, "host", "id", seed=seed)) for seed in (5, 5, 6)
    )
    assert one == two
    assert one != other
    shared = len(set(one["d"][:100]) & set(other["d"][:100]))
    size = len(one["d"])
    assert shared < stats.hypergeom(size, 100, 100).ppf(1 - 1e-6)


def test_orders_are_uniform_and_independent():
    """Each order of an arm's rows is as likely, whatever the order of other arms or seeds."""
    size, arms = 4, 1200
    table = pa.table(
        {"arm": np.tile(np.arange(arms), size), "place": np.repeat(np.arange(size), arms)}
    )

    def orders(seed):
        with oddarm.open_table(table, "arm", "place", seed=seed) as source:
            return np.array([source.draw(arm, size) for arm in range(arms)]).astype(int)

    def independent(one, other):
        for position in range(size):
            pairs = np.zeros((size, size))
            np.add.at(pairs, (one[:, position], other[:, position]), 1)
            assert stats.chi2_contingency(pairs).pvalue > 1e-6

    first, second = orders(0), orders(1)
    assert (np.sort(first, axis=1) == np.arange(size)).all()
    for found in (first, second):
        counts = Counter(map(tuple, found))
        assert len(counts) == 24
        assert stats.chisquare(list(counts.values())).pvalue > 1e-6
        independent(found[:-1], found[1:])  # neighbouring arms
    independent(first, second)


def test_the_order_knows_nothing_of_the_table():
    """In a large table, the position of a row is unrelated to where it stood, in every arm."""
    n = 400_000
    table = pa.table({"host": np.arange(n) % 4, "id": np.arange(n)})
    source = oddarm.open_table(table, "host", "id", seed=1)
    for arm in range(4):
        ids = source.draw(arm, n)
        assert len(ids) == n // 4
        assert set(ids % 4) == {arm}
        assert stats.kendalltau(ids[:20_000], np.arange(20_000)).pvalue > 1e-6
        assert stats.kstest(ids[:1000] / n, "uniform").pvalue > 1e-6
        assert abs(stats.pearsonr(ids[:-1], ids[1:]).statistic) < 5 / np.sqrt(n / 4)


def test_many_row_groups_keep_their_arms(tmp_path):
    """Row numbers find the right arm in a table of many row groups, written by several threads."""
    path = tmp_path / "large.duckdb"
    with duckdb.connect(str(path)) as connection:
        connection.execute(
            "CREATE TABLE t AS SELECT hash(i) % 300 AS arm, arm AS reward FROM range(600000) r(i)"
        )
    with oddarm.open_table(path, "arm", "reward") as source:
        for arm in source.arms:
            values = source.draw(arm, 600_000)
            assert (values == arm).all()
            assert len(values) == source.rewards.rows[source.arms.index(arm)]


def test_with_replacement():
    """With replacement the draws are endless and have the frequencies of independent ones."""
    table = pa.table({"host": list("abc") * 5, "id": list(range(15))})
    source = oddarm.open_table(table, "host", "id", replace=True, seed=3)
    assert source.rewards == Bounded(minimum=0, maximum=14)
    values = np.concatenate([source.draw("b", count) for count in (1, 2, 3, 14_000, 994)])
    assert set(values) == {1, 4, 7, 10, 13}
    places = (values.astype(int) - 1) // 3
    pairs = np.bincount(places[:-1] * 5 + places[1:], minlength=25)
    assert stats.chisquare(np.bincount(places)).pvalue > 1e-6
    assert stats.chi2_contingency(pairs.reshape(5, 5)).pvalue > 1e-6


@pytest.mark.parametrize("replace", [False, True])
def test_seek(replace):
    """A source can be set to where another one stopped, and batches do not matter."""
    table = pa.table(rows())
    source = oddarm.open_table(table, "host", "id", replace=replace)
    order = source.draw("c", 300).tolist()
    source.seek("c", 120)
    assert source.draw("c", 180).tolist() == order[120:]
    other = oddarm.open_table(table, "host", "id", replace=replace)
    other.seek("c", 299)
    assert other.draw("c").tolist() == order[299:]
    assert other.job("d", 4)().tolist() == source.draw("d", 4).tolist()


@pytest.mark.parametrize("replace", [False, True])
def test_conformance(replace):
    """A table keeps to what every source promises."""
    check_source(lambda: oddarm.open_table(pa.table(rows()), "host", "slow", replace=replace))


def test_several_columns():
    """Several columns name an arm by a tuple, and no two names run together."""
    table = pa.table({"x": ["a", "a,b", "a"] * 2, "y": ["b,c", "c", "d"] * 2, "r": [0, 1] * 3})
    source = oddarm.open_table(table, ["x", "y"], "r")
    assert source.arms == [("a", "b,c"), ("a", "d"), ("a,b", "c")]
    assert source.rewards.rows == (2, 2, 2)


def test_names_of_arms(tmp_path):
    """Arms are named by numbers and text as they are, by other values as they print."""
    days = pa.table({"day": np.array(["2024-01-0" + d for d in "321"] * 2, "M8[D]"), "r": [1] * 6})
    assert oddarm.open_table(days, "day", "r").arms == ["2024-01-01", "2024-01-02", "2024-01-03"]
    numbers = pa.table({"arm": [10, 9, 8], "r": [True, False, True]})
    assert oddarm.open_table(numbers, "arm", "r", rows="all").arms == [8, 9, 10]
    path = tmp_path / "zip.csv"
    path.write_text("zip,r\n02139,1\n2139,0\n10001,1\n")
    assert oddarm.open_table(path, "zip", "r", rows="all").arms == ["02139", "10001", "2139"]


def test_numbers_late_in_a_file(tmp_path):
    """The types of a CSV file are detected from all of it, not from its first rows."""
    path = tmp_path / "late.csv"
    path.write_text("arm,r\n" + "a,1\nb,0\nc,1\n" * 10_000 + "a,0.5\n")
    source = oddarm.open_table(path, "arm", "r")
    assert source.draw("a", 20_000).sum() == 10_000.5
    path.write_text("arm,r\n" + "a,1\nb,0\nc,1\n" * 10_000 + "a,maybe\n")
    with pytest.raises(SourceError, match="row 30,001: reward 'r' is 'maybe'"):
        oddarm.open_table(path, "arm", "r")


def test_rewards_are_inferred():
    """0/1 rewards are Bernoulli; others have the range of the table, and the source says so."""
    table = pa.table(rows())
    slow = oddarm.open_table(table, "host", "slow")
    assert isinstance(slow.rewards, Bernoulli)
    assert slow.note == ""
    score = oddarm.open_table(table, "host", "score")
    assert (score.rewards.low, score.rewards.high) == (min(rows()["score"]), max(rows()["score"]))
    low, high = score.rewards.low, score.rewards.high
    assert score.note == (
        f"Rewards range from {low:g} to {high:g}, the least and the greatest of the table."
    )
    declared = oddarm.open_table(table, "host", "score", rewards=(0, 10))
    assert (declared.rewards.low, declared.rewards.high, declared.note) == (0, 10, "")
    normal = SubGaussian(scale=3)
    assert oddarm.open_table(table, "host", "score", rewards=normal, replace=True).rewards == normal


@pytest.mark.parametrize("kind", ["csv", "parquet", "pyarrow"])
def test_rewards_are_clipped(tmp_path, kind):
    """Clipped rewards of a table are drawn within the range, infinite ones too; nan is refused."""
    data = {"arm": list("abcd") * 3, "ms": [3.0, -2.0, 700.0, float("inf")] * 3}
    opened = KINDS[kind](tmp_path, data)
    with oddarm.open_table(opened, "arm", "ms", rewards=Clipped(0, 500)) as source:
        assert [source.draw(arm, 3).tolist() for arm in "abcd"] == [
            [3] * 3, [0] * 3, [500] * 3, [500] * 3,
        ]  # fmt: skip
        assert (source.note, source.rewards.kind) == ("", "clipped")
    data["ms"][4] = float("nan")
    with pytest.raises(SourceError, match="row 5"):
        oddarm.open_table(pa.table(data), "arm", "ms", rewards=Clipped(0, 500))


FEW = {"arm": [*"aaabbbcccdd", "e", "f"], "reward": [0, 1, 0.5] * 3 + [1, 0.25, 1, 1]}


@pytest.mark.parametrize("kind", ["csv", "duckdb", "pyarrow"])
def test_arms_with_few_rows_are_left_out(tmp_path, kind):
    """Arms with fewer than `min_rows` rows are left out, counted and named in the answer."""
    opened = KINDS[kind](tmp_path, FEW)
    with oddarm.open_table(opened, "arm", "reward", min_rows=3) as source:
        assert (source.arms, source.rewards.rows) == (["a", "b", "c"], (3, 3, 3))
        assert (source.left_out, source.rows) == (["d", "e", "f"], 9)
        assert [sorted(source.draw(arm, 9).tolist()) for arm in "abc"] == [[0, 0.5, 1]] * 3
        assert source.fingerprint()["min_rows"] == 3
        said = " ".join(source.supposes)
        assert "3 arms were left out, with fewer than 3 rows: d, e and f." in said
        assert "supposed to stay between 0 and 1" in said
    with oddarm.open_table(opened, "arm", "reward", min_rows=3) as source:
        result = oddarm.find(source, max_outliers=1)
        assert (result.verdict, result.pulls) == ("rows", 9)
        assert "3 arms were left out, with fewer than 3 rows: d, e and f." in result.summary


def test_a_sample_or_all_that_there_is():
    """The rows are a sample unless they are said to be all; with replacement they have no end."""
    table = pa.table(rows())
    sizes = oddarm.open_table(table, "host", "slow").rewards.rows
    assert sum(sizes) == 2000
    assert oddarm.open_table(table, "host", "slow", rows="all").rewards == Bernoulli(pools=sizes)
    assert oddarm.open_table(table, "host", "slow", replace=True).rewards == Bernoulli()
    normal = SubGaussian(scale=3)
    sampled = oddarm.open_table(table, "host", "score", rewards=normal).rewards
    assert sampled == SubGaussian(scale=3, rows=sizes)
    assert oddarm.open_table(table, "host", "score", rows="all").supposes == []


def test_most_arms_have_one_row():
    """A sample in which most arms have one row gets a warning; all that there is does not."""
    table = pa.table({"id": [*range(9), 0, 1], "slow": [1, 0, 1, 0, 1, 1, 0, 0, 1, 1, 0]})
    with pytest.warns(UserWarning, match="7 of 9 arms of the data frame have one row"):
        oddarm.open_table(table, "id", "slow")
    assert oddarm.open_table(table, "id", "slow", rows="all").warning == ""


def test_names_that_differ_by_case_or_spaces():
    """Arms whose names differ only by case or spaces are named with the SQL that makes them one."""
    table = pa.table({"host": ["a", "A ", "b", "c"] * 3, "slow": [1, 0, 1, 0] * 3})
    words = r"2 of 4 arms of the data frame differ .* 'A ' and 'a': .* arm=\"lower\(trim\(host"
    with pytest.warns(UserWarning, match=words):
        oddarm.open_table(table, "host", "slow", rows="all")
    with pytest.warns(UserWarning, match=words):
        oddarm.scan(table, "host", "slow", max_outliers=1)
    assert oddarm.open_table(table, "lower(trim(host))", "slow").warning == ""


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (
            {"rewards": (0, 5)},
            r"must be in \[0, 5\] as declared: .* rewards=\(0, 10\), or clip .*Clipped\(0, 5\)",
        ),
        ({"rewards": "bernoulli"}, r"must be 0 or 1 as declared: .* rewards=\(0, 10\)\.$"),
        (
            {"rewards": SubGaussian(scale=1), "rows": "all"},
            "sub-Gaussian rewards of a table.*rows='sample'",
        ),
        ({"rows": "some"}, "rows == 'some', must be 'sample' or 'all'"),
        ({"min_rows": 0}, "min_rows == 0, must be"),
        ({"min_rows": 500}, "2 of 4 arms of the data frame have 500 rows or more, must be 3"),
        ({"bad_rows": "hide"}, "bad_rows == 'hide', must be 'error' or 'skip'"),
        ({"seed": -1}, "seed == -1, must be"),
        ({"arm": []}, "arm names no column"),
        ({"arm": ""}, "arm == '', must name columns"),
        ({"arm": ["host", "host"]}, "must name columns, each once"),
        (
            {"arm": "lower(hosts)"},
            r"no column 'hosts', which arm == 'lower\(hosts\)' .*mean 'host'\?",
        ),
        ({"arm": "host, id"}, "it has several values; name each as a column of its own"),
        ({"arm": "*"}, "it makes 4 columns"),
        ({"arm": "hosts"}, "the data frame has no column 'hosts': .* 'id', 'host', 'score'"),
        (
            {"reward": "scores"},
            "has no column 'scores': name one of 'id', .*'slow'; did you mean 'score'",
        ),
        ({"reward": "score >"}, "nor an SQL expression .*syntax error"),
        ({"reward": "host"}, "is of type text such as '.', must be numbers .* a condition in SQL"),
        ({"reward": "[score]"}, r"is of type double\[\], must be numbers"),
        (
            {"where": "id <"},
            "where == 'id <' is not an SQL condition on the data frame .*syntax error",
        ),
        ({"where": "day = 1"}, "no column 'day', which where == 'day = 1' names: name one of 'id'"),
        ({"reward": "scor > 5"}, "no column 'scor', which reward == .*did you mean 'score'"),
        ({"reward": "sqrt(score, 2)"}, r"nor an SQL expression \(No function matches"),
        ({"where": "id < 0"}, "the data frame has no rows to sample where id < 0"),
        ({"where": "host = 'a'"}, "arm column 'host' of the data frame has one value, 'a', must"),
        ({"where": "host IN ('a', 'b')"}, "has two values, 'a' and 'b', must have 3 or more"),
        ({"reward": "7"}, "every reward of the data frame is 7, so no arm can differ"),
        ({"reward": "host::INT"}, "the data frame cannot be read .*onver.*: check"),
        ({"table": "events"}, "table with data that is neither a SQLite or DuckDB file nor"),
        ({"query": "FROM events"}, "query with data that is neither"),
        ({"query": "FROM events", "table": "events"}, "must be one of them"),
    ],
)
def test_bad_requests(options, words):
    """What cannot be done is one sentence with the remedy."""
    with pytest.raises(OddarmError, match=words) as caught:
        oddarm.open_table(pa.table(rows()), **{"arm": "host", "reward": "score", **options})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "duckdb", "pyarrow", "polars"])
@pytest.mark.parametrize(
    ("place", "value", "words"),
    [
        ("reward", None, "row 5: reward 'reward' is empty, must be a number"),
        ("reward", float("nan"), "row 5: reward 'reward' is"),  # some frames make it missing
        ("reward", float("inf"), "row 5: reward 'reward' is .?(inf|Infinity)"),
        ("arm", None, "row 5: arm column 'arm' is empty, must name an arm"),
    ],
)
def test_bad_rows(tmp_path, kind, place, value, words):
    """A bad row is an error that names it, or is left out and counted."""
    data = {"arm": list("abcabcabc"), "reward": [0.5, 1.0, 0.25] * 3}
    data[place][4] = value
    given = data if kind != "csv" else {k: ["" if v is None else v for v in data[k]] for k in data}
    opened = KINDS[kind](tmp_path, given)
    with pytest.raises(SourceError, match=words) as caught:
        oddarm.open_table(opened, "arm", "reward")
    assert "bad_rows='skip'" in str(caught.value)
    source = oddarm.open_table(opened, "arm", "reward", bad_rows="skip")
    assert (source.skipped, source.rows, source.rewards.rows) == (1, 8, (3, 2, 3))


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("b,maybe", "row 3: reward 'reward' is 'maybe', must be a finite number"),
        ("b,1,1", "line 4: Expected Number of Columns: 2 Found: 3"),
        ("b", "line 4: Expected Number of Columns: 2 Found: 1"),
        (",1", "row 3: arm column 'arm' is empty"),
    ],
)
def test_bad_lines_of_csv(tmp_path, line, words):
    """A line of a CSV file that is not a row is a bad row too; texts of numbers are numbers."""
    path = tmp_path / "t.csv"
    path.write_text(f"arm,reward\na,0\nb,1\n{line}\nc,true\nc,0\na,1\n")
    with pytest.raises(SourceError, match=words):
        oddarm.open_table(path, "arm", "reward")
    source = oddarm.open_table(path, "arm", "reward", bad_rows="skip")
    assert (source.skipped, source.rows) == (1, 5)


def test_bad_lines_of_json(tmp_path):
    """A line of a JSON file that is not an object, or lacks the reward, is a bad row."""
    path = tmp_path / "t.jsonl"
    good = '{"arm": "a", "r": 1}\n{"arm": "b", "r": 0}\n{"arm": "c", "r": true}\n'
    for bad in ('{"arm": "d", "r\n', '{"arm": "d"}\n', '{"arm": "d", "r": "x"}\n'):
        path.write_text(good + bad + good)
        with pytest.raises(SourceError, match="row 4: "):
            oddarm.open_table(path, "arm", "r")
        source = oddarm.open_table(path, "arm", "r", bad_rows="skip")
        assert (source.skipped, source.rows) == (1, 6)


def test_tables_and_queries_of_duckdb(tmp_path):
    """A DuckDB file is read by table or query, the only table by default, and never altered."""
    path = write_duckdb(tmp_path / "t.duckdb", rows())
    before = path.read_bytes()
    assert oddarm.open_table(path, "host", "slow", table="events").rows == 2000
    assert oddarm.open_table(path, "host", "slow", table="main.events").rows == 2000
    query = "SELECT host AS arm, slow AS r FROM events WHERE id < 500 ORDER BY id;"
    assert oddarm.open_table(path, "arm", "r", query=query).rows == 500
    sample = "FROM events WHERE random() < 0.5"  # another one each time that it is run
    source = oddarm.open_table(path, "host", "slow", query=sample)
    assert sum(len(values) for values in drawn(source).values()) == source.rows
    assert path.read_bytes() == before
    with pytest.raises(SourceError, match="has no table 'event', its tables are 'events': name"):
        oddarm.open_table(path, "host", "slow", table="event")
    with pytest.raises(SourceError, match=r"is not one SELECT statement .*syntax error"):
        oddarm.open_table(path, "host", "slow", query="SELECT FROM WHERE")
    write_duckdb(path, rows(), table='"odd ""name"""')
    assert oddarm.open_table(path, "host", "slow", table='odd "name"').rows == 2000
    with pytest.raises(SourceError, match="has tables to choose from, its tables are 'events', "):
        oddarm.open_table(path, "host", "slow")


def test_mixed_values_in_a_frame():
    """A frame with a column that has no one type is refused in one sentence."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"arm": list("abc"), "reward": [1, "x", (2,)]})
    with pytest.raises(SourceError, match="the data frame has a column of mixed values"):
        oddarm.open_table(frame, "arm", "reward")


def test_missing_values_of_frames():
    """The NaN and NA of pandas are missing values, in row numbers counted from one."""
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"arm": ["a", "b", "c", None], "r": pd.array([1, pd.NA, 0, 1], "Int64")})
    with pytest.raises(SourceError, match=r"row 2: reward 'r' is empty.*first of 2 bad rows"):
        oddarm.open_table(frame, "arm", "r")


@pytest.mark.parametrize("package", ["duckdb", "narwhals"])
def test_missing_packages(monkeypatch, package):
    """Without a package of the extra, the command that installs it is named."""
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"needs {package}, .*oddarm\[table\]"):
        oddarm.open_table(pa.table(rows()), "host", "slow")


def test_missing_psycopg(monkeypatch):
    """Without psycopg, a PostgreSQL URL gets the command that installs it."""
    monkeypatch.setitem(sys.modules, "psycopg", None)
    with pytest.raises(MissingExtraError, match=r"needs psycopg, .*oddarm\[postgres\]"):
        oddarm.open_table("postgresql://localhost/x", "host", "slow", table="t")


def test_unknown_arm_and_closed_source():
    """An arm that the table lacks, or a draw from a closed table, is an error of ours."""
    source = oddarm.open_table(pa.table(rows()), "host", "slow")
    with pytest.raises(OddarmError, match="arm 'z' is not one of the 4 arms"):
        source.draw("z")
    assert "2,000 rows of 4 arms" in repr(source)
    source.close()
    source.close()
    with pytest.raises(SourceError, match="is closed: open it again"):
        source.draw("a")


@pytest.mark.parametrize("strategy", ["rr", "maxgap"])
def test_search_over_a_table(strategy):
    """A search over a table ends, at the latest when all is read, and finds the odd arm."""
    rates = {"a": 0.1, "b": 0.2, "c": 0.3, "d": 0.4, "odd": 0.99}
    slow = np.random.default_rng(4).random((5, 400)) < np.array(list(rates.values()))[:, None]
    table = pa.table({"host": np.repeat(list(rates), 400), "slow": slow.ravel()})
    source = oddarm.open_table(table, "host", "slow", rows="all")
    search = oddarm.Search(source.arms, strategy, max_outliers=1, rewards=source.rewards)
    while not search.done:
        for arm in search.ask():
            search.tell(arm, source.draw(arm))
    assert search.result().ranking[0] == "odd"
    assert search.pulls < source.rows


def test_shared_sets(shared_data):
    """On real data, a table has the arms, sizes and sums that were counted independently."""
    for name in ("mpls_stops_citation", "jester5k_rating", "crowd_dog_worker_correct"):
        (problem,) = shared_set(name, shared_data)
        source = oddarm.open_table(shared_data / f"{name}.parquet", "arm", "reward")
        sizes = dict(zip(map(str, source.arms), source.rewards.rows, strict=True))
        assert sizes == dict(zip(problem.arms, problem.sizes, strict=True))
        sums = {str(arm): source.draw(arm, sizes[str(arm)]).sum() for arm in source.arms}
        assert sums == pytest.approx(
            {arm: float(s) for arm, s in zip(problem.arms, problem.sums, strict=True)}
        )


@pytest.fixture
def ctrl_c_soon():
    """Press Ctrl-C a moment from now."""

    def press(number, frame):
        del number, frame
        signal.raise_signal(signal.SIGINT)

    before = signal.signal(signal.SIGALRM, press)
    yield lambda: signal.setitimer(signal.ITIMER_REAL, 0.02)
    signal.setitimer(signal.ITIMER_REAL, 0.0)
    signal.signal(signal.SIGALRM, before)


LONG = "SELECT max(i) FROM range(1_000_000_000_000) numbers(i)"


def test_an_interrupted_query_is_an_interrupt(ctrl_c_soon):
    """Ctrl-C while DuckDB is busy is a KeyboardInterrupt, not an error of a pull."""
    connection = Connection()
    ctrl_c_soon()
    with pytest.raises(KeyboardInterrupt):
        connection.fetch_numpy(LONG, [])
    assert connection.fetch("SELECT 1") == [(1,)]
    connection.close()


def test_an_interrupted_load_is_left_at_once(ctrl_c_soon):
    """Ctrl-C while a table is loaded is a KeyboardInterrupt, and closing does not wait."""
    connection = Connection()
    ctrl_c_soon()
    with pytest.raises(KeyboardInterrupt):
        connection.fetch(LONG)
    connection.close()
    for thread in threading.enumerate():
        if thread.name == LOADER:
            thread.join()


@pytest.mark.parametrize("began", [True, False])
def test_an_interrupt_as_a_call_begins(monkeypatch, began):
    """Ctrl-C just as DuckDB is called, before the wait for it, leaves a connection that closes."""
    connection, start = Connection(), threading.Thread.start
    connection.connection = busy = _Busy()

    def struck(thread):
        monkeypatch.undo()
        if began:
            start(thread)
            busy.begun.wait()
        raise KeyboardInterrupt

    monkeypatch.setattr(threading.Thread, "start", struck)
    with pytest.raises(KeyboardInterrupt):
        connection.fetch(LONG)
    connection.close()
    for thread in threading.enumerate():
        if thread.name == LOADER:
            thread.join()


class _Busy:
    """A connection of DuckDB with a query that ends only when it is interrupted twice."""

    def __init__(self):
        self.begun, self.interrupts, self.ended = threading.Event(), 0, threading.Event()

    def execute(self, _):
        self.begun.set()
        self.ended.wait()
        return self

    def fetchall(self):
        return []

    def interrupt(self):
        self.interrupts += 1
        if self.interrupts == 2:
            self.ended.set()

    def close(self):
        assert self.ended.is_set() or not self.begun.is_set(), "it is closed during a call"


def test_an_interrupted_draw_sets_no_arm_aside(ctrl_c_soon, tmp_path, monkeypatch):
    """Ctrl-C while rows are read ends the search with what is known; every arm stays."""
    data = pa.table({"host": ARMS * 50, "slow": [0, 1, 1, 0] * 50})
    with oddarm.open_table(data, "host", "slow") as source:
        connection = source.table._connection

        def read(*_):
            ctrl_c_soon()
            return connection.fetch_numpy(LONG, [])

        monkeypatch.setattr(source.table, "read", read)
        result = oddarm.find(source, max_outliers=1, save=tmp_path / "s.json")
    assert (result.verdict, result.errors) == ("running", {})


@pytest.mark.parametrize("replace", [False, True])
def test_blocks_are_the_draws_of_each_arm(monkeypatch, replace):
    """Rows drawn of many arms at once are those of each arm alone, however they are read ahead."""
    monkeypatch.setattr("oddarm.sources.table.source._AHEAD", 16)
    rng = np.random.default_rng(0)
    arms = rng.integers(0, 30, 3000)
    table = pa.table({"arm": arms, "x": rng.random(3000)})
    options = {"arm": "arm", "reward": "x", "rewards": (0, 1), "replace": replace}
    with oddarm.open_table(table, **options) as blocks, oddarm.open_table(table, **options) as one:
        for _ in range(40):
            chosen = rng.permutation(30)[: rng.integers(1, 31)].tolist()
            counts = rng.integers(0, rng.choice([3, 40]), len(chosen)).tolist()
            got = blocks.draw_block(chosen, counts)
            each = [one.draw(arm, count) for arm, count in zip(chosen, counts, strict=True)]
            assert got.tolist() == np.concatenate(each).tolist()
            blocks.seek(chosen[0], 5)
            one.seek(chosen[0], 5)


def test_a_round_of_many_arms_is_one_query(monkeypatch):
    """The queries of a search do not grow with its arms."""
    queries = Counter()
    fetch = Connection.fetch_numpy

    def counted(connection, *query):
        queries["all"] += 1
        return fetch(connection, *query)

    monkeypatch.setattr(Connection, "fetch_numpy", counted)
    rng = np.random.default_rng(0)
    arms = np.repeat(np.arange(300), 40)
    table = pa.table({"arm": arms, "x": (rng.random(len(arms)) < np.where(arms < 3, 0.9, 0.1)) * 1})
    result = oddarm.find(table, arm="arm", reward="x", rows="all", min_gap=0.4)
    assert result.verdict == "confirmed"
    assert queries["all"] < 5


NOTEBOOK = """
from IPython.core.interactiveshell import InteractiveShell
from traitlets.config import Config

InteractiveShell.instance().config["IPKernelApp"] = Config()  # what DuckDB knows a kernel by

import sys
sys.modules["ipywidgets"] = None

import pandas as pd
import oddarm
from oddarm.sources.table.duckdb import Connection

frame = pd.DataFrame({"host": ["a", "b", "c"] * 200, "slow": [0, 0, 1] * 200})
print(oddarm.scan(frame, arm="host", reward="slow", min_gap=0.5, max_outliers=1).outliers)
print(Connection().fetch("SELECT current_setting('enable_progress_bar')"))
"""


def test_tables_in_a_notebook():
    """A kernel without ipywidgets reads tables, and their progress, as a script does."""
    pytest.importorskip("IPython")
    shown = subprocess.run(
        [sys.executable], input=NOTEBOOK, capture_output=True, text=True, check=False, timeout=120
    )
    assert shown.stdout.split("\n")[:2] == ["['c']", "[(True,)]"], shown.stderr
