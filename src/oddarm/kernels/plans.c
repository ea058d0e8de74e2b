/* Which pulls would make gaps certain and rule out rivals, if every estimate is right and an
 * interval shrinks with the root of its arm's pulls.
 *
 * docs/adaptive.md has the mathematics; plans.py says what each exported function does. A plan is a
 * factor for each arm, by which its pulls are to grow. */
#include "blocks.h"

/* Into how many parts the distance that a gap can spare is divided to find the cheapest split. */
#define SPLITS 12
/* The first stride of a plan. */
#define BOLD 1.25
#define INSET 0.01
/* With many arms a stride is as large again after so many steps; an inset grows up to this. */
#define STEPS 32
#define MOST_INSET 0.2
/* More than all rounding, in parts of a number. */
#define ROUNDING 1e-9

/* The steps of a plan for many arms become larger the longer it takes: otherwise there would be the
 * more of them, the more arms there are. No round raises pulls by as much as one step does. */
struct stride stride_at(const struct rules *rules, int64_t step)
{
    if (!rules->many_arms)
        return (struct stride){BOLD, INSET, 0};
    const double times = (double)step / STEPS;
    return (struct stride){1.0 + (BOLD - 1.0) * (1.0 + times),
        least_of(INSET * (1.0 + times), MOST_INSET),
        (int64_t)(times * (double)rules->max_members / 8)};
}

/* To what factor an arm's pulls must grow for its interval to fit into [low, high]. It is planned
 * to grow to `factor` already; the interval reaches `down` below the mean now and `up` above. */
static double factor_to_fit(
    double bold, double factor, double mean, double down, double up, double low, double high)
{
    if (mean <= low || mean >= high)
        return INFINITY;
    double wanted = bold * factor;
    if (down > mean - low)
        wanted = most_of(wanted, squared(down / (mean - low)));
    if (up > high - mean)
        wanted = most_of(wanted, squared(up / (high - mean)));
    return wanted;
}

/* The interval of an arm as it will be if its pulls grow by `factor`. */
void shrink_arm(
    const struct arms *arms, int64_t arm, double factor, double *now_low, double *now_high)
{
    const double mean = arms->means[arm];
    const double scale = factor > 1.0 ? pow(factor, -0.5) : 1.0;
    now_low[arm] = mean - (mean - arms->low[arm]) * scale;
    now_high[arm] = mean + (arms->high[arm] - mean) * scale;
}

/* The same for all arms; `known` has the factors for which intervals are known, 0 at first. */
static void shrink(const struct arms *arms, const double *factors, double *known, double *now_low,
    double *now_high)
{
    for (int64_t arm = 0; arm < arms->n; arm++) {
        if (factors[arm] == known[arm])
            continue;
        known[arm] = factors[arm];
        shrink_arm(arms, arm, factors[arm], now_low, now_high);
    }
}

/* What it costs to raise the factors to those wanted. */
static double extra_pulls(const struct arms *arms, const double *factors, const double *wanted)
{
    double total = 0.0;
    for (int64_t arm = 0; arm < arms->n; arm++)
        total += price(arms, arm, factors[arm], wanted[arm]);
    return total;
}

/* What it costs to multiply the pulls by the factors. */
double planned_pulls(const struct arms *arms, const double *factors)
{
    double total = 0.0;
    for (int64_t arm = 0; arm < arms->n; arm++)
        total += price(arms, arm, 1.0, factors[arm]);
    return total;
}

/* Raise factors until by_mean[begin:at] end below by_mean[to:end] by `gap`, at the least cost.
 *
 * By the evidence of pairs if there is any and no arm lies in between, else by the intervals of
 * single arms. What the distance can spare beyond `gap` is split between the arms below and above.
 */
