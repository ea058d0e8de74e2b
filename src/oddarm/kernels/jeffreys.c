/* The Beta(1/2, 1/2) mixture, to the last bit as `jeffreys_interval` in
 * tests/reference/numerics.py, which says what it is. */
#include "kernels.h"

#define LOG_PI 1.1447298858494002
#define HALF_LOG_2PI 0.9189385332046727

/* What Stirling's formula leaves out for counts z < 16: of log Gamma(z + 1/2) and of log Gamma(z).
 * They are the numbers that `beta_mixture` finds with Python's lgamma, with all their digits. */
static const double HALF_REMAINDERS[16] = {
    -0.34657359027997225,
    -0.039720770839918096,
    -0.020550023851643617,
    -0.01380179686192795,
    -0.010379406841792171,
    -0.00831412775645779,
    -0.006933288715863739,
    -0.005945339833131058,
    -0.0052036093423595275,
    -0.004626308433378412,
    -0.004164243741369589,
    -0.003786057419507216,
    -0.0034708187242316058,
    -0.003204023959952451,
    -0.0029753061292012717,
    -0.0027770586222146676,
};
static const double REMAINDERS[16] = {
    0.0,
    0.08106146679532733,
    0.04134069595540946,
    0.027677925684997717,
    0.02079067210376584,
    0.01664469118982126,
    0.013876128823072875,
    0.011896709945893313,
    0.010411265261973668,
    0.00925546218270945,
    0.008330563433359472,
    0.007573675487948961,
    0.00694284010720736,
    0.006408994188003447,
    0.0059513701127578145,
    0.0055547335519641194,
};

static double half_remainder(double z)
{
    if (z < 16.0)
        return HALF_REMAINDERS[(int)z];
    const double inverse = 1.0 / z;
    const double square = inverse * inverse;
    return inverse * (-1.0 / 24 + square * (7.0 / 2880 - square * 31 / 40320));
}

static double whole_remainder(double z)
{
    if (z < 16.0)
        return REMAINDERS[(int)z];
    const double inverse = 1.0 / z;
    const double square = inverse * inverse;
    return inverse * (1.0 / 12 - square * (1.0 / 360 - square / 1260));
}

/* d in [0, b] with KL(a, a + d) = divergence, for fractions a and b = 1 - a: as `kl_deviation` of
 * `beta_mixture`, by Newton's method from the right, so that it is never too small. */
static double deviation(double a, double b, double divergence)
{
    if (!(b > 0.0))
        return 0.0;
    const double entropy = a > 0.0 ? -a * log(a) : 0.0;
    double d = -b * expm1(-(divergence + entropy) / b);
    d = least_of(d, sqrt(divergence / 2));
    d = least_of(d, divergence + sqrt(divergence * (divergence + 2 * a)));
    d = least_of(d, b);
    for (int step = 0; step < 40 && !(d >= b); step++) {
        double value = -b * log1p(-d / b) - divergence;
        if (a > 0.0)
            value -= a * log1p(d / a);
        const double excess = value * (a + d) * (b - d) / d;
        if (!(excess > 1e-14 * d))
            break;
        d -= excess;
    }
    return d;
}

static void interval_of(double s, double m, double level, double *low, double *high)
{
    const double f = m - s;
    const double part = half_remainder(s) + half_remainder(f) - whole_remainder(m);
    const double evidence = part - 0.5 * log(m) + HALF_LOG_2PI - LOG_PI;
    const double tau = (level - evidence) / m;
    const double p = s / m, q = f / m;
    *low = p - deviation(q, p, tau);
    *high = least_of(p + deviation(p, q, tau), 1.0);
}

void jeffreys_intersect(double s, double m, double level, double *low, double *high)
{
    double low_now, high_now;
    interval_of(s, m, level, &low_now, &high_now);
    *low = most_of(low_now, *low);
    *high = least_of(high_now, *high);
    if (*low > *high) {
        *low = low_now;
        *high = high_now;
    }
}

/* Intersect the intervals of some arms so far with those of now. */
void jeffreys_narrow(const double *totals, const int64_t *counts, const int64_t *arms, int64_t some,
    double level, double *low, double *high)
{
    for (int64_t k = 0; k < some; k++) {
        const int64_t arm = arms[k];
        if (counts[arm] > 0)
            jeffreys_intersect(totals[arm], (double)counts[arm], level, &low[arm], &high[arm]);
    }
}

/* The intervals of one arm after each of its next pulls, each intersected with all before it;
 * `low[0]` and `high[0]` are the ends before the first of them. */
void jeffreys_path(const double *totals, const int64_t *counts, int64_t size, double level,
    double *low, double *high)
{
    for (int64_t k = 0; k < size; k++) {
        if (k > 0) {
            low[k] = low[k - 1];
            high[k] = high[k - 1];
        }
        jeffreys_intersect(totals[k], (double)counts[k], level, &low[k], &high[k]);
    }
}
