/* Gaps made certain by the evidence of two neighbours at once, for endless rewards in [0, 1].
 *
 * docs/adaptive.md has the statement and its proof. In short: whatever the true means are, bet that
 * each two neighbours among them are further apart than they are, with a stake as large as their
 * gap; all gaps together are at most 1. A pair of values at which the capital exceeds 1/delta is
 * rejected. */
#include "bets.h"
#include "blocks.h"

/* Share of the stake that is spread over the gaps by their widths. */
#define BY_WIDTH 0.5
/* Share that is spread evenly over the gaps; these two are for bets on the scale of the gap. */
#define EVENLY 0.2
/* Share that is spread evenly for bets on all scales; as much again, that the order is wrong. */
#define ANY_SCALE 0.15
/* How many octaves of bets there are where no width gives the scale. */
#define OCTAVES 10
/* Into how many parts an octave of widths is divided. */
#define FINE 5
/* How often the last part is halved. */
#define HALVINGS 3
/* How often a stretch is halved before it counts as not rejected. */
#define DEPTH 9
/* How far off a bet takes a mean to be, in parts of the gap's width (of the cell that it is in). */
static const double RATIOS[] = {0.1, 0.19, 0.36, 0.68, 1.3, 2.5, 4.8, 9.0};
/* What is staked on each. */
static const double STAKES[] = {0.05, 0.1, 0.15, 0.17, 0.17, 0.15, 0.12, 0.09};
#define SCALES ((int)(sizeof RATIOS / sizeof *RATIOS))

/* How far off each bet takes a mean to be, and what is staked on it. */
#define MOST_BETS (SCALES * GUESSES)
struct bets {
    int count;
    double steps[MOST_BETS], stakes[MOST_BETS];
};

/* The arms, and which of them are looked at, below and above the gap. The highest arm below is at
 * `floor` or above and at `top` or below; the lowest one above is from `bottom` to `ceiling`. */
struct sides {
    const struct arms *known;
    int64_t *below, *above;
    int64_t below_count, above_count;
    double floor, top, bottom, ceiling;
};

double order_evidence(int64_t n, double delta)
{
    return log((double)(n - 1) / (ANY_SCALE * delta));
}

double gap_evidence(double gap, int64_t n, double delta)
{
    return -log(delta * (BY_WIDTH * gap + EVENLY / (double)(n - 1)));
}

/* The least log capital against a mean `value`, of those arms that can be in [start, stop]; the
 * bet is that the true one is below it if `way` is -1, above if it is 1. */
static double weakest(const struct sides *sides, double start, double stop, double value, int way,
    const struct bets *bets)
{
    const struct arms *arms = sides->known;
    const int64_t *candidates = way < 0 ? sides->below : sides->above;
    const int64_t count = way < 0 ? sides->below_count : sides->above_count;
    struct bet each[MOST_BETS];
    for (int k = 0; k < bets->count; k++)
        each[k] = bet_on(value, bets->steps[k], way);
    double least = INFINITY;
    for (int64_t a = 0; a < count; a++) {
        const int64_t arm = candidates[a];
        if (arms->high[arm] < start || arms->low[arm] > stop)
            continue;
        const struct sample told = told_of(arms, arm, way);
        double most = -INFINITY, total = 0.0;
        for (int k = 0; k < bets->count; k++) {
            const double capital = log_capital_of(&each[k], &told);
            if (capital > most) {
                total = total * exp(most - capital) + bets->stakes[k];
                most = capital;
            } else {
                total += bets->stakes[k] * exp(capital - most);
            }
        }
        least = least_of(least, most + log(total));
    }
    return least;
}

/* Whether no arm of those below at x and arm of those above at y can be neighbours, for all x from
 * `start` to `stop`, and y from x + `min_gap` to x + `max_gap`.
 *
 * The capital against x grows with x, that against y falls with y, so the ends of a stretch bound
 * what is within; a stretch that they do not decide is halved. */
