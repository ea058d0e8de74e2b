/* Bets against the mean of an arm whose rewards are in [0, 1]; pairs.c, joint.c and pieces.c place
 * them. docs/adaptive.md, "Bets", has the proofs. */
#ifndef ODDARM_BETS_H
#define ODDARM_BETS_H

#include "kernels.h"

/* A bet that a mean is `step` above `value` (way 1) or below it (way -1). It multiplies the capital
 * by the likelihood ratio of a reward of 1 or of 0, and in a straight line between the two. */
struct bet {
    double one, zero;        /* the factor of a reward of 1, and of 0 */
    double success, failure; /* the logs of these */
};

static inline struct bet bet_on(double value, double step, int way)
{
    value = least_of(most_of(value, 1e-12), 1.0 - 1e-12);
    const double other = way < 0 ? most_of(value - step, value / 16.0)
                                 : 1.0 - most_of(1.0 - value - step, (1.0 - value) / 16.0);
    const double one = other / value, zero = (1.0 - other) / (1.0 - value);
    return (struct bet){one, zero, log(one), log(zero)};
}

/* Rewards of two values only, with which no bet one way gains more than with those that were told:
 * so many are `high`, and so many `low`. Rewards of 0 and 1 are what they are. */
struct sample {
    double pulls, highs, lows, high, low;
};

/* `scatter` is the sum of squared deviations from the mean; NULL for rewards of 0 and 1. */
static inline struct sample sample_of(double total, double pulls, const double *scatter, int way)
{
    if (scatter == NULL)
        return (struct sample){pulls, total, pulls - total, 1.0, 0.0};
    const double rest = way > 0 ? total : pulls - total; /* how far from the end bet against */
    if (!(rest > 0.0))
        return (struct sample){pulls, total, pulls - total, 1.0, 0.0};
    const double value = least_of(rest / pulls + *scatter / rest, 1.0), some = rest / value;
    return way > 0 ? (struct sample){pulls, some, pulls - some, value, 0.0}
                   : (struct sample){pulls, pulls - some, some, 1.0, 1.0 - value};
}

/* The rewards of an arm, for bets one way. */
static inline struct sample told_of(const struct arms *arms, int64_t arm, int way)
{
    const double *scatter = arms->scatter == NULL ? NULL : &arms->scatter[arm];
    return sample_of(arms->totals[arm], (double)arms->counts[arm], scatter, way);
}

/* The log of what a bet has become, or less. */
static inline double log_capital_of(const struct bet *bet, const struct sample *told)
{
    double high = bet->success, low = bet->failure;
    if (told->high < 1.0)
        high = log(bet->zero + told->high * (bet->one - bet->zero));
    if (told->low > 0.0)
        low = log(bet->zero + told->low * (bet->one - bet->zero));
    return told->highs * high + told->lows * low;
}

/* Rewards may vary less than those of 0 and 1 do. So each bet is placed twice, with equal
 * parts of its stake: with its step, and with a longer one, which is better for small variances. */
#define GUESSES 2
static const double LONGER[GUESSES] = {1.0, 6.0};

static inline int guesses_for(const double *scatter) { return scatter == NULL ? 1 : GUESSES; }

/* By how much the best bet against a mean grows with each pull, on average. */
static inline double growth_against(double value, const struct sample *told)
{
    double p = told->highs / told->pulls;
    double q = (value - told->low) / (told->high - told->low);
    p = least_of(most_of(p, 1e-9), 1.0 - 1e-9);
    q = least_of(most_of(q, 1e-9), 1.0 - 1e-9);
    return p * log(p / q) + (1.0 - p) * log((1.0 - p) / (1.0 - q));
}

#endif
