"""Odd numbers where a number is wanted: each is taken, or refused by an error of oddarm's own."""

import math
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

import oddarm
from oddarm import OddarmError, Problem, Search, bounds, datasets, rewards, strategies, theory
from oddarm.bounds import sigma
from oddarm.rewards import Bernoulli, Bounded, SubGaussian, as_rewards
from oddarm.sources import PoolSource, RecordedSource, SimulatedArms

ODD = [
    *(0, -1, 1, 2, 3, 7, True, False, None, "1", "nan", "x", "", b"1", [], [1], (), {}, {1}),
    *(2**31, 2**53, 2**63 - 1, 2**63, 2**64, -(2**63) - 1, 10**400, -(10**400)),
    *(0.0, -0.0, 0.5, 0.9, 1.0, 1.5, math.inf, -math.inf, math.nan, 5e-324, 1e-200, 1e-100),
    *(1e100, 1.7e308, -1.7e308, 1 - 2**-53, 1j, object(), range(3)),
    *map(np.float64, (0.5, math.nan, math.inf, 1e300)),
    *(np.float32(0.1), np.float16(2), np.int64(3), np.uint8(4), np.bool_(True), np.array(0.5)),
    *(np.array([0.5, 0.7]), np.array("a"), np.datetime64("2020-01-01"), np.complex128(1)),
    *(Fraction(1, 3), Fraction(10**400), Fraction(1, 10**400), Fraction(-1, 2)),
    *map(Decimal, ("0.3", "Infinity", "-Infinity", "NaN", "sNaN", "-0", "1E+400", "1E-400")),
    *map(Decimal, ("1E+999999", "1E-999999", "2.5")),
]
# No whole numbers of middling size: a search of a hundred million arms is legal, and slow.
VALUES = some.sampled_from(ODD) | some.floats() | some.fractions() | some.decimals()
MEANS = [0.2, 0.25, 0.3, 0.9]
POOLS = Bounded(minimum=0, maximum=1, pools=(3, 3, 3))


def search(**options):
    """Return a small search."""
    return Search(5, **{"max_outliers": 1, "max_pulls": 30, **options})


def run(**options):
    """Run a small search for some pulls."""
    return oddarm.simulate(MEANS, **{"max_outliers": 1, "max_pulls": 30, **options})


def found(**options):
    """Find among three arms."""
    return oddarm.find(lambda arm: arm == 2, 3, **{"max_outliers": 1, "max_pulls": 20, **options})


def told(model, value):
    """Tell an odd reward."""
    return Search(3, max_outliers=1, rewards=model).tell(0, value)


