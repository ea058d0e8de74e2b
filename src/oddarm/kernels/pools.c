/* The beta-binomial interval of finite pools; see `oddarm.bounds.pool_beta`. */
#define _DEFAULT_SOURCE /* for lgamma_r */
#include "kernels.h"

/* log Gamma(x) for x > 0. */
static double log_gamma(double x)
{
#if defined(__GLIBC__)
    int sign; /* lgamma itself keeps it in a variable that threads share */
    return lgamma_r(x, &sign);
#else
    return lgamma(x);
#endif
}

/* The last number of ones that is kept between `inside` (kept) and `outside` (not). */
static double last_kept(
    double size, double s, double f, double limit, double inside, double outside)
{
    while (fabs(outside - inside) > 1.0) {
        const double k = trunc((inside + outside) / 2);
        double ratio = log_gamma(k - s + 1.0) - log_gamma(k + 1.0);
        ratio += log_gamma(size - k - f + 1.0) - log_gamma(size - k + 1.0);
        if (ratio < limit)
            inside = k;
        else
            outside = k;
    }
    return inside;
}

/* The ends for s ones in m draws of a pool, at log(1/alpha) = level. */
static void pool_interval(
    double s, double m, double size, double level, double prior, double *low, double *high)
{
    const double f = m - s;
    double limit = level + 2.0 * log_gamma(prior) - log_gamma(2.0 * prior);
    limit += log_gamma(m + 2.0 * prior) - log_gamma(s + prior) - log_gamma(f + prior);
    limit += log_gamma(size - m + 1.0) - log_gamma(size + 1.0);
    const double fewest = s, most = size - f;
    double likeliest = floor((size + 1.0) * s / most_of(m, 1.0));
    likeliest = least_of(most_of(likeliest, fewest), most);
    *low = last_kept(size, s, f, limit, likeliest, fewest - 1.0) / size;
    *high = last_kept(size, s, f, limit, likeliest, most + 1.0) / size;
}

/* The same, as Python calls it: both ends in one array. */
void pool_ends(double s, double m, double size, double level, double prior, double *ends)
{
    pool_interval(s, m, size, level, prior, &ends[0], &ends[1]);
}

/* The ends of every arm. */
void pool_intervals(const double *totals, const int64_t *counts, const int64_t *pools, int64_t n,
    double level, double prior, double *low, double *high)
{
    for (int64_t arm = 0; arm < n; arm++)
        pool_interval(totals[arm], (double)counts[arm], (double)pools[arm], level, prior, &low[arm],
            &high[arm]);
}
