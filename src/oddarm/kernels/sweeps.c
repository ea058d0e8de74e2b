/* One sweep over the arms in play on simulated 0/1 rewards. */
#include "kernels.h"

/* Pull each of some arms once. */
void sweep_pull(const int64_t *arms, int64_t size, int64_t *counts, double *totals,
    const double *means, const uint64_t *starts, const uint64_t *increments)
{
    for (int64_t x = 0; x < size; x++) {
        const int64_t i = arms[x];
        counts[i]++;
        totals[i] += draw(starts[i], increments[i], counts[i], means[i]);
    }
}
