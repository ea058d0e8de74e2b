/* Whether an arm outside a set can lie apart, by evidence against a whole truth; for endless 0/1
 * rewards and the absolute rule.
 *
 * docs/adaptive.md, "The absolute rule", has the statement and its proof;
 * tests/reference/pieces.py has the bets written down one by one. In short: if an arm k lies apart,
 * at z, then all other arms but max_members - 1 are further away from z than the gap. Against means
 * like that, bet that k is elsewhere, and that arms at the edges of (z - gap, z + gap) are inside.
 * What such bets have become is bounded from below over all such means, stretch by stretch of z. */
#include "blocks.h"

/* The bets on the other arms are placed in several ways at once, each with its share of the stake:
 * on nobody else; on a few arms far inside; on nearly all arms a little inside; in between. */
#define WAYS 4
static const double SHARES[WAYS] = {0.45, 0.2, 0.2, 0.15};
/* How far an arm is beyond the edge, in parts of the gap, and what each way then stakes on its
 * being inside (in place of being where it is). The last is divided by the number of arms. */
#define ZONES 4
static const double ZONE_STARTS[ZONES] = {0.0, 0.25, 0.6, 1.2};
static const double INSIDE[WAYS][ZONES] = {
    {0.0, 0.0, 0.0, 0.0},
    {0.1, 0.07, 0.04, 0.5},
    {0.9, 0.5, 0.2, 0.5},
    {0.6, 0.3, 0.1, 0.5},
};
/* How far inside, in parts of the gap, and how each way divides its stake among these bets. */
#define STEPS 4
static const double INNER_STEPS[STEPS] = {0.12, 0.3, 0.6, 1.2};
static const double DIVIDED[WAYS][STEPS] = {
    {0.0, 0.0, 0.0, 0.0},
    {0.0, 1.0 / 3, 1.0 / 3, 1.0 / 3},
    {1.0, 0.0, 0.0, 0.0},
    {0.0, 1.0, 0.0, 0.0},
};
/* How far from z the arm k is taken to be, on either side, with equal stakes. */
#define OWN 2
static const double OWN_STEPS[OWN] = {0.45, 0.95};
/* A log capital beyond this counts as this one, and one below its negative as nothing. */
#define ENOUGH 60.0
/* How often a stretch is halved before it counts as not rejected. */
#define DEPTH 16
/* Planning looks at so many places in a gap's width. */
#define PLACES_PER_GAP 8
#define MOST_PLACES 160
/* In one pass the pulls of an arm grow by at most this factor: arms that all make up for the same
 * lack would otherwise all grow too far. */
#define PASS_GROWTH 1.6

/* The log likelihood ratio of one success and of one failure, for the bet that a mean is `step`
 * above `value` (way 1) or below it (way -1). */
struct bet {
    double success, failure;
};

static struct bet bet_on(double value, double step, int way)
{
    value = least_of(most_of(value, 1e-12), 1.0 - 1e-12);
    const double other = way < 0 ? most_of(value - step, value / 16.0)
                                 : 1.0 - most_of(1.0 - value - step, (1.0 - value) / 16.0);
    return (struct bet){log(other / value), log((1.0 - other) / (1.0 - value))};
}

static double capital(struct bet bet, double successes, double pulls)
{
    const double exponent = successes * bet.success + (pulls - successes) * bet.failure;
    return exponent < -ENOUGH ? 0.0 : exponent > ENOUGH ? exp(ENOUGH) : exp(exponent);
}

/* For each way, and each arm: the log of the least capital of its bets if it is at `low` or below,
 * or at `high` or above. */
static void bets_on_others(const struct bulk *bulk, double low, double high, double *least)
{
    const int64_t n = bulk->n;
    for (int64_t k = 0; k < WAYS * n; k++)
        least[k] = INFINITY;
    for (int side = 0; side < 2; side++) {
        const int way = side == 0 ? 1 : -1;
        for (int zone = 0; zone < ZONES; zone++) {
            const double place = (side == 0 ? low : high) - way * ZONE_STARTS[zone] * bulk->gap;
            if (place < 0.0 || place > 1.0)
                continue;
            struct bet bets[STEPS];
            for (int step = 0; step < STEPS; step++)
                bets[step] = bet_on(place, INNER_STEPS[step] * bulk->gap, way);
            for (int64_t arm = 0; arm < n; arm++) {
                double capitals[STEPS];
                for (int step = 0; step < STEPS; step++)
                    capitals[step] = capital(bets[step], bulk->totals[arm], bulk->counts[arm]);
                for (int kind = 1; kind < WAYS; kind++) {
                    double inside = INSIDE[kind][zone], total = 0.0;
                    if (zone == ZONES - 1)
                        inside /= (double)n;
                    for (int step = 0; step < STEPS; step++)
                        total += DIVIDED[kind][step] * capitals[step];
                    double *found = &least[kind * n + arm];
                    *found = least_of(*found, 1.0 - inside + inside * total);
                }
            }
        }
    }
    for (int64_t k = 0; k < n; k++)
        least[k] = 0.0;
    for (int64_t k = n; k < WAYS * n; k++)
        least[k] = least_of(log(least[k]), ENOUGH);
}

