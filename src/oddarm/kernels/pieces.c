/* Whether an arm outside a set can lie apart, by evidence against a whole truth; for endless
 * rewards in [0, 1] and the absolute rule.
 *
 * docs/adaptive.md, "The absolute rule", has the statement and its proof;
 * tests/reference/pieces.py has the bets written down one by one. In short: if an arm lies apart,
 * its piece has at most max_members arms, from a to b, and all other arms are below a - gap or
 * above b + gap. Against means like that, bet that the lowest arm of the piece is lower, that the
 * others of the piece are lower than a, and that the arms outside are nearer; or the same from the
 * other end. What such bets have become is bounded from below over all such means, rectangle by
 * rectangle of (a, b). */
#include "bets.h"
#include "blocks.h"

/* The bets on arms beside the one at the end of the piece are placed in several ways at once, each
 * with its share of the stake: on nobody else; on a few arms far off; on nearly all arms a little
 * off; in between. */
#define WAYS 4
static const double SHARES[WAYS] = {0.45, 0.2, 0.2, 0.15};
/* How far an arm is beyond its edge, in parts of the gap, and what each way then stakes on its
 * being elsewhere (in place of being where it is). The last is divided by the number of arms. */
#define ZONES 4
static const double ZONE_STARTS[ZONES] = {0.0, 0.25, 0.6, 1.2};
static const double STAKED[WAYS][ZONES] = {
    {0.0, 0.0, 0.0, 0.0},
    {0.1, 0.07, 0.04, 0.5},
    {0.9, 0.5, 0.2, 0.5},
    {0.6, 0.3, 0.1, 0.5},
};
/* What each way stakes on an arm of the piece being elsewhere. */
static const double STAKED_WITHIN[WAYS] = {0.0, 0.5, 0.9, 0.6};
/* How far off, in parts of the gap, and how each way divides its stake among these bets. */
#define STEPS 4
static const double BET_STEPS[STEPS] = {0.12, 0.3, 0.6, 1.2};
static const double DIVIDED[WAYS][STEPS] = {
    {0.0, 0.0, 0.0, 0.0},
    {0.0, 1.0 / 3, 1.0 / 3, 1.0 / 3},
    {1.0, 0.0, 0.0, 0.0},
    {0.0, 1.0, 0.0, 0.0},
};
/* How far off the arm at the end of the piece is taken to be, away from the piece or into it, and
 * what is staked on that. */
#define OWN 3
static const double OWN_STEPS[OWN] = {0.45, 0.95, -0.6};
static const double OWN_STAKED[OWN] = {0.4, 0.3, 0.2};
/* A log capital beyond this counts as this one, and one below its negative as nothing. */
#define ENOUGH 60.0
/* More than all errors of rounding in a sum of logs, and in a length. */
#define ROUNDING 1e-9
/* How often a rectangle is halved before it counts as not rejected. */
#define DEPTH 32
/* So many rectangles are looked at, times the arms, and at least so many: one that is not rejected
 * comes up late, and an attempt that fails must not take long. With 500 arms 20,000 rectangles took
 * 0.6 s and decided no sooner. */
#define RECTANGLES 150000
#define LEAST_RECTANGLES 300
/* A side shorter than this part of the gap is not what stands in the way. */
#define FINE (1.0 / 64)
/* Planning looks at so many places in a gap's width. */
#define PLACES_PER_GAP 8
#define MOST_PLACES 160
/* In one pass the pulls of an arm grow by at most this factor: arms that all make up for the same
 * lack would otherwise all grow too far. */
#define PASS_GROWTH 1.6

/* The same bet with all its steps. */
struct bets {
    struct bet each[GUESSES];
};

static struct bets bets_on(const struct bulk *bulk, double value, double step, int way)
{
    struct bets bets;
    for (int k = 0; k < guesses_for(bulk->scatter); k++)
        bets.each[k] = bet_on(value, step * bulk->gap * LONGER[k], way);
    return bets;
}

/* The rewards of an arm, for bets one way. */
static struct sample rewards_of(const struct bulk *bulk, int64_t arm, int way)
{
    const double *scatter = bulk->scatter == NULL ? NULL : &bulk->scatter[arm];
    return sample_of(bulk->totals[arm], bulk->counts[arm], scatter, way);
}

static inline double limited_exp(double exponent)
{
    return exponent < -ENOUGH ? 0.0 : exponent > ENOUGH ? exp(ENOUGH) : exp(exponent);
}

