"""Threshold, ADE and clusters as written out plainly; these and others as right as promised."""

import numpy as np
import pytest

import oddarm
import reference.field as literal
from oddarm.strategies import (
    ADE,
    LUCBBOC,
    ROAILUCB,
    RR,
    WRR,
    BOCElim,
    MaxGapTop2,
    ROAIElim,
    Threshold,
)

MEANS = np.array([0.05, 0.08, 0.12, 0.50, 0.90, 0.93, 0.96, 0.91])
NORMAL = oddarm.rewards.SubGaussian(scale=0.1)
BUDGET = 700

CASES = {
    "threshold": (Threshold(level=0.3), lambda t: literal.threshold(t, 0.1, 0.3, BUDGET)),
    "ade": (ADE(k=1), lambda t: literal.ade(t, 0.1, 1, BUDGET)),
    "boc-elim": (BOCElim(), lambda t: literal.boc(t, 0.1, 2, BUDGET, lucb=False)),
    "boc-elim 3": (BOCElim(clusters=3), lambda t: literal.boc(t, 0.1, 3, BUDGET, lucb=False)),
    "lucb-boc": (LUCBBOC(), lambda t: literal.boc(t, 0.1, 2, BUDGET, lucb=True)),
    "lucb-boc 3": (LUCBBOC(clusters=3), lambda t: literal.boc(t, 0.1, 3, BUDGET, lucb=True)),
}


@pytest.mark.parametrize("case", CASES)
def test_equals_a_plain_rendering(case):
    """The same pulls in the same order, and the same answer, as the definition written out."""
    strategy, plain = CASES[case]
    rng = np.random.default_rng(3)
    u = rng.random((8, BUDGET))
    zero_one = "boc" not in case  # single linkage of tied means would have no one answer
    reach = np.minimum(MEANS, 1 - MEANS)[:, None]
    table = u < MEANS[:, None] if zero_one else MEANS[:, None] + reach * (2 * u - 1)
    pulls, answer = plain(table.astype(float).tolist())
    search = oddarm.Search(
        8,
        strategy,
        max_outliers=3,
        delta=0.1,
        bound="paper",
        max_pulls=BUDGET,
        rewards="bernoulli" if zero_one else (0, 1),
    )
    ours = []
    while not search.done:
        (arm,) = search.ask(1)
        search.tell(arm, table[arm][search.tally.counts[arm]])
        ours.append(arm)
    assert ours == pulls
    found = set(search.result().outliers)
    if answer is None:
        assert search.verdict == "budget"
    elif isinstance(answer, set):
        assert found == answer
    else:
        small = [set(piece) for piece in answer if len(piece) < max(map(len, answer))]
        assert found in (set().union(*small), *small, set())


SPREAD = [0.10, 0.15, 0.20, 0.25, 0.90]
TRUTHS = {
    "threshold": (Threshold(level=0.5), [0.3, 0.4, 0.45, 0.6, 0.7], {3, 4}),
    "ade": (ADE(k=1), SPREAD, {4}),
    "rr": (RR(k=1), SPREAD, {4}),
    "wrr": (WRR(k=1), SPREAD, {4}),
    "roai-elim": (ROAIElim(k=2), SPREAD, {4}),
    "roai-lucb": (ROAILUCB(k=2), SPREAD, {4}),
    "maxgap-top2": (MaxGapTop2(), SPREAD, {4}),
    "boc-elim": (BOCElim(clusters=3), [0.1, 0.2, 0.3, 0.6, 0.9, 1.0, 1.1], {3}),
    "lucb-boc": (LUCBBOC(clusters=3), [0.1, 0.2, 0.3, 0.6, 0.9, 1.0, 1.1], {3}),
}


@pytest.mark.parametrize("case", TRUTHS)
def test_wrong_as_seldom_as_promised(case):
    """At δ = 0.5 at most half of 20 runs are wrong by their own rule, and all claim a proof."""
    strategy, means, truth = TRUTHS[case]
    results = [
        oddarm.simulate(means, strategy, max_outliers=2, delta=0.5, rewards=NORMAL, seed=seed)
        for seed in range(20)
    ]
    assert all(result.provenance["delta_proved"] for result in results)
    assert sum(set(result.outliers) != truth for result in results) <= 10


def test_clusters_that_do_not_fit_are_no_outliers():
    """Small clusters are declared as far as the capacity goes, those of one size together."""
    means = [0.0, 1.0, 5.0, 5.1, 5.2, 5.3, 5.4, 9.0, 9.1]
    for most, found in ((1, []), (2, [1, 0]), (4, [7, 8, 0, 1])):
        result = oddarm.simulate(
            means, LUCBBOC(clusters=4), max_outliers=most, rewards=NORMAL, seed=1
        )
        assert set(result.outliers) == set(found)


@pytest.mark.parametrize(
    ("strategy", "options", "words"),
    [
        (lambda: Threshold(level="high"), {}, "level == 'high'"),
        (lambda: Threshold(level=1.5), {}, r"level == 1.5, must be above 0 and below 1"),
        (Threshold, {"rewards": NORMAL}, "without a level"),
        (lambda: BOCElim(clusters=1), {}, "clusters == 1"),
        (lambda: LUCBBOC(clusters=5), {}, "clusters == 5 of 5 arms"),
        (lambda: ADE(k=-1), {}, "k == -1"),
    ],
)
def test_refuses_parameters_without_sense(strategy, options, words):
    """A threshold beyond the rewards, or as many clusters as arms, is an error that says so."""
    with pytest.raises(oddarm.OddarmError, match=words):
        oddarm.Search(5, strategy(), max_outliers=1, **options)
