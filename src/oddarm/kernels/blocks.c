/* Blocks of arms known only by intervals: which may be outlier groups, and what rules them out.
 *
 * docs/adaptive.md has the mathematics; blocks.py says what each exported function does. A *block*
 * is a run of arms in the order of their means; a *rival* of a block is one that may be a piece of
 * a group which does not contain it. Arrays are per arm; `by_low`, `by_high` and `by_mean` are
 * permutations that sort them. */
#include "blocks.h"

/* Into how many parts the room beside a gap is divided to find the cheapest split. */
#define SPLITS 12
/* How far inside a gap, in parts of its length, an arm must lie to fill it. */
#define INSET 0.01

/* Intervals in the order of their ends, and which arms are declared. */
struct sorted {
    int64_t n;
    const double *low, *high;
    const int64_t *by_low, *by_high;
    const bool *declared;
};

EXPORT void resort(int64_t *order, const double *keys, int64_t n)
{
    for (int64_t k = 1; k < n; k++) {
        const int64_t arm = order[k];
        const double key = keys[arm];
        int64_t at = k;
        while (at > 0 &&
               (keys[order[at - 1]] > key || (keys[order[at - 1]] == key && order[at - 1] > arm))) {
            order[at] = order[at - 1];
            at--;
        }
        order[at] = arm;
    }
}

static bool piece(const struct sorted *arms, double tau, int64_t places, int64_t side, double start,
    double stop, double reach, double *at, double *end, char *room)
{
    const int64_t n = arms->n, *by_low = arms->by_low, *by_high = arms->by_high;
    const double *low = arms->low, *high = arms->high;
    const bool *declared = arms->declared;
    /* ends[k]: the least upper end of by_low[k:], so e(x) for those that begin beyond x. */
    double *ends = take(&room, n + 1);
    ends[n] = INFINITY;
    for (int64_t k = n - 1; k >= 0; k--)
        ends[k] = least_of(ends[k + 1], high[by_low[k]]);
    /* valid[k]: the first place from k on in by_high with a possible gap above tau just below. */
    int64_t *valid = take(&room, n + 1);
    valid[n] = n;
    double latest = -INFINITY;
    int64_t first = 0;
    for (int64_t k = 0; k < n; k++) {
        const double e = high[by_high[k]];
        if (k > 0 && e > high[by_high[k - 1]]) {
            for (int64_t j = first; j < k; j++)
                latest = most_of(latest, low[by_high[j]]);
            first = k;
        }
        valid[k] = first == k && n - k >= side && latest < e - tau ? k : -1;
    }
    for (int64_t k = n - 1; k >= 0; k--)
        if (valid[k] < 0)
            valid[k] = valid[k + 1];
    /* begins[k]: the least lower end of those of by_high[k:] that are not declared. */
    double *begins = take(&room, n + 1);
    begins[n] = INFINITY;
    for (int64_t k = n - 1; k >= 0; k--) {
        const int64_t arm = by_high[k];
        begins[k] = declared[arm] ? begins[k + 1] : least_of(begins[k + 1], low[arm]);
    }
    bool *inside = take(&room, n / 8 + 1);
    for (int64_t arm = 0; arm < n; arm++)
        inside[arm] = false;
    int64_t forced = 0;
    int64_t entered = 0; /* by_high[:entered] end below e */
    int64_t member = 0;  /* by_high[member:] end beyond x + tau */
    int64_t upper = 0;
    for (int64_t k = 0; k < n; k++) {
        const int64_t arm = by_low[k];
        const double x = low[arm];
        if (inside[arm]) {
            inside[arm] = false;
            forced--;
        }
        if (k + 1 < n && low[by_low[k + 1]] == x)
            continue;
        if (x > stop)
            break;
        if (x < start || k + 1 < side || ends[k + 1] <= x + tau)
            continue;
        while (member < n && high[by_high[member]] <= x + tau)
            member++;
        if (begins[member] == INFINITY)
            continue;
        const double least = most_of(x + 2 * tau, begins[member] + tau);
        while (upper < n && (high[by_high[upper]] <= least || high[by_high[upper]] < reach))
            upper++;
        const int64_t place = valid[upper];
        for (; entered < place; entered++) {
            const int64_t other = by_high[entered];
            if (low[other] > x && !declared[other]) {
                inside[other] = true;
                forced++;
            }
        }
        if (forced <= places) {
            *at = x;
            *end = place == n ? INFINITY : high[by_high[place]];
            return true;
        }
    }
    return false;
}

