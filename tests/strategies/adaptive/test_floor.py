"""The relative rule with a floor, slack and an order: no truth contradicts a verdict."""

import numpy as np
import pytest

import reference.absolute as absolute
import reference.adaptive as literal
from oddarm.kernels.blocks import Arms, Rules
from oddarm.strategies.adaptive.certify import advance, declare, judge, most_neighbours


def known(low, high, means, declared=None):
    """Return arms known by intervals and estimates, without the evidence of pairs."""
    orders = (np.argsort(x, kind="stable") for x in (low, high, means))
    marks = np.zeros(len(low), dtype=bool) if declared is None else declared
    return Arms(low, high, means, *orders, marks)


def questions(count, seed, most_neighbours=1):
    """Yield intervals with whole ends, truths within them, and the rules with floor and slack."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(3, 9))
        most = int(rng.integers(1, min(3, (n - 1) // 2) + 1))
        floor = int(rng.choice([0, 1, 5, 12, 25]))
        sure_gap = int(rng.integers(floor // 2, floor + 1))
        epsilon = float(rng.choice([0.5, 1.0, 2.5]))
        sure = float(rng.choice([0.4, 0.8, 1.0])) * epsilon
        means = rng.integers(0, rng.choice([3, 12, 60]), n)
        for _ in range(rng.integers(0, most + 2)):
            means[rng.integers(n)] += rng.choice([sure_gap, floor, floor + 1, 40, -50])
        radius = int(rng.choice([0, 1, 2, 5, 12]))
        low = (means - rng.integers(0, radius + 1, n)).astype(float)
        high = (means + rng.integers(0, radius + 1, n)).astype(float)
        sampled = absolute.truths(low, high, max(floor, 1), most, rng, 160)
        rules = Rules(
            gap_factor=1 + epsilon,
            floor=floor,
            sure_factor=1 + sure,
            sure_gap=sure_gap,
            max_members=most,
            min_segment=most + 1,
            neighbours=1 + int(rng.integers(most_neighbours)) if most_neighbours > 1 else 1,
        )
        yield rng, low, high, sampled, rules


def groups_in(sampled, rules):
    """Return for every set that may be a group in which truths it is one: at ε, and less slack."""
    n, side = sampled.shape[1], rules.min_segment
    for member in literal.subsets(n, rules.max_members):
        given, k = (sampled, member), rules.neighbours
        asked = literal.are_groups(*given, rules.gap_factor - 1, side, rules.floor, k)
        sure = literal.are_groups(*given, rules.sure_factor - 1, side, rules.sure_gap, k)
        yield member, asked, sure


@pytest.mark.parametrize("orders", [1, 4])
def test_no_truth_contradicts_a_judgement(orders):
    """A confirmed set is a group less the slack in every truth, a refuted one in none at ε.

    It is one at every order up to the largest that is said to be certain, and at that of the rules.
    """
    seen, larger = {1: 0, -1: 0, 0: 0}, 0
    for rng, low, high, sampled, rules in questions(250, 1, orders):
        arms = known(low, high, rng.uniform(low, high))
        for member, asked, sure in groups_in(sampled, rules):
            judgement = judge(arms, rules, member)
            verdict, most = judgement.verdict, most_neighbours(arms, rules, member, judgement)
            assert verdict != 1 or sure.all()
            assert verdict != -1 or not asked.any()
            assert verdict != 1 or most >= min(rules.neighbours, len(low) - 2)
            assert verdict or most < min(rules.neighbours, len(low) - 2)
            seen[verdict] += 1
            if most:
                limits = rules.sure_factor - 1, rules.min_segment, rules.sure_gap
                assert literal.are_groups(sampled, member, *limits, most).all()
                larger += most > rules.neighbours
    assert min(seen.values()) > 50
    assert larger > 20


@pytest.mark.parametrize("orders", [1, 4])
def test_every_group_contains_what_is_declared(orders):
    """In every truth every group contains a block declared; none if no further one is possible."""
    declared = over = 0
    for rng, low, high, sampled, rules in questions(500 if orders == 1 else 200, 2, orders):
        new, complete = declare(known(low, high, rng.uniform(low, high)), rules)
        for member, asked, _ in groups_in(sampled, rules):
            if asked.any():
                assert member[new].all()
                assert not complete or (len(new) and member.sum() == len(new))
        declared += len(new) > 0
        over += complete and not len(new)
    assert min(declared, over) > (20 if orders == 1 else 5)


@pytest.mark.parametrize(
    ("until", "orders"), [("found", 1), ("confirmed", 1), ("ranked", 1), ("found", 4)]
)
def test_no_truth_contradicts_a_verdict(until, orders):
    """All groups are stages or contain the last; what is confirmed, refuted or ended is so."""
    ended = {True: 0, False: 0}
    for rng, low, high, sampled, rules in questions(400, [3, len(until)], orders):
        stages = []
        arms = known(low, high, rng.uniform(low, high))
        complete, over = advance(arms, rules, until, stages, False, 1)
        sets = [tuple(stage.members) for stage in stages]
        confirmed = [stage.judgement.verdict == 1 for stage in stages]
        if over:
            ended[any(confirmed)] += 1
        for member, asked, sure in groups_in(sampled, rules):
            if asked.any():
                stage = tuple(member) in sets
                assert stage or not complete
                assert stage or not stages or member[stages[-1].members].all()
            if tuple(member) in sets:
                verdict = stages[sets.index(tuple(member))].judgement.verdict
                assert verdict != 1 or sure.all()
                assert verdict != -1 or not asked.any()
            if over and until != "ranked" and not any(confirmed):
                assert not asked.any()
            if over and until == "confirmed" and any(confirmed) and asked.any():
                last = max(k for k, is_group in enumerate(confirmed) if is_group)
                assert (stages[last].members | ~member).all()
    assert min(ended.values()) > ((50 if orders == 1 else 20) if until != "ranked" else -1)