/* The log capital of the bets that an arm is not where it is, from `start` to `stop`. */
static double own_bets(
    double successes, double pulls, const struct bet down[OWN], const struct bet up[OWN])
{
    double most = -INFINITY, exponents[2 * OWN], total = 0.0;
    for (int k = 0; k < 2 * OWN; k++) {
        const struct bet bet = k < OWN ? down[k] : up[k - OWN];
        exponents[k] = successes * bet.success + (pulls - successes) * bet.failure;
        most = most_of(most, exponents[k]);
    }
    for (int k = 0; k < 2 * OWN; k++)
        total += exp(exponents[k] - most);
    return most + log(total / (2 * OWN));
}

/* The sum of the largest `count` positive values of a row, and the next one, in `best`. */
static void largest(const double *values, int64_t n, int64_t count, double *best)
{
    for (int64_t k = 0; k <= count; k++)
        best[k] = 0.0;
    for (int64_t arm = 0; arm < n; arm++) {
        if (!(values[arm] > best[count]))
            continue;
        int64_t k = count;
        for (; k > 0 && best[k - 1] < values[arm]; k--)
            best[k] = best[k - 1];
        best[k] = values[arm];
    }
}

/* The least log capital against means with an arm apart at a place from `start` to `stop`, in
 * `evidence` for each arm. The bets on k and on what is above grow as they get further away from
 * the others, so the ends of the stretch bound what is within. */
static void apart_between(
    const struct bulk *bulk, double start, double stop, double *evidence, char *work)
{
    const int64_t n = bulk->n, others = bulk->max_members - 1;
    double *least = take(&work, WAYS * n), *best = take(&work, others + 1);
    struct bet down[OWN], up[OWN];
    bets_on_others(bulk, stop - bulk->gap, start + bulk->gap, least);
    for (int step = 0; step < OWN; step++) {
        down[step] = bet_on(start, OWN_STEPS[step] * bulk->gap, -1);
        up[step] = bet_on(stop, OWN_STEPS[step] * bulk->gap, 1);
    }
    for (int64_t arm = 0; arm < n; arm++)
        evidence[arm] = 0.0;
    for (int kind = 0; kind < WAYS; kind++) {
        const double *bets = &least[kind * n];
        double total = 0.0, spared = 0.0;
        for (int64_t arm = 0; arm < n; arm++)
            total += bets[arm];
        largest(bets, n, others, best);
        for (int64_t k = 0; k < others; k++)
            spared += best[k];
        for (int64_t arm = 0; arm < n; arm++) {
            /* The arms beside k in its piece may be anywhere: those that say most against it. */
            const double mine = bets[arm], last = others > 0 ? best[others - 1] : INFINITY;
            const double rest = mine > 0.0 && mine >= last ? spared - mine + best[others] : spared;
            evidence[arm] += SHARES[kind] * exp(least_of(total - mine - rest, ENOUGH));
        }
    }
    for (int64_t arm = 0; arm < n; arm++)
        evidence[arm] =
            log(evidence[arm]) + own_bets(bulk->totals[arm], bulk->counts[arm], down, up);
}

/* The least evidence of an arm that is not a member. */
static double weakest(const struct bulk *bulk, const double *evidence)
{
    double least = INFINITY;
    for (int64_t arm = 0; arm < bulk->n; arm++)
        if (!bulk->member[arm])
            least = least_of(least, evidence[arm]);
    return least;
}

bool nobody_else_apart(const struct bulk *bulk, double needed)
{
    struct {
        double start, stop;
        int depth;
    } stack[DEPTH + 2] = {{0.0, 1.0, 0}};
    char *work = bulk->work;
    double *evidence = take(&work, bulk->n);
    int size = 1;
    while (size > 0) {
        size--;
        const double start = stack[size].start, stop = stack[size].stop;
        const double middle = (start + stop) / 2;
        const int depth = stack[size].depth;
        apart_between(bulk, start, stop, evidence, work);
        if (weakest(bulk, evidence) >= needed)
            continue;
        apart_between(bulk, middle, middle, evidence, work);
        if (weakest(bulk, evidence) < needed || depth >= DEPTH)
            return false;
        stack[size].start = start;
        stack[size].stop = middle;
        stack[size].depth = depth + 1;
        stack[size + 1].start = middle;
        stack[size + 1].stop = stop;
        stack[size + 1].depth = depth + 1;
        size += 2;
    }
    return true;
}