static bool rival(const struct sorted *arms, double tau, int64_t places, int64_t side, double begin,
    double end, double top, double bottom, double *x, double *e, char *room)
{
    if (piece(arms, tau, places, side, begin, top, bottom, x, e, room))
        return true;
    const int64_t n = arms->n;
    double *low = take(&room, n), *high = take(&room, n);
    int64_t *by_low = take(&room, n), *by_high = take(&room, n);
    for (int64_t k = 0; k < n; k++) {
        low[k] = -arms->high[k];
        high[k] = -arms->low[k];
        by_low[k] = arms->by_high[n - 1 - k];
        by_high[k] = arms->by_low[n - 1 - k];
    }
    const struct sorted mirror = {n, low, high, by_low, by_high, arms->declared};
    double from, to;
    if (!piece(&mirror, tau, places, side, -end, -bottom, -top, &from, &to, room))
        return false;
    *x = -to;
    *e = -from;
    return true;
}

EXPORT bool find_piece(const double *low, const double *high, const int64_t *by_low,
    const int64_t *by_high, const bool *declared, int64_t n, double tau, int64_t places,
    int64_t side, double start, double stop, double reach, double *found, char *room)
{
    const struct sorted arms = {n, low, high, by_low, by_high, declared};
    return piece(&arms, tau, places, side, start, stop, reach, &found[0], &found[1], room);
}

EXPORT bool find_rival(const double *low, const double *high, const int64_t *by_low,
    const int64_t *by_high, const bool *declared, int64_t n, double tau, int64_t places,
    int64_t side, double begin, double end, double top, double bottom, double *found, char *room)
{
    const struct sorted arms = {n, low, high, by_low, by_high, declared};
    return rival(&arms, tau, places, side, begin, end, top, bottom, &found[0], &found[1], room);
}

EXPORT void find_cuts(
    const double *low, const double *high, const int64_t *order, double *cuts, int64_t n)
{
    cuts[0] = cuts[n] = INFINITY;
    double least = INFINITY;
    for (int64_t k = n - 1; k > 0; k--) {
        least = least_of(least, low[order[k]]);
        cuts[k] = least;
    }
    double reach = -INFINITY;
    for (int64_t k = 1; k < n; k++) {
        reach = most_of(reach, high[order[k - 1]]);
        cuts[k] -= reach;
    }
}

EXPORT double best_block(const double *cuts, const int64_t *order, const bool *declared, int64_t n,
    int64_t most, int64_t enough, int64_t *block)
{
    int64_t count = 0;
    for (int64_t arm = 0; arm < n; arm++)
        count += declared[arm];
    double best = 0.0;
    block[0] = block[1] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (cuts[i] <= best)
            continue;
        int64_t new = 0;
        for (int64_t j = i + 1; j <= n && j <= i + most; j++) {
            new += !declared[order[j - 1]];
            const double gap = least_of(cuts[i], cuts[j]);
            if (gap > best && new > 0 && count + new >= enough) {
                best = gap;
                block[0] = i;
                block[1] = j;
            }
        }
    }
    return best;
}

EXPORT bool find_windows(const double *low, const double *high, const int64_t *order,
    const bool *declared, const double *cuts, int64_t n, double level, double spare,
    int64_t (*windows)[2], int64_t wanted, char *room)
{
    double *begins = take(&room, n + 1); /* the least lower end from a place on */
    int64_t found = 0;
    int64_t start = 0;
    while (start < n && found < wanted) {
        if (declared[order[start]]) {
            start++;
            continue;
        }
        int64_t stop = start;
        while (stop < n && !declared[order[stop]])
            stop++;
        begins[stop] = INFINITY;
        for (int64_t k = stop - 1; k >= start; k--)
            begins[k] = least_of(begins[k + 1], low[order[k]]);
        double reach = -INFINITY, best = INFINITY;
        int64_t first = -1;
        for (int64_t k = start; k < stop; k++) {
            if (first >= 0 && cuts[k] >= level + spare) {
                best = -INFINITY;
                first = k - 1;
            }
            if (first >= 0 && begins[k] - level * (double)k >= best + spare) {
                windows[found][0] = first;
                windows[found][1] = k;
                found++;
                best = INFINITY;
                first = -1;
                reach = most_of(reach, high[order[k]]);
                if (found == wanted)
                    return true;
                continue;
            }
            reach = most_of(reach, high[order[k]]);
            if (reach - level * (double)k < best) {
                best = reach - level * (double)k;
                first = k;
            }
        }
        start = stop;
    }
    return false;
}

