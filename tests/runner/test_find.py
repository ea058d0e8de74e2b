"""What `find` takes: functions, sources and data; and the budget that it sets by default."""

import asyncio
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

import oddarm
from oddarm.errors import ParameterError, SourceError
from oddarm.options import FindOptions, SearchOptions, TableOptions
from oddarm.rewards import Clipped
from oddarm.sources import Source
from oddarm.sources.table.source import TableSource
from support.tables import KINDS

RATES = {"ams": 0.1, "fra": 0.12, "lhr": 0.14, "cdg": 0.16, "mad": 0.18, "gru": 0.9}
COLUMNS = {"arm": "host", "reward": "slow", "max_outliers": 1}


def requests(rows=1500):
    """Return the columns of a table in which one host is slow far more often."""
    rng = np.random.default_rng(1)
    slow = [rng.random(rows) < rate for rate in RATES.values()]
    return {"host": np.repeat(list(RATES), rows).tolist(), "slow": np.concatenate(slow).tolist()}


@pytest.fixture
def closed(monkeypatch):
    """Return the list of sources that were closed."""
    sources = []
    close = TableSource.close
    monkeypatch.setattr(TableSource, "close", lambda self: (sources.append(self), close(self)))
    return sources


@pytest.mark.parametrize("kind", KINDS)
def test_data_of_every_kind(tmp_path, kind, closed):
    """Frames and files are searched by the names of their columns, and closed afterwards."""
    data = KINDS[kind](tmp_path, requests())
    result = oddarm.find(data, **COLUMNS)
    assert (result.verdict, result.outliers) == ("confirmed", ["gru"])
    assert result.provenance["rewards"]["rows"] == [1500] * 6
    assert len(closed) == 1
    if isinstance(data, Path):
        assert oddarm.find(str(data), **COLUMNS).outliers == ["gru"]


def test_options_of_a_table(tmp_path):
    """All that `open_table` takes can be given to `find`."""
    data = {name: values + values[-1:] for name, values in requests().items()}
    data["host"][-1] = "new"
    table = KINDS["pyarrow"](tmp_path, data)
    options = {
        "arm": "upper(host)", "reward": "slow::INT * 40", "where": "host <> 'ams'",
        "rewards": Clipped(0, 20), "min_rows": 5, "rows": "all", "seed": 3,
    }  # fmt: skip
    result = oddarm.find(table, max_outliers=1, **options)
    assert result.outliers == ["GRU"]
    assert result.names == ["CDG", "FRA", "GRU", "LHR", "MAD"]
    assert result.provenance["rewards"]["pools"] == [1500] * 5
    assert (result.high <= 20).all()
    assert "1 arm was left out, with fewer than 5 rows: NEW." in result.summary


def test_some_arms_of_the_data(tmp_path):
    """The arms to search may be named, as for a source."""
    table = KINDS["pyarrow"](tmp_path, requests())
    result = oddarm.find(table, ["ams", "fra", "lhr", "cdg"], max_pulls=50, **COLUMNS)
    assert result.names == ["ams", "fra", "lhr", "cdg"]


def test_a_failed_search_closes_its_table(tmp_path, closed):
    """The table is closed also when the search cannot begin."""
    with pytest.raises(ParameterError, match="delta"):
        oddarm.find(KINDS["pyarrow"](tmp_path, requests()), **COLUMNS, delta=7)
    assert len(closed) == 1


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({}, r"^arm and reward are missing: .*find\(data, arm='host', reward='slow'\)"),
        ({"arm": "host"}, "^reward is missing: "),
        ({"arm": "host", "reward": "slow", "min_row": 3}, "did you mean min_rows"),
    ],
)
def test_data_without_columns(tmp_path, given, words):
    """Data needs the columns of the arm and of the reward."""
    with pytest.raises(ParameterError, match=words):
        oddarm.find(KINDS["pandas"](tmp_path, requests(5)), **given)
    with pytest.raises(ParameterError, match=words):
        oddarm.find(KINDS["csv"](tmp_path, requests(5)), **given)


def test_columns_without_data():
    """A function and a source have no columns; what is no data is refused."""
    with pytest.raises(ParameterError, match="arm == 'host' with a function, which has no columns"):
        oddarm.find(len, ["a", "b", "c"], arm="host", reward="slow")
    source = oddarm.sources.SimulatedArms([0.1, 0.2, 0.9])
    with pytest.raises(ParameterError, match="min_rows == 3 with a source"):
        oddarm.find(source, min_rows=3)
    with pytest.raises(ParameterError, match="pull == 3, must be a function"):
        oddarm.find(3, ["a", "b", "c"], max_outliers=1)
    with pytest.raises(SourceError, match="there is no file"):
        oddarm.find("nowhere.csv", arm="host", reward="slow")


def test_a_percentage_for_a_share_is_refused():
    """A min_gap of 10 with 0/1 rewards is refused; "none" would be true, and not what was meant."""
    with pytest.raises(ParameterError, match=r"min_gap == 10 with 0/1 rewards, must be < 1: pass"):
        oddarm.find(lambda arm: arm == 3, 12, min_gap=10)
    assert oddarm.find(lambda arm: 90 * (arm == 3), 12, min_gap=10, rewards=(0, 100)).outliers == [
        3
    ]
    rows = pa.table({"host": list("abcd") * 9, "failures": [0, 0, 1, 0] * 9})
    result = oddarm.find(rows, arm="host", reward="failures", min_gap=2, max_outliers=1)
    assert result.verdict == "none"


