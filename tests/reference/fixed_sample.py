"""Intervals for one look, as their definitions say: in exact fractions or by plain bisection."""

import math
from fractions import Fraction


def binomial_tail(s, m, p):
    """Return the probability of s or more successes of m, exactly."""
    return sum(math.comb(m, k) * p**k * (1 - p) ** (m - k) for k in range(s, m + 1))


def clopper_pearson(s, m, alpha, steps=45):
    """Return the rates at which as many, and as few, successes have probability α/2."""
    tail = Fraction(alpha) / 2

    def least(s):
        if s == 0:
            return 0.0
        low, high = Fraction(0), Fraction(1)
        for _ in range(steps):
            middle = (low + high) / 2
            if binomial_tail(s, m, middle) > tail:
                high = middle
            else:
                low = middle
        return float(low)

    return least(s), 1 - least(m - s)


def hypergeometric(s, m, size, alpha):
    """Return the shares of ones whose pools give as many, and as few, with more than α/2."""

    def tail(ones, draws):
        ways = sum(
            math.comb(ones, k) * math.comb(size - ones, m - k) for k in range(max(draws, 0), m + 1)
        )
        return Fraction(ways, math.comb(size, m))

    limit = Fraction(alpha) / 2
    possible = range(s, size - (m - s) + 1)
    least = next(k for k in possible if tail(k, s) > limit)
    most = next(k for k in reversed(possible) if 1 - tail(k, s + 1) > limit)
    return least / size, most / size


def bounded(rewards, alpha, best_at):
    """Return the ends in [0, 1] by both tests, each of a side of a test at α/4."""
    from scipy.integrate import quad

    m, limit = len(rewards), math.log(4 / alpha)
    level = 2 * math.log(4 / alpha)
    rho = best_at / (level + math.log1p(level))

    def rejected(y, x):
        """Whether the mean y is too small for rewards x."""
        mean = math.fsum(x) / m
        if mean <= y:
            return False
        kl = mean * math.log(mean / y) if y else math.inf
        kl += (1 - mean) * math.log((1 - mean) / (1 - y)) if mean < 1 else 0.0
        if m * kl >= limit:
            return True
        # The mixture of exp(λS - ψ(λ)V) over 0 < λ < 1, in units of max(y, ½).
        unit = max(y, 0.5)
        s = math.fsum(v - y for v in x) / unit
        v = math.fsum((v - y) ** 2 for v in x) / unit**2

        def log_part(lam, s, v):
            return lam * s + (v + rho) * (math.log1p(-lam) + lam) - math.log1p(-lam)

        scale = max(log_part(k / 2000, s, v) for k in range(2000))

        def total(s, v, scale):
            return quad(
                lambda lam: math.exp(log_part(lam, s, v) - scale), 0, 1, limit=200, epsabs=1e-13
            )[0]

        return scale + math.log(total(s, v, scale) / total(0.0, 0.0, 0.0)) >= limit

    def end(x):
        low, high = 0.0, math.fsum(x) / m
        for _ in range(30):
            middle = (low + high) / 2
            if rejected(middle, x):
                low = middle
            else:
                high = middle
        return low

    return end(rewards), 1 - end([1 - x for x in rewards])
