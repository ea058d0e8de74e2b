"""Intervals: closed forms, an independent package, extremes; coverage is in verification/."""

import math

import numpy as np
import pytest
import ville
from scipy.special import betaln, erfcinv, gammaln
from scipy.stats import hypergeom

from oddarm import OddarmError, bounds
from oddarm.bounds.bernstein import log_wealth
from oddarm.bounds.paper import delta_prime
from oddarm.kernels.intervals import erfcinv as our_erfcinv
from oddarm.rewards import Bernoulli, Bounded, SubGaussian
from oddarm.tally import Tally

UNIT = Bounded(minimum=0.0, maximum=1.0)


def tally_of(model, *samples):
    """Return a tally of one arm per sample."""
    tally = Tally(len(samples), model)
    for arm, sample in enumerate(samples):
        tally.add(arm, np.asarray(sample, dtype=float))
    return tally


def test_erfcinv_matches_scipy():
    """Our inverse of erfc agrees with scipy's over 300 orders of magnitude."""
    x = 10.0 ** -np.linspace(0.001, 300, 2000)
    assert [our_erfcinv(float(v)) for v in x] == pytest.approx(erfcinv(x), rel=1e-14)


def test_paper_radii_as_printed():
    """Both radii equal the printed formulas, also where 1-δ' rounds to 1."""
    for pulls in (20, 10**4, 10**9):
        spent = 6 * 0.1 / (math.pi**2 * 20 * pulls**2)
        assert delta_prime(0.1, 20, pulls) == pytest.approx(spent)
        m, s = np.array([50]), np.array([12.0])
        hoeffding = bounds.PaperBounded(0.1, 20, -1, 3).radii(m, s, pulls)
        assert hoeffding[0] == pytest.approx(4 * math.sqrt(math.log(1 / spent) / 100))
        z = erfcinv(spent)
        p = (12 + z**2 / 2) / (50 + z**2)
        bernoulli = bounds.PaperBernoulli(0.1, 20).radii(m, s, pulls)
        assert bernoulli[0] == pytest.approx(z * math.sqrt(p * (1 - p) / 50))


def test_normal_mixture_equals_ville():
    """At the same mixing precision the radius is Robbins' boundary."""
    ours = bounds.NormalMixture(0.01, 0.5)
    m = np.array([1, 10, 1000, 10**6])
    theirs = ville.normal_mixture(0.25 * m, 0.01, 0.25 * ours.r) / m
    assert ours.radii(m) == pytest.approx(theirs)


def test_normal_mixture_meets_the_condition_of_gold():
    """Where two arms can part at all, β falls by at most e^(1/16) from one pull to the next."""
    for n, delta in [(3, 0.999), (3, 0.1), (20, 0.1), (1000, 0.01), (10**6, 1e-6)]:
        bound = bounds.NormalMixture(delta / n, 0.5, 0, 1)
        for m in range(1, 400):
            if bound.radius(m + 1) < 0.5:  # else 2bβ exceeds the range, b > 1
                assert bound.radius(m) <= math.exp(1 / 16) * bound.radius(m + 1)


@pytest.mark.parametrize("prior", [0.5, 1.0])
@pytest.mark.parametrize("p", [0.0, 0.001, 0.3, 0.5, 1.0])
def test_beta_mixture_equals_ville(p, prior):
    """With the same prior the interval is that of an independent package."""
    x = (np.random.default_rng(3).random(3000) < p).astype(float)
    low, high = bounds.BetaMixture(0.02, prior).bounds_for(np.cumsum(x), np.arange(1, 3001))
    theirs = ville.BernoulliCS(0.02, prior=(prior, prior), intersect=False).fit(x)
    assert low == pytest.approx(theirs.lower_, abs=1e-12)
    assert high == pytest.approx(theirs.upper_, abs=1e-12)


def test_beta_mixture_default_prior_against_uniform():
    """Jeffreys' prior is at most 4 % wider than the uniform one near ½; tighter when rare."""
    m = np.array([100, 1000, 10**5])
    for p, least, most in [(0.5, 1.0, 1.04), (0.01, 0.85, 0.99), (0.001, 0.8, 0.97)]:
        widths = []
        for prior in (0.5, 1.0):
            low, high = bounds.BetaMixture(0.005, prior).bounds_for(np.round(p * m), m)
            widths.append(high - low)
        ratio = widths[0] / widths[1]
        assert (ratio >= least).all()
        assert (ratio <= most).all()


