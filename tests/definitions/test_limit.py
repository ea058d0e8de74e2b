"""What every method must pay."""

import math
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import minimize, minimize_scalar

import oddarm
from oddarm.definitions.gap_programs import GapPrograms, bernoulli_kl, solve
from oddarm.definitions.limit import LeastPulls, is_alternative, least_pulls
from oddarm.errors import ParameterError
from tests.reference import limit as literal

INSTANCES = {
    "two above, one above": (
        [*np.linspace(0.1, 0.3, 8).tolist(), 0.7, 0.75],
        {"epsilon": 2.5, "max_outliers": 2},
    ),
    "one between": (
        [0.1, 0.12, 0.14, 0.5, 0.86, 0.88, 0.9],
        {"epsilon": 1.5, "max_outliers": 1},
    ),
    "absolute": ([0.1, 0.12, 0.15, 0.17, 0.5], {"min_gap": 0.2, "max_outliers": 1}),
    "absolute, nobody": ([0.3, 0.32, 0.35, 0.31, 0.33], {"min_gap": 0.2, "max_outliers": 2}),
    "floor": ([0.1, 0.12, 0.15, 0.17, 0.6], {"min_gap": 0.3, "epsilon": 2.5, "max_outliers": 1}),
    "nobody": ([0.2, 0.35, 0.5, 0.65, 0.8], {"epsilon": 2.5, "max_outliers": 1}),
}


def verify(means, limit, until, options):
    """Check the proof of a bound from its parts."""
    slack = options.get("slack", 0.0 if until == "ranked" else 0.2)
    problem = oddarm.Problem(**{**options, "delta": limit.delta, "slack": slack})
    assert sum(limit.shares.values()) == pytest.approx(1)
    if not limit.alternatives:
        assert limit.time == limit.pulls == 0
        return
    assert sum(one.weight for one in limit.alternatives) == pytest.approx(1)
    assert all(one.weight > 0 for one in limit.alternatives)
    mu = np.array(means, dtype=float)
    costs = 0.0
    for one in limit.alternatives:
        truth = np.array(list(one.means.values()))
        assert is_alternative(means, truth, problem, until)
        costs = costs + one.weight * bernoulli_kl(mu, truth)
    assert limit.time == pytest.approx(1 / costs.max())
    assert float(limit) == limit.pulls
    assert limit.pulls == pytest.approx(
        float(bernoulli_kl(limit.delta, 1 - limit.delta)) * limit.time
    )


@pytest.mark.parametrize("until", ["found", "ranked"])
@pytest.mark.parametrize("name", INSTANCES)
def test_every_part_of_a_proof_holds(name, until):
    """Alternatives are alternatives exactly, and their weights give the bound."""
    means, options = INSTANCES[name]
    limit = least_pulls(means, until=until, rounds=15, **options)
    verify(means, limit, until, options)
    assert (limit.time == 0) == (until == "ranked" and "nobody" in name)


@pytest.mark.parametrize(("n", "mean", "gap"), [(3, 0.3, 0.1), (5, 0.5, 0.2), (12, 0.3, 0.1)])
def test_equal_arms(n, mean, gap):
    """Equal arms share the pulls equally; the nearest truth sets one arm apart from the others."""

    def cost(up, sign):
        one, others = mean + sign * up, mean + sign * (up - gap)
        return (bernoulli_kl(mean, one) + (n - 1) * bernoulli_kl(mean, others)) / n

    nearest = min(
        minimize_scalar(partial(cost, sign=sign), bounds=(0, gap), method="bounded").fun
        for sign in (-1, 1)
    )
    limit = least_pulls([mean] * n, min_gap=gap, max_outliers=1)
    assert limit.time == pytest.approx(1 / nearest, rel=0.01)
    assert limit.time <= 1 / nearest * (1 + 1e-6)
    assert list(limit.shares.values()) == pytest.approx([1 / n] * n, rel=0.2)


def _not_group(arm, ratio, floor, truths):
    return literal.group_of(truths, ratio, floor) != arm


def _other_group(arm, ratio, truths):
    group = literal.group_of(truths, ratio, 0.0)
    return (group >= 0) & (group != arm)


def _not_apart(arm, gap, slack, truths):
    most, least = literal.apart(truths, (1 - slack) * gap), literal.apart(truths, gap)
    others = [k for k in range(3) if k != arm]
    return ~most[:, arm] | least[:, others].any(axis=1)


def _anybody(gap, truths):
    return literal.apart(truths, gap).any(axis=1)


def _any_group(ratio, truths):
    return literal.group_of(truths, ratio, 0.0) >= 0


