/* Blocks of arms known only by intervals (blocks.c), as far as groups.c needs them. */
#ifndef ODDARM_BLOCKS_H
#define ODDARM_BLOCKS_H

#include "kernels.h"

/* The least factor by which a plan raises an arm's pulls: timid steps make endless plans. */
#define BOLD 1.25

/* What a plan starts from: intervals, estimates and pulls of n arms, and what is known of the
 * evidence of pairs; see `certify`. */
struct outlook {
    int64_t n;
    const double *low, *high, *means, *counts;
    const int64_t *by_mean;
    const double *pairs; /* NULL if there is no such evidence */
};

/* Take memory off the room for work, for `count` numbers of 8 bytes. */
static inline void *take(char **room, int64_t count)
{
    void *taken = *room;
    *room += 8 * count;
    return taken;
}

static inline double *zeros(char **room, int64_t count)
{
    return memset(take(room, count), 0, (size_t)count * sizeof(double));
}

static inline void copy(double *target, const double *values, int64_t count)
{
    memcpy(target, values, (size_t)count * sizeof *target);
}

EXPORT void resort(int64_t *order, const double *keys, int64_t n);
void shrink(const struct outlook *arms, const double *factors, double *known, double *now_low,
    double *now_high);
double planned_pulls(const struct outlook *arms, const double *factors);
void certify(const struct outlook *arms, int64_t begin, int64_t at, int64_t to, int64_t end,
    double gap, double *factors);
double cheapest_filler(const struct outlook *arms, const bool *barred, const double *factors,
    double start, double length, double *wanted);

/* The log capital at which bets reject a pair of neighbours: bets on all scales, and those on the
 * scale of a gap of at least this width (pairs.c). */
double level_of_order(int64_t n, double delta);
double level_of_gap(double gap, int64_t n, double delta);

#endif