EXPORT double best_windows(const double *low, const double *high, const int64_t *order,
    const bool *declared, const double *cuts, int64_t n, double level, int64_t (*windows)[2],
    int64_t wanted, char *room)
{
    double least = INFINITY, most = -INFINITY;
    for (int64_t arm = 0; arm < n; arm++) {
        least = least_of(least, low[arm]);
        most = most_of(most, high[arm]);
    }
    double under = 0.0, over = most - least;
    for (int halving = 0; halving < 30; halving++) {
        if (over - under <= 1e-3 * over)
            break;
        const double middle = (under + over) / 2;
        const double at = level > 0.0 ? level : middle, spare = level > 0.0 ? middle : 0.0;
        if (find_windows(low, high, order, declared, cuts, n, at, spare, windows, wanted, room))
            under = middle;
        else
            over = middle;
    }
    if (under > 0.0) {
        const double at = level > 0.0 ? level : under, spare = level > 0.0 ? under : 0.0;
        find_windows(low, high, order, declared, cuts, n, at, spare, windows, wanted, room);
    }
    return under;
}

/* To what factor an arm's pulls must grow for its interval to fit into [low, high]. It is planned
 * to grow to `factor` already; the interval reaches `down` below the mean now and `up` above. */
static double factor_to_fit(
    double factor, double mean, double down, double up, double low, double high)
{
    if (mean <= low || mean >= high)
        return INFINITY;
    double wanted = BOLD * factor;
    if (down > mean - low)
        wanted = most_of(wanted, squared(down / (mean - low)));
    if (up > high - mean)
        wanted = most_of(wanted, squared(up / (high - mean)));
    return wanted;
}

/* The intervals as they will be if pulls grow by `factors`; `known` has the factors for which they
 * are known, 0 at first. */
void shrink(const struct outlook *arms, const double *factors, double *known, double *now_low,
    double *now_high)
{
    for (int64_t arm = 0; arm < arms->n; arm++) {
        if (factors[arm] == known[arm])
            continue;
        known[arm] = factors[arm];
        const double mean = arms->means[arm];
        const double scale = factors[arm] > 1.0 ? pow(factors[arm], -0.5) : 1.0;
        now_low[arm] = mean - (mean - arms->low[arm]) * scale;
        now_high[arm] = mean + (arms->high[arm] - mean) * scale;
    }
}

/* What it costs to raise the factors to those wanted. */
static double extra_pulls(const struct outlook *arms, const double *factors, const double *wanted)
{
    double total = 0.0;
    for (int64_t arm = 0; arm < arms->n; arm++)
        total += arms->counts[arm] * (wanted[arm] - factors[arm]);
    return total;
}

/* What it costs to multiply the pulls by the factors. */
double planned_pulls(const struct outlook *arms, const double *factors)
{
    double total = 0.0;
    for (int64_t arm = 0; arm < arms->n; arm++)
        total += arms->counts[arm] * (factors[arm] - 1.0);
    return total;
}

/* Raise factors until by_mean[begin:at] end below by_mean[to:end] by `gap`, at the least cost.
 *
 * By the intervals of single arms if there are arms in between or no pairs; else by the evidence of
 * pairs, with pairs[arm] the evidence at which its own interval ends, then the error probability of
 * pairs, and by what factor to raise the evidence that they seem to need. */
