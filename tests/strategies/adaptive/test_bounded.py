"""Evidence of several arms at once for rewards in a range."""

import json

import numpy as np
import pytest
from verification.bounded import Case, pulled, search_for

import oddarm
from oddarm.rewards import Bounded, SubGaussian

MEANS = [0.30, 0.33, 0.36, 0.38, 0.41, 0.44, 0.80]
ABSOLUTE = Case("absolute", MEANS, {"min_gap": 0.2, "max_outliers": 1, "delta": 0.1})
RELATIVE = Case("relative", MEANS, {"epsilon": 1.5, "max_outliers": 1, "delta": 0.1})
CASES = pytest.mark.parametrize("case", [ABSOLUTE, RELATIVE], ids=lambda case: case.name)


def exact(draw, low=0.0, span=1.0):
    """Return rewards with few digits, in a range, so that sums have no rounding."""
    return lambda arm, some: low + span * np.round(draw(arm, some) * 2**20) / 2**20


@CASES
@pytest.mark.parametrize("k", [0.3, 4.0, 40.0])
def test_it_takes_fewer_pulls_than_intervals(case, k):
    """Three searches give the same answers with at least a tenth fewer pulls."""
    same, pulls = Case(case.name, case.means, case.options, k), np.zeros(2)
    for seed in range(3):
        for jointly in (False, True):
            result = pulled(search_for(same, jointly), same.draw(seed))
            assert result.outliers == [6]
            pulls[int(jointly)] += result.pulls
    assert pulls[1] < 0.9 * pulls[0]


@CASES
def test_the_range_does_not_matter(case):
    """Rewards in another range are asked for alike, and what is certain is in their units."""
    results = []
    for low, span in ((0.0, 1.0), (-8.0, 16.0)):
        scaled = {"min_gap": span * 0.2} if case is ABSOLUTE else {}
        search = search_for(case, True, rewards=(low, low + span), **scaled)
        results.append(pulled(search, exact(case.draw(5), low, span)))
    one, other = results
    assert one.counts.tolist() == other.counts.tolist()
    assert one.evidence == pytest.approx(other.evidence)
    for name in ("gap_at_least", "gap_at_most", "rest_at_least", "rest_at_most"):
        ends = [getattr(result.certificates[-1], name) for result in results]
        assert 16 * ends[0] == pytest.approx(ends[1]), name
    assert 3.2 * 0.8 < other.certificates[-1].gap_at_least < 16 * 0.36 or case is RELATIVE


def test_the_widest_gap_is_in_the_units_of_rewards():
    """Where nobody stands apart, the gap that is still possible is at most `min_gap`."""
    case = Case("none", MEANS[:-1], {"min_gap": 3.2, "max_outliers": 1, "rewards": (-8.0, 8.0)})
    result = pulled(search_for(case, True), exact(case.draw(1), -8.0, 16.0))
    assert result.verdict == "none"
    assert 0.5 < result.widest_gap <= 3.2


@CASES
def test_a_saved_search_goes_on_as_if_it_had_not_been(case):
    """A search that is saved and restored after every round pulls the same arms to the end."""
    ends = []
    for saved in (False, True):
        search, draw = search_for(case, True), case.draw(7)
        while not search.done:
            if saved:
                search = oddarm.Search.from_dict(json.loads(json.dumps(search.to_dict())))
            for arm in search.ask():
                search.tell(arm, draw(arm, 1)[0])
        ends.append(search.to_dict())
    assert ends[0] == ends[1]


@pytest.mark.parametrize(
    "rewards",
    [SubGaussian(scale=0.5), Bounded(minimum=0, maximum=1, pools=(90,) * 7)],
    ids=["sub-Gaussian", "pools"],
)
def test_others_are_decided_by_intervals(rewards):
    """Rewards without a range, and those of finite pools, have all of δ for intervals."""
    for options in ({"min_gap": 0.2}, {"epsilon": 2.5}):
        run = oddarm.Search(7, rewards=rewards, until="found", max_outliers=1, **options).run
        assert (run.pair_delta, run.joint_delta) == (0, 0)


def test_it_has_a_share_of_delta_where_it_pays():
    """Bounded rewards are decided by intervals alone where these judge a group by epsilon."""
    shares = {}
    for n, until in ((60, "found"), (61, "found"), (9, "ranked"), (9, "confirmed"), (9, "budget")):
        rule = {"max_outliers": 2, "delta": 0.1, "max_pulls": 900}
        run = oddarm.Search(n, rewards=(0, 5), epsilon=2.5, until=until, **rule).run
        shares[n, until] = run.joint_delta > 0, run.pair_delta > 0
        run = oddarm.Search(n, rewards=(0, 5), min_gap=1, until="found", **rule).run
        assert run.joint_delta > 0 < run.pair_delta
    assert shares == {
        (60, "found"): (True, True),
        (61, "found"): (False, False),
        (9, "ranked"): (False, True),
        (9, "confirmed"): (True, True),
        (9, "budget"): (True, True),
    }


@CASES
def test_rewards_that_never_vary(case):
    """Constant rewards, also at the ends of the range, are decided quickly and rightly."""
    for means in ([0.0] * 8 + [1.0], [1.0] * 8 + [0.2], [0.5] * 8 + [0.9]):
        same = Case(case.name, means, case.options)
        result = pulled(search_for(same, True), lambda arm, some, y=means: np.full(some, y[arm]))
        assert result.outliers == [8]
        assert result.pulls < 1_000
