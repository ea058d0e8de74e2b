/* What the kernels share. Arrays are those of numpy: contiguous, of doubles, of 64-bit whole
 * numbers or of booleans of one byte. No kernel allocates memory, keeps state between calls or
 * knows of Python; its working memory is an array of the caller. */
#ifndef ODDARM_KERNELS_H
#define ODDARM_KERNELS_H

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "oddarm.h"

/* For loops that gain by wide vectors: compiled also for processors that have them, and chosen
 * when the library is loaded. Results are the same to the last bit. Not with clang, which may lack
 * the code that detects the processor. */
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(__clang__)
#define WIDE __attribute__((target_clones("avx2", "default")))
#else
#define WIDE
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

/* The ends for s successes in m >= 1 pulls, at log(1/alpha) = level: intersected with what `low`
 * and `high` were, unless that is empty (jeffreys.c), or as of now alone (centred.c). */
void jeffreys_intersect(double s, double m, double level, double *low, double *high);
void centred_interval(double s, double m, double level, double *low, double *high);

#endif
