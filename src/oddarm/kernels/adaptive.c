/* The adaptive strategy on simulated 0/1 rewards: rounds drawn and intervals kept. */
#include "kernels.h"

/* How many of `count` rewards from number `first` on are 1: as `draw` has it, but in whole numbers
 * alone, so that several are drawn at once. */
WIDE(int64_t, ones, (uint64_t start, uint64_t increment, int64_t first, int64_t count, double mean),
    (start, increment, first, count, mean))
{
    const int64_t below = draw_limit(mean);
    uint64_t word = start + (uint64_t)first * increment;
    int64_t drawn_ones = 0;
    for (int64_t k = 0; k < count; k++) {
        drawn_ones += mixed(word) < below;
        word += increment;
    }
    return drawn_ones;
}

/* Pull what the round asks for, at most `limit` rewards; return how many. */
int64_t adaptive_draw(int64_t n, int64_t *counts, double *totals, int64_t *quota, bool *dirty,
    const uint64_t *starts, const uint64_t *increments, const double *rates, int64_t limit)
{
    int64_t pulls = 0;
    for (int64_t arm = 0; arm < n; arm++) {
        const int64_t left = limit - pulls;
        const int64_t count = quota[arm] < left ? quota[arm] : left;
        if (count <= 0)
            continue;
        const int64_t next = counts[arm] + 1;
        totals[arm] += (double)ones(starts[arm], increments[arm], next, count, rates[arm]);
        counts[arm] += count;
        quota[arm] -= count;
        dirty[arm] = true;
        pulls += count;
    }
    return pulls;
}

/* Bring the intervals up to date, as the run itself would; `needed` is the log capital at which an
 * interval ends. */
void adaptive_refresh(int64_t n, const int64_t *counts, const double *totals, bool *dirty,
    double needed, double *low, double *high, double *means)
{
    for (int64_t arm = 0; arm < n; arm++) {
        if (!dirty[arm])
            continue;
        dirty[arm] = false;
        double now_low, now_high;
        centred_interval(totals[arm], (double)counts[arm], needed, &now_low, &now_high);
        if (most_of(now_low, low[arm]) <= least_of(now_high, high[arm])) {
            now_low = most_of(now_low, low[arm]);
            now_high = least_of(now_high, high[arm]);
        }
        low[arm] = now_low;
        high[arm] = now_high;
        means[arm] = least_of(most_of(totals[arm] / (double)counts[arm], now_low), now_high);
    }
}