@pytest.mark.parametrize("m", [10**6, 10**9, 10**12])
@pytest.mark.parametrize("p", [0.0, 1e-9, 0.001, 0.5, 0.999, 1.0])
def test_beta_mixture_at_the_extremes(m, p):
    """Up to 10^12 pulls, the ends solve m·KL = log(1/α) + ½ log(πm/2) to many digits."""
    s = round(p * m)
    low, high = (float(v[0]) for v in bounds.BetaMixture(0.002).bounds_for([s], [m]))
    assert 0 <= low <= s / m <= high <= 1
    assert high > low
    if 100 < s < m - 100:
        level = math.log(500) + 0.5 * math.log(math.pi * m / 2)
        q = s / m
        for end in (low, high):
            shift = (end - q) / q
            back = (end - q) / (1 - q)
            kl = -q * math.log1p(shift) - (1 - q) * math.log1p(-back)
            assert m * kl == pytest.approx(level, rel=1e-4)
    elif s == 0:
        assert high == pytest.approx(
            -math.expm1(-(math.log(500) + betaln(0.5, 0.5) - betaln(0.5, m + 0.5)) / m), rel=1e-6
        )


def test_bernstein_wealth_is_the_mixture_of_its_definition():
    """The closed form equals the integral over λ of exp(λs - ψ(λ)v) against its density."""
    from scipy.integrate import quad
    from scipy.special import gammainc

    rho, s, v = 3.0, 9.0, 20.0
    norm = math.exp(rho * math.log(rho) - gammaln(rho) - rho) / gammainc(rho, rho)

    def integrand(lam):
        density = norm * (1 - lam) ** (rho - 1) * math.exp(rho * lam)
        return density * math.exp(lam * s + (math.log1p(-lam) + lam) * v)

    total, _ = quad(integrand, 0, 1)
    assert quad(lambda x: norm * (1 - x) ** (rho - 1) * math.exp(rho * x), 0, 1)[
        0
    ] == pytest.approx(1)
    assert float(log_wealth(np.float64(s), np.float64(v), rho)) == pytest.approx(math.log(total))


SHAPES = {
    "uniform": lambda rng, k: rng.random(k),
    "narrow": lambda rng, k: np.clip(rng.normal(0.5, 0.01, k), 0, 1),
    "skew": lambda rng, k: rng.beta(1, 20, k),
    "coin": lambda rng, k: (rng.random(k) < 0.5) * 1.0,
    "rare": lambda rng, k: (rng.random(k) < 0.01) * 1.0,
    "beta": lambda rng, k: rng.beta(10, 30, k),
    "constant": lambda rng, k: np.full(k, 0.7),  # noqa: ARG005
}


@pytest.mark.parametrize("shape", SHAPES)
def test_bernstein_against_ville(shape):
    """No wider than ville's two intervals in the long run; wider than its betting one before.

    The limits are those of the table in docs/guarantees.md, with 5 % for the sample.
    """
    x = SHAPES[shape](np.random.default_rng(5), 30_000)
    rivals = [ville.EmpiricalBernsteinCS(alpha=0.01), ville.BettingCS(alpha=0.01, grid=4000)]
    limits = [{100: 1.09, 1000: 1.00, 30_000: 0.92}, {100: 1.35, 1000: 1.27, 30_000: 0.91}]
    for rival, limit in zip(rivals, limits, strict=True):
        rival.fit(x)
        for k, most in limit.items():
            low, high = bounds.Bernstein(0.01).interval(tally_of(UNIT, x[:k]))
            theirs = rival.upper_[k - 1] - rival.lower_[k - 1]
            assert float(high[0] - low[0]) <= 1.05 * most * theirs


