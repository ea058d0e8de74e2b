"""Arms whose rewards are a sample of what they do: endless intervals, and a verdict "rows"."""

import json

import numpy as np
import pytest

import oddarm
from oddarm.bounds import BetaMixture, interval_bound
from oddarm.errors import OddarmError, RewardError, StateError
from oddarm.rewards import Bernoulli, Bounded, SubGaussian, as_rewards
from oddarm.sources import RecordedSource
from oddarm.strategies import STRATEGIES

SIZES = (40, 30, 50, 3, 60, 45, 20, 35)


def log(seed=0, rate=0.5, sizes=SIZES, **options):
    """Return recorded 0/1 rewards of equal arms, as a sample."""
    rng = np.random.default_rng(seed)
    recorded = {f"arm-{i}": rng.random(size) < rate for i, size in enumerate(sizes)}
    return RecordedSource(recorded, seed=seed, rows="sample", **options)


def test_models_with_rows():
    """A model has rows or pools, never both; rows come back from JSON values."""
    model = Bernoulli(rows=[3, 4])
    assert (model.rows, model.pools, model.limits) == ((3, 4), None, (3, 4))
    assert as_rewards(json.loads(json.dumps(model.to_dict()))) == model
    assert "rows" not in Bernoulli(pools=(3,)).to_dict()  # as older versions wrote it
    assert SubGaussian(scale=1, rows=(5,)).limits == (5,)
    assert model.of_sizes(None) == Bernoulli()
    with pytest.raises(OddarmError, match="pools and rows are both given"):
        Bernoulli(pools=(3,), rows=(3,))
    with pytest.raises(OddarmError, match="a size in rows == 0"):
        Bernoulli(rows=(0, 1))
    with pytest.raises(OddarmError, match="rows == 'some', must be 'sample' or 'all'"):
        RecordedSource({"a": [1]}, rows="some")


def test_intervals_are_endless():
    """The intervals of a sample are those of endless rewards, also when its rows are used up."""
    assert isinstance(interval_bound(Bernoulli(rows=(3, 4)), 2, 0.1), BetaMixture)
    search = oddarm.Search(3, "rr", rewards=Bernoulli(rows=(4, 4, 4)), max_outliers=1)
    endless = oddarm.Search(3, "rr", max_outliers=1)
    for arm in range(3):
        for each in (search, endless):
            each.tell(arm, [0, 1, 1, 0])
    assert search.result().low.tolist() == endless.result().low.tolist()
    assert not search.tally.exhausted


def test_an_arm_gives_no_more_than_its_rows():
    """More rewards than an arm has rows are refused, one arm or many."""
    search = oddarm.Search(3, rewards=Bounded(minimum=0, maximum=1, rows=(2, 5, 5)), max_outliers=1)
    with pytest.raises(RewardError, match="3 more rewards for an arm with 2 of its 2 rows left"):
        search.tell(0, [0, 1, 0.5])
    with pytest.raises(RewardError, match="of its 2 rows left"):
        search.tell_indices([1, 0, 0, 0], [1, 1, 1, 1])
    assert search.pulls == 0
    with pytest.raises(OddarmError, match="rows has 2 sizes for 3 arms"):
        oddarm.Search(3, rewards=Bernoulli(rows=(2, 5)), max_outliers=1)


@pytest.mark.parametrize("name", STRATEGIES)
@pytest.mark.parametrize("batch", [None, 1, 7])
def test_every_strategy_ends_with_rows(name, batch):
    """A strategy that needs arms without rows ends with "rows", names them, and stays there."""
    sizes = (6, 9, 5, 3, 8, 7, 4, 10)
    result = oddarm.find(log(sizes=sizes), strategy=name, max_outliers=1, batch=batch)
    if result.verdict != "rows":
        assert name in ("nrr", "ib")  # which promise nothing and stop early
        return
    assert result.short
    assert (result.counts <= sizes).all()
    assert all(
        result.counts[result.names.index(arm)] == sizes[int(arm[4:])] for arm in result.short
    )
    assert result.outliers == []
    assert "outlier" not in result.statuses
    assert "to decide: all 8 arms have too few" in result.summary
    assert f"{sum(sizes)} pulls" in result.summary