static inline double capital(
    const struct bulk *bulk, const struct bets *bets, const struct sample *told)
{
    if (bulk->scatter == NULL)
        return limited_exp(log_capital_of(&bets->each[0], told));
    double total = 0.0;
    for (int k = 0; k < GUESSES; k++)
        total += limited_exp(log_capital_of(&bets->each[k], told));
    return total / GUESSES;
}

/* For each way but the first, and each arm: the least factor of its bets if it is at `edge` or
 * below and bets that it is higher (way 1), or at `edge` or above and bets that it is lower (-1).
 */
static void least_factors(const struct bulk *bulk, double edge, int way, double *least)
{
    const int64_t n = bulk->n;
    for (int64_t k = 0; k < (WAYS - 1) * n; k++)
        least[k] = INFINITY;
    for (int zone = 0; zone < ZONES; zone++) {
        const double place = edge - way * ZONE_STARTS[zone] * bulk->gap;
        if (place < 0.0 || place > 1.0)
            break;
        struct bets bets[STEPS];
        double staked[WAYS];
        for (int step = 0; step < STEPS; step++)
            bets[step] = bets_on(bulk, place, BET_STEPS[step], way);
        for (int kind = 1; kind < WAYS; kind++)
            staked[kind] = STAKED[kind][zone] / (zone == ZONES - 1 ? (double)n : 1.0);
        for (int64_t arm = 0; arm < n; arm++) {
            const struct sample told = rewards_of(bulk, arm, way);
            double capitals[STEPS];
            for (int step = 0; step < STEPS; step++)
                capitals[step] = capital(bulk, &bets[step], &told);
            for (int kind = 1; kind < WAYS; kind++) {
                double total = 0.0, *found = &least[(kind - 1) * n + arm];
                for (int step = 0; step < STEPS; step++)
                    total += DIVIDED[kind][step] * capitals[step];
                *found = least_of(*found, 1.0 - staked[kind] + staked[kind] * total);
            }
        }
    }
}

/* The log factor of the bets that an arm at the end of a piece is elsewhere, on these sides. */
static double own_factor(
    const struct bulk *bulk, int64_t arm, const struct bets bets[OWN], const int sides[OWN])
{
    const int guesses = guesses_for(bulk->scatter);
    const double part = 1.0 / guesses;
    double most = 0.0, exponents[OWN][GUESSES], total = 1.0;
    for (int k = 0; k < OWN; k++) {
        const struct sample told = rewards_of(bulk, arm, sides[k]);
        for (int guess = 0; guess < guesses; guess++) {
            exponents[k][guess] = log_capital_of(&bets[k].each[guess], &told);
            most = most_of(most, exponents[k][guess]);
        }
        total -= OWN_STAKED[k];
    }
    total *= exp(-most);
    for (int k = 0; k < OWN; k++)
        for (int guess = 0; guess < guesses; guess++)
            total += OWN_STAKED[k] * part * exp(exponents[k][guess] - most);
    return most + log(total);
}

/* Put a value at the top of a heap of `size` values, of which the least is at the top. */
static void sift(double *heap, int64_t size, double value)
{
    int64_t at = 0;
    for (int64_t below = 1; below < size; below = 2 * at + 1) {
        if (below + 1 < size && heap[below + 1] < heap[below])
            below++;
        if (!(heap[below] < value))
            break;
        heap[at] = heap[below];
        at = below;
    }
    heap[at] = value;
}

/* The largest `count` positive values of a row, and the next one, in `best`: the largest first, 0
 * where there are no more. */
static void largest(const double *values, int64_t n, int64_t count, double *best)
{
    for (int64_t k = 0; k <= count; k++)
        best[k] = 0.0;
    for (int64_t arm = 0; arm < n; arm++)
        if (values[arm] > best[0])
            sift(best, count + 1, values[arm]);
    for (int64_t size = count; size > 0; size--) {
        const double least = best[0], last = best[size];
        sift(best, size, last);
        best[size] = least;
    }
}

/* Pieces of at most max_members arms whose lowest arm is from a[0] to a[1], the highest from b[0]
 * to b[1]. */
struct ends {
    double a[2], b[2];
};

/* For each way but the first, and each arm: the least factor of its bets if it is from `low` to
 * `high` and bets that it is lower or higher, with half of the stake each. */