def test_bernstein_scales_with_the_range():
    """The interval of 3 + 4x is 3 + 4 times that of x."""
    x = np.random.default_rng(6).random(500)
    low, high = bounds.Bernstein(0.05).interval(tally_of(UNIT, x))
    wide = Bounded(minimum=3.0, maximum=7.0)
    low4, high4 = bounds.Bernstein(0.05, 3.0, 7.0).interval(tally_of(wide, 3 + 4 * x))
    assert low4[0] == pytest.approx(3 + 4 * low[0])
    assert high4[0] == pytest.approx(3 + 4 * high[0])


def test_bernstein_at_the_extremes():
    """At 10^12 pulls: width of order 1/m without variance, and 1/√m with it; 0 and 1 included."""
    tally = Tally(4, UNIT)
    m = 10**12
    tally.counts[:] = m
    tally.totals[:] = [0.0, m, 0.7 * m, 0.5 * m]
    tally.scatter[:] = [0.0, 0.0, 0.0, 0.25 * m]
    low, high = bounds.Bernstein(0.002).interval(tally)
    assert (low <= tally.means).all()
    assert (high >= tally.means).all()
    assert ((high - low)[:3] < 1e-10).all()
    assert ((high - low)[:3] > 0).all()
    assert 2e-6 < (high - low)[3] < 8e-6


@pytest.mark.parametrize("prior", [0.5, 1.0])
def test_pool_beta_is_the_prior_posterior_ratio(prior):
    """Both ends are where the hypergeometric likelihood ratio says, by enumeration."""
    size, rng = 60, np.random.default_rng(2)
    pool = (np.arange(size) < 17).astype(float)
    rng.shuffle(pool)
    for m in (1, 7, 30, 59, 60):
        s = pool[:m].sum()
        tally = tally_of(Bernoulli(pools=(size,)), pool[:m])
        low, high = bounds.PoolBeta(0.05, prior).interval(tally)
        k = np.arange(size + 1)
        binomial = gammaln(m + 1) - gammaln(s + 1) - gammaln(m - s + 1)
        evidence = betaln(s + prior, m - s + prior) - betaln(prior, prior) + binomial
        kept = k[evidence - hypergeom.logpmf(s, size, k, m) < math.log(20)]
        assert (round(low[0] * size), round(high[0] * size)) == (kept.min(), kept.max())


@pytest.mark.parametrize("size", [1, 2, 10, 5000])
def test_exhausted_pools_are_known_exactly(size):
    """An exhausted pool has an interval of width 0 at its mean; a fresh one has the whole range."""
    rng = np.random.default_rng(size)
    zero_one = (rng.random(size) < 0.3).astype(float)
    pool = Bernoulli(pools=(size, size))
    low, high = bounds.PoolBeta(0.05).interval(tally_of(pool, zero_one, []))
    assert low[0] == high[0] == pytest.approx(zero_one.mean())
    assert (low[1], high[1]) == (0, 1)
    values = rng.uniform(-2, 2, size)
    model = Bounded(minimum=-2.0, maximum=2.0, pools=(size, size))
    low, high = bounds.PoolBernstein(0.05, -2.0, 2.0).interval(tally_of(model, values, []))
    assert high[0] - low[0] == pytest.approx(0, abs=1e-12)
    assert low[0] == pytest.approx(values.mean())
    assert (low[1], high[1]) == (-2, 2)


def test_pools_are_tighter_than_endless_arms():
    """Knowing that the pool is finite pays: half a pool gives a much narrower interval."""
    x = (np.random.default_rng(1).random(2000) < 0.4).astype(float)
    low, high = bounds.PoolBeta(0.01).interval(tally_of(Bernoulli(pools=(2000,)), x[:1000]))
    low_endless, high_endless = bounds.BetaMixture(0.01).interval(tally_of(Bernoulli(), x[:1000]))
    assert (high - low) < 0.8 * (high_endless - low_endless)


