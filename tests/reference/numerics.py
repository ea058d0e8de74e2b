"""What the kernels compute, in plain Python and in the same order of operations."""

import math

# Wichura's AS 241 (PPND16): numerators and denominators, highest power first.
_CENTRE_NUM = (
    2.5090809287301226727e3,
    3.3430575583588128105e4,
    6.7265770927008700853e4,
    4.5921953931549871457e4,
    1.3731693765509461125e4,
    1.9715909503065514427e3,
    1.3314166789178437745e2,
    3.3871328727963666080e0,
)
_CENTRE_DEN = (
    5.2264952788528545610e3,
    2.8729085735721942674e4,
    3.9307895800092710610e4,
    2.1213794301586595867e4,
    5.3941960214247511077e3,
    6.8718700749205790830e2,
    4.2313330701600911252e1,
    1.0,
)
_MIDDLE_NUM = (
    7.74545014278341407640e-4,
    2.27238449892691845833e-2,
    2.41780725177450611770e-1,
    1.27045825245236838258e0,
    3.64784832476320460504e0,
    5.76949722146069140550e0,
    4.63033784615654529590e0,
    1.42343711074968357734e0,
)
_MIDDLE_DEN = (
    1.05075007164441684324e-9,
    5.47593808499534494600e-4,
    1.51986665636164571966e-2,
    1.48103976427480074590e-1,
    6.89767334985100004550e-1,
    1.67638483018380384940e0,
    2.05319162663775882187e0,
    1.0,
)
_TAIL_NUM = (
    2.01033439929228813265e-7,
    2.71155556874348757815e-5,
    1.24266094738807843860e-3,
    2.65321895265761230930e-2,
    2.96560571828504891230e-1,
    1.78482653991729133580e0,
    5.46378491116411436990e0,
    6.65790464350110377720e0,
)
_TAIL_DEN = (
    2.04426310338993978564e-15,
    1.42151175831644588870e-7,
    1.84631831751005468180e-5,
    7.86869131145613259100e-4,
    1.48753612908506148525e-2,
    1.36929880922735805310e-1,
    5.99832206555887937690e-1,
    1.0,
)


def erfcinv(x: float) -> float:
    """Return z with erfc(z) = x, for 0 < x ≤ 1, to about 1 part in 10^15.

    Only log and sqrt are called, so that compiled and interpreted code agree to the last bit.
    """
    tail = 0.5 * x  # erfc(z) = x  ⇔  Φ(-√2 z) = x/2
    centre = 0.5 - tail
    factor = 1.0
    if centre <= 0.425:
        r = 0.180625 - centre * centre
        top, bottom = _CENTRE_NUM, _CENTRE_DEN
        factor = centre
    else:
        r = math.sqrt(-math.log(tail))
        if r <= 5.0:
            r -= 1.6
            top, bottom = _MIDDLE_NUM, _MIDDLE_DEN
        else:
            r -= 5.0
            top, bottom = _TAIL_NUM, _TAIL_DEN
    numerator = 0.0
    denominator = 0.0
    for coefficient in top:
        numerator = numerator * r + coefficient
    for coefficient in bottom:
        denominator = denominator * r + coefficient
    return factor * numerator / denominator / math.sqrt(2.0)


_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
# The same for one arm, in plain arithmetic, as in jeffreys.c. What Stirling's formula leaves out is
# tabulated for small counts: log Γ(z+½) - (z log z - z + ½ log 2π), and the like for log Γ(z).

_HALF_REMAINDERS = tuple(
    math.lgamma(z + 0.5) - ((z * math.log(z) if z else 0.0) - z + _HALF_LOG_2PI) for z in range(16)
)
_REMAINDERS = (
    0.0,
    *(math.lgamma(z) - ((z - 0.5) * math.log(z) - z + _HALF_LOG_2PI) for z in range(1, 16)),
)


def jeffreys_interval(s: float, m: float, level: float) -> tuple[float, float]:
    """Return the ends for s successes in m ≥ 1 pulls with the prior ½, at log(1/α) = level."""
    f = m - s
    part = 0.0
    for z in (s, f):
        if z < 16.0:
            part += _HALF_REMAINDERS[int(z)]
        else:
            inverse = 1.0 / z
            square = inverse * inverse
            part += inverse * (-1 / 24 + square * (7 / 2880 - square * 31 / 40320))
    if m < 16.0:
        part -= _REMAINDERS[int(m)]
    else:
        inverse = 1.0 / m
        square = inverse * inverse
        part -= inverse * (1 / 12 - square * (1 / 360 - square / 1260))
    evidence = part - 0.5 * math.log(m) + _HALF_LOG_2PI - math.log(math.pi)
    tau = (level - evidence) / m
    p, q = s / m, f / m
    up, down = 0.0, 0.0
    for side in range(2):  # as `kl_deviation`, first upwards, then downwards
        a, b = (p, q) if side == 0 else (q, p)
        d = 0.0
        if b > 0.0:
            entropy = -a * math.log(a) if a > 0.0 else 0.0
            d = -b * math.expm1(-(tau + entropy) / b)
            d = min(d, math.sqrt(tau / 2), tau + math.sqrt(tau * (tau + 2 * a)), b)
            for _ in range(40):
                if d >= b:
                    break
                value = -b * math.log1p(-d / b) - tau
                if a > 0.0:
                    value -= a * math.log1p(d / a)
                step = value * (a + d) * (b - d) / d
                if not step > 1e-14 * d:
                    break
                d -= step
        if side == 0:
            up = d
        else:
            down = d
    return p - down, min(p + up, 1.0)
