"""Sufficient statistics."""

import numpy as np
import pytest

from oddarm import OddarmError
from oddarm.rewards import Bernoulli, Bounded, as_rewards
from oddarm.tally import Tally

UNIT = Bounded(minimum=0, maximum=1)


def test_old_draws_at_the_low_end():
    """Sums that 0.1 saved of a pool whose rewards are all the least ones are taken over."""
    model = Bounded(minimum=-0.7, maximum=2.1, pools=(40, 40, 40))
    tally = Tally(3, model)
    for arm in range(3):
        tally.add(arm, np.full(7 + 5 * arm, -0.7))
    saved = tally.to_dict()
    w, ww, z, zz, wz = np.array(saved["drawn"])
    low = model.low
    old = [w, ww, z + low * w, zz + 2 * low * wz + low**2 * ww, wz + low * ww]
    again = Tally(3, model)
    again.restore(
        {"counts": saved["counts"], "totals": saved["totals"], "scatter": None,
         "drawn": [row.tolist() for row in old]}
    )  # fmt: skip
    assert again.counts.tolist() == tally.counts.tolist()
    assert again.drawn == pytest.approx(tally.drawn, abs=1e-9)


def test_batches_add_up_to_the_same_bits():
    """A batch leaves the same sum as its rewards told one by one."""
    x = np.random.default_rng(0).random(1000)
    one, many = Tally(1, UNIT), Tally(1, UNIT)
    for value in x:
        one.add(0, np.array([value]))
    for part in np.array_split(x, 13):
        many.add(0, part)
    assert one.totals[0] == many.totals[0]
    assert one.counts[0] == many.counts[0] == 1000 == one.pulls
    assert one.scatter[0] == pytest.approx(x.var() * 1000, rel=1e-12)
    assert many.scatter[0] == pytest.approx(one.scatter[0], rel=1e-12)


def test_scatter_of_a_constant_far_from_zero():
    """A constant reward has no scatter, however large it is against its variance."""
    tally = Tally(1, Bounded(minimum=0, maximum=1e9))
    for _ in range(50):
        tally.add(0, np.full(7, 123456789.125))
    assert tally.scatter[0] == 0


def test_pool_sums():
    """The sums for finite pools are those of their definition."""
    model = Bounded(minimum=0, maximum=1, pools=(20,))
    x = np.random.default_rng(1).random(15)
    tally = Tally(1, model)
    tally.add(0, x[:4])
    tally.add(0, x[4:5])
    tally.add(0, x[5:])
    expected = np.zeros(5)
    for t in range(1, 16):
        w = 20 / (20 - t + 1)
        z = x[t - 1] + x[: t - 1].sum() / (20 - t + 1)
        expected += [w, w * w, z, z * z, w * z]
    assert tally.drawn[:, 0] == pytest.approx(expected)


def test_a_pool_cannot_be_overdrawn():
    """More rewards than the pool has left are refused, and nothing changes."""
    tally = Tally(2, Bernoulli(pools=(3, 5)))
    tally.add(0, np.array([1.0, 0.0]))
    with pytest.raises(OddarmError, match="2 more rewards for an arm with 1 of its pool of 3"):
        tally.add(0, np.array([1.0, 1.0]))
    assert tally.counts.tolist() == [2, 0]
    assert tally.pulls == 2


def test_round_trip():
    """State comes back as it was."""
    for model in (UNIT, Bernoulli(), Bounded(minimum=0, maximum=1, pools=(9, 9))):
        tally = Tally(2, model)
        tally.add(1, np.array([1.0, 0.0, 1.0]))
        other = Tally(2, model)
        other.restore(tally.to_dict())
        assert other.to_dict() == tally.to_dict()
        assert other.pulls == 3


@pytest.mark.parametrize("kind", ["all", "sample", None])
@pytest.mark.parametrize("rewards", ["bernoulli", (-3, 0.3)])
def test_a_block_counts_as_each_arm_alone(rewards, kind):
    """The rewards of many arms at once give the sums, to the last bit, of each arm by itself."""
    rng = np.random.default_rng(3)
    model = as_rewards(rewards)
    if kind is not None:
        model = model.of_sizes((700,) * 50, kind)
    together, alone = Tally(50, model), Tally(50, model)
    for most in (2, 5, 40, 300):
        arms = rng.permutation(50)[:30]
        sizes = rng.integers(1, most, 30)
        told = rng.random(int(sizes.sum())) * 0.3
        told = (told < 0.1) * 1.0 if rewards == "bernoulli" else told
        together.add_block(arms, sizes, told)
        for arm, part in zip(arms.tolist(), np.split(told, np.cumsum(sizes)[:-1]), strict=True):
            alone.add(arm, part)
        assert together.to_dict() == alone.to_dict()
        assert together.pulls == alone.pulls
