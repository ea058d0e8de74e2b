/* What the kernels share. Arrays are those of numpy: contiguous, of doubles, of 64-bit whole
 * numbers or of booleans of one byte. No kernel allocates memory, keeps state between calls or
 * knows of Python; its working memory is an array of the caller. */
#ifndef ODDARM_KERNELS_H
#define ODDARM_KERNELS_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "oddarm.h"

/* WIDE(result, name, (parameters), (their names)) { … } is a static function of a file whose loops
 * gain by wide vectors: it is compiled twice, and the processor decides which version runs. Nothing
 * is fused or summed in another order, so results are the same to the last bit. Attributes that let
 * the linker choose (target_clones) are not for every system and compiler; a branch is. */
#if defined(__x86_64__)
extern bool has_avx2; /* set when the library is loaded (processor.c) */
#define WIDE(result, name, parameters, names)                                                      \
    static inline __attribute__((always_inline)) result name##_body parameters;                    \
    static __attribute__((noinline, target("avx2"))) result name##_avx2 parameters                 \
    {                                                                                              \
        return name##_body names;                                                                  \
    }                                                                                              \
    static __attribute__((noinline)) result name##_plain parameters { return name##_body names; }  \
    static inline result name parameters                                                           \
    {                                                                                              \
        return has_avx2 ? name##_avx2 names : name##_plain names;                                  \
    }                                                                                              \
    static inline __attribute__((always_inline)) result name##_body parameters
#else
#define WIDE(result, name, parameters, names) static result name parameters
#endif

static inline double least_of(double a, double b) { return b < a ? b : a; }
static inline double most_of(double a, double b) { return b > a ? b : a; }
static inline double squared(double x) { return x * x; }

/* 53 bits of a word of an arm's stream, as `oddarm.sources.simulated` makes them. */
static inline int64_t mixed(uint64_t word)
{
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
    word = word ^ (word >> 31);
    return (int64_t)(word >> 11);
}

/* What the bits of a reward of 1 are below: bits · 2⁻⁵³ < mean, in whole numbers. */
static inline int64_t draw_limit(double mean) { return (int64_t)ceil(mean * 0x1p53); }

/* Whether reward number `index` (from 1) of a Bernoulli arm is 1. */
static inline bool draw(uint64_t start, uint64_t increment, int64_t index, double mean)
{
    return (double)mixed(start + (uint64_t)index * increment) * 0x1p-53 < mean;
}

/* What rounds along paths return if no arm lacks a path. */
enum { ENOUGH = -1, OVER = -2 };

/* Pull the next arm of the round; return it, or -1 if its path is used up. */
static inline int64_t pull_next(struct paths *paths)
{
    const int64_t arm = paths->queue[paths->next];
    if (paths->taken[arm] == paths->made[arm])
        return -1;
    const int64_t at = arm * paths->width + paths->taken[arm]++;
    paths->totals[arm] = paths->ahead_totals[at];
    paths->low[arm] = paths->ahead_low[at];
    paths->high[arm] = paths->ahead_high[at];
    paths->counts[arm]++;
    paths->pulls++;
    paths->next++;
    return arm;
}

/* The ends for s successes in m >= 1 pulls, at log(1/alpha) = level: intersected with what `low`
 * and `high` were, unless that is empty (jeffreys.c), or as of now alone (centred.c). */
void jeffreys_intersect(double s, double m, double level, double *low, double *high);
void centred_interval(double s, double m, double level, double *low, double *high);

#endif