def test_the_other_arms_are_read_first():
    """The adaptive strategy gives up only when no arm has rows left."""
    result = oddarm.find(log(), max_outliers=1)
    assert (result.verdict, result.pulls) == ("rows", sum(SIZES))


def test_a_sample_can_decide():
    """A search on a sample that is large enough confirms the outlier."""
    recorded = {f"arm-{i}": np.arange(3000) % 10 < (9 if i == 4 else 2) for i in range(8)}
    source = RecordedSource(recorded, rows="sample")
    result = oddarm.find(source, max_outliers=1)
    assert (result.verdict, result.outliers, result.short) == ("confirmed", ["arm-4"], [])


def test_ask_and_tell():
    """By hand too, a search ends with "rows" once all that it needs is told, not before."""
    source = log()
    search = oddarm.Search(source.arms, "gold", rewards=source.rewards, max_outliers=1)
    while arms := search.ask(5):
        assert not search.done
        for arm in arms:
            search.tell(arm, source.draw(arm))
    assert (search.done, search.verdict) == (True, "rows")
    assert search.ask() == []
    assert search.result().verdict == "rows"


@pytest.mark.parametrize("strategy", ["adaptive", "gold", "rr"])
def test_saved_and_resumed(tmp_path, strategy):
    """A saved search on a sample goes on exactly, and one that ended with "rows" has ended."""
    whole = oddarm.find(log(), strategy=strategy, max_outliers=1)
    path = tmp_path / "search.json"
    oddarm.find(log(), strategy=strategy, max_outliers=1, max_pulls=60, save=path)
    search = oddarm.Search.load(path)
    assert search.rewards.rows == SIZES
    search.max_pulls = None
    assert oddarm.resume(search, log(), save=path).to_dict() == {
        **whole.to_dict(),
        "provenance": search.provenance(),
    }
    again = oddarm.Search.load(path)
    assert (again.verdict, again.core.short) == ("rows", search.core.short)
    assert oddarm.resume(again, log()).pulls == whole.pulls


def test_a_search_is_not_resumed_on_another_kind_of_rows():
    """A search that took the rows as a sample does not go on with the same rows as all."""
    search = oddarm.Search(log().arms, rewards=log().rewards, max_outliers=1)
    rng = np.random.default_rng(0)
    recorded = {f"arm-{i}": rng.random(size) < 0.5 for i, size in enumerate(SIZES)}
    with pytest.raises(StateError, match="begun with rows='sample'"):
        oddarm.resume(search, RecordedSource(recorded))


def test_only_a_search_on_rows_lacks_rows():
    """A state that lacks rows without having any is damaged."""
    state = {**oddarm.Search(4, max_outliers=1).to_dict(), "short": [1]}
    with pytest.raises(StateError, match="only a search on rows can lack rows"):
        oddarm.Search.from_dict(state)


def test_failed_arms_take_their_rows_along():
    """When an arm fails, the others keep their own numbers of rows."""
    source = log()
    search = oddarm.Search(source.arms, "rr", rewards=source.rewards, max_outliers=1)
    search.set_aside("arm-3", "gone")
    assert search.run.context.rewards.rows == (40, 30, 50, 60, 45, 20, 35)
    result = oddarm.resume(search, source)
    assert result.verdict == "rows"
    assert "arm-3" not in result.short
    assert result.pulls == sum(SIZES) - 3


def test_a_budget_ends_first():
    """A budget that is spent before the rows are ends the search with "budget"."""
    assert oddarm.find(log(), max_outliers=1, max_pulls=20).verdict == "budget"


def test_studies_end_with_rows(tmp_path):
    """A study on a sample hands out each row once and is done when rows are lacking."""
    source = log(sizes=(5, 6, 4, 3, 5))
    path = tmp_path / "studies.db"
    with oddarm.create_study(
        path, "s", source.arms, rewards=source.rewards, max_outliers=1
    ) as study:
        while pulls := study.ask(4):
            study.tell_many({pull.id: float(source.draw(pull.arm)[0]) for pull in pulls})
        assert (study.result().verdict, study.result().pulls) == ("rows", 23)
    with oddarm.open_study(path, "s") as study:
        assert study.info().verdict == "rows"