LITERAL = [
    ([0.2, 0.3, 0.8], "ranked", {"epsilon": 2.5}, partial(_other_group, 2, 2.5)),
    ([0.25, 0.2, 0.6], "ranked", {"epsilon": 1.0}, partial(_other_group, 2, 1.0)),
    ([0.2, 0.3, 0.9], "found", {"epsilon": 2.5, "slack": 0.0}, partial(_not_group, 2, 2.5, 0.0)),
    ([0.9, 0.2, 0.3], "found", {"epsilon": 2.5}, partial(_not_group, 0, 2.0, 0.0)),
    (
        [0.2, 0.22, 0.7],
        "found",
        {"epsilon": 2.5, "min_gap": 0.4, "slack": 0.0},
        partial(_not_group, 2, 2.5, 0.4),
    ),
    ([0.2, 0.3, 0.45], "found", {"epsilon": 2.5}, partial(_any_group, 2.5)),
    ([0.2, 0.3, 0.7], "found", {"min_gap": 0.2}, partial(_not_apart, 2, 0.2, 0.2)),
    ([0.4, 0.45, 0.55], "found", {"min_gap": 0.25}, partial(_anybody, 0.25)),
]


@pytest.mark.parametrize(("means", "until", "options", "wrong"), LITERAL)
def test_three_arms_against_all_truths_of_a_grid(means, until, options, wrong):
    """The bound for three arms is that against all truths of a fine grid, up to its step.

    A grid has truths a step beyond the nearest, so its bound is the smaller one.
    """
    limit = least_pulls(means, until=until, max_outliers=1, **options)
    on_grid = literal.characteristic_time(means, wrong, 0.01)
    assert 0.98 * on_grid <= limit.time <= 1.2 * on_grid


@pytest.mark.parametrize("name", INSTANCES)
def test_mirrored_and_permuted(name):
    """The bound of 1 - μ, and of the arms in another order, is the same."""
    means, options = INSTANCES[name]
    limit = least_pulls(means, **options)
    mirrored = least_pulls([round(1 - mean, 9) for mean in means], **options)
    assert mirrored.time == pytest.approx(limit.time, rel=0.03)
    order = np.random.default_rng(3).permutation(len(means))
    permuted = least_pulls([means[k] for k in order], **options)
    assert permuted.time == pytest.approx(limit.time, rel=0.03)


def test_delta_only_scales_the_bound():
    """T* does not depend on δ; the bound grows as δ falls, and says nothing from ½ on."""
    means, options = INSTANCES["absolute"]
    bounds = [least_pulls(means, delta=delta, **options) for delta in (0.5, 0.3, 0.1, 0.01)]
    assert len({limit.time for limit in bounds}) == 1
    pulls = [float(limit) for limit in bounds]
    assert pulls == sorted(pulls)
    assert pulls[0] == 0
    assert pulls[2] == pytest.approx(bounds[0].time * (0.8 * math.log(9)))


def test_more_slack_and_a_nearer_outlier():
    """Slack lowers the bound, an outlier nearer to the line raises it."""
    wide = [0.1, 0.12, 0.15, 0.17, 0.5]
    near = [0.1, 0.12, 0.15, 0.17, 0.42]
    options = {"min_gap": 0.2, "max_outliers": 1}
    exact, loose = (least_pulls(wide, slack=slack, **options).time for slack in (0.0, 0.4))
    assert loose < exact < least_pulls(near, slack=0.0, **options).time


def test_names_are_kept():
    """Shares and alternatives name the arms as the means do."""
    limit = least_pulls({"a": 0.1, "b": 0.12, "c": 0.9}, min_gap=0.2, max_outliers=1, rounds=4)
    assert isinstance(limit, LeastPulls)
    assert list(limit.shares) == list(limit.alternatives[0].means) == ["a", "b", "c"]


@pytest.mark.parametrize(
    ("means", "until", "options"),
    [
        ([0.2, 0.35, 0.5, 0.65, 0.8], "ranked", {"epsilon": 2.5}),  # every ranking is right
        ([0.1, 0.4, 0.41, 0.42, 0.7], "found", {"min_gap": 0.2}),  # scattered
        ([0.2, 0.3, 0.62], "found", {"epsilon": 2.5, "slack": 0.2}),  # a group only by the slack
    ],
)
def test_no_bound(means, until, options):
    """Where every answer is right, or more than one, the bound is 0."""
    limit = least_pulls(means, until=until, max_outliers=1, **options)
    assert limit.pulls == limit.time == 0
    assert limit.alternatives == ()


