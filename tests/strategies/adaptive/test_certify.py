"""Blocks and groups known by intervals: against literal definitions, and sound by sampling."""

import math
import time
from itertools import pairwise

import numpy as np
import pytest

import oddarm
import reference.adaptive as literal
from oddarm.kernels.blocks import (
    Arms,
    Rules,
    best_block,
    best_windows,
    find_gaps,
    find_rival,
    resort,
)
from oddarm.kernels.groups import judge_group
from oddarm.kernels.pairs import certain_gap

EPSILONS = (0.5, 1.0, 2.5)


def random_intervals(rng, n, declared=False):
    """Return intervals with whole ends: wide or narrow, points and ties among them."""
    shape = rng.integers(5)
    if shape == 0:  # anything
        low, high = np.sort(rng.integers(0, 40, (2, n)), axis=0)
    elif shape == 1:  # few values, many ties
        low, high = np.sort(4 * rng.integers(0, 6, (2, n)), axis=0)
    else:  # around means with gaps, from very narrow to wide
        means = rng.integers(0, 30, n)
        means[: rng.integers(1, 3)] += rng.choice([-60, 50, 60])
        radius = int(rng.choice([0, 1, 3, 6]))
        low = means - rng.integers(0, radius + 1, n)
        high = means + rng.integers(0, radius + 1, n)
    order = rng.permutation(n)
    marks = rng.random(n) < (0.2 if declared else 0.0)
    return low[order].astype(float), high[order].astype(float), marks


def known(low, high, declared=None):
    """Return the arms as kernels take them, with the lower ends for estimates."""
    by_low, by_high = np.arange(len(low)), np.arange(len(low))
    resort(by_low, low)
    resort(by_high, high)
    marks = np.zeros(len(low), dtype=bool) if declared is None else declared
    return Arms(low, high, low, by_low, by_high, by_low, marks)


def rules(most, side=1, epsilon=0.0, declared=(), neighbours=1):
    """Return the rules of a problem in which groups may have `most` members beyond the declared."""
    count = int(np.sum(declared))
    factor = 1 + epsilon
    limits = {"max_members": most + count, "min_segment": side, "neighbours": neighbours}
    return Rules(gap_factor=factor, sure_factor=factor, **limits)


