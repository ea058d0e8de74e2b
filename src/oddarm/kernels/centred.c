/* The centred Beta mixture; `oddarm.bounds.centred_beta` says what it is. */
#include "kernels.h"

/* Weight of the centred prior: a larger one is tighter for arms with many pulls, looser for few. */
#define RHO 4.0
/* The Beta(1/2, 1/2) prior has a tenth of the stake. */
#define LOG_CENTRED (-0.10536051565782631) /* log(1 - 0.1) */
#define LOG_JEFFREYS (-2.3025850929940455) /* log(0.1) */
#define CLOSE 1e-9 /* how far apart in logits a rejected rate and one that is kept may be */
#define LOG_PI 1.1447298858494002
#define HALF_LOG_2PI 0.9189385332046727

/* r(z) for z > 0: what Stirling's formula leaves out. For small z it is found from that of a
 * larger one, by the product of the numbers in between. */
static double remainder_of(double z)
{
    double total = 0.0;
    if (z < 8.0) {
        const double start = z;
        double product = 1.0;
        for (; z < 8.0; z += 1.0)
            product *= z;
        total = (z - 0.5) * log(z) - (start - 0.5) * log(start) - log(product) - (z - start);
    }
    const double inverse = 1.0 / z;
    const double square = inverse * inverse;
    const double series = 1.0 / 12 - square * (1.0 / 360 - square * (1.0 / 1260 - square / 1680));
    return total + inverse * series;
}

/* log M(p) of the centred prior. */
double centred_capital(double s, double m, double p)
{
    const double q = 1.0 - p;
    const double kappa = RHO / (4.0 * p * q);
    const double a = kappa * p, b = kappa * q;
    const double up = s + a, down = m - s + b, all = m + kappa;
    /* relative excess of the posterior mean over p, and of its complement over 1-p */
    const double over = log1p((s - m * p) / (all * p));
    const double under = log1p((m * p - s) / (all * q));
    double value = up * over + down * under - 0.5 * (over + under + log1p(m / kappa));
    value += remainder_of(up) + remainder_of(down) - remainder_of(all);
    return value - remainder_of(a) - remainder_of(b) + remainder_of(kappa);
}

/* log M(p) of the Beta(1/2, 1/2) prior, less m KL(s/m, p). */
static double jeffreys_base(double s, double m)
{
    double total = -LOG_PI - 0.5 * log(m) - remainder_of(m) + HALF_LOG_2PI;
    for (int side = 0; side < 2; side++) {
        const double z = side == 0 ? s : m - s;
        total += z > 0.0 ? z * log1p(0.5 / z) - 0.5 : -0.5;
        total += remainder_of(z + 0.5);
    }
    return total;
}

/* The log of the whole capital against p, with what `jeffreys_base` gives. */
static double whole_capital(double s, double m, double p, double base)
{
    double divergence = 0.0;
    if (s > 0.0)
        divergence += s * log(s / (m * p));
    if (s < m)
        divergence += (m - s) * log((m - s) / (m * (1.0 - p)));
    const double centred = LOG_CENTRED + centred_capital(s, m, p);
    const double jeffreys = LOG_JEFFREYS + divergence + base;
    const double most = most_of(centred, jeffreys);
    return most + log1p(exp(least_of(centred, jeffreys) - most));
}

/* The log of the whole capital against 0 < p < 1 after s successes in m >= 1 pulls. */
double log_capital(double s, double m, double p)
{
    return whole_capital(s, m, p, jeffreys_base(s, m));
}

static double logit(double p) { return log(p / (1.0 - p)); }

/* Find the lower or upper end; false if no rate that can be told from 0 or 1 is rejected.
 *
 * Away from the centre the log capital grows from `floor` about as a square, so its root is nearly
 * straight, for rare events too if it is seen over the logit of the rate: regula falsi (Illinois)
 * on that needs few steps. What is returned is a rate that is rejected, next to one that is not. */
static bool find_end(double s, double m, double level, double base, double centre, double floor,
    bool upper, double *end)
{
    const double target = sqrt(level - floor), side = upper ? 1.0 : -1.0;
    const double reach = target * sqrt(2.0 * (centre * (1.0 - centre) + level / m) / m);
    double inside = logit(centre), outside = side * logit(1.0 - 1e-15);
    double low = -target, high = INFINITY;
    double rate = centre + side * reach; /* a guess from the normal approximation */
    double guess = rate > 0.0 && rate < 1.0
                       ? logit(rate)
                       : inside + side * (1.0 + target * target / (upper ? m - s : s));
    int last = 0; /* 1 if `outside` was moved last, -1 if `inside` */
    *end = upper;
    for (int step = 0; step < 100; step++) {
        if (!(least_of(inside, outside) < guess && guess < most_of(inside, outside)))
            guess = (inside + outside) / 2;
        rate = 1.0 / (1.0 + exp(-guess));
        const double capital = whole_capital(s, m, rate, base);
        const double height = sqrt(most_of(capital - floor, 0.0)) - target;
        if (capital >= level) {
            *end = rate;
            outside = guess;
            high = height;
            low *= last > 0 ? 0.5 : 1.0;
            last = 1;
        } else {
            inside = guess;
            low = height;
            high *= last < 0 ? 0.5 : 1.0;
            last = -1;
        }
        const double width = inside - outside;
        if (fabs(width) <= CLOSE)
            break;
        if (high == INFINITY) {
            guess += 0.5 * (guess - logit(centre));
            continue;
        }
        /* Never nearer to either end than needed, so that the two soon are close to each other. */
        const double hair = 0.5 * CLOSE / fabs(width);
        guess = outside + width * least_of(most_of(high / (high - low), hair), 1.0 - hair);
    }
    return high < INFINITY;
}

void centred_interval(double s, double m, double level, double *low, double *high)
{
    const double centre = least_of(most_of(s / m, 1e-12), 1.0 - 1e-12);
    const double base = jeffreys_base(s, m), floor = whole_capital(s, m, centre, base);
    double end;
    *low = 0.0;
    *high = 1.0;
    if (s > 0.0 && find_end(s, m, level, base, centre, floor, false, &end))
        *low = end;
    if (s < m && find_end(s, m, level, base, centre, floor, true, &end))
        *high = end;
}

/* The same, as Python calls it: both ends in one array. */
void centred_ends(double s, double m, double level, double *ends)
{
    centred_interval(s, m, level, &ends[0], &ends[1]);
}

/* The ends of every arm; all of [0, 1] for an arm without pulls. */
void centred_intervals(
    const double *totals, const int64_t *counts, int64_t n, double level, double *low, double *high)
{
    for (int64_t arm = 0; arm < n; arm++) {
        low[arm] = 0.0;
        high[arm] = 1.0;
        if (counts[arm] > 0)
            centred_interval(totals[arm], (double)counts[arm], level, &low[arm], &high[arm]);
    }
}