static bool rejected(const struct sides *sides, double start, double stop, double min_gap,
    double max_gap, double needed, const struct bets *bets)
{
    struct {
        double start, stop;
        int depth;
    } stack[DEPTH + 2];
    if (!(start <= stop))
        return true;
    stack[0].start = start;
    stack[0].stop = stop;
    stack[0].depth = 0;
    int size = 1;
    while (size > 0) {
        size--;
        const double a = stack[size].start, b = stack[size].stop;
        const int depth = stack[size].depth;
        double capital = weakest(sides, a, b, a, -1, bets);
        if (capital < INFINITY)
            capital += weakest(sides, a + min_gap, b + max_gap, b + max_gap, 1, bets);
        if (capital >= needed)
            continue;
        const double middle = (a + b) / 2;
        capital = weakest(sides, middle, middle, middle, -1, bets);
        if (capital < INFINITY)
            capital +=
                weakest(sides, middle + min_gap, middle + max_gap, middle + max_gap, 1, bets);
        if (capital < needed || depth >= DEPTH)
            return false;
        stack[size].start = a;
        stack[size].stop = middle;
        stack[size].depth = depth + 1;
        stack[size + 1].start = middle;
        stack[size + 1].stop = b;
        stack[size + 1].depth = depth + 1;
        size += 2;
    }
    return true;
}

/* Divide by_mean at a place, without the arms that cannot be next to the gap. */
static struct sides divide(const struct arms *known, int64_t at)
{
    const int64_t n = known->n, *order = known->by_mean;
    const double *low = known->low, *high = known->high;
    char *work = known->work;
    int64_t *below = take(&work, at), *above = take(&work, n - at);
    struct sides sides = {known, below, above, 0, 0, -INFINITY, -INFINITY, INFINITY, INFINITY};
    for (int64_t k = 0; k < at; k++) {
        sides.floor = most_of(sides.floor, low[order[k]]);
        sides.top = most_of(sides.top, high[order[k]]);
    }
    for (int64_t k = at; k < n; k++) {
        sides.ceiling = least_of(sides.ceiling, high[order[k]]);
        sides.bottom = least_of(sides.bottom, low[order[k]]);
    }
    for (int64_t k = 0; k < at; k++)
        if (high[order[k]] >= least_of(sides.floor, sides.bottom))
            below[sides.below_count++] = order[k];
    for (int64_t k = at; k < n; k++)
        if (low[order[k]] <= most_of(sides.ceiling, sides.top))
            above[sides.above_count++] = order[k];
    return sides;
}

double certain_gap(const struct arms *known, int64_t at, double estimate, double delta)
{
    const int64_t n = known->n;
    const struct sides sides = divide(known, at);
    const double floor = sides.floor, top = sides.top, ceiling = sides.ceiling;
    /* No arm of one side is next to one of the other in the wrong order, nor at a small distance.
     */
    struct bets bets = {.count = OCTAVES};
    for (int k = 0; k < OCTAVES; k++) {
        bets.steps[k] = ldexp(1.0, -(k + 1));
        bets.stakes[k] = 1.0 / OCTAVES;
    }
    double needed = order_evidence(n, delta);
    double place = ceil(-FINE * log2(estimate / 16.0));
    double gap = exp2(-place / FINE);
    if (!rejected(&sides, sides.bottom, top, 0.0, 0.0, needed, &bets))
        return 0.0;
    if (!rejected(&sides, floor, least_of(top, ceiling), 0.0, gap, needed, &bets))
        return 0.0;

    /* Nor at a larger one, as far as that goes: by parts of an octave, and by halves of the last.
     */
    const int guesses = guesses_for(known->scatter);
    bets.count = SCALES * guesses;
    for (int k = 0; k < bets.count; k++)
        bets.stakes[k] = STAKES[k / guesses] / guesses;
    int halvings = 0;
    double cell = exp2(-(place - 1) / FINE), next_gap = cell;
    while (gap < estimate && halvings <= HALVINGS) {
        for (int k = 0; k < bets.count; k++)
            bets.steps[k] = RATIOS[k / guesses] * cell * LONGER[k % guesses];
        needed = gap_evidence(gap, n, delta);
        if (!rejected(&sides, floor, least_of(top, ceiling - gap), gap, next_gap, needed, &bets)) {
            next_gap = gap + (next_gap - gap) / 2;
            halvings++;
            continue;
        }
        gap = next_gap;
        if (halvings == 0) {
            place--;
            cell = next_gap = exp2(-(place - 1) / FINE);
        } else {
            next_gap = gap + (cell - gap) / 2;
            halvings++;
        }
    }
    return gap;
}
