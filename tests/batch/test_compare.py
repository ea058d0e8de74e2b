"""All strategies on the same recorded rewards."""

import numpy as np
import pytest

import oddarm
from oddarm.rewards import Bounded
from oddarm.sources import PoolSource, RecordedSource, SimulatedArms

COUNTS = {f"host-{k}": (120, 10 + k) for k in range(11)} | {"odd": (120, 110)}


def log(**options):
    """Return a fresh source with one outlier."""
    return RecordedSource.from_counts(COUNTS, **options)


def test_every_strategy_runs_on_the_same_rewards():
    """All are there, sorted by pulls; without replacement none needs more than there are."""
    compared = oddarm.compare(log(), max_outliers=1)
    assert {run.strategy for run in compared.runs} == set(oddarm.strategies.STRATEGIES)
    pulls = [run.result.pulls for run in compared.runs]
    assert pulls == sorted(pulls)
    assert compared.rows == 12 * 120
    for run in compared.runs:
        assert run.share == run.result.pulls / compared.rows
        assert run.replaced == (run.strategy in ("gold", "odd"))
        if not run.replaced:
            assert run.share <= 1
            assert run.budget is None
        else:
            assert run.budget == 10 * compared.rows
    unproved = {run.strategy for run in compared.runs if not run.proved}
    assert unproved - {"maxgap"} == {"nrr", "ib"}  # how maxgap ends depends on the rewards


def test_runs_are_those_of_find():
    """A strategy needs what it needs alone on the same source."""
    compared = oddarm.compare(log(seed=4), ["adaptive", "rr"], max_outliers=1, delta=0.05)
    for run in compared.runs:
        alone = oddarm.find(
            log(seed=4), strategy=run.strategy, until=run.until, max_outliers=1, delta=0.05
        )
        assert run.result.to_dict() == alone.to_dict()


def test_the_truth_is_that_of_all_rewards():
    """Means and groups are those of everything that was recorded."""
    compared = oddarm.compare(log(), ["adaptive"], max_outliers=1)
    means = {arm: ones / size for arm, (size, ones) in COUNTS.items()}
    assert compared.means == pytest.approx(means)
    assert [group.members for group in compared.groups] == [("odd",)]
    assert compared.runs[0].right is True
    assert compared.summary.startswith("By all 1,440 pulls: 1 of 12 arms is an outlier group")


def test_wrong_answers_are_called_wrong():
    """A rule that looks upwards only does not rank a low arm first."""
    low = {f"host-{k}": (100, 90 - k) for k in range(11)} | {"odd": (100, 5)}
    compared = oddarm.compare(RecordedSource.from_counts(low), ["adaptive", "rr"], max_outliers=1)
    right = {run.strategy: run.right for run in compared.runs}
    assert right == {"adaptive": True, "rr": False}


def test_the_limit_is_shown():
    """A comparison says what any method would need without the end of the rows."""
    comparison = oddarm.compare(log(), ["adaptive"], max_outliers=1)
    assert comparison.least["found"] > 0
    assert comparison.to_dict()["least"] == comparison.least
    assert any("any method needs on average at least" in note for note in comparison.notes)


def test_without_a_group():
    """Where there is none, saying so is right, and a mere ranking is neither right nor wrong."""
    even = {k: (100, 10 + 5 * k + (k == 11)) for k in range(12)}
    compared = oddarm.compare(
        RecordedSource.from_counts(even), ["adaptive", "maxgap"], max_outliers=1
    )
    assert compared.groups == ()
    runs = {run.strategy: (run.result.verdict, run.right) for run in compared.runs}
    assert runs == {"adaptive": ("none", True), "maxgap": ("ranked", None)}
    assert "no outlier group" in compared.summary
    assert "right:" not in str(compared)


def test_runs_are_judged_with_the_slack_of_their_search():
    """A strategy that confirms has slack, given or by default; one that ranks has none."""
    for options, slack in [({}, 0.2), ({"slack": 0.1}, 0.1)]:
        compared = oddarm.compare(log(), ["adaptive", "maxgap"], max_outliers=1, **options)
        slacks = {run.strategy: run.result.problem.slack for run in compared.runs}
        assert slacks == {"adaptive": slack, "maxgap": 0.0}
        assert compared.problem.slack == slack


def test_strategies_that_do_not_fit():
    """They are left out and the reason is given; if they were asked for, it is an error."""
    compared = oddarm.compare(log(), max_outliers=1, bound="paper", max_pulls=100)
    assert set(compared.left_out) == {"adaptive", "uniform", "fixed"}
    assert "Not run: adaptive, since bound == 'paper'" in str(compared)
    with pytest.raises(oddarm.OddarmError, match="bound == 'paper'"):
        oddarm.compare(log(), ["adaptive"], max_outliers=1, bound="paper")
    with pytest.raises(oddarm.OddarmError, match="bound == 'nonsense'"):
        oddarm.compare(log(), max_outliers=1, bound="nonsense")