void certify(const struct outlook *arms, int64_t begin, int64_t at, int64_t to, int64_t end,
    double gap, double *factors)
{
    const int64_t n = arms->n, *by_mean = arms->by_mean;
    const double *low = arms->low, *high = arms->high, *means = arms->means, *pairs = arms->pairs;
    const double below = means[by_mean[at - 1]], above = means[by_mean[to]];
    const double room = above - below - gap;
    const bool alone = to > at || !pairs;
    double order = 0.0, level = 0.0;
    if (!alone) {
        order = pairs[n + 1] * level_of_order(n, pairs[n]);
        level = pairs[n + 1] * level_of_gap(gap, n, pairs[n]);
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
                wanted = squared(have / (far + part * room));
            } else {
                const double wide = room + gap;
                const double single = pairs[arm] / squared(far + part * wide);
                const double both = order / (far * (far + 2.0 * wide) + part * wide * wide);
                const double apart = level / (far * (far + 2.0 * room) + part * room * room);
                wanted = (have * have / pairs[arm]) * most_of(apart, least_of(single, both));
            }
            if (wanted > factors[arm]) {
                cost += arms->counts[arm] * (wanted - factors[arm]);
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

/* Plan for one arm to lie within the gap that begins at `start`; return the cost. */
double cheapest_filler(const struct outlook *arms, const bool *barred, const double *factors,
    double start, double length, double *wanted)
{
    const double inset = INSET * length;
    double best = INFINITY, factor = 1.0;
    int64_t chosen = -1;
    for (int64_t arm = 0; arm < arms->n; arm++) {
        const double mean = arms->means[arm];
        if ((barred && barred[arm]) || !(start + 2 * inset < mean) ||
            !(mean < start + length - 2 * inset))
            continue;
        const double want = factor_to_fit(factors[arm], mean, mean - arms->low[arm],
            arms->high[arm] - mean, start + inset, start + length - inset);
        const double extra = arms->counts[arm] * (want - factors[arm]);
        if (extra < best) {
            best = extra;
            chosen = arm;
            factor = want;
        }
    }
    copy(wanted, factors, arms->n);
    if (chosen >= 0)
        wanted[chosen] = factor;
    return best;
}

WIDE static int64_t count_up_to(const double *values, int64_t n, double most)
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
    const struct outlook *arms, double best, double cost, const double *trial, double *wanted)
{
    if (!(cost < best))
        return best;
    copy(wanted, trial, arms->n);
    return cost;
}

/* Plan the cheapest way to rule out the rival between x and e; return its cost. `member` has the
 * arms of the block, NULL if it is empty. */
static double rule_out(const struct outlook *arms, const double *now_low, const double *now_high,
    const bool *declared, const bool *member, double x, double e, double tau, int64_t places,
    const double *factors, double *wanted, char *room)
{
    const int64_t n = arms->n;
    const double *low = arms->low, *high = arms->high, *means = arms->means;
    const double inset = INSET * tau;
    double *trial = take(&room, n);
    /* An arm fills its lower gap, or its upper one. */
    double best = cheapest_filler(arms, NULL, factors, x, tau, wanted);
    double cost = cheapest_filler(arms, NULL, factors, e - tau, tau, trial);
    best = better(arms, best, cost, trial, wanted);
    /* No arm can be inside: each that can is kept below or above. */
    copy(trial, factors, n);
    for (int64_t arm = 0; arm < n; arm++) {
        if (declared[arm] || now_high[arm] <= x + tau || now_low[arm] >= e - tau)
            continue;
        const double mean = means[arm];
        const double below =
            factor_to_fit(factors[arm], mean, 0.0, high[arm] - mean, -INFINITY, x + tau - inset);
        const double above =
            factor_to_fit(factors[arm], mean, mean - low[arm], 0.0, e - tau + inset, INFINITY);
        trial[arm] = least_of(below, above);
    }
    best = better(arms, best, extra_pulls(arms, factors, trial), trial, wanted);
    /* The whole block is inside, or more new arms than a group may have. */
    double *fits = take(&room, n), *costs = take(&room, n);
    int64_t missing = places + 1;
    for (int64_t arm = 0; arm < n; arm++) {
        const double mean = means[arm];
        if (now_low[arm] > x && now_high[arm] < e) {
            fits[arm] = factors[arm];
            costs[arm] = INFINITY;
            missing -= !declared[arm];
        } else {
            fits[arm] = factor_to_fit(
                factors[arm], mean, mean - low[arm], high[arm] - mean, x + inset, e - inset);
            costs[arm] = declared[arm] ? INFINITY : arms->counts[arm] * (fits[arm] - factors[arm]);
        }
    }
    if (member) {
        for (int64_t arm = 0; arm < n; arm++)
            trial[arm] = member[arm] ? fits[arm] : factors[arm];
        best = better(arms, best, extra_pulls(arms, factors, trial), trial, wanted);
    }
    const double limit = nth_least(costs, n, missing);
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

EXPORT void beside(const double *low, const double *high, const int64_t *order, int64_t n,
    int64_t at, double gap, double *sides)
{
    double top = -INFINITY, latest = -INFINITY, bottom = INFINITY, soonest = INFINITY;
    for (int64_t k = 0; k < at; k++) {
        top = most_of(top, high[order[k]]);
        latest = most_of(latest, low[order[k]]);
    }
    for (int64_t k = at; k < n; k++) {
        bottom = least_of(bottom, low[order[k]]);
        soonest = least_of(soonest, high[order[k]]);
    }
    sides[0] = least_of(top, soonest - gap);
    sides[1] = most_of(bottom, latest + gap);
}

EXPORT double plan_cuts(const double *low, const double *high, const double *means,
    const double *counts, const int64_t *by_low, const int64_t *by_high, const int64_t *by_mean,
    const bool *declared, int64_t n, const int64_t *cuts, int64_t cut_count, int64_t first,
    int64_t last, double gap, const int64_t (*windows)[2], int64_t window_count, double level,
    double epsilon, int64_t places, int64_t side, const double *pairs, double *factors,
    double budget, char *room)
{
    const struct outlook arms = {n, low, high, means, counts, by_mean, pairs};
    for (int64_t k = 0; k < cut_count; k++)
        certify(&arms, 0, cuts[k], cuts[k], n, gap, factors);
    for (int64_t k = 0; k < window_count; k++) {
        if (!(planned_pulls(&arms, factors) < budget))
            return INFINITY;
        const int64_t begin = windows[k][0], end = windows[k][1];
        int64_t start = begin, stop = end;
        while (start > 0 && !declared[by_mean[start - 1]])
            start--;
        while (stop < n && !declared[by_mean[stop]])
            stop++;
        certify(&arms, start, begin + 1, end, stop, level * (double)(end - begin), factors);
    }
    bool *member = take(&room, n / 8 + 1);
    for (int64_t arm = 0; arm < n; arm++)
        member[arm] = false;
    for (int64_t k = first; k < last; k++)
        member[by_mean[k]] = true;
    double cost = planned_pulls(&arms, factors);
    double *now_low = take(&room, n), *now_high = take(&room, n), *wanted = take(&room, n);
    double *known = zeros(&room, n);
    int64_t *now_by_low = take(&room, n), *now_by_high = take(&room, n);
    memcpy(now_by_low, by_low, (size_t)n * sizeof *by_low);
    memcpy(now_by_high, by_high, (size_t)n * sizeof *by_high);
    const struct sorted now = {n, now_low, now_high, now_by_low, now_by_high, declared};
    for (int64_t step = 0; step < 40 * n; step++) {
        if (!(cost < budget))
            return INFINITY;
        shrink(&arms, factors, known, now_low, now_high);
        resort(now_by_low, now_low, n);
        resort(now_by_high, now_high, n);
        double begin = first < last ? INFINITY : -INFINITY, end = -begin;
        for (int64_t k = first; k < last; k++) {
            begin = least_of(begin, now_low[by_mean[k]]);
            end = most_of(end, now_high[by_mean[k]]);
        }
        double tau = (1.0 + epsilon) * gap, x, e;
        bool found = rival(&now, tau, places, side, begin, end, INFINITY, -INFINITY, &x, &e, room);
        if (!found && window_count > 0 && cut_count > 0) {
            double sides[2];
            tau = (1.0 + epsilon) * level;
            beside(now_low, now_high, by_mean, n, cuts[0], gap, sides);
            found = rival(&now, tau, places, side, begin, end, sides[0], sides[1], &x, &e, room);
        }
        if (!found)
            return cost;
        cost += rule_out(&arms, now_low, now_high, declared, first < last ? member : NULL, x, e,
            tau, places, factors, wanted, room);
        copy(factors, wanted, n);
    }
    return INFINITY;
}
