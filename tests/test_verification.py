"""A short form of `make verify`: the same checks with fewer runs."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from verification import (
    bounded,
    coverage,
    evaluations,
    evidence,
    flaky,
    gold,
    limit,
    question,
    rivals,
    scan,
    tables,
)
from verification.report import Check

import oddarm


@pytest.mark.slow
def test_coverage():
    """Every interval covers the true mean at all times at once as often as promised."""
    failed = [
        str(c)
        for c in coverage.checks(runs=300, horizon=300, dense=20, pool_size=40)
        if not c.holds
    ]
    assert failed == []


def test_gold():
    """Rigorous GOLD is right as often as promised."""
    failed = [str(c) for c in gold.checks(runs=25, sizes=(20,)) if not c.holds]
    assert failed == []


@pytest.mark.slow
@pytest.mark.parametrize("rule", ["absolute", "relative"])
def test_bounded(rule):
    """Near the line, answers about rewards in a range are wrong no more often than promised."""
    wrong = sum(bounded.wrong_near(rule, seed) for seed in range(30))
    assert Check(rule, wrong, 30, 0.5).holds


@pytest.mark.slow
def test_scan():
    """Scans are wrong no more often than promised, and their intervals cover."""
    failed = [str(c) for c in scan.checks(tables=20, runs=200, rows=10_000) if not c.holds]
    assert failed == []


@pytest.mark.slow
def test_tables():
    """Among equal workers with few rows each, hardly ever a group is confirmed."""
    [check] = tables.checks(tables=30)
    assert check.holds, str(check)
    assert check.errors <= 1


@pytest.mark.slow
def test_rivals():
    """The rivals that promise something keep it, and WRR needs fewer pulls than RR."""
    found = {check.name: check for check in rivals.checks(runs=12)}
    assert [str(c) for c in found.values() if not c.holds] == []
    cost = {name: float(c.note.split()[0].replace(",", "")) for name, c in found.items()}
    assert cost["wrr (paper)"] < cost["rr (paper)"]
    assert cost["wrr (anytime)"] < cost["rr (anytime)"]


@pytest.mark.slow
def test_limit():
    """No strategy is below the limit, and every truth that proves it is an alternative."""
    with ThreadPoolExecutor(1) as pool:
        lines = list(limit.measure(pool, runs=3, seeds=1, sizes=(20,), absolute=False))
    assert [str(line) for line in lines if not line.holds] == []
    assert sum(isinstance(line, Check) for line in lines) == 3


@pytest.mark.slow
@pytest.mark.parametrize("name", question.INSTANCES)
def test_what_every_method_needs(name):
    """The figures beside the costs by the absolute rule are those of `least_pulls`."""
    asked = question.INSTANCES[name]
    found = oddarm.theory.least_pulls(asked.means, **asked.options)
    assert found.pulls == pytest.approx(asked.least, rel=0.01)
    assert found.unsettled < 0.02


@pytest.mark.slow
def test_flaky():
    """Flaky tests are found as often as promised, and a fixed number of runs has to be searched."""
    found = list(flaky.checks(seeds=4, deltas=(0.05,), backgrounds=(0.005,), sessions=1))
    assert [str(c) for c in found if not c.holds] == []
    assert [c.runs for c in found] == [4, 1]
    assert found[-1].errors == 0, "the real session"
    runs, count = flaky.cheapest_fixed(range(20), 0.0, 0.95)
    assert 40 < runs < 70
    assert count == 1


@pytest.mark.slow
def test_evaluations():
    """The odd samples of evaluations are found, and a fixed number of epochs has to be searched."""
    found = list(evaluations.checks(seeds=0, simulated=3))
    assert [str(c) for c in found if not c.holds] == []
    assert [c.runs for c in found] == [3, 3]
    assert evaluations.guess_epochs([0], 3, 0.5) < 20


FALSE_CLAIMS = [
    "gap exactly min_gap, no slack",
    "nobody is false, gap 1.02",
    "scattered is false",
    "floor: nobody is false, gap 1.02",
    "ratio exactly 1+ε, no slack",
    "sub-Gaussian, nobody is false",
    "pools, nobody is false",
]


@pytest.mark.slow
def test_evidence():
    """The evidence of false claims has a mean of at most 1, and rises to r in 1 of r runs."""
    with ThreadPoolExecutor(1) as pool:
        found = list(evidence.measure(pool, 20, FALSE_CLAIMS))
    assert [str(one) for one in found if not one.holds] == []


def test_evidence_that_is_too_high_fails():
    """Values whose mean is above 1, or that rise too often, are not those of an e-value."""
    fair = [[0.0, 20.0]] + [[0.0, 0.0]] * 39
    assert evidence.Followed("fair", fair).holds
    assert not evidence.Followed("mean", [[0.0, 3.0]] * 30 + [[0.0, 0.0]] * 10).holds
    assert not evidence.Followed("rises", [[6.0, 0.0]] * 30 + [[0.0, 0.0]] * 10).holds


@pytest.mark.slow
def test_question():
    """The absolute rule is answered rightly, at a cost below the bar; defaults end in time."""
    names = ["19 hosts 0.05-0.14, one at 0.5; g = 0.2"]
    with ThreadPoolExecutor(1) as pool:
        found = list(question.measure(pool, 3, 2, names))
    assert [str(one) for one in found if not one.holds] == []
    assert sum(isinstance(one, question.Row) for one in found) == 1


@pytest.mark.parametrize(("errors", "holds"), [(0, True), (77, True), (78, False)])
def test_a_check_fails_when_errors_are_implausible(errors, holds):
    """At 500 runs and a promise of 0.1, up to 77 errors are plausible at 1 in 10,000."""
    assert Check("x", errors, 500, 0.1).holds is holds