void certify(const struct arms *arms, const struct rules *rules, int64_t begin, int64_t at,
    int64_t to, int64_t end, double gap, double *factors)
{
    const int64_t n = arms->n, *by_mean = arms->by_mean;
    const double *low = arms->low, *high = arms->high, *means = arms->means;
    const double *single_evidence = arms->single_evidence;
    const double below = means[by_mean[at - 1]], above = means[by_mean[to]];
    const double spare = above - below - gap, distance = spare + gap;
    const bool alone = to > at || !single_evidence;
    double for_order = 0.0, for_gap = 0.0; /* the evidence that plans count on */
    if (!alone) {
        for_order = rules->caution * order_evidence(n, rules->pair_delta);
        for_gap = rules->caution * gap_evidence(gap, n, rules->pair_delta);
    }
    /* Arms so far off that no split asks for more pulls of them than are planned. */
    const double most = spare >= 0.0 ? 1.0 - ROUNDING : 0.0;
    while (begin < at - 1) {
        const int64_t arm = by_mean[begin];
        const double have = high[arm] - means[arm], far = below - means[arm];
        const double ratio = alone ? 1.0 : most_of(1.0, for_gap / single_evidence[arm]);
        if (!(have * have * ratio <= most * factors[arm] * far * far))
            break;
        begin++;
    }
    while (end > to + 1) {
        const int64_t arm = by_mean[end - 1];
        const double have = means[arm] - low[arm], far = means[arm] - above;
        const double ratio = alone ? 1.0 : most_of(1.0, for_gap / single_evidence[arm]);
        if (!(have * have * ratio <= most * factors[arm] * far * far))
            break;
        end--;
    }
    double best = INFINITY, chosen = 0.5;
    for (int k = 1; k <= SPLITS; k++) { /* the last time with the best split, to keep it */
        const double split = k < SPLITS ? (double)k / SPLITS : chosen;
        double cost = 0.0;
        for (int64_t place = begin; place < end; place++) {
            const int64_t arm = by_mean[place];
            if (at <= place && place < to)
                continue;
            const bool lower = place < at;
            const double have = lower ? high[arm] - means[arm] : means[arm] - low[arm];
            const double far = lower ? below - means[arm] : means[arm] - above;
            const double part = lower ? split : 1.0 - split;
            double wanted;
            if (alone) {
                wanted = squared(have / (far + part * spare));
            } else {
                const double own = single_evidence[arm];
                const double single = own / squared(far + part * distance);
                const double both =
                    for_order / (far * (far + 2.0 * distance) + part * distance * distance);
                const double apart = for_gap / (far * (far + 2.0 * spare) + part * spare * spare);
                wanted = (have * have / own) * most_of(apart, least_of(single, both));
            }
            if (wanted > factors[arm]) {
                cost += price(arms, arm, factors[arm], wanted);
                if (k == SPLITS)
                    factors[arm] = wanted;
            }
        }
        if (cost < best) {
            best = cost;
            chosen = split;
        }
    }
}

/* Look for the cheapest arm to lie within the gap that begins at `start`. */
struct filler cheapest_filler(const struct arms *arms, const struct stride *stride,
    const bool *barred, const double *factors, double start, double length)
{
    const double inset = stride->inset * length;
    struct filler best = {-1, 1.0, INFINITY};
    for (int64_t arm = 0; arm < arms->n; arm++) {
        const double mean = arms->means[arm];
        if ((barred && barred[arm]) || !(start + 2 * inset < mean) ||
            !(mean < start + length - 2 * inset))
            continue;
        const double want = factor_to_fit(stride->bold, factors[arm], mean, mean - arms->low[arm],
            arms->high[arm] - mean, start + inset, start + length - inset);
        const double extra = price(arms, arm, factors[arm], want);
        if (extra < best.cost)
            best = (struct filler){arm, want, extra};
    }
    return best;
}

WIDE(int64_t, count_up_to, (const double *values, int64_t n, double most), (values, n, most))
{
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++)
        count += values[k] <= most;
    return count;
}

