/* The adaptive strategy on simulated 0/1 rewards: rounds drawn and intervals kept. */
#include "kernels.h"

/* How many of `some` rewards from number `first` on are 1: as `draw` has it, but in whole numbers
 * alone, so that several are drawn at once. */
WIDE static int64_t ones(
    uint64_t start, uint64_t increment, int64_t first, int64_t some, double mean)
{
    const int64_t below = draw_limit(mean);
    uint64_t word = start + (uint64_t)first * increment;
    int64_t found = 0;
    for (int64_t k = 0; k < some; k++) {
        found += mixed(word) < below;
        word += increment;
    }
    return found;
}

/* Pull what the round asks for, at most `limit` rewards; return how many. */
int64_t adaptive_draw(int64_t n, int64_t *counts, double *totals, int64_t *quota, bool *dirty,
    const uint64_t *starts, const uint64_t *increments, const double *rates, int64_t limit)
{
    int64_t pulls = 0;
    for (int64_t arm = 0; arm < n; arm++) {
        const int64_t left = limit - pulls;
        const int64_t some = quota[arm] < left ? quota[arm] : left;
        if (some <= 0)
            continue;
        const int64_t next = counts[arm] + 1;
        totals[arm] += (double)ones(starts[arm], increments[arm], next, some, rates[arm]);
        counts[arm] += some;
        quota[arm] -= some;
        dirty[arm] = true;
        pulls += some;
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
        double one, two;
        centred_interval(totals[arm], (double)counts[arm], needed, &one, &two);
        if (most_of(one, low[arm]) <= least_of(two, high[arm])) {
            one = most_of(one, low[arm]);
            two = least_of(two, high[arm]);
        }
        low[arm] = one;
        high[arm] = two;
        means[arm] = least_of(most_of(totals[arm] / (double)counts[arm], one), two);
    }
}