def test_refusals():
    """Means beyond 0/1 rewards, other arms and unknown ways to end are refused."""
    with pytest.raises(ParameterError, match="must be from 0 to 1"):
        least_pulls([0.1, 0.2, 1.3], max_outliers=1)
    one = oddarm.Problem(min_gap=0.2, max_outliers=1)
    named = {"a": 0.1, "b": 0.1, "c": 0.5}
    with pytest.raises(ParameterError, match="must name the same"):
        is_alternative(named, {"a": 0.1, "c": 0.1, "b": 0.5}, one, "found")
    with pytest.raises(ParameterError, match="other has 2 means"):
        is_alternative(named, [0.1, 0.1], one, "found")
    assert is_alternative(named, [0.1, 0.4, 0.7], one, "found")
    assert not is_alternative(named, [0.1, 0.1, 0.5], one, "found")
    with pytest.raises(ParameterError, match="until == 'x'"):
        least_pulls([0.1, 0.2, 0.3], max_outliers=1, until="x")


def test_certain_arms():
    """Arms with means 0 and 1 have a bound too."""
    limit = least_pulls([0.0, 0.0, 0.1, 0.0, 1.0], epsilon=2.5, max_outliers=1)
    verify([0.0, 0.0, 0.1, 0.0, 1.0], limit, "found", {"epsilon": 2.5, "max_outliers": 1})
    assert limit.time > 0


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.integers(0, 100), min_size=3, max_size=7),
    st.sampled_from(["found", "ranked"]),
    st.sampled_from([{"epsilon": 1.0}, {"min_gap": 0.15}, {"epsilon": 0.5, "min_gap": 0.1}]),
    st.sampled_from([0.0, 0.3]),
)
def test_any_bound_is_proved(cents, until, options, slack):
    """Whatever the means, what is returned proves the bound."""
    means = [cent / 100 for cent in cents]
    every = {**options, "max_outliers": 1, "slack": slack}
    limit = least_pulls(means, until=until, rounds=3, **every)
    verify(means, limit, until, every)


@pytest.mark.parametrize(
    ("until", "options", "least"),
    [("ranked", {"slack": 0.0}, 45), ("found", {"slack": 0.0}, 1150)],
)
def test_twenty_arms(until, options, least):
    """The search goes on until shares and alternatives agree, for instances of the paper's kind."""
    made = 2.5 if until == "ranked" else 5
    kind = "intermediate" if until == "ranked" else "upper"
    means = oddarm.datasets.synthetic(kind, 20, made, seed=0).means
    limit = least_pulls(means, until=until, epsilon=2.5, **options)
    assert limit.unsettled < 0.05
    assert limit.time > least


def test_programs_against_another_solver():
    """Programs have the minimum that a general solver finds, and keep their limits."""
    rng = np.random.default_rng(0)
    n, ratio = 6, 3.5
    mu, weights = np.sort(rng.uniform(0.1, 0.9, n)), rng.dirichlet(np.ones(n))
    programs = GapPrograms.free(np.tile(np.arange(n), (2, 1)))
    for row, alone in enumerate((0, 3)):
        for gap in range(n - 1):
            if alone in (gap, gap + 1):
                programs.least_times[row, gap] = ratio
            else:
                programs.most[row, gap], programs.most_times[row, gap] = 0.0, 1.0
    found, solved = solve(programs, mu, weights, 1e-4)
    assert solved.all()
    for row in range(2):
        border = programs.least_times[row] > 0

        def slacks(x, border=border):
            gaps = np.diff(x[:n])
            return np.concatenate([gaps, gaps[border] - ratio * x[n], x[n] - gaps[~border]])

        other = minimize(
            lambda x: 100 * (weights * bernoulli_kl(mu, np.clip(x[:n], 1e-9, 1 - 1e-9))).sum(),
            np.append(found[row], np.diff(found[row])[~border].max()),
            constraints={"type": "ineq", "fun": slacks},
            bounds=[(1e-6, 1 - 1e-6)] * (n + 1),
            method="SLSQP",
            options={"maxiter": 500, "ftol": 1e-12},
        )
        cost = (weights * bernoulli_kl(mu, found[row])).sum()
        assert cost == pytest.approx(other.fun / 100, rel=1e-3)
        gaps = np.diff(found[row])
        assert (gaps >= 0).all()
        assert gaps[border].min() >= ratio * gaps[~border].max() - 1e-12


def test_a_program_without_a_solution():
    """A program whose gaps do not fit between 0 and 1 is reported as unsolved."""
    programs = GapPrograms.free(np.array([[0, 1, 2]]))
    programs.least[:] = 0.6
    _, solved = solve(programs, np.array([0.1, 0.5, 0.9]), np.full(3, 1 / 3), 0.1)
    assert not solved.any()
