/* What blocks.c, pairs.c and plans.c offer to each other; oddarm.h has the structs. */
#ifndef ODDARM_BLOCKS_H
#define ODDARM_BLOCKS_H

#include "kernels.h"

/* How large the steps of a plan are: timid steps make endless plans. */
struct stride {
    double bold;  /* the least factor by which a step raises an arm's pulls */
    double inset; /* how far inside a gap, in parts of its length, an arm must lie to fill it */
    int64_t more; /* how many arms beyond those needed are to lie inside a rival */
};

/* Take memory for `count` numbers of 8 bytes. */
static inline void *take(char **work, int64_t count)
{
    void *taken = *work;
    *work += 8 * count;
    return taken;
}

static inline double *zeros(char **work, int64_t count)
{
    return memset(take(work, count), 0, (size_t)count * sizeof(double));
}

static inline void copy(double *target, const double *values, int64_t count)
{
    memcpy(target, values, (size_t)count * sizeof *target);
}

/* What it costs to raise the factor of an arm from one number to another.
 *
 * Where pools end, the squared width of an interval shrinks with 1/m - 1/N, for m of N rewards:
 * to divide it by F takes m N F / (N - m + m F) rewards in all, never more than N. */
static inline double price(const struct arms *arms, int64_t arm, double from, double to)
{
    const double pulls = arms->pulls[arm];
    if (!arms->left || !(to < INFINITY))
        return pulls * (to - from);
    const double left = arms->left[arm], size = pulls + left;
    const double both = (left + pulls * from) * (left + pulls * to);
    return pulls * left * size * (to - from) / both;
}

/* An arm that is to fill a gap, to what factor its pulls must grow, and what that costs: infinite,
 * and no arm, if none can. */
struct filler {
    int64_t arm;
    double factor, cost;
};

/* blocks.c */
void move_arm(int64_t *order, double *keys, int64_t n, int64_t arm, double key);
int64_t further_members(const struct arms *arms, const struct rules *rules);
bool rival(const struct arms *arms, const struct rules *rules, double tau, double begin, double end,
    double top, double bottom, double found[2], char *work);

/* pairs.c: the log capital at which bets reject a pair of neighbours; bets on all scales, and those
 * on the scale of a gap of at least this width. */
double order_evidence(int64_t n, double delta);
double gap_evidence(double gap, int64_t n, double delta);

/* plans.c */
struct stride stride_at(const struct rules *rules, int64_t step);
void shrink_arm(
    const struct arms *arms, int64_t arm, double factor, double *now_low, double *now_high);
double planned_pulls(const struct arms *arms, const double *factors);
void certify(const struct arms *arms, const struct rules *rules, int64_t begin, int64_t at,
    int64_t to, int64_t end, double gap, double *factors);
struct filler cheapest_filler(const struct arms *arms, const struct stride *stride,
    const bool *barred, const double *factors, double start, double length);

#endif
