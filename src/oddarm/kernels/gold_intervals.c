/* The interval form of GOLD on simulated 0/1 rewards. */
#include "kernels.h"

/* Find the stretches, within which arms are pulled in wide vectors; return how many. */
static int64_t find_stretches(const struct sweeps *run)
{
    int64_t count = 0;
    for (int64_t x = 0; x < run->size; x++) {
        const int64_t i = run->arms[x];
        if (!count || run->until[count - 1] != i)
            run->since[count++] = i;
        run->until[count - 1] = i + 1;
    }
    return count;
}

/* Pull each arm of a stretch for the m-th time, and shrink its interval; none becomes empty. */
WIDE(void, pull, (const struct sweeps *run, int64_t since, int64_t until, int64_t m, double reach),
    (run, since, until, m, reach))
{
    const int64_t *restrict limits = run->limits;
    const uint64_t *restrict starts = run->starts, *restrict increments = run->increments;
    double *restrict totals = run->totals, *restrict low = run->low, *restrict high = run->high;
    const uint64_t index = (uint64_t)m;
    const double pulls = (double)m;
    for (int64_t i = since; i < until; i++) {
        totals[i] += mixed(starts[i] + index * increments[i]) < limits[i] ? 1.0 : 0.0;
        const double y = totals[i] / pulls;
        const double below = least_of(most_of(low[i], y - reach), high[i]);
        const double above = most_of(least_of(high[i], y + reach), below);
        low[i] = below;
        high[i] = above;
    }
}

/* Fill in where each chain begins and ends; return whether all its arms overlap. */
static bool ends(const struct sweeps *run)
{
    const double *low = run->low, *high = run->high;
    int64_t part = -1;
    for (int64_t x = 0; x < run->length; x++) {
        const int64_t i = run->chain[x];
        if (part + 1 < run->chains && run->first[part + 1] == x) {
            part++;
            run->begin[part] = low[i];
            run->end[part] = high[i];
            continue;
        }
        const int64_t j = run->chain[x - 1];
        if (low[i] > high[j] || low[j] > high[i])
            return false;
        run->begin[part] = least_of(run->begin[part], low[i]);
        run->end[part] = most_of(run->end[part], high[i]);
    }
    return true;
}

/* Whether every arm of a stretch overlaps one chain. */
WIDE(bool, overlap,
    (const struct sweeps *run, int64_t since, int64_t until, double begin, double end),
    (run, since, until, begin, end))
{
    const double *restrict low = run->low, *restrict high = run->high;
    int64_t beyond = 0;
    for (int64_t i = since; i < until; i++)
        beyond |= (low[i] > end) | (high[i] < begin);
    return !beyond;
}

/* Whether every arm of a stretch overlaps a chain. */
static bool touched(const struct sweeps *run, int64_t since, int64_t until)
{
    for (int64_t i = since; i < until; i++) {
        int64_t left = 0, right = run->chains - 1;
        while (left < right) { /* the first chain that ends beyond the lower end of i */
            const int64_t middle = (left + right) / 2;
            if (run->end[middle] < run->low[i])
                left = middle + 1;
            else
                right = middle;
        }
        if (run->low[i] > run->end[left] || run->high[i] < run->begin[left])
            return false;
    }
    return true;
}

/* Pull arms in turn and shrink their intervals until a community may have split. Return whether
 * none has: the chains hold, and every arm in play overlaps one. */
bool interval_sweeps(struct sweeps *run)
{
    const int64_t *since = run->since, *until = run->until;
    const int64_t stretches = find_stretches(run);
    const double r = run->r;
    int64_t m = run->counts[since[0]];
    bool holds = true;
    for (run->made = 0; run->made < run->rounds && holds; run->made++) {
        m++;
        const double log_ratio = log(((double)m + r) / r) + run->level;
        const double reach = run->b * (run->sigma * sqrt(((double)m + r) * log_ratio) / (double)m);
        for (int64_t x = 0; x < stretches; x++)
            pull(run, since[x], until[x], m, reach);
        holds = ends(run);
        for (int64_t x = 0; holds && x < stretches; x++)
            holds = overlap(run, since[x], until[x], run->begin[0], run->end[0]) ||
                    (run->chains > 1 && touched(run, since[x], until[x]));
    }
    for (int64_t x = 0; x < stretches; x++)
        for (int64_t i = since[x]; i < until[x]; i++)
            run->counts[i] = m;
    return holds;
}