@pytest.mark.parametrize("m", [1, 2, 15, 16, 40, 1000, 10**5, 10**9, 10**12])
def test_one_arm_equals_all_arms(m):
    """The quick way for one arm gives the interval of the way for all, to nine digits."""
    rng = np.random.default_rng(m)
    for model in (Bernoulli(), UNIT, SubGaussian(scale=2.0)):
        tally = Tally(6, model)
        tally.counts[:] = m
        shares = np.array([0.0, 1.0, 0.5, 0.01, 0.7, rng.random()])
        tally.totals[:] = np.round(shares * m) if model.kind == "bernoulli" else shares * m
        if tally.scatter is not None:
            tally.scatter[:] = np.array([0, 0, 0.25, 0.001, 0.0, 0.1]) * m
        bound = bounds.interval_bound(model, 6, 0.1)
        low, high = bound.interval(tally)
        for arm in range(6):
            ends = bound.interval_of(tally, arm)
            tolerance = 1e-8 * (high[arm] - low[arm]) + 2.0**-53
            assert ends == pytest.approx((low[arm], high[arm]), rel=1e-15, abs=tolerance)
            assert ends[0] <= tally.means[arm] <= ends[1]


def test_many_arms_equal_one_after_the_other_to_the_last_bit():
    """Compiled or not, an arm's interval is the same: a log may be replayed by either."""
    rng = np.random.default_rng(3)
    n = 5000
    tally = Tally(n, Bernoulli())
    tally.counts[:] = np.exp(rng.uniform(0, 28, n))
    tally.totals[:] = np.floor(rng.random(n) ** rng.choice([0.1, 1, 8], n) * tally.counts)
    tally.totals[::50], tally.totals[1::50] = 0, tally.counts[1::50]
    tally.counts[2::50], tally.totals[2::50] = 0, 0
    arms = rng.permutation(n)[:4000]
    middle, reach = rng.random(n), rng.random(n) ** 3  # some are empty with what is known now
    for bound in (bounds.BetaMixture(0.005), bounds.CentredBeta(0.005)):
        one = np.maximum(middle - reach, 0), np.minimum(middle + reach, 1)
        many = one[0].copy(), one[1].copy()
        for arm in arms.tolist():
            bound.narrow(tally, arm, *one)
        bound.narrow_many(tally, arms, *many)
        np.testing.assert_array_equal(many, one)


def test_narrowed_intervals():
    """The intersection; the interval of now if there is none; others are left alone."""
    tally = Tally(4, Bernoulli())
    tally.counts[:], tally.totals[:] = 100, 50
    bound = bounds.BetaMixture(0.05)
    now = bound.interval_of(tally, 0)
    low, high = np.array([0.49, 0.0, 0.9, 0.1]), np.array([1.0, 0.51, 0.95, 0.2])
    bound.narrow_many(tally, np.arange(3), low, high)
    assert [*zip(low, high, strict=True)] == [(0.49, now[1]), (now[0], 0.51), now, (0.1, 0.2)]
    for arm in range(3):
        bound.narrow(tally, arm, low, high)
    assert [*zip(low, high, strict=True)] == [(0.49, now[1]), (now[0], 0.51), now, (0.1, 0.2)]


def test_unpulled_arms_have_the_whole_range():
    """An arm without rewards is not nan but unknown."""
    for model in (Bernoulli(), UNIT):
        for kind in ("anytime", "paper"):
            low, high = bounds.radius_bound(model, 5, 0.1, kind).interval(Tally(2, model))
            assert low.tolist() == [0, 0]
            assert high.tolist() == [1, 1]
        low, high = bounds.interval_bound(model, 5, 0.1).interval(Tally(2, model))
        assert (low.tolist(), high.tolist()) == ([0, 0], [1, 1])


@pytest.mark.parametrize(
    ("model", "kind"),
    [
        (Bernoulli(), bounds.BetaMixture),
        (Bernoulli(pools=(4, 4)), bounds.PoolBeta),
        (UNIT, bounds.Bernstein),
        (Bounded(minimum=0, maximum=1, pools=(4, 4)), bounds.PoolBernstein),
        (SubGaussian(scale=1), bounds.NormalMixture),
    ],
)
def test_every_model_has_its_interval(model, kind):
    """The reward model chooses the tightest proved interval, at δ/n."""
    bound = bounds.interval_bound(model, 2, 0.1)
    assert isinstance(bound, kind)
    assert bound.alpha == 0.05
    assert bound.proved


def test_refuses_an_unknown_prior():
    """Only the two priors with exact formulas are offered."""
    with pytest.raises(OddarmError, match=r"prior == 0\.7"):
        bounds.BetaMixture(0.05, prior=0.7)
