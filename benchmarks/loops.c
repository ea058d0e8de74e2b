/* The plain loops that others are measured against. */
#include "../src/oddarm/kernels/kernels.h"

/* Draw the rewards of arms in turn and add them up, nothing else; the compiler vectorises it. A
 * reward is 1 if its bits are below the limit of its arm. */
EXPORT void draw_only(const int64_t *restrict limits, const uint64_t *restrict starts,
    const uint64_t *restrict increments, int64_t *restrict totals, int64_t n, int64_t sweeps)
{
    for (int64_t k = 1; k <= sweeps; k++)
        for (int64_t i = 0; i < n; i++)
            totals[i] += mixed(starts[i] + (uint64_t)k * increments[i]) < limits[i];
}

/* Compute something for a while. */
EXPORT uint64_t spin(int64_t turns)
{
    uint64_t word = 1;
    for (int64_t k = 0; k < turns; k++)
        word = (word ^ (word >> 7)) * 0x94D049BB133111EBu + (uint64_t)k;
    return word;
}