static void inner_factors(const struct bulk *bulk, double low, double high, double *least)
{
    const int64_t n = bulk->n;
    struct bets down[STEPS], up[STEPS];
    for (int step = 0; step < STEPS; step++) {
        down[step] = bets_on(bulk, low, BET_STEPS[step], -1);
        up[step] = bets_on(bulk, high, BET_STEPS[step], 1);
    }
    for (int64_t arm = 0; arm < n; arm++) {
        const struct sample falling = rewards_of(bulk, arm, -1);
        const struct sample rising = rewards_of(bulk, arm, 1);
        double capitals[STEPS];
        for (int step = 0; step < STEPS; step++)
            capitals[step] =
                (capital(bulk, &down[step], &falling) + capital(bulk, &up[step], &rising)) / 2;
        for (int kind = 1; kind < WAYS; kind++) {
            double total = 0.0;
            for (int step = 0; step < STEPS; step++)
                total += DIVIDED[kind][step] * capitals[step];
            least[(kind - 1) * n + arm] = 1.0 - STAKED_WITHIN[kind] + STAKED_WITHIN[kind] * total;
        }
    }
}

/* The least log capital against means with such a piece, not only of members, of the bets on all
 * arms but the one at an end of it: for each arm that can be at that end. All bets grow as the
 * ends of the piece and its neighbours move away from each other, so the sides of the rectangle
 * bound what is within. */
static void bets_on_others(
    const struct bulk *bulk, const struct ends *ends, double *evidence, char *work)
{
    const int64_t n = bulk->n, others = bulk->max_members - 1;
    double *outside = take(&work, (WAYS - 1) * n), *above = take(&work, (WAYS - 1) * n);
    double *within = above, *gains = take(&work, n), *best = take(&work, others + 1);
    least_factors(bulk, ends->a[1] - bulk->gap, 1, outside);
    least_factors(bulk, ends->b[0] + bulk->gap, -1, above);
    for (int64_t k = 0; k < (WAYS - 1) * n; k++)
        outside[k] = least_of(log(least_of(outside[k], above[k])), ENOUGH);
    if (others > 0)
        inner_factors(bulk, ends->a[0], ends->b[1], within);
    for (int64_t arm = 0; arm < n; arm++)
        evidence[arm] = SHARES[0];
    for (int kind = 1; kind < WAYS; kind++) {
        const double *out = &outside[(kind - 1) * n], *in = &within[(kind - 1) * n];
        double total = 0.0, spared = 0.0, other = -INFINITY;
        for (int64_t arm = 0; arm < n; arm++) {
            total += out[arm];
            gains[arm] = others > 0 ? out[arm] - least_of(log(in[arm]), ENOUGH) : -INFINITY;
            if (!bulk->member[arm])
                other = most_of(other, gains[arm]);
        }
        /* The arms beside k in its piece are those for which that takes most from the evidence. */
        largest(gains, n, others, best);
        for (int64_t k = 0; k < others; k++)
            spared += best[k];
        for (int64_t arm = 0; arm < n; arm++) {
            double rest = spared, last = others > 0 ? best[others - 1] : INFINITY;
            if (gains[arm] > 0.0 && gains[arm] >= last) {
                rest += best[others] - gains[arm];
                last = best[others];
            }
            if (bulk->member[arm] && !(other > 0.0 && other >= last)) /* one is not a member */
                rest += other - last;
            evidence[arm] += SHARES[kind] * exp(least_of(total - out[arm] - rest, ENOUGH));
        }
    }
    for (int64_t arm = 0; arm < n; arm++)
        evidence[arm] = log(evidence[arm]);
}

/* The least evidence if a member is at an end of the piece, and if another arm is. */
struct least {
    double member, other;
};

/* Add the bets on the arm at the lower end of the piece (way -1) or the upper one (1). */
static struct least bets_from_end(const struct bulk *bulk, const struct ends *ends, int way,
    const double *on_others, double *evidence)
{
    const double *place = way < 0 ? ends->a : ends->b;
    struct bets own[OWN];
    int sides[OWN];
    for (int k = 0; k < OWN; k++) {
        sides[k] = OWN_STEPS[k] > 0.0 ? way : -way;
        own[k] = bets_on(bulk, place[sides[k] > 0], fabs(OWN_STEPS[k]), sides[k]);
    }
    struct least least = {INFINITY, INFINITY};
    for (int64_t arm = 0; arm < bulk->n; arm++) {
        evidence[arm] = on_others[arm] + own_factor(bulk, arm, own, sides);
        double *of = bulk->member[arm] ? &least.member : &least.other;
        *of = least_of(*of, evidence[arm]);
    }
    return least;
}

