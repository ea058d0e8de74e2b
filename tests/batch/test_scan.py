"""`oddarm.scan`: all rows at once, one look."""

from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest
from scipy.stats import binom

import oddarm
from oddarm.errors import OddarmError
from oddarm.rewards import Bounded, Clipped, SubGaussian
from support.tables import KINDS, write_csv

HOSTS = [f"h{k:02}" for k in range(12)]


def table(seed=0, rows=600, odd=0.9):
    """Rows of twelve hosts, of which the last is slow far more often."""
    rng = np.random.default_rng(seed)
    host = rng.integers(0, 12, 12 * rows)
    rate = np.where(host == 11, odd, 0.1)
    slow = rng.random(len(host)) < rate
    ms = np.round(np.where(slow, 80, 20) + 10 * rng.random(len(host)), 2)
    return {"host": [HOSTS[k] for k in host], "slow": slow.tolist(), "ms": ms.tolist()}


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_of_data_has_the_same_answer(tmp_path, kind):
    """Files, frames and databases give the answer that arrays give."""
    data = table()
    arrays = {
        host: [int(s) for h, s in zip(data["host"], data["slow"], strict=True) if h == host]
        for host in HOSTS
    }
    result = oddarm.scan(KINDS[kind](tmp_path, data), "host", "slow")
    literal = oddarm.scan(arrays)
    assert (result.verdict, result.outliers) == ("confirmed", ["h11"])
    assert result.low.tolist() == literal.low.tolist()
    assert result.high.tolist() == literal.high.tolist()
    assert (result.nouns, literal.nouns) == (("hosts", "rows"), ("arms", "rows"))
    assert result.pulls == len(data["host"])


def test_bounded_rewards_suppose_their_range():
    """The range of the table is an assumption that the summary states; a declared one is not."""
    arrays = {f"a{k}": np.linspace(0, 1, 400) for k in range(11)}
    arrays["odd"] = np.linspace(8.9, 10, 400)
    result = oddarm.scan(arrays)
    assert result.outliers == ["odd"]
    assert "supposed to stay between 0 and 10" in result.summary
    declared = oddarm.scan(arrays, rewards=(0, 10))
    assert declared.outliers == ["odd"]
    assert "supposes" not in declared.summary
    assert oddarm.scan(arrays, rewards=SubGaussian(scale=5.0)).verdict in ("confirmed", "rows")


def test_what_is_open_ends_with_rows():
    """Few rows decide nothing: the verdict is "rows", and the sentence says so."""
    result = oddarm.scan({host: [0, 1, 0] for host in HOSTS})
    assert result.verdict == "rows"
    assert result.outliers == []
    assert "There are too few rows to decide" in result.summary
    assert set(result.provenance["short"]) == set(HOSTS)


def test_arms_with_too_few_rows_are_named():
    """Where one arm is in the way, it is named as short of rows."""
    arrays = {host: [0] * 1900 + [1] * 100 for host in HOSTS}
    result = oddarm.scan({**arrays, "h03": [0] * 19 + [1], "h11": [1] * 2000})
    assert result.verdict == "rows"
    assert result.provenance["short"] == ["h03"]
    decided = oddarm.scan({**arrays, "h11": [1] * 2000})
    assert "short" not in decided.provenance


def test_all_rows_are_decided_exactly():
    """Rows that are all there is have exact means, and ties are decided in fractions."""
    ones = {f"a{k}": [1] * 3 + [0] * 12 for k in range(10)}
    ones["b"] = [1] * 5 + [0] * 10
    ones["c"] = [1] * 12 + [0] * 3
    # The gap of c is 7/15, exactly 3.5 times the gap of 2/15 among the others.
    for epsilon, verdict in [(2.5, "none"), (2.4999, "confirmed")]:
        result = oddarm.scan(ones, rows="all", epsilon=epsilon, max_outliers=1, slack=0.0)
        assert (result.verdict, result.low.tolist()) == (verdict, result.high.tolist())
    means = {arm: Fraction(sum(values), len(values)) for arm, values in ones.items()}
    assert oddarm.outlier_groups(means, 2.4999, max_outliers=1)[0].members == ("c",)


def test_decimals_of_all_rows_are_exact(tmp_path):
    """Means of decimals are fractions: 0.1 + 0.2 is 0.3, in arrays and in a table."""
    arrays = {f"a{k}": [0.1, 0.2, 0.3] for k in range(9)}
    arrays |= {"b": [0.3, 0.3, 0.3], "c": [0.75, 0.45, 0.75]}
    # 0.2, 0.3 and 0.65: the gap of c is 3.5 times the gap of b.
    data = {
        "host": [a for a in arrays for _ in range(3)],
        "x": [x for v in arrays.values() for x in v],
    }
    frame = KINDS["parquet"](tmp_path, data)
    for given in ((arrays,), (frame, "host", "x")):
        options = {"rows": "all", "max_outliers": 1, "slack": 0.0}
        assert oddarm.scan(*given, epsilon=2.5, **options).verdict == "none"
        assert oddarm.scan(*given, epsilon=2.499, **options).outliers == ["c"]


def test_arms_with_few_rows_are_left_out():
    """Arms below min_rows are no part of the question, and the summary counts them."""
    arrays = {host: [0] * 95 + [1] * 5 for host in HOSTS}
    result = oddarm.scan({**arrays, "new": [1, 1]}, min_rows=3)
    assert "new" not in result.ranking
    assert "1 arm was left out, with fewer than 3 rows: new." in result.summary
    with pytest.raises(OddarmError, match="pass a smaller min_rows"):
        oddarm.scan(arrays, min_rows=1000)