/* A number that at least `rank` of the values, and hardly more, do not exceed. */
static double nth_least(const double *values, int64_t n, int64_t rank)
{
    double low = 0.0, high = 0.0;
    int64_t count = 0;
    for (int64_t k = 0; k < n; k++)
        if (values[k] < INFINITY) {
            high = most_of(high, values[k]);
            count++;
        }
    if (count < rank)
        return INFINITY;
    for (int halving = 0; halving < 50; halving++) {
        const double middle = (low + high) / 2;
        count = count_up_to(values, n, middle);
        if (count < rank) {
            low = middle;
            continue;
        }
        high = middle;
        if (count == rank)
            break;
    }
    return high;
}

/* Take over a trial if it costs less than the best so far. */
static double better(
    const struct arms *arms, double best, double cost, const double *trial, double *wanted)
{
    if (!(cost < best))
        return best;
    copy(wanted, trial, arms->n);
    return cost;
}

/* Plan the cheapest way to rule out the rival between `ends`; return its cost. `now` has the
 * intervals as planned so far, `member` the arms of the block, NULL if it is empty. */
static double rule_out(const struct arms *arms, const struct arms *now, const struct rules *rules,
    const struct stride *stride, const bool *member, const double ends[2], double tau,
    const double *factors, double *wanted, char *work)
{
    const int64_t n = arms->n;
    const double *low = arms->low, *high = arms->high, *means = arms->means;
    const double *now_low = now->low, *now_high = now->high;
    const bool *declared = arms->declared;
    const double x = ends[0], e = ends[1];
    const double inset = stride->inset * tau, bold = stride->bold;
    double *trial = take(&work, n);
    /* An arm fills its lower gap, or its upper one. */
    const struct filler lower = cheapest_filler(arms, stride, NULL, factors, x, tau);
    const struct filler upper = cheapest_filler(arms, stride, NULL, factors, e - tau, tau);
    const struct filler filler = upper.cost < lower.cost ? upper : lower;
    double best = filler.cost;
    copy(wanted, factors, n);
    if (filler.arm >= 0)
        wanted[filler.arm] = filler.factor;
    /* No arm can be inside: each that can is kept below or above. */
    copy(trial, factors, n);
    for (int64_t arm = 0; arm < n; arm++) {
        if (declared[arm] || now_high[arm] <= x + tau || now_low[arm] >= e - tau)
            continue;
        const double mean = means[arm];
        const double below = factor_to_fit(
            bold, factors[arm], mean, 0.0, high[arm] - mean, -INFINITY, x + tau - inset);
        const double above = factor_to_fit(
            bold, factors[arm], mean, mean - low[arm], 0.0, e - tau + inset, INFINITY);
        trial[arm] = least_of(below, above);
    }
    best = better(arms, best, extra_pulls(arms, factors, trial), trial, wanted);
    /* The whole block is inside, or more new arms than a group may have. */
    double *fits = take(&work, n), *costs = take(&work, n);
    int64_t missing = further_members(arms, rules) + 1;
    for (int64_t arm = 0; arm < n; arm++) {
        const double mean = means[arm];
        if (now_low[arm] > x && now_high[arm] < e) {
            fits[arm] = factors[arm];
            costs[arm] = INFINITY;
            missing -= !declared[arm];
        } else {
            fits[arm] = factor_to_fit(
                bold, factors[arm], mean, mean - low[arm], high[arm] - mean, x + inset, e - inset);
            costs[arm] = declared[arm] ? INFINITY : price(arms, arm, factors[arm], fits[arm]);
        }
    }
    if (member) {
        for (int64_t arm = 0; arm < n; arm++)
            trial[arm] = member[arm] ? fits[arm] : factors[arm];
        best = better(arms, best, extra_pulls(arms, factors, trial), trial, wanted);
    }
    double limit = nth_least(costs, n, missing + stride->more);
    if (limit < INFINITY)
        missing += stride->more;
    else
        limit = nth_least(costs, n, missing);
    if (limit < INFINITY) {
        copy(trial, factors, n);
        for (int64_t arm = 0; arm < n; arm++)
            if (costs[arm] <= limit && missing > 0) {
                trial[arm] = fits[arm];
                missing--;
            }
        best = better(arms, best, extra_pulls(arms, factors, trial), trial, wanted);
    }
    return best;
}