PROBLEM = {
    "Problem(epsilon)": lambda v: Problem(epsilon=v).to_dict(),
    "Problem(rho)": lambda v: Problem(rho=v).to_dict(),
    "Problem(max_outliers)": lambda v: Problem(max_outliers=v),
    "Problem(delta)": lambda v: Problem(delta=v).to_dict(),
    "Problem.check": lambda v: Problem().check(v),
    "Problem.b": lambda v: Problem(epsilon=v).b,
    "outlier_groups(means)": lambda v: oddarm.outlier_groups([*MEANS, v], max_outliers=1),
    "outlier_groups(all means)": lambda v: oddarm.outlier_groups(v, max_outliers=1),
    "outlier_groups(mixed)": lambda v: oddarm.outlier_groups([*MEANS, v], 1, mixed=True, rho=0.7),
    "outlier_groups(epsilon)": lambda v: oddarm.outlier_groups(MEANS, v, max_outliers=1),
    "outlier_groups(min_gap)": lambda v: oddarm.outlier_groups(MEANS, min_gap=v, max_outliers=1),
    "chance(min_gap)": lambda v: oddarm.chance(20, min_gap=v, runs=10),
    "outlier_groups(rho)": lambda v: oddarm.outlier_groups(MEANS * 5, rho=v),
    "outlier_groups(max_outliers)": lambda v: oddarm.outlier_groups(MEANS, max_outliers=v),
    "outlier_arms(means)": lambda v: oddarm.outlier_arms([*MEANS, v], max_outliers=1),
    "outlier_arms(epsilon)": lambda v: oddarm.outlier_arms(MEANS, v, max_outliers=1),
    "lemma_5_2(gap)": lambda v: theory.lemma_5_2(v, n=20),
    "lemma_5_2(n)": lambda v: theory.lemma_5_2(0.1, n=v),
    "lemma_5_2(epsilon)": lambda v: theory.lemma_5_2(0.1, n=20, epsilon=v),
    "lemma_5_2(delta)": lambda v: theory.lemma_5_2(0.1, n=20, delta=v),
    "lemma_5_2(span)": lambda v: theory.lemma_5_2(0.1, n=20, span=v),
    "lemma_5_2(as printed)": lambda v: theory.lemma_5_2(v, n=20, span=1e50, as_printed=True),
    "theorem_5_3(gap)": lambda v: theory.theorem_5_3(v, n=20),
    "theorem_5_3(span)": lambda v: theory.theorem_5_3(0.1, n=20, span=v),
    "theorem_5_3(n)": lambda v: theory.theorem_5_3(0.1, n=v),
    "most_pulls(means)": lambda v: theory.most_pulls([*MEANS, v], max_outliers=1),
    "most_pulls(epsilon)": lambda v: theory.most_pulls(MEANS, epsilon=v, max_outliers=1),
    "most_pulls(delta)": lambda v: theory.most_pulls(MEANS, delta=v, max_outliers=1),
    "most_pulls(paper)": lambda v: theory.most_pulls([*MEANS, v], max_outliers=1, bound="paper"),
}
REWARDS = {
    "rewards": as_rewards,
    "rewards(low)": lambda v: as_rewards((v, 1)),
    "rewards(high)": lambda v: as_rewards((0, v)),
    "rewards(both)": lambda v: as_rewards((v, v)),
    "rewards(dict)": lambda v: as_rewards({"kind": v}),
    "rewards(bounded dict)": lambda v: as_rewards({"kind": "bounded", "minimum": v, "maximum": 2}),
    "SubGaussian": lambda v: SubGaussian(scale=v),
    "pools": lambda v: Bernoulli(pools=v),
    "pools(size)": lambda v: Bernoulli(pools=(3, v)),
    "Bernoulli.check": Bernoulli().check,
    "Bounded.check": Bounded(minimum=-1, maximum=5).check,
    "SubGaussian.check": SubGaussian(scale=1).check,
    "tell(0/1)": lambda v: told("bernoulli", v),
    "tell(bounded)": lambda v: told((-10, 10), v),
    "tell(sub-Gaussian)": lambda v: told(SubGaussian(scale=1), v),
    "tell(pool)": lambda v: told(POOLS, v),
    "tell(arm)": lambda v: search().tell(v, 1),
    "tell_indices(arms)": lambda v: search().tell_indices(v, [1]),
    "tell_indices(rewards)": lambda v: search().tell_indices([0], v),
}
SEARCH = {
    "Search(arms)": lambda v: Search(v, max_outliers=1),
    "Search(epsilon)": lambda v: search(epsilon=v).ask(),
    "Search(delta)": lambda v: search(delta=v).ask(),
    "Search(rho)": lambda v: search(max_outliers=None, rho=v),
    "Search(max_outliers)": lambda v: search(max_outliers=v),
    "Search(max_pulls)": lambda v: search(max_pulls=v).ask(3),
    "Search(seed)": lambda v: search(seed=v).to_dict(),
    "Search(rewards)": lambda v: search(rewards=v),
    "ask": lambda v: search().ask(v),
    "ask_indices": lambda v: search().ask_indices(v),
    "simulate(means)": lambda v: oddarm.simulate([*MEANS, v], max_outliers=1, max_pulls=30),
    "simulate(epsilon)": lambda v: run(epsilon=v, until="found"),
    "simulate(delta)": lambda v: run(delta=v, until="found"),
    "simulate(gold, delta)": lambda v: run(delta=v, strategy="gold"),
    "simulate(paper, delta)": lambda v: run(delta=v, strategy="gold", bound="paper"),
    "simulate(wrr, delta)": lambda v: run(delta=v, strategy="wrr", bound="paper"),
    "simulate(seed)": lambda v: run(seed=v),
    "simulate(runs)": lambda v: run(runs=v if not isinstance(v, int) or v < 9 else -v),
    "simulate(max_pulls)": lambda v: run(max_pulls=v),
    "simulate(high)": lambda v: run(rewards=(-1, v)),
    "simulate(scale)": lambda v: run(rewards=SubGaussian(scale=v)),
    "simulate(gold, scale)": lambda v: run(rewards=SubGaussian(scale=v), strategy="gold"),
    "find(max_pulls)": lambda v: found(max_pulls=v),
    "find(batch)": lambda v: found(batch=v),
    "find(in_flight)": lambda v: found(in_flight=v),
    "find(retries)": lambda v: found(retries=v),
    "find(seed)": lambda v: found(seed=v),
    "guess_means(arms)": lambda v: oddarm.guess_means(v, gap=0.1),
    "guess_means(outliers)": lambda v: oddarm.guess_means(9, outliers=v, gap=0.1),
    "guess_means(gap)": lambda v: oddarm.guess_means(9, gap=v),
    "guess_means(spread)": lambda v: oddarm.guess_means(9, gap=0.1, spread=v),
    "guess_means(rate)": lambda v: oddarm.guess_means(9, gap=0.1, rate=v),
}
OTHERS = {
    **{
        f"{bound.__name__}(alpha)": lambda v, bound=bound: bound(v)
        for bound in (
            bounds.Bernstein,
            bounds.BetaMixture,
            bounds.CentredBeta,
            bounds.PoolBernstein,
            bounds.PoolBeta,
        )
    },
    **{
        f"{strategy.__name__}(k)": lambda v, strategy=strategy: search(strategy=strategy(k=v))
        for strategy in (
            strategies.RR,
            strategies.WRR,
            strategies.NRR,
            strategies.IB,
            strategies.ROAIElim,
            strategies.ROAILUCB,
        )
    },
    "BetaMixture(prior)": lambda v: bounds.BetaMixture(0.1, v),
    "BetaMixture.bounds_for(s)": lambda v: bounds.BetaMixture(0.1).bounds_for(v, 10),
    "BetaMixture.bounds_for(m)": lambda v: bounds.BetaMixture(0.1).bounds_for(0, v),
    "CentredBeta.bounds_for(s)": lambda v: bounds.CentredBeta(0.1).bounds_for(v, 10),
    "CentredBeta.bounds_for(m)": lambda v: bounds.CentredBeta(0.1).bounds_for(0, v),
    "PoolBeta(prior)": lambda v: bounds.PoolBeta(0.1, v),
    "Bernstein(low)": lambda v: bounds.Bernstein(0.1, v),
    "PoolBernstein(high)": lambda v: bounds.PoolBernstein(0.1, 0, v),
    "NormalMixture(alpha)": lambda v: bounds.NormalMixture(v, 1.0).radius(3),
    "NormalMixture(sigma)": lambda v: bounds.NormalMixture(0.1, v).radius(3),
    "NormalMixture(low)": lambda v: bounds.NormalMixture(0.1, 1.0, v),
    "PaperBounded(delta)": lambda v: bounds.PaperBounded(v, 20, 0, 1),
    "PaperBounded(n)": lambda v: bounds.PaperBounded(0.1, v, 0, 1),
    "PaperBernoulli(delta)": lambda v: bounds.PaperBernoulli(v, 20),
    "SigmaBounded(k)": lambda v: sigma.SigmaBounded(v, 0.1, 20, 0, 1),
    "SigmaBernoulli(delta)": lambda v: sigma.SigmaBernoulli(2, v, 20),
    "interval_bound(delta)": lambda v: bounds.interval_bound(Bernoulli(), 20, v),
    "interval_bound(n)": lambda v: bounds.interval_bound(Bernoulli(), v, 0.1),
    "radius_bound(delta)": lambda v: bounds.radius_bound(Bernoulli(), 20, v, "anytime"),
    "synthetic(epsilon)": lambda v: datasets.synthetic("upper", 20, v),
    "synthetic(rho)": lambda v: datasets.synthetic("upper", 20, rho=v),
    "synthetic(n)": lambda v: datasets.synthetic("upper", v),
    "synthetic(outliers)": lambda v: datasets.synthetic("lower", 20, outliers=v),
    "synthetic(seed)": lambda v: datasets.synthetic("mixed", 20, seed=v),
    "configuration(seed)": lambda v: datasets.configuration("upper-20-5", seed=v),
    "SimulatedArms(means)": lambda v: SimulatedArms([0.5, v]),
    "SimulatedArms(seed)": lambda v: SimulatedArms(MEANS, seed=v),
    "SimulatedArms.draw(arm)": lambda v: SimulatedArms(MEANS).draw(v),
    "PoolSource(seed)": lambda v: PoolSource({"a": [1, 0]}, float, seed=v).draw("a"),
    "RecordedSource(seed)": lambda v: RecordedSource({"a": [1, 0]}, seed=v).draw("a"),
    "RecordedSource(rewards)": lambda v: RecordedSource({"a": [1, 0], "b": v}),
    "from_counts(ones)": lambda v: RecordedSource.from_counts({"a": (10, v)}),
}