@pytest.mark.parametrize("kind", ["parquet", "duckdb", "pandas"])
@pytest.mark.parametrize("rows", ["sample", "all"])
def test_clipped_rewards(tmp_path, kind, rows):
    """Rewards beyond a clipped range count as its ends, in arrays and in a database."""
    data = table(rows=900)
    data["ms"][:2] = float("inf"), -1e9
    arrays = {
        host: [ms for h, ms in zip(data["host"], data["ms"], strict=True) if h == host]
        for host in HOSTS
    }
    options = {"rewards": Clipped(0, 50), "rows": rows}
    result = oddarm.scan(KINDS[kind](tmp_path, data), "host", "ms", **options)
    literal = oddarm.scan(arrays, **options)
    assert (result.verdict, result.outliers) == ("confirmed", ["h11"])
    assert literal.outliers == ["h11"]
    assert result.means.tolist() == pytest.approx(
        [np.clip(arrays[host], 0, 50).mean() for host in HOSTS], rel=1e-12
    )
    assert result.means.tolist() == pytest.approx(literal.means.tolist(), rel=1e-12)
    assert "supposed" not in result.summary


@pytest.mark.parametrize("rows", ["sample", "all"])
def test_arms_that_all_lie_apart_are_scattered(rows):
    """If every arm lies apart, there are no others to compare with, and nobody is an outlier."""
    arrays = {f"a{k}": [0] * (900 - 200 * k) + [1] * (200 * k + 100) for k in range(5)}
    result = oddarm.scan(arrays, min_gap=0.1, max_outliers=1, rows=rows)
    assert (result.verdict, result.outliers) == ("scattered", [])
    scale = "0.1" if rows == "all" else "0.08 (min_gap 0.1 less the slack)"
    words = f"All 5 arms lie apart by more than {scale}, more than the one "
    assert result.summary.startswith(words)


def test_mistakes_are_named():
    """Options that do not fit are errors that say what to do."""
    good = {host: [0, 1] for host in HOSTS}
    for call, words in [
        (lambda: oddarm.scan(good, rows="some"), "must be 'sample' or 'all'"),
        (lambda: oddarm.scan(good, "host"), "mapping"),
        (lambda: oddarm.scan({**good, "h00": [2]}, rewards="bernoulli"), "must be 0 or 1"),
        (lambda: oddarm.scan({**good, "h00": [2]}, rewards=(0, 1)), r"must be in \[0, 1\]"),
        (lambda: oddarm.scan(good, rewards=SubGaussian(scale=1.0), rows="all"), "sub-Gaussian"),
        (lambda: oddarm.scan({host: [2, 2] for host in HOSTS}), "every reward"),
        (lambda: oddarm.scan(good, epsilno=2), "did you mean epsilon"),
    ]:
        with pytest.raises(OddarmError, match=words):
            call()


@pytest.mark.parametrize("delta", [0.05, 0.5])
def test_equal_workers_are_rarely_confirmed(delta):
    """Of tables of 80 equal workers with 3 to 149 rows each, few get an outlier."""
    rng, runs = np.random.default_rng(80), 100
    wrong = 0
    for _ in range(runs):
        log = {k: rng.random(rng.integers(3, 150)) < 0.9 for k in range(80)}
        wrong += oddarm.scan(log, delta=delta).verdict == "confirmed"
    assert wrong <= binom.ppf(1 - 1e-4, runs, delta)


def test_pools_are_kept_to_the_declared_range():
    """All rows of a declared range are pools of that range."""
    result = oddarm.scan({host: [1.5, 2.5] for host in HOSTS}, rewards=(0, 9), rows="all")
    assert result.provenance["rewards"]["pools"] == [2] * 12
    assert isinstance(oddarm.rewards.as_rewards(result.provenance["rewards"]), Bounded)
    assert result.verdict == "none"


def test_rewards_of_many_digits_are_added_exactly():
    """Arms with the same rewards in another order are equal, however many digits they have."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        rewards = np.round(rng.random(10), 8)
        rows = [(f"arm-{k}", x) for k in range(5) for x in rng.permutation(rewards)]
        table = pytest.importorskip("pandas").DataFrame(rows, columns=["arm", "x"])
        result = oddarm.scan(table, "arm", "x", rows="all", max_outliers=1)
        assert result.verdict == "none"


@pytest.mark.parametrize(
    ("data", "options", "words"),
    [
        (len, {}, r"data is a function, .* oddarm\.find"),
        ("log.csv", {"reward": "slow"}, "^arm is missing"),
        ("log.csv", {"arm": "host"}, "^reward is missing"),
        ("log.csv", {}, "^arm and reward are missing"),
        ({"a": [1]}, {"max_pulls": 10}, "max_pulls with scan, which reads all rows"),
    ],
)
def test_what_belongs_to_a_search_is_refused(tmp_path, monkeypatch, data, options, words):
    """A function, a budget and missing columns are refused with a remedy."""
    monkeypatch.chdir(tmp_path)
    write_csv(tmp_path / "log.csv", {"host": ["a", "b"], "slow": [0, 1]})
    with pytest.raises(oddarm.errors.ParameterError, match=words):
        oddarm.scan(data, **options)


def test_single_rows_get_a_warning_at_the_call():
    """If most arms have one row, scan and find warn at the line that called them."""
    frame = pa.table({"host": [*"abcdefg", *"hhh"], "slow": [0, 1] * 5})
    for call in (oddarm.scan, oddarm.find):
        with pytest.warns(UserWarning, match="7 of 8 arms of .* have one row") as warned:
            call(frame, arm="host", reward="slow", max_outliers=1)
        assert warned[0].filename == __file__