def instances(count, seed, declared=True, most_arms=14):
    """Yield random generators with intervals of 3 to 14 arms, of which up to 3 may be outliers."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(3, most_arms + 1))
        most = int(rng.integers(1, min(4, (n + 1) // 2)))
        yield rng, *random_intervals(rng, n, declared), most, most + 1


def test_resort_sorts_with_ties_by_arm():
    """A permutation in any order becomes that of a stable sort."""
    rng = np.random.default_rng(1)
    for _ in range(200):
        keys = rng.integers(0, 6, rng.integers(1, 20)).astype(float)
        order = rng.permutation(len(keys))
        resort(order, keys)
        assert order.tolist() == np.argsort(keys, kind="stable").tolist()


def seconds_for(work):
    """Return the processor time that some work takes."""
    started = time.process_time()
    work()
    return time.process_time() - started


def test_resort_is_quick_where_nothing_is_in_order():
    """A large permutation in any order, also the reverse, is sorted from scratch, ties by arm."""
    rng = np.random.default_rng(13)
    for n in (100, 3000, 30_000):
        shuffled = rng.random(n)
        plain = seconds_for(lambda: [np.argsort(shuffled, kind="stable") for _ in range(20)])  # noqa: B023
        for keys in (shuffled, rng.integers(0, 50, n).astype(float), -np.arange(n, dtype=float)):
            for order in (np.arange(n), np.arange(n)[::-1].copy(), rng.permutation(n)):
                took = seconds_for(lambda: resort(order, keys))  # noqa: B023
                assert n < 30_000 or took < plain  # numpy takes half as long; insertion 100 times
                assert order.tolist() == np.argsort(keys, kind="stable").tolist()


@pytest.mark.parametrize("name", ["low", "by_mean", "declared"])
def test_arms_that_a_kernel_cannot_take_are_refused(name):
    """Arrays of another type or length, with gaps, or that may not be written to."""
    arrays = {"low": np.zeros(4), "by_mean": np.arange(4), "declared": np.zeros(4, dtype=bool)}
    values = {**dict.fromkeys(("low", "high", "means"), arrays["low"])}
    values |= dict.fromkeys(("by_low", "by_high", "by_mean"), arrays["by_mean"])
    values["declared"] = arrays["declared"]
    Arms(**values)
    fixed = arrays[name].copy()
    fixed.flags.writeable = False
    for refused in (fixed, np.repeat(arrays[name], 2)[::2], arrays[name].astype(np.float32)):
        with pytest.raises(TypeError):
            Arms(**values | {name: refused})
    with pytest.raises(ValueError, match="must have"):
        Arms(**values | {name: arrays[name][:3].copy()})


def test_arrays_that_a_kernel_needs_are_asked_for():
    """The evidence of pairs without totals is an error, not a crash."""
    arms = known(np.zeros(4), np.ones(4))
    with pytest.raises(ValueError, match="arms without totals"):
        certain_gap(arms, 2, 0.1, 0.05)


def test_rivals_are_those_of_the_definition():
    """A rival is found if and only if enumeration finds one, and it is one of those."""
    found = {True: 0, False: 0}
    for rng, low, high, declared, most, side in instances(1500, 2):
        tau = float(rng.choice([0, 1, 4, 9, 20]))
        begin, end = -math.inf, math.inf
        if rng.random() < 0.8:
            block = rng.integers(0, len(low), 2)
            begin, end = low[block].min(), high[block].max()
        top, bottom = math.inf, -math.inf
        if rng.random() < 0.5:
            top, bottom = float(rng.integers(0, 40)), float(rng.integers(0, 40))
        every = literal.rivals(low, high, declared, tau, most, side, begin, end)
        expected = {(x, e) for x, e in every if x <= top and e >= bottom}
        arms, limits = known(low, high, declared), rules(most, side, declared=declared)
        got = find_rival(arms, limits, tau, begin, end, top, bottom)
        assert got in expected if expected else got is None
        found[got is not None] += 1
    assert min(found.values()) > 200


def test_pieces_begin_where_they_may():
    """A piece begins from `start` to `stop` and reaches as far as asked if the block is endless."""
    for rng, low, high, declared, most, side in instances(600, 3):
        tau, start = float(rng.choice([1, 4, 9])), float(rng.integers(-5, 40))
        stop, reach = start + float(rng.integers(0, 40)), float(rng.integers(-5, 60))
        expected = {
            (x, e)
            for x, e in literal.rivals(low, high, declared, tau, most, side, start, -math.inf)
            if start <= x <= stop and e >= reach
        }
        arms, limits = known(low, high, declared), rules(most, side, declared=declared)
        got = find_rival(arms, limits, tau, start, -math.inf, stop, reach)
        assert got in expected if expected else got is None


@pytest.mark.parametrize("certain", [True, False])
def test_the_best_block_is_the_best_of_all(certain):
    """No block of arms has wider gaps around it, for intervals and for estimates alike."""
    found = 0
    for rng, low, high, declared, most, _ in instances(600, 4):
        ends = (low, high) if certain else (low, low)
        enough = int(rng.integers(0, most + 1))
        expected = literal.blocks(*ends, declared, most, enough)
        arms = known(*ends, declared)
        gap, first, last = best_block(arms, rules(most), find_gaps(arms), enough)
        assert gap == max(expected.values(), default=0)
        if gap:
            assert expected[frozenset(arms.by_mean[first:last].tolist())] == gap
            found += 1
    assert found > 200


def test_windows_are_those_of_the_definition():
    """The best level of so many windows is that of the best choice of all; they have that level."""
    found = 0
    for rng, low, high, declared, most, _ in instances(600, 5):
        windows = np.zeros((int(rng.integers(1, most + 2)), 2), dtype=np.int64)
        arms = known(low, high, declared)
        cuts = np.where(rng.random(len(low) + 1) < 0.3, rng.integers(0, 9, len(low) + 1), -1.0)
        levels = literal.window_levels(low, high, arms.by_mean, declared, cuts)
        expected = literal.best_level(levels, len(windows))
        got = best_windows(arms, cuts, 0.0, windows)
        assert got <= expected
        assert got >= 0.998 * expected
        if got:
            assert all(levels[tuple(one)] >= got for one in windows.tolist())
            assert all(a[1] < b[0] for a, b in pairwise(windows.tolist()))
            found += 1
    assert found > 200


def test_windows_have_room_to_spare():
    """With a level given, the windows are those with the most distance beyond it."""
    found = 0
    for rng, low, high, declared, most, _ in instances(300, 12):
        windows = np.zeros((int(rng.integers(1, most + 2)), 2), dtype=np.int64)
        arms = known(low, high, declared)
        cuts, level = np.full(len(low) + 1, -1.0), float(rng.choice([0.5, 1, 2]))
        levels = literal.window_levels(low, high, arms.by_mean, declared, cuts)
        spares = {(i, j): (value - level) * (j - i) for (i, j), value in levels.items()}
        expected = literal.best_level(spares, len(windows))
        got = best_windows(arms, cuts, level, windows)
        assert 0.998 * expected <= got <= expected
        found += got > 0
    assert found > 100


@pytest.mark.parametrize(("count", "most_arms", "orders"), [(500, 14, 1), (900, 8, 4)])
def test_groups_are_judged_by_the_definition(count, most_arms, orders):
    """Verdict and bounds on gaps and spans are those of all ways to split the segments."""
    seen = {-1: 0, 0: 0, 1: 0}
    for rng, low, high, _, most, side in instances(count, 6, most_arms=most_arms):
        k = int(rng.integers(1, orders + 1)) if orders > 1 else 1
        if rng.random() < 0.5:
            np.minimum(high, low + rng.integers(0, 3, len(low)), out=high)
        member = np.zeros(len(low), dtype=bool)
        member[_some_block(rng, low, high, most)] = True
        epsilon = float(rng.choice(EPSILONS))
        expected = literal.judge(low, high, member, epsilon, side, k)
        arms = known(low, high)
        sides = member[arms.by_low]
        edges = np.flatnonzero(sides[1:] != sides[:-1]) + 1
        apart = find_gaps(arms)[edges].min()
        limits = rules(most, side, epsilon, neighbours=k)
        got = judge_group(arms, limits, arms.by_low, member, apart, 0.0)
        assert got[:4] == expected[:4]
        if expected[1] > 0:
            assert got[4] == expected[4]
            seen[got[0]] += 1
    assert min(seen.values()) > 20


def test_arms_that_begin_alike_may_be_far_apart():
    """Where several arms share the last beginning, any of them may be the one beyond the gap."""
    low = np.array([0.0, 0.0, 30.0])
    member = np.array([False, False, True])
    for high in ([1.0, 5.0, 30.0], [5.0, 1.0, 30.0]):
        arms = known(low, np.array(high))
        assert judge_group(arms, rules(1, 2, 2.5), arms.by_low, member, 1.0, 0.0)[4] == 5


def test_the_brute_force_knows_groups():
    """The vectorised definition agrees with `outlier_groups` on random means."""
    rng = np.random.default_rng(8)
    found = 0
    for _ in range(60):
        n = int(rng.integers(5, 9))
        most, epsilon = int(rng.integers(1, 3)), float(rng.choice(EPSILONS))
        intervals = random_intervals(rng, n)[:2]
        means = literal.sampled_means(*(ends.astype(int) for ends in intervals), rng, 8)
        for row in means:
            expected = {
                frozenset(g.members)
                for g in oddarm.outlier_groups(row, epsilon, max_outliers=most, mixed=True)
            }
            sets = literal.subsets(n, most)
            got = {
                frozenset(np.flatnonzero(s).tolist())
                for s in sets
                if literal.are_groups(row[None], s, epsilon, most + 1)[0]
            }
            assert got == expected
            found += bool(got)
    assert found > 30


def decided(low, high, epsilon, most, until="ranked"):
    """Return a run of the strategy that has decided by the given intervals."""
    options = {"epsilon": epsilon, "max_outliers": most, "until": until, "slack": 0}
    rewards = oddarm.rewards.SubGaussian(scale=1)  # which only intervals decide
    search = oddarm.Search(len(low), "adaptive", rewards=rewards, **options)
    run = search.run
    run.low[:], run.high[:], run.means[:] = low, high, (low + high) / 2
    search.tally.counts[:] = 10
    search.tally.totals[:] = 10 * run.means
    run.decide()
    return run


def sets_of(run):
    """Return the arms declared up to each stage, from none on."""
    return [np.zeros(run.context.n, dtype=bool), *(stage.members for stage in run.stages)]


@pytest.mark.parametrize("seed", range(8))
def test_certificates_are_sound(seed):
    """In no sampled configuration is a group at odds with what was declared or judged.

    A declared block is within every group that is not within what was declared before; after "no
    further group", groups are the arms of the first stages; confirmed sets are groups, and
    refuted ones are not.
    """
    rng = np.random.default_rng([seed, 9])
    declared = ended = groups = judged = 0
    for _ in range(60):
        n = int(rng.integers(3, 11))
        most = int(rng.integers(1, min(3, (n + 1) // 2)))
        epsilon = float(rng.choice(EPSILONS))
        low, high, _ = random_intervals(rng, n)
        run = decided(low, high, epsilon, most)
        means = literal.sampled_means(low.astype(int), high.astype(int), rng, 1000)
        stages = sets_of(run)
        over = run.complete
        for some in literal.subsets(n, most):
            if not literal.are_groups(means, some, epsilon, most + 1).any():
                continue
            groups += 1
            for before, now in pairwise(stages):
                assert (some <= before).all() or (now <= some).all()
            if over:
                assert any((some == stage).all() for stage in stages)
        run = decided(low, high, epsilon, most, "confirmed")
        for stage in run.stages:
            holds = literal.are_groups(means, stage.members, epsilon, most + 1)
            assert stage.judgement.verdict != 1 or holds.all()
            assert stage.judgement.verdict != -1 or not holds.any()
            judged += stage.judgement.verdict != 0
        declared += bool(stages[1:])
        ended += over
    assert declared > 5
    assert ended > 10
    assert groups > 100
    assert judged > 3


def test_certificates_are_sound_for_every_configuration_on_a_grid():
    """The same for few arms and every configuration of whole means within the intervals."""
    rng = np.random.default_rng(11)
    declared = ended = groups = 0
    for _ in range(150):
        n = int(rng.integers(3, 7))
        most = 2 if n > 4 and rng.random() < 0.5 else 1
        low = rng.integers(0, 14, n)
        low[rng.integers(n)] += 8 * rng.integers(3)
        high = low + rng.integers(0, rng.integers(1, 5), n)
        run = decided(low.astype(float), high.astype(float), 0.5, most)
        ranges = [np.arange(a, b + 1) for a, b in zip(low, high, strict=True)]
        means = np.stack(np.meshgrid(*ranges), axis=-1).reshape(-1, n)
        stages = sets_of(run)
        for some in literal.subsets(n, most):
            if not literal.are_groups(means, some, 0.5, most + 1).any():
                continue
            groups += 1
            for before, now in pairwise(stages):
                assert (some <= before).all() or (now <= some).all()
            assert not run.complete or any((some == stage).all() for stage in stages)
        declared += bool(stages[1:])
        ended += run.complete
    assert declared > 50
    assert ended > 50
    assert groups > 100


def _some_block(rng, low, high, most):
    """Return one or two runs of arms by their middles, as often as not at an end."""
    order = np.argsort(low + high, kind="stable")
    size = int(rng.integers(1, most + 1))
    first = int(rng.choice([0, len(low) - size, rng.integers(0, len(low) - size + 1)]))
    if size == 2 and rng.random() < 0.5:
        return order[[0, -1]]
    return order[first : first + size]