def cases(slots):
    """Return the slots as parameters with their names."""
    return pytest.mark.parametrize("slot", list(slots.values()), ids=list(slots))


def taken_or_refused(slot, value):
    """Fail if something else than an error of oddarm's own is raised."""
    try:
        slot(value)
    except OddarmError:
        return


def odd(examples):
    """Try every value of ODD, and some examples more."""
    fast = settings(
        max_examples=examples, deadline=None, derandomize=True,
        suppress_health_check=list(HealthCheck),
    )  # fmt: skip
    return lambda test: fast(given(value=VALUES)(test))


@cases(PROBLEM | REWARDS | SEARCH | OTHERS)
def test_every_odd_value_is_taken_or_refused(slot):
    """Each of the odd values, in each place that takes a number."""
    for value in ODD:
        taken_or_refused(slot, value)


@cases(PROBLEM | REWARDS)
@odd(20)
def test_any_number_is_taken_or_refused(slot, value):
    """Any float, fraction or decimal, where ε, δ, means or rewards are taken."""
    taken_or_refused(slot, value)


def test_refused_numbers_are_quoted_with_the_rule():
    """The message has the value, the rule and, where there is one, the remedy."""
    for make, message in [
        (lambda: as_rewards((0, 1e308)), r"maximum == 1e\+308, must be finite, from -1e\+100"),
        (lambda: as_rewards((1e12, 1e12 + 1)), "must be wider: subtract from all rewards what"),
        (lambda: SubGaussian(scale=1e-200), "scale == 1e-200, must be finite and > 0, from 1e-100"),
        (lambda: as_rewards({}), "rewards == {}, must have a kind of bernoulli, bounded, clipped"),
        (lambda: search().ask(2**63), "limit == 9223372036854775808, must be a whole number <="),
        (lambda: search(seed=-1), "seed == -1, must be a whole number >= 0"),
        (lambda: Problem(delta=5e-324), "delta == 5e-324, must be > 0 and < 1, at least 1e-100"),
        (
            lambda: oddarm.outlier_groups([Decimal("Infinity"), *MEANS], max_outliers=1),
            r"mean of arm 0 == Decimal\('Infinity'\), must be a finite number",
        ),
    ]:
        with pytest.raises(OddarmError, match=message):
            make()


def test_exact_numbers_are_numbers():
    """ε and δ may be fractions or decimals, and a search with them is one with floats."""
    one = run(epsilon=Decimal("2.5"), delta=Fraction(1, 10), rewards=(Decimal(0), Fraction(1)))
    two = run(epsilon=2.5, delta=0.1, rewards=(0, 1))
    assert one.to_dict() == two.to_dict()


def test_huge_ratios_are_the_largest_float():
    """A gap that is beyond all floats times another leaves a finite ε."""
    group = oddarm.outlier_groups([0, 1e-300, 2e-300, 1e300], max_outliers=1)[0]
    assert (group.members, group.gap) == ((3,), 1e300)
    assert group.max_epsilon == np.finfo(float).max
    assert rewards.LARGEST == 1e100
