/* Everything that Python calls: the structs and the functions of the library.
 *
 * Arrays are those of numpy: contiguous, of doubles, of whole numbers or of booleans of one byte.
 * No function allocates memory or keeps state between calls. A test compares this file with what
 * Python says of it (tests/kernels/test_header.py). */
#ifndef ODDARM_H
#define ODDARM_H

#include <stdbool.h>
#include <stdint.h>

#if defined(_WIN32)
#define EXPORT __declspec(dllexport)
#else
#define EXPORT __attribute__((visibility("default")))
#endif

/* What is known of n arms; `Arms` in blocks.py has the same fields, and says what they are. */
struct arms {
    int64_t n;
    const double *low, *high, *means;
    const int64_t *by_low, *by_high, *by_mean;
    const bool *declared;
    const double *totals;
    const int64_t *counts;
    const double *scatter;                 /* NULL for 0/1 rewards */
    const double *pulls, *single_evidence; /* the last is NULL without the evidence of pairs */
    const double *left;                    /* NULL unless plans are for pools that end */
    char *work;
};

/* The rules of the problem; `Rules` in blocks.py has the same fields. */
struct rules {
    double gap_factor, floor;     /* 1 + epsilon, and the gap that a group must exceed */
    double sure_factor, sure_gap; /* the same with the slack, for a group to be confirmed */
    int64_t max_members, min_segment, neighbours;
    double pair_delta, joint_delta, caution;
    bool many_arms; /* whether plans are made in few steps */
};

/* What is to be certain; `Target` in plans.py has the same fields. */
struct target {
    const int64_t *cuts;
    int64_t cut_count, first, last;
    double gap;
    const int64_t (*windows)[2];
    int64_t window_count;
    double level;
};

/* The rewards of n arms, and which of them are known to lie apart; `Bulk` in pieces.py has the same
 * fields. */
struct bulk {
    int64_t n;
    const double *totals, *counts; /* told, or foreseen: they need not be whole */
    const double *scatter;         /* NULL for 0/1 rewards */
    const bool *member;
    double gap;
    int64_t max_members;
    char *work;
};

/* Whether arms are a group, by evidence against a whole truth; `Claim` in joint.py has the same
 * fields. */
struct claim {
    const bool *member;
    double log_odds, narrowest;
    int64_t parts, most_parts;
    double *found; /* NULL to decide; else rows of 10, one more than arms */
    double *memory;
};

/* What the radius of an arm is made of. */
struct rule {
    int64_t kind;
    double sigma, r, level; /* for PER_PULL, sigma also for HOEFFDING */
    double spent, parts; /* δ' = spent / (parts T²), for those that depend on T, the pulls in all */
};

/* A run, the arms, and working memory; as `_Gold` in strategies/gold/compiled.py. */
struct gold {
    int64_t n;
    uint8_t *edges; /* n rows of n */
    int64_t *stage, *score, *counts;
    double *totals;
    const double *means;
    const uint64_t *starts, *increments;
    int64_t position, pulls, stop_at;
    double b;
    int64_t max_members, enough;
    struct rule rule;

    uint8_t *path;  /* rows of BLOCK + 1: the 1s that an arm drew in the block up to each pull */
    double *share;  /* the least that the radius of an arm is, as a share of `reach`; 1s at first */
    int32_t *least; /* a lower bound of ŷ + bβ within the block, in units */
    int32_t *most;  /* an upper bound of ŷ - bβ */
    uint8_t *close; /* whether an edge of an arm could break within the block */
    int64_t *order; /* the arms in play, in the order of their pulls */
    int64_t *turn;  /* the place of each arm in `order` */
    int64_t *hub; /* the last common neighbour found for an arm and one that it lost; 0s at first */
    int64_t *times;         /* the pull at which a pair is parted; with memory for all pairs */
    int32_t *ones, *others; /* the two arms of that pair */
    int64_t *latest;        /* the last of the pairs that are parted at a pull of the block */
    int64_t *before;        /* the pair before it that is parted at the same pull */
    int64_t *queue;
    uint8_t *seen;
};

/* A run, the arms, and working memory; as `_Sweeps` in
 * strategies/gold/compiled_intervals.py. */
struct sweeps {
    int64_t *counts;
    double *totals;
    const int64_t *limits; /* a reward is 1 if its bits are below this */
    const uint64_t *starts, *increments;
    double *low, *high;
    double b, sigma, r, level;
    const int64_t *arms; /* in play, in ascending order */
    int64_t size;
    const int64_t *chain; /* the arms of all chains, and where in it each chain begins */
    int64_t length;
    const int64_t *first;
    int64_t chains;
    int64_t rounds, made; /* the most sweeps to make, and how many were made */

    int64_t *since, *until; /* stretches of arms in play that are next to each other */
    double *begin, *end;    /* of each chain */
};

/* A run, the arms, and working memory; as `_Visits` in strategies/sigma/compiled.py. */
struct visits {
    int64_t n, kind, position, pulls, stop_at;
    double k, delta, span, root, level, weight;
    bool weighted, over;
    int64_t *counts;
    double *totals, *low, *high;
    bool *overlap;
    double *quota; /* NULL without weights */
    const double *means;
    const uint64_t *starts, *increments;

    double *y, *m; /* mean and pulls of each arm */
    double *p, *part, *radius;
};

/* What the next pulls of simulated arms show, and the round that is being pulled; `Paths` in
 * strategies/paths.py has the same fields, and says what they are. */
struct paths {
    int64_t n, width, pulls, stop_at;
    int64_t *counts;
    double *totals, *low, *high;
    int64_t *taken, *made;
    const double *ahead_totals, *ahead_low, *ahead_high; /* n rows of `width` */
    int64_t *queue;                                      /* the arms of the round */
    int64_t size, next; /* how many there are, and which comes next */
};