@pytest.mark.parametrize(
    ("source", "options", "words"),
    [
        (SimulatedArms([0.1, 0.2, 0.9]), {}, "SimulatedArms has no end"),
        (log(replace=True), {}, "RecordedSource has no end"),
        (log(), {"strategies": ["x"]}, "strategy == 'x'"),
        (log(), {"strategies": []}, "strategies is empty"),
        (log(), {"delta": 2}, "delta == 2"),
        (log(), {"until": "x", "strategies": ["adaptive"]}, "until == 'x'"),
    ],
)
def test_mistakes(source, options, words):
    """A mistake is a clear error."""
    with pytest.raises(oddarm.OddarmError, match=words):
        oddarm.compare(source, **{"max_outliers": 1, **options})


def test_a_source_that_was_drawn_from_is_refused():
    """Every reward is needed to know what is true."""
    used = log()
    used.draw("odd", 3)
    with pytest.raises(oddarm.OddarmError, match="'odd' has 117 of 120 rewards left"):
        oddarm.compare(used, max_outliers=1)


def test_items_are_scored_once():
    """Of a pool of items that cost something, each is scored once for all strategies."""
    scored = []

    def score(item):
        scored.append(item)
        return item[1] < (40 if item[0] == "d" else 4)

    items = {arm: [(arm, k) for k in range(50)] for arm in "abcd"}
    compared = oddarm.compare(PoolSource(items, score), ["adaptive", "rr"], max_outliers=1)
    assert len(scored) == len(set(scored)) == compared.rows == 200
    assert compared.runs[0].result.ranking[0] == "d"


def test_bounded_rewards():
    """Rewards in a range are compared too."""
    rng = np.random.default_rng(2)
    delays = {k: rng.uniform(0, 10, 150) for k in range(11)} | {"odd": rng.uniform(60, 90, 150)}
    source = RecordedSource(delays, rewards=Bounded(minimum=0, maximum=100))
    compared = oddarm.compare(source, ["adaptive", "maxgap", "gold"], max_outliers=1)
    assert all(run.right for run in compared.runs)


def test_progress():
    """Both callbacks are called: with the searches, and with how many are over."""
    seen, over = set(), []
    oddarm.compare(
        log(), ["nrr", "adaptive"], max_outliers=1,
        progress=lambda search: seen.add(search.strategy.name), finished=over.append,
    )  # fmt: skip
    assert seen == {"nrr", "adaptive"}
    assert over == [1, 2]


@pytest.mark.parametrize("width", [30, 45, 60, 80, 120])
def test_tables_fit(width):
    """A narrow table keeps the strategies, their pulls and verdicts."""
    compared = oddarm.compare(log(), max_outliers=1, max_pulls=60).with_nouns("hosts", "rows")
    lines = compared.table(width).splitlines()
    assert max(map(len, lines)) <= max(width, 35)
    assert lines[0].startswith("strategy")
    assert "rows" in lines[0]
    assert len(lines) == len(compared.runs) + 2


def test_recorded_order_is_kept():
    """Without shuffling, rewards come as recorded, with replacement from the same ones."""
    values = np.linspace(0, 1, 7)
    source = RecordedSource({"a": values}, rewards=(0, 1), shuffle=False)
    assert np.array_equal(source.draw("a", 7), values)
    again = RecordedSource({"a": values}, replace=True, rewards=(0, 1), shuffle=False)
    assert set(again.draw("a", 50)) <= set(values)


def test_a_fixed_sample_takes_what_there_is():
    """Without a budget fixed takes all rows, with one it divides it by the arms."""
    [run] = oddarm.compare(log(), ["fixed"], max_outliers=1).runs
    assert (run.result.pulls, run.result.outliers) == (12 * 120, ["odd"])
    [run] = oddarm.compare(log(), ["fixed"], max_outliers=1, max_pulls=240).runs
    assert run.result.counts.tolist() == [20] * 12


def test_strategies_that_do_not_know_min_gap_are_left_out_in_one_line():
    """With min_gap, one note names the strategies that only rank."""
    log = RecordedSource.from_counts(
        {"a": (200, 9), "b": (200, 12), "c": (200, 15), "d": (200, 180)}
    )
    compared = oddarm.compare(log, min_gap=0.2, max_outliers=1)
    assert {run.strategy for run in compared.runs} == {"adaptive", "uniform", "fixed"}
    left_out = [note for note in compared.notes if note.startswith("Not run")]
    assert len(left_out) == 1
    assert left_out[0].startswith("Not run: gold, rr, ")


@pytest.mark.parametrize("options", [{}, {"arm": "host", "reward": "slow"}])
def test_a_path_is_no_source(options):
    """A comparison of a file says how to open it."""
    with pytest.raises(oddarm.errors.ParameterError, match=r"source is a str, .*oddarm.open_table"):
        oddarm.compare("log.csv", **options)