/* Make certain that a window has a gap of `level`. */
static void certify_window(const struct arms *arms, const struct rules *rules,
    const int64_t window[2], double level, double *factors)
{
    const int64_t first = window[0], last = window[1];
    int64_t start = first, stop = last;
    while (start > 0 && !arms->declared[arms->by_mean[start - 1]])
        start--;
    while (stop < arms->n && !arms->declared[arms->by_mean[stop]])
        stop++;
    const double length = level * (double)(last - first);
    certify(arms, rules, start, first + 1, last, stop, length, factors);
}

/* Look for a rival of the target: of its block, or any beside the first cut of windows. */
static bool rival_of(const struct arms *now, const struct rules *rules, const struct target *target,
    double *tau, double found[2], char *work)
{
    double begin = target->first < target->last ? INFINITY : -INFINITY, end = -begin;
    for (int64_t k = target->first; k < target->last; k++) {
        begin = least_of(begin, now->low[now->by_mean[k]]);
        end = most_of(end, now->high[now->by_mean[k]]);
    }
    *tau = most_of(rules->gap_factor * target->gap, rules->floor);
    if (rival(now, rules, *tau, begin, end, INFINITY, -INFINITY, found, work))
        return true;
    if (target->window_count == 0 || target->cut_count == 0)
        return false;
    double sides[2];
    *tau = most_of(rules->gap_factor * target->level, rules->floor);
    beside(now, target->cuts[0], target->gap, sides);
    return rival(now, rules, *tau, begin, end, sides[0], sides[1], found, work);
}

double plan_target(const struct arms *arms, const struct rules *rules, const struct target *target,
    double *factors, double budget)
{
    const int64_t n = arms->n;
    char *work = arms->work;
    for (int64_t k = 0; k < target->cut_count; k++)
        certify(arms, rules, 0, target->cuts[k], target->cuts[k], n, target->gap, factors);
    for (int64_t k = 0; k < target->window_count; k++) {
        if (!(planned_pulls(arms, factors) < budget))
            return INFINITY;
        certify_window(arms, rules, target->windows[k], target->level, factors);
    }
    bool *member = take(&work, n / 8 + 1);
    for (int64_t arm = 0; arm < n; arm++)
        member[arm] = false;
    for (int64_t k = target->first; k < target->last; k++)
        member[arms->by_mean[k]] = true;
    double cost = planned_pulls(arms, factors);
    double *now_low = take(&work, n), *now_high = take(&work, n), *wanted = take(&work, n);
    double *known = zeros(&work, n);
    int64_t *now_by_low = take(&work, n), *now_by_high = take(&work, n);
    memcpy(now_by_low, arms->by_low, (size_t)n * sizeof *now_by_low);
    memcpy(now_by_high, arms->by_high, (size_t)n * sizeof *now_by_high);
    struct arms now = *arms;
    now.low = now_low, now.high = now_high, now.by_low = now_by_low, now.by_high = now_by_high;
    for (int64_t step = 0; step < 40 * n; step++) {
        if (!(cost < budget))
            return INFINITY;
        shrink(arms, factors, known, now_low, now_high);
        resort(now_by_low, now_low, n);
        resort(now_by_high, now_high, n);
        double tau, ends[2];
        if (!rival_of(&now, rules, target, &tau, ends, work))
            return cost;
        const struct stride stride = stride_at(rules, step);
        const bool *block = target->first < target->last ? member : NULL;
        cost += rule_out(arms, &now, rules, &stride, block, ends, tau, factors, wanted, work);
        copy(factors, wanted, n);
    }
    return INFINITY;
}