/* The log of the capital of two bets with half of the stake each. */
static double halved(double one, double other)
{
    return most_of(one, other) + log1p(exp(-fabs(one - other))) - log(2.0);
}

/* Whether the bets from both ends reject all means with such a piece. An arm that is not a member
 * is at its lower end, at its upper end, or between two members. */
static bool rejected(const struct bulk *bulk, const struct ends *ends, double needed, char *work)
{
    double *others = take(&work, bulk->n), *evidence = take(&work, bulk->n);
    bets_on_others(bulk, ends, others, work);
    const struct least low = bets_from_end(bulk, ends, -1, others, evidence);
    const struct least high = bets_from_end(bulk, ends, 1, others, evidence);
    const bool alone = bulk->max_members == 1;
    const double any_low = alone ? low.other : least_of(low.member, low.other);
    const double any_high = alone ? high.other : least_of(high.member, high.other);
    return halved(low.other, any_high) >= needed && halved(any_low, high.other) >= needed &&
           (bulk->max_members < 3 || low.member == INFINITY ||
               halved(low.member, high.member) >= needed);
}

/* Leave away what no piece can be; false if nothing is left. */
static bool trim(struct ends *ends, double longest)
{
    ends->b[0] = most_of(ends->b[0], ends->a[0]);
    ends->b[1] = least_of(ends->b[1], ends->a[1] + longest);
    ends->a[0] = most_of(ends->a[0], ends->b[0] - longest);
    ends->a[1] = least_of(ends->a[1], ends->b[1]);
    return ends->a[0] <= ends->a[1] && ends->b[0] <= ends->b[1];
}

bool nobody_else_apart(const struct bulk *bulk, double needed)
{
    char *work = bulk->work;
    needed += ROUNDING;
    struct {
        struct ends ends;
        int depth;
    } stack[DEPTH + 2] = {{{{0.0, 1.0}, {0.0, 1.0}}, 0}};
    const double longest = (double)(bulk->max_members - 1) * bulk->gap * (1.0 + ROUNDING);
    int size = 1;
    int64_t rectangles = RECTANGLES / bulk->n;
    if (rectangles < LEAST_RECTANGLES)
        rectangles = LEAST_RECTANGLES;
    while (size > 0) {
        size--;
        if (rectangles-- == 0)
            return false;
        const int depth = stack[size].depth;
        struct ends ends = stack[size].ends;
        if (!trim(&ends, longest) || rejected(bulk, &ends, needed, work))
            continue;
        if (depth >= DEPTH)
            return false;
        /* Divide the side that decides by itself if it is narrow; else the longer one. */
        const double a = (ends.a[0] + ends.a[1]) / 2, b = (ends.b[0] + ends.b[1]) / 2;
        const double wide_a = ends.a[1] - ends.a[0], wide_b = ends.b[1] - ends.b[0];
        struct ends narrow_a = {{a, a}, {ends.b[0], ends.b[1]}};
        struct ends narrow_b = {{ends.a[0], ends.a[1]}, {b, b}}, point = {{a, a}, {b, b}};
        bool by_a = wide_a >= wide_b;
        if (wide_a > FINE * bulk->gap && trim(&narrow_a, longest) &&
            rejected(bulk, &narrow_a, needed, work))
            by_a = true;
        else if (wide_b > FINE * bulk->gap && trim(&narrow_b, longest) &&
                 rejected(bulk, &narrow_b, needed, work))
            by_a = false;
        else if (trim(&point, longest) && !rejected(bulk, &point, needed, work))
            return false;
        for (int half = 0; half < 2; half++) {
            stack[size].ends = ends;
            if (by_a)
                stack[size].ends.a[1 - half] = a;
            else
                stack[size].ends.b[1 - half] = b;
            stack[size].depth = depth + 1;
            size++;
        }
    }
    return true;
}

/* What one pull of an arm tells against its being at `place` or below (way 1), or at `place` or
 * above (-1). */
static double told_beyond(const struct bulk *bulk, int64_t arm, double place, int way)
{
    if (place < 0.0 || place > 1.0)
        return INFINITY;
    const struct sample told = rewards_of(bulk, arm, way);
    const double mean = bulk->totals[arm] / bulk->counts[arm];
    return way * (mean - place) > 0.0 ? growth_against(place, &told) : 0.0;
}