/* Rounds of MaxGap, and working memory; as `_MaxGap` in strategies/maxgap/compiled.py. */
struct maxgap {
    int64_t values, dominance; /* the latter is 0 for runs that do not stop by counts */
    bool border;
    int64_t *order, *mirrored; /* the arms by lower end, and by upper end from the top */
    double *most;              /* the most that the gap beside each arm can be */
    double *downs, *ups;       /* minus the upper ends, minus the lower ends */
    double *starts, *least;
    int64_t *after;
    double *tree; /* twice as many numbers as arms */
};

/* Rounds of ROAI, and working memory; as `_Roai` in strategies/robust/compiled.py. */
struct roai {
    bool lucb;
    double scale;           /* of the MAD in the threshold */
    const uint64_t *stream; /* start and increment of the choices of ROAI-LUCB */
    double *y, *closest, *near, *far, *middle;
    int64_t *by_low, *by_high, *by_mean, *by_near, *by_far, *by_middle;
    bool *at_threshold, *at_median, *at_mad;
    bool *below;
};

/* numerics.c: z with erfc(z) = x, for 0 < x <= 1. */
EXPORT double erfcinv(double x);

/* centred.c: intervals of 0/1 rewards by a prior centred at each rate. */
EXPORT double centred_capital(double s, double m, double p);
EXPORT double log_capital(double s, double m, double p);
EXPORT void centred_ends(double s, double m, double level, double *ends);
EXPORT void centred_intervals(const double *totals, const int64_t *counts, int64_t n, double level,
    double *low, double *high);

/* jeffreys.c: intervals of 0/1 rewards by the prior of Jeffreys. */
EXPORT void jeffreys_narrow(const double *totals, const int64_t *counts, const int64_t *arms,
    int64_t some, double level, double *low, double *high);

EXPORT void jeffreys_path(const double *totals, const int64_t *counts, int64_t size, double level,
    double *low, double *high);

/* pools.c: intervals of finite pools of 0/1 rewards. */
EXPORT void pool_ends(double s, double m, double size, double level, double prior, double *ends);
EXPORT void pool_intervals(const double *totals, const int64_t *counts, const int64_t *pools,
    int64_t n, double level, double prior, double *low, double *high);

/* blocks.c: blocks of arms known by intervals. */
EXPORT void resort(int64_t *order, const double *keys, int64_t n);
EXPORT bool find_rival(const struct arms *arms, const struct rules *rules, double tau, double begin,
    double end, double top, double bottom, double found[2]);
EXPORT void find_gaps(const struct arms *arms, double *gaps);
EXPORT double best_block(const struct arms *arms, const struct rules *rules, const double *gaps,
    int64_t enough, int64_t block[2]);
EXPORT double best_windows(const struct arms *arms, const double *gaps, double level,
    int64_t (*windows)[2], int64_t wanted);
EXPORT void beside(const struct arms *arms, int64_t at, double gap, double sides[2]);

/* pairs.c: the evidence of two neighbours at once. */
EXPORT double certain_gap(const struct arms *known, int64_t at, double estimate, double delta);

/* pieces.c: evidence against every truth in which another arm lies apart. */
EXPORT bool nobody_else_apart(const struct bulk *bulk, double needed);
EXPORT bool plan_bulk(
    const struct bulk *bulk, const double *prices, double needed, int64_t passes, double *factors);

/* joint.c: evidence against a whole truth. */
EXPORT int64_t joint_memory(int64_t borders);
EXPORT bool joint_evidence(
    const struct arms *arms, const struct rules *rules, const struct claim *claim);
EXPORT void joint_slopes(const struct arms *arms, const struct claim *claim, double *slopes);

/* groups.c: whether arms are a group, and what would show it. */
EXPORT int64_t judge_group(const struct arms *arms, const struct rules *rules, const int64_t *order,
    const bool *member, double apart, double certain, double certificate[4]);
EXPORT double widest_possible(
    const struct arms *arms, const int64_t *order, const bool *member, int64_t neighbours);
EXPORT double plan_group(const struct arms *arms, const struct rules *rules, const int64_t *order,
    const bool *member, const double *shifts, double *factors, char *chains);

/* plans.c: what would make a gap certain. */
EXPORT double plan_target(const struct arms *arms, const struct rules *rules,
    const struct target *target, double *factors, double budget);

/* adaptive.c: simulated rounds of the adaptive strategy. */
EXPORT int64_t adaptive_draw(int64_t n, int64_t *counts, double *totals, int64_t *quota,
    bool *dirty, const uint64_t *starts, const uint64_t *increments, const double *rates,
    int64_t limit);
EXPORT void adaptive_refresh(int64_t n, const int64_t *counts, const double *totals, bool *dirty,
    double needed, double *low, double *high, double *means);

/* gold.c: simulated sweeps of GOLD. */
EXPORT bool gold_advance(struct gold *run);

/* gold_intervals.c: the same for its interval form. */
EXPORT bool interval_sweeps(struct sweeps *run);

/* sweeps.c: one pull of each of some arms. */
EXPORT void sweep_pull(const int64_t *arms, int64_t size, int64_t *counts, double *totals,
    const double *means, const uint64_t *starts, const uint64_t *increments);

/* sigma.c: simulated visits of RR and WRR. */
EXPORT void sigma_advance(struct visits *run);

/* maxgap.c and roai.c: simulated rounds of MaxGap and of ROAI. Pull along the paths; return the arm
 * whose path is used up, or -1 at `stop_at`, or -2 when the run can decide. */
EXPORT int64_t maxgap_rounds(struct paths *paths, const struct maxgap *run);
EXPORT int64_t roai_rounds(struct paths *paths, const struct roai *run);

#endif