def test_options_are_declared_once():
    """No option of a table has the name of an option of a search."""
    assert not TableOptions.__annotations__.keys() & SearchOptions.__annotations__.keys()
    both = TableOptions.__annotations__.keys() | SearchOptions.__annotations__.keys()
    assert FindOptions.__annotations__.keys() == both


class Endless(Source):
    """Equal arms whose rewards cost something."""

    arms = ("a", "b", "c", "d")
    rewards = oddarm.rewards.Bernoulli()

    def __init__(self):
        self.rng = np.random.default_rng(0)

    def draw(self, arm, count=1):  # noqa: ARG002
        """Toss a coin."""
        return self.rng.random(count) < 0.5


def test_the_default_budget():
    """Pulls that cost something get 1,000 per arm, unless a budget or no budget is asked for."""
    coin = np.random.default_rng(0)

    def toss(arm):  # noqa: ARG001
        return coin.random() < 0.5

    async def later(arm):
        return toss(arm)

    options = {"strategy": "rr", "max_outliers": 1}
    assert oddarm.find(toss, 4, **options, batch=500).provenance["max_pulls"] == 4_000
    assert oddarm.find(toss, 4, **options, max_pulls=30).pulls == 30
    assert oddarm.find(Endless(), **options, batch=500).provenance["max_pulls"] == 4_000
    result = asyncio.run(oddarm.find_async(later, list("abcd"), **options, batch=500))
    assert result.provenance["max_pulls"] == 4_000
    endless = oddarm.find(lambda arm: arm == 3, 4, max_outliers=1, max_pulls=None)
    assert endless.provenance["max_pulls"] is None
    assert oddarm.find(
        lambda arm: arm == 3, 4, max_outliers=1, max_cost=1e9
    ).provenance["max_pulls"] is None  # fmt: skip


def test_what_costs_nothing_has_no_budget():
    """Sources that cost nothing, and finite ones, end by themselves."""
    arms = oddarm.sources.SimulatedArms([0.1, 0.1, 0.1, 0.9])
    assert oddarm.find(arms, max_outliers=1).provenance["max_pulls"] is None
    pool = oddarm.sources.PoolSource({arm: [0, 1, arm == 3] for arm in range(4)}, score=int)
    assert oddarm.find(pool, max_outliers=1).provenance["max_pulls"] is None


@pytest.mark.parametrize("arms", [0, -3, 2.5, "abc"])
def test_bad_arms_are_named_first(arms):
    """The default budget does not hide what is wrong with the arms."""
    with pytest.raises(ParameterError, match="arms"):
        oddarm.find(lambda arm: 1, arms)  # noqa: ARG005


def test_past_rewards_are_a_warm_start():
    """Rewards told before a search count, and save as many calls."""
    rng = np.random.default_rng(5)
    calls = []

    def probe(host):
        calls.append(host)
        return rng.random() < RATES[host]

    cold = oddarm.Search(list(RATES), max_outliers=1)
    without = oddarm.resume(cold, probe).pulls
    assert len(calls) == without
    calls.clear()
    warm = oddarm.Search(list(RATES), max_outliers=1)
    for host, rate in RATES.items():
        warm.tell(host, rng.random(200) < rate)
    result = oddarm.resume(warm, probe)
    assert result.outliers == ["gru"]
    assert result.pulls == 1_200 + len(calls)
    assert len(calls) < without


def test_past_rewards_can_decide_alone():
    """If the past rewards are enough, nothing is drawn."""
    search = oddarm.Search(list(RATES), max_outliers=1)
    for host, rate in RATES.items():
        search.tell(host, np.arange(2_000) % 100 < 100 * rate)
    result = oddarm.resume(search, lambda host: 1 / 0)  # noqa: ARG005
    assert (result.verdict, result.outliers, result.pulls) == ("confirmed", ["gru"], 12_000)


@pytest.mark.slow
def test_past_rewards_keep_the_promise():
    """With past rewards of unequal numbers, chosen before their values, δ still holds."""
    wrong = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        search = oddarm.Search(8, max_outliers=1, max_pulls=4_000)
        for arm, count in enumerate(rng.integers(0, 150, 8)):
            search.tell(arm, rng.random(count) < 0.3)
        result = oddarm.resume(search, lambda arm, rng=rng: rng.random() < 0.3)  # noqa: ARG005
        wrong += bool(result.outliers)
    assert wrong <= 8  # of 60, at δ = 0.05 in one of 10,000 suites more


def test_rewards_that_one_has_are_for_scan():
    """A mapping of rewards is refused with the function that takes it."""
    with pytest.raises(ParameterError, match=r"oddarm\.scan"):
        oddarm.find({"a": [0, 1], "b": [1, 1]}, max_outliers=1)


def test_an_executor_can_submit():
    """What cannot run pulls is refused as an executor."""
    with pytest.raises(ParameterError, match="executor == 'x', must be an executor"):
        oddarm.find(len, ["a", "b", "c"], max_outliers=1, executor="x")


def test_a_table_speaks_of_rows():
    """The answer about a table calls its arms after their column, and pulls rows."""
    frame = pa.table({"host": list("abcd") * 9, "slow": [0, 0, 0, 1] * 9})
    assert oddarm.find(frame, arm="host", reward="slow", max_outliers=1).nouns == ("hosts", "rows")
    result = oddarm.find(frame, arm=["host"], reward="slow", max_outliers=1)
    assert result.nouns == ("hosts", "rows")