/* What is missing against truths in which an arm is the lower end (way -1) or the upper end (1) of
 * a piece at a place. */
struct lack {
    double missing;
    int64_t place, way;
};

/* How a lack is made up for: by `more` pulls of the chosen arm, or of all that tell something
 * (ALL); NOBODY if no arm tells anything. */
#define ALL (-1)
#define NOBODY (-2)
struct remedy {
    int64_t chosen;
    double more;
};

/* What pulls tell against a piece at one place, with the arm at one end.
 *
 * rates: what a pull tells against an arm being in the piece.
 * gains: what all pulls of an arm tell more if it is outside.
 * outside: what a pull tells against it if it is outside.
 * best: the largest gains. As many arms as may be in the piece are taken to be in it: those for
 * which being outside would take most evidence. Another arm is outside until that takes as much. */
struct view {
    double *rates, *gains, *outside, *best;
};

static void look(
    const struct bulk *bulk, double place, int way, const struct view *view, bool *tells)
{
    for (int64_t arm = 0; arm < bulk->n; arm++) {
        const double outside = least_of(told_beyond(bulk, arm, place - bulk->gap, 1),
            told_beyond(bulk, arm, place + bulk->gap, -1));
        const double rate = told_beyond(bulk, arm, place, way);
        const double gain = outside < INFINITY ? bulk->counts[arm] * (outside - rate) : 0.0;
        view->rates[arm] = rate;
        view->gains[arm] = gain;
        view->outside[arm] = rate + gain / bulk->counts[arm];
        tells[arm] = rate > 0.0 || gain > 0.0;
    }
    largest(view->gains, bulk->n, bulk->max_members - 1, view->best);
}

/* The cheapest of three ways to make up for a lack against arm k: more pulls of k, of one other
 * arm, or of all that tell something. */
static struct remedy remedy_for(const struct bulk *bulk, const double *prices, int64_t k,
    double missing, const struct view *view)
{
    const int64_t others = bulk->max_members - 1;
    double last = INFINITY;
    if (others > 0) {
        const double gain = view->gains[k], *best = &view->best[others - 1];
        last = gain > 0.0 && gain >= best[0] ? best[1] : best[0]; /* without k */
    }
    double least = INFINITY, more = 0.0, rate = 0.0, price = 0.0;
    int64_t chosen = NOBODY;
    for (int64_t arm = 0; arm < bulk->n; arm++) {
        double each = view->rates[arm];
        if (arm != k && view->gains[arm] < last)
            each = view->outside[arm];
        if (each > 0.0) {
            rate += each;
            price += prices[arm];
        }
        if (arm != k && last - view->gains[arm] < missing)
            each = view->rates[arm];
        if (each > 1e-12 && missing / each * prices[arm] < least) {
            least = missing / each * prices[arm];
            more = missing / each;
            chosen = arm;
        }
    }
    if (rate > 1e-12 && missing / rate * price < 0.33 * least)
        return (struct remedy){ALL, missing / rate};
    return (struct remedy){chosen, more};
}

/* Raise what is wanted until it makes up for all lacks. False if nothing tells anything against one
 * of them. What pulls tell is the same for all arms that lack something at one place. */
static bool make_up_for(const struct bulk *bulk, const double *prices, const struct lack *lacks,
    const double *places, int64_t count, double *wanted, char *work)
{
    const int64_t n = bulk->n;
    const struct view view = {
        take(&work, n), take(&work, n), take(&work, n), take(&work, bulk->max_members)};
    struct remedy *remedies = take(&work, n * (int64_t)(sizeof *remedies / 8));
    bool *tells = (bool *)work; /* by place, way and arm */
    for (int64_t side = 0; side < 2 * count; side++) {
        const int64_t place = side / 2, way = side % 2 ? 1 : -1;
        bool seen = false;
        for (int64_t k = 0; k < n; k++) {
            if (!(lacks[k].missing > 0.0) || lacks[k].place != place || lacks[k].way != way)
                continue;
            if (!seen)
                look(bulk, places[place], (int)way, &view, &tells[side * n]);
            seen = true;
            remedies[k] = remedy_for(bulk, prices, k, lacks[k].missing, &view);
        }
    }
    for (int64_t k = 0; k < n; k++) {
        if (!(lacks[k].missing > 0.0))
            continue;
        const struct remedy remedy = remedies[k];
        if (remedy.chosen == NOBODY)
            return false;
        if (remedy.chosen == ALL) {
            const int64_t side = 2 * lacks[k].place + (lacks[k].way > 0);
            for (int64_t arm = 0; arm < n; arm++) {
                bool told = tells[side * n + arm];
                if (arm == k)
                    told = told_beyond(bulk, k, places[lacks[k].place], (int)lacks[k].way) > 0.0;
                if (told)
                    wanted[arm] = most_of(wanted[arm], bulk->counts[arm] + remedy.more);
            }
            continue;
        }
        const int64_t chosen = remedy.chosen;
        wanted[chosen] = most_of(wanted[chosen], bulk->counts[chosen] + remedy.more);
        wanted[k] = most_of(wanted[k], wanted[chosen]); /* what is believed of k may be wrong */
    }
    return true;
}