static double divergence(double p, double q)
{
    p = least_of(most_of(p, 1e-9), 1.0 - 1e-9);
    q = least_of(most_of(q, 1e-9), 1.0 - 1e-9);
    return p * log(p / q) + (1.0 - p) * log((1.0 - p) / (1.0 - q));
}

/* What one pull of an arm tells against the nearest means with arm k at `place` apart. */
static double told_by(const struct bulk *bulk, int64_t arm, int64_t k, double place)
{
    const double mean = bulk->totals[arm] / bulk->counts[arm];
    const double below = place - bulk->gap, above = place + bulk->gap;
    if (arm == k)
        return divergence(mean, place);
    if (mean <= below || mean >= above)
        return 0.0;
    const double down = below >= 0.0 ? divergence(mean, below) : INFINITY;
    const double up = above <= 1.0 ? divergence(mean, above) : INFINITY;
    const double told = least_of(down, up);
    return told < INFINITY ? told : 0.0;
}

/* Raise what is wanted until it makes up for what is missing against k apart at `place`, in the
 * cheapest of three ways: more pulls of k, of one other arm, or of all that tell something. False
 * if nothing tells anything.
 *
 * The arms that tell most may be in the piece of k, and do not count. So another arm counts only
 * until it tells as much as the last of those. */
static bool make_up_for(const struct bulk *bulk, const double *prices, int64_t k, double place,
    double missing, double *wanted, double *best)
{
    const int64_t n = bulk->n, others = bulk->max_members - 1;
    double *told = best + others + 1;
    for (int64_t arm = 0; arm < n; arm++)
        told[arm] = arm == k ? 0.0 : bulk->counts[arm] * told_by(bulk, arm, k, place);
    largest(told, n, others, best);
    const double last = others > 0 ? best[others - 1] : INFINITY;
    const double own = told_by(bulk, k, k, place);
    double least = own > 1e-12 ? missing / own * prices[k] : INFINITY, more = missing / own;
    int64_t chosen = k;
    double rate = 0.0, price = 0.0;
    for (int64_t arm = 0; arm < n; arm++) {
        if (told[arm] == 0.0)
            continue;
        price += prices[arm];
        if (told[arm] >= last)
            continue;
        const double each = told[arm] / bulk->counts[arm];
        rate += each;
        if (last - told[arm] >= missing && missing / each * prices[arm] < least) {
            least = missing / each * prices[arm];
            more = missing / each;
            chosen = arm;
        }
    }
    if (rate > 1e-12 && missing / rate * price < 0.33 * least) {
        for (int64_t arm = 0; arm < n; arm++)
            if (told[arm] > 0.0)
                wanted[arm] = most_of(wanted[arm], bulk->counts[arm] + missing / rate);
        return true;
    }
    if (least == INFINITY)
        return false;
    wanted[chosen] = most_of(wanted[chosen], bulk->counts[chosen] + more);
    return true;
}

bool plan_bulk(
    const struct bulk *bulk, const double *prices, double needed, int64_t passes, double *factors)
{
    const int64_t n = bulk->n;
    char *work = bulk->work;
    double *totals = take(&work, n), *counts = take(&work, n), *wanted = take(&work, n);
    double *missing = take(&work, n), *places = take(&work, n), *evidence = take(&work, n);
    const int64_t count = (int64_t)least_of(ceil(PLACES_PER_GAP / bulk->gap), MOST_PLACES);
    bool open[MOST_PLACES]; /* where something was missing in the last pass */
    memset(open, true, sizeof open);
    struct bulk planned = *bulk;
    planned.totals = totals;
    planned.counts = counts;
    for (int64_t pass = 0; pass < passes; pass++) {
        for (int64_t arm = 0; arm < n; arm++) {
            counts[arm] = wanted[arm] = factors[arm] * bulk->counts[arm];
            totals[arm] = factors[arm] * bulk->totals[arm];
            missing[arm] = 0.0;
        }
        bool enough = true;
        for (int64_t k = 0; k < count; k++) {
            const double place = ((double)k + 0.5) / (double)count;
            if (!open[k])
                continue;
            apart_between(&planned, place, place, evidence, work);
            open[k] = weakest(bulk, evidence) < needed;
            for (int64_t arm = 0; arm < n; arm++) {
                const double lack = needed - evidence[arm];
                if (!bulk->member[arm] && lack > missing[arm]) {
                    missing[arm] = lack;
                    places[arm] = place;
                    enough = false;
                }
            }
        }
        if (enough)
            return true;
        for (int64_t arm = 0; arm < n; arm++)
            if (missing[arm] > 0.0 && !make_up_for(&planned, prices, arm, places[arm], missing[arm],
                                          wanted, (double *)work))
                return false;
        for (int64_t arm = 0; arm < n; arm++)
            factors[arm] *= least_of(wanted[arm] / counts[arm], PASS_GROWTH);
    }
    return true;
}
