"""Blocks and groups known by intervals: against literal definitions, and sound by sampling."""

import math
from itertools import pairwise

import numpy as np
import pytest

import oddarm
import reference.adaptive as literal
from oddarm.kernels.blocks import (
    best_block,
    best_windows,
    find_cuts,
    find_piece,
    find_rival,
    find_windows,
    resort,
)
from oddarm.kernels.groups import judge_group

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


def orders(low, high):
    """Return the arms by lower and by upper end, ties by arm."""
    by_low, by_high = np.arange(len(low)), np.arange(len(low))
    resort(by_low, low)
    resort(by_high, high)
    return by_low, by_high


def instances(count, seed, declared=True):
    """Yield random generators with intervals of 3 to 14 arms, and room for up to 3 outliers."""
    rng = np.random.default_rng(seed)
    for _ in range(count):
        n = int(rng.integers(3, 15))
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
        by = orders(low, high)
        got, x, e = find_rival(low, high, *by, declared, tau, most, side, begin, end, top, bottom)
        assert got == bool(expected)
        assert not got or (x, e) in expected
        found[got] += 1
    assert min(found.values()) > 200


def test_pieces_begin_where_they_may():
    """Pieces are looked for from `start` to `stop`, upwards only, and reach as far as is asked."""
    for rng, low, high, declared, most, side in instances(600, 3):
        tau, start = float(rng.choice([1, 4, 9])), float(rng.integers(-5, 40))
        stop, reach = start + float(rng.integers(0, 40)), float(rng.integers(-5, 60))
        expected = {
            (x, e)
            for x, e in literal.rivals(low, high, declared, tau, most, side, start, -math.inf)
            if start <= x <= stop and e >= reach
        }
        limits = tau, most, side, start, stop, reach
        got, x, e = find_piece(low, high, *orders(low, high), declared, *limits)
        assert got == bool(expected)
        assert not got or (x, e) in expected


def cuts_of(low, high, order):
    """Return the gaps between the first arms of an order and the others."""
    cuts = np.empty(len(low) + 1)
    find_cuts(low, high, order, cuts)
    return cuts


@pytest.mark.parametrize("certain", [True, False])
def test_the_best_block_is_the_best_of_all(certain):
    """No block of arms has wider gaps around it, for intervals and for estimates alike."""
    found = 0
    for rng, low, high, declared, most, _ in instances(600, 4):
        ends = (low, high) if certain else (low, low)
        enough = int(rng.integers(0, most + 1))
        expected = literal.blocks(*ends, declared, most, enough)
        by_low, _ = orders(*ends)
        gap, first, last = best_block(cuts_of(*ends, by_low), by_low, declared, most, enough)
        assert gap == max(expected.values(), default=0)
        if gap:
            assert expected[frozenset(by_low[first:last].tolist())] == gap
            found += 1
    assert found > 200


def test_windows_are_those_of_the_definition():
    """The best level of so many windows is that of the best choice of all; they have that level."""
    found = 0
    for rng, low, high, declared, most, _ in instances(600, 5):
        windows = np.zeros((int(rng.integers(1, most + 2)), 2), dtype=np.int64)
        by_low, _ = orders(low, high)
        cuts = np.where(rng.random(len(low) + 1) < 0.3, rng.integers(0, 9, len(low) + 1), -1.0)
        levels = literal.window_levels(low, high, by_low, declared, cuts)
        expected = literal.best_level(levels, len(windows))
        got = best_windows(low, high, by_low, declared, cuts, 0.0, windows)
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
        by_low, _ = orders(low, high)
        cuts, level = np.full(len(low) + 1, -1.0), float(rng.choice([0.5, 1, 2]))
        levels = literal.window_levels(low, high, by_low, declared, cuts)
        spares = {(i, j): (value - level) * (j - i) for (i, j), value in levels.items()}
        expected = literal.best_level(spares, len(windows))
        got = best_windows(low, high, by_low, declared, cuts, level, windows)
        assert 0.998 * expected <= got <= expected
        more = find_windows(low, high, by_low, declared, cuts, level, expected + 0.01, windows)
        assert not more
        found += got > 0
    assert found > 100


def test_groups_are_judged_by_the_definition():
    """Verdict and bounds on the gaps are those of all ways to split the segments."""
    seen = {-1: 0, 0: 0, 1: 0}
    for rng, low, high, _, most, side in instances(500, 6):
        if rng.random() < 0.5:
            np.minimum(high, low + rng.integers(0, 3, len(low)), out=high)
        member = np.zeros(len(low), dtype=bool)
        member[_some_block(rng, low, high, most)] = True
        epsilon = float(rng.choice(EPSILONS))
        expected = literal.judge(low, high, member, epsilon, side)
        by_low, _ = orders(low, high)
        sides = member[by_low]
        edges = np.flatnonzero(sides[1:] != sides[:-1]) + 1
        apart = cuts_of(low, high, by_low)[edges].min()
        got = judge_group(low, high, by_low, member, epsilon, side, apart, 0.0)
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
        ends = low, np.array(high)
        assert judge_group(*ends, orders(*ends)[0], member, 2.5, 2, 1.0, 0.0)[4] == 5


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
    search = oddarm.Search(
        len(low), "adaptive", epsilon=epsilon, max_outliers=most, rewards=(-100, 200), until=until
    )
    run = search.run
    run.low[:], run.high[:], run.means[:] = low, high, (low + high) / 2
    search.tally.counts[:] = 10
    search.tally.totals[:] = 10 * run.means
    run.decide()
    return run


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
        stages = [run._up_to(k) for k in range(int(run.stages.max()) + 1)]
        over = bool(run.verdicts[0])
        for some in literal.subsets(n, most):
            if not literal.are_groups(means, some, epsilon, most + 1).any():
                continue
            groups += 1
            for before, now in pairwise(stages):
                assert (some <= before).all() or (now <= some).all()
            if over:
                assert any((some == stage).all() for stage in stages)
        run = decided(low, high, epsilon, most, "confirmed")
        for stage in range(1, int(run.stages.max()) + 1):
            holds = literal.are_groups(means, run._up_to(stage), epsilon, most + 1)
            assert run.verdicts[stage] != 1 or holds.all()
            assert run.verdicts[stage] != -1 or not holds.any()
            judged += run.verdicts[stage] != 0
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
        stages = [run._up_to(k) for k in range(int(run.stages.max()) + 1)]
        for some in literal.subsets(n, most):
            if not literal.are_groups(means, some, 0.5, most + 1).any():
                continue
            groups += 1
            for before, now in pairwise(stages):
                assert (some <= before).all() or (now <= some).all()
            assert not run.verdicts[0] or any((some == stage).all() for stage in stages)
        declared += bool(stages[1:])
        ended += int(run.verdicts[0])
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