/* Whether nothing is missing against pieces with these ends, given the bets on other arms. */
static bool enough_at(const struct bulk *bulk, const struct ends *ends, double needed,
    const double *others, double *low, double *high)
{
    bets_from_end(bulk, ends, -1, others, low);
    bets_from_end(bulk, ends, 1, others, high);
    for (int64_t arm = 0; arm < bulk->n; arm++)
        if (!bulk->member[arm] && halved(low[arm], high[arm]) < needed)
            return false;
    return true;
}

/* Note what is missing against pieces at place k, by the arm at an end of it; whether anything is.
 * The end with more evidence already is the one to go on with. Longer pieces are not planned for:
 * with enough against those at one place, hardly any is left. */
static bool note_lacks(const struct bulk *bulk, const double *places, int64_t k, double needed,
    struct lack *lacks, char *work)
{
    const double place = places[k];
    const struct ends ends = {{place, place}, {place, place}};
    double *low = take(&work, bulk->n), *high = take(&work, bulk->n);
    double *others = take(&work, bulk->n);
    for (int64_t arm = 0; arm < bulk->n; arm++)
        others[arm] = log(SHARES[0]);
    bool enough = enough_at(bulk, &ends, needed, others, low, high);
    if (!enough) { /* by the arm at the end alone, as at most places */
        bets_on_others(bulk, &ends, others, work);
        enough = enough_at(bulk, &ends, needed, others, low, high);
    }
    if (enough)
        return false;
    for (int64_t arm = 0; arm < bulk->n; arm++) {
        const double missing = needed - halved(low[arm], high[arm]);
        if (!bulk->member[arm] && missing > lacks[arm].missing)
            lacks[arm] = (struct lack){missing, k, low[arm] >= high[arm] ? -1 : 1};
    }
    return true;
}

bool plan_bulk(
    const struct bulk *bulk, const double *prices, double needed, int64_t passes, double *factors)
{
    const int64_t n = bulk->n;
    char *work = bulk->work;
    double *totals = take(&work, n), *counts = take(&work, n), *wanted = take(&work, n);
    double *scatter = take(&work, n);
    struct lack *lacks = take(&work, n * (int64_t)(sizeof *lacks / 8));
    const int64_t count = (int64_t)least_of(ceil(PLACES_PER_GAP / bulk->gap), MOST_PLACES);
    bool open[MOST_PLACES]; /* where something was missing in the last pass */
    memset(open, true, sizeof open);
    double places[MOST_PLACES];
    for (int64_t k = 0; k < count; k++)
        places[k] = ((double)k + 0.5) / (double)count;
    struct bulk planned = *bulk;
    planned.totals = totals;
    planned.counts = counts;
    if (bulk->scatter != NULL)
        planned.scatter = scatter;
    for (int64_t pass = 0; pass < passes; pass++) {
        for (int64_t arm = 0; arm < n; arm++) {
            counts[arm] = wanted[arm] = factors[arm] * bulk->counts[arm];
            totals[arm] = factors[arm] * bulk->totals[arm];
            if (bulk->scatter != NULL)
                scatter[arm] = factors[arm] * bulk->scatter[arm];
            lacks[arm].missing = 0.0;
        }
        bool enough = true;
        for (int64_t k = 0; k < count; k++) {
            if (!open[k])
                continue;
            open[k] = note_lacks(&planned, places, k, needed, lacks, work);
            enough &= !open[k];
        }
        if (enough)
            return true;
        if (!make_up_for(&planned, prices, lacks, places, count, wanted, work))
            return false;
        for (int64_t arm = 0; arm < n; arm++)
            factors[arm] *= least_of(wanted[arm] / counts[arm], PASS_GROWTH);
    }
    return true;
}
