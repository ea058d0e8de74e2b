/* Calls a wheel's library where there is no Python for it, and prints what it computes to the last
 * bit: rewards of simulated arms, and intervals of their means. */
#include <stdio.h>

#include "oddarm.h"

enum { ARMS = 40, PULLS = 1000 };

int main(void)
{
    int64_t counts[ARMS] = {0}, quota[ARMS], arms[ARMS];
    double totals[ARMS] = {0}, rates[ARMS], low[ARMS], high[ARMS], ends[2];
    bool dirty[ARMS] = {0};
    uint64_t starts[ARMS], increments[ARMS];
    for (int i = 0; i < ARMS; i++) {
        arms[i] = i;
        quota[i] = PULLS + i;
        rates[i] = (i + 0.5) / ARMS;
        starts[i] = 0x9E3779B97F4A7C15u * (uint64_t)(i + 1);
        increments[i] = starts[i] | 1;
        low[i] = 0.0;
        high[i] = 1.0;
    }
    const int64_t drawn = adaptive_draw(
        ARMS, counts, totals, quota, dirty, starts, increments, rates, ARMS * (PULLS + ARMS));
    printf("%lld rewards\n", (long long)drawn);
    jeffreys_narrow(totals, counts, arms, ARMS, 5.0, low, high);
    for (int i = 0; i < ARMS; i++) {
        centred_ends(totals[i], (double)counts[i], 5.0, ends);
        printf("%.0f of %lld: %a %a, %a %a\n", totals[i], (long long)counts[i], low[i], high[i],
            ends[0], ends[1]);
    }
    return 0;
}
