/* Whether a set of arms is an outlier group, by their intervals, and which pulls would tell.
 *
 * docs/adaptive.md has the mathematics; groups.py says what each exported function does. */
#include "blocks.h"

#include <stdlib.h>

/* Shares of the margin that a plan may spend on the gaps of the group; the rest goes inside. */
static const double SHARES[] = {0.2, 0.35, 0.5, 0.65, 0.8};
/* How wide the interval of an arm that links others may be, in parts of the widest gap allowed;
 * groups.py makes room for as many. */
static const double WIDTHS[] = {0.9, 0.8, 0.7, 0.6, 0.5, 0.42, 0.35, 0.28, 0.2, 0.12};

/* With many arms, a chain has one arm of each stretch of this part of the widest gap allowed, and
 * of no more than so many stretches; groups.py makes room for as many. */
#define STRETCH 0.125
/* They are compared by what this width would cost, in parts of the same. */
#define TYPICAL 0.35
#define MOST_STRETCHES 4096
/* So many lines are looked at, from that of the furthest interval, which costs nothing, to that
 * which is this part of the distance away from the outermost estimate. */
#define LINES 40
#define NEAREST (1.0 / 512)
/* More than all rounding, in parts of a length. */
#define ROUNDING 1e-9
/* After so many steps beyond a chain, a plan for many arms is given up. */
#define MOST_STEPS 64

/* The members of a set that may be a group, and its arms in the order of their lower ends plus
 * `shifts`, which keep apart what lies on different sides of the set's borders; and memory for
 * chains, NULL if plans have none. */
struct group {
    const int64_t *order;
    const bool *member;
    const double *shifts;
    char *chains;
};

/* The largest of some numbers, no more than `room` of them, and the least of these: a heap with
 * that at its root. One number needs no memory. */
struct largest {
    double *values;
    int64_t count, room;
    double least;
};

static void put(struct largest *heap, double value)
{
    double *values = heap->values;
    int64_t at = 0;
    if (heap->count < heap->room) {
        at = heap->count++;
        for (int64_t up = (at - 1) / 2; at > 0 && values[up] > value; at = up, up = (at - 1) / 2)
            values[at] = values[up];
    } else if (value > values[0]) {
        for (int64_t down = 1; down < heap->count; down = 2 * at + 1) {
            if (down + 1 < heap->count && values[down + 1] < values[down])
                down++;
            if (!(values[down] < value))
                break;
            values[at] = values[down];
            at = down;
        }
    } else {
        return;
    }
    values[at] = value;
    heap->least = values[0];
}

static inline void keep_largest(struct largest *heap, double value)
{
    if (heap->room > 1)
        put(heap, value);
    else
        heap->least = heap->count++ ? most_of(heap->least, value) : value;
}

/* The longest span of gaps that may be inside a segment: its length, its place in by_low, and its
 * ends. */
struct inside {
    double length;
    int64_t place;
    double start, stop;
};

/* The same for spans of `neighbours` gaps in a row, or of all gaps of a segment with fewer; `heap`
 * has room for as many numbers.
 *
 * A span begins no earlier than some arm does, at x. Of the arms that begin beyond x, the one that
 * ends as the k-th is beyond the span; with fewer than k, no arm is certain to be. docs/adaptive.md
 * has the proof. */
static inline struct inside sweep(const double *low, const double *high, const int64_t *by_low,
    const bool *member, int64_t n, int64_t neighbours, double *heap)
{
    struct inside best = {0.0, -1, 0.0, 0.0};
    int64_t k = n - 1;
    while (k >= 0) {
        if (member[by_low[k]]) {
            k--;
            continue;
        }
        /* The segment by_low[first : k+1], from its last arm down. */
        const int64_t last = k;
        int64_t first = last;
        while (first > 0 && !member[by_low[first - 1]])
            first--;
        double greatest = -INFINITY, second = -INFINITY; /* of the upper ends */
        for (int64_t j = first; j <= last; j++) {
            second = most_of(second, least_of(greatest, high[by_low[j]]));
            greatest = most_of(greatest, high[by_low[j]]);
        }
        struct largest ends = {heap, 0, neighbours, 0.0}; /* the least upper ends, negated */
        for (int64_t j = last; j >= first; j--) {
            const double x = low[by_low[j]];
            if (j == last || low[by_low[j + 1]] > x) {
                double end = -ends.least;
                if (last - j < neighbours) { /* no k-th arm is certain to follow */
                    const bool alone = j == first || low[by_low[j - 1]] < x;
                    end = alone && high[by_low[j]] == greatest ? second : greatest;
                }
                if (end - x > best.length)
                    best = (struct inside){end - x, j, x, end};
            }
            keep_largest(&ends, -high[by_low[j]]);
        }
        k = first - 1;
    }
    return best;
}

static struct inside largest_inside(const double *low, const double *high, const int64_t *by_low,
    const bool *member, int64_t n, int64_t neighbours, double *heap)
{
    if (neighbours == 1) /* the usual case, which is compiled by itself: plans take long in it */
        return sweep(low, high, by_low, member, n, 1, NULL);
    return sweep(low, high, by_low, member, n, neighbours, heap);
}

double widest_possible(
    const struct arms *arms, const int64_t *order, const bool *member, int64_t neighbours)
{
    double *heap = (double *)arms->work;
    return largest_inside(arms->low, arms->high, order, member, arms->n, neighbours, heap).length;
}

int64_t judge_group(const struct arms *arms, const struct rules *rules, const int64_t *order,
    const bool *member, double apart, double certain, double certificate[4])
{
    const int64_t n = arms->n, min_segment = rules->min_segment;
    const double *low = arms->low, *high = arms->high;
    double most = INFINITY, low_in = -INFINITY, low_out = -INFINITY;
    struct largest reach = {(double *)arms->work, 0, rules->neighbours, 0.0}; /* of this segment */
    int64_t size = 0;
    bool small = false;
    for (int64_t k = 0; k < n; k++) {
        const int64_t arm = order[k];
        if (member[arm]) {
            most = least_of(most, high[arm] - low_out);
            low_in = most_of(low_in, low[arm]);
            small |= 0 < size && size < min_segment;
            size = 0;
            reach.count = 0;
        } else {
            most = least_of(most, high[arm] - low_in);
            /* Of those before, all but neighbours - 1, or one, end there or below. */
            if (size > 0)
                certain = most_of(certain, low[arm] - reach.least);
            low_out = most_of(low_out, low[arm]);
            keep_largest(&reach, high[arm]);
            size++;
        }
    }
    small |= 0 < size && size < min_segment;
    const double possible = widest_possible(arms, order, member, rules->neighbours);
    if (apart <= 0.0) { /* the order of the arms is not certain */
        apart = 0.0;
        most = INFINITY;
        certain = 0.0;
    }
    certificate[0] = apart;
    certificate[1] = most;
    certificate[2] = certain;
    certificate[3] = possible;
    if (apart <= 0.0)
        return 0;
    if (small || most <= most_of(rules->gap_factor * certain, rules->floor))
        return -1;
    return apart > most_of(rules->sure_factor * possible, rules->sure_gap);
}

/* An arm as a link of a chain, known as well as `factor` makes it: what that costs, and what the
 * cheapest chain up to it costs, which comes from another link, or from none. */
struct link {
    double low, high, factor, cost, best;
    int64_t arm;
    struct link *from;
};

static int by_lower_end(const void *one, const void *two)
{
    const struct link *a = one, *b = two;
    if (a->low != b->low)
        return a->low < b->low ? -1 : 1;
    if (a->arm != b->arm)
        return a->arm < b->arm ? -1 : 1;
    return (a->factor > b->factor) - (a->factor < b->factor);
}

/* What it costs that no arm of by_mean[first:last] can lie below `line`, or above if `above`; with
 * `raise`, the factors are raised to that. */
static double keep_within(const struct arms *arms, int64_t first, int64_t last, double line,
    bool above, double *factors, bool raise)
{
    const double outermost = arms->means[arms->by_mean[above ? last - 1 : first]];
    if (above ? line <= outermost : line >= outermost)
        return INFINITY;
    double total = 0.0;
    for (int64_t k = first; k < last; k++) {
        const int64_t arm = arms->by_mean[k];
        const double mean = arms->means[arm];
        const double have = above ? arms->high[arm] - mean : mean - arms->low[arm];
        const double room = above ? line - mean : mean - line;
        const double wanted = squared(have / room);
        if (wanted <= factors[arm])
            continue;
        total += price(arms, arm, factors[arm], wanted);
        if (raise)
            factors[arm] = wanted;
    }
    return total;
}

/* What `keep_within` costs, over lines ever nearer to the outermost estimate. */
struct fence {
    double outermost, lines[LINES + 1], costs[LINES + 1];
};

static struct fence fence_around(
    const struct arms *arms, int64_t first, int64_t last, bool above, double *factors)
{
    struct fence fence = {.outermost = arms->means[arms->by_mean[above ? last - 1 : first]]};
    double furthest = 0.0;
    for (int64_t k = first; k < last; k++) {
        const int64_t arm = arms->by_mean[k];
        const double mean = arms->means[arm], scale = pow(factors[arm], -0.5);
        const double reach = (above ? arms->high[arm] - mean : mean - arms->low[arm]) * scale;
        const double inside = above ? fence.outermost - mean : mean - fence.outermost;
        furthest = most_of(furthest, reach - inside);
    }
    for (int line = 0; line <= LINES; line++) {
        const double away = furthest * pow(NEAREST, (double)line / LINES);
        fence.lines[line] = fence.outermost + (above ? away : -away);
        fence.costs[line] = 0.0;
        if (line > 0 && furthest > 0.0)
            fence.costs[line] =
                keep_within(arms, first, last, fence.lines[line], above, factors, false);
    }
    return fence;
}

/* What it costs that no arm can lie beyond a line: as between the lines beside it. */
static double fence_cost(const struct fence *fence, double line, bool above)
{
    const double way = above ? 1.0 : -1.0, away = way * (line - fence->outermost);
    if (!(away > 0.0))
        return INFINITY;
    for (int k = 0; k <= LINES; k++) {
        const double nearer = way * (fence->lines[k] - fence->outermost);
        if (away < nearer)
            continue;
        if (k == 0)
            return 0.0;
        const double further = way * (fence->lines[k - 1] - fence->outermost);
        const double share = (further - away) / (further - nearer);
        return fence->costs[k - 1] + share * (fence->costs[k] - fence->costs[k - 1]);
    }
    return INFINITY;
}

/* Add the links that an arm can be, known more and more closely. */
static int64_t add_links(const struct arms *arms, int64_t arm, double length, const double *factors,
    struct link *links, int64_t count)
{
    const double mean = arms->means[arm], width = arms->high[arm] - arms->low[arm];
    for (size_t j = 0; j <= sizeof WIDTHS / sizeof *WIDTHS; j++) {
        const double factor = j ? squared(width / (WIDTHS[j - 1] * length)) : factors[arm];
        if (j && factor <= factors[arm])
            continue;
        const double scale = factor > 1.0 ? pow(factor, -0.5) : 1.0;
        if (width * scale > length)
            continue;
        links[count++] = (struct link){mean - (mean - arms->low[arm]) * scale,
            mean + (arms->high[arm] - mean) * scale, factor, price(arms, arm, factors[arm], factor),
            INFINITY, arm, NULL};
    }
    return count;
}

/* The links of a segment; with many arms, of that arm in each stretch that takes the fewest further
 * pulls. */
static int64_t links_of(const struct arms *arms, int64_t first, int64_t last, double length,
    bool many_arms, const double *factors, struct link *links)
{
    const double begin = arms->means[arms->by_mean[first]];
    const double range = arms->means[arms->by_mean[last - 1]] - begin;
    const double stretch = most_of(STRETCH * length, range / (MOST_STRETCHES - 1));
    int64_t count = 0, chosen = -1;
    double least = INFINITY, present = -1.0;
    for (int64_t k = first; k < last; k++) {
        const int64_t arm = arms->by_mean[k];
        if (!many_arms) {
            count = add_links(arms, arm, length, factors, links, count);
            continue;
        }
        const double place = floor((arms->means[arm] - begin) / stretch);
        if (place > present && chosen >= 0) {
            count = add_links(arms, chosen, length, factors, links, count);
            least = INFINITY;
        }
        present = place;
        const double width = arms->high[arm] - arms->low[arm];
        const double cost = arms->pulls[arm] * (squared(width / (TYPICAL * length)) - factors[arm]);
        if (cost < least || least == INFINITY) {
            least = cost;
            chosen = arm;
        }
    }
    return chosen < 0 ? count : add_links(arms, chosen, length, factors, links, count);
}

/* Raise factors until no gap inside the segment by_mean[first:last] can be wider than `length`, by
 * the cheapest chain of arms: each must end within `length` of where the one before it begins, the
 * first within that of where any arm begins, and any arm within that of where the last begins.
 * With many arms, what the ends cost is known roughly, so that it takes few looks at all arms. */
static void cover(const struct arms *arms, int64_t first, int64_t last, double length,
    bool many_arms, double *factors, char *work)
{
    struct link *links = (struct link *)work;
    const int64_t count = links_of(arms, first, last, length, many_arms, factors, links);
    qsort(links, (size_t)count, sizeof *links, by_lower_end);
    struct fence below, above;
    if (many_arms) {
        below = fence_around(arms, first, last, false, factors);
        above = fence_around(arms, first, last, true, factors);
    }
    /* Links that a later one can follow: their lower ends and what they cost grow. */
    struct link **open = (struct link **)(links + count);
    int64_t size = 0;
    struct link *cheapest = NULL;
    double least = INFINITY;
    for (struct link *link = links; link < links + count; link++) {
        const double line = link->high - length, end = link->low + length;
        double before = many_arms ? fence_cost(&below, line, false)
                                  : keep_within(arms, first, last, line, false, factors, false);
        int64_t from = 0, to = size;
        while (from < to) {
            const int64_t middle = (from + to) / 2;
            if (open[middle]->low < line)
                from = middle + 1;
            else
                to = middle;
        }
        if (from < size && open[from]->best < before) {
            before = open[from]->best;
            link->from = open[from];
        }
        link->best = before + link->cost;
        if (!(link->best < INFINITY))
            continue;
        while (size > 0 && open[size - 1]->best >= link->best)
            size--;
        open[size++] = link;
        const double all =
            link->best + (many_arms ? fence_cost(&above, end, true)
                                    : keep_within(arms, first, last, end, true, factors, false));
        if (all < least) {
            least = all;
            cheapest = link;
        }
    }
    if (!cheapest)
        return;
    keep_within(arms, first, last, cheapest->low + length, true, factors, true);
    for (struct link *link = cheapest; link; link = link->from) {
        factors[link->arm] = most_of(factors[link->arm], link->factor);
        if (!link->from)
            keep_within(arms, first, last, link->high - length, false, factors, true);
    }
}

/* The same for all segments of a group. */
static void cover_segments(const struct arms *arms, const bool *member, double length,
    bool many_arms, double *factors, char *work)
{
    const int64_t n = arms->n, *by_mean = arms->by_mean;
    for (int64_t first = 0, last; first < n; first = last) {
        last = first + 1;
        if (member[by_mean[first]])
            continue;
        while (last < n && !member[by_mean[last]])
            last++;
        if (last - first > 1)
            cover(arms, first, last, length, many_arms, factors, work);
    }
}

/* Plan until the group has gaps of `gap` and no span inside is too wide for that. */
static double confirm(const struct arms *arms, const struct rules *rules, const struct group *group,
    double gap, bool chain, double *factors, double budget, char *work)
{
    const int64_t n = arms->n, *by_mean = arms->by_mean;
    const bool *member = group->member;
    const double longest = gap / rules->sure_factor;
    const double *means = arms->means;
    for (int64_t k = 1; k < n; k++)
        if (member[by_mean[k]] != member[by_mean[k - 1]])
            certify(arms, rules, 0, k, k, n, gap, factors);
    if (chain) {
        /* Where no gap is wider than this, no span of so many gaps is longer than `longest`. */
        const double narrow = longest / (double)rules->neighbours;
        const double length = rules->many_arms ? narrow * (1.0 - ROUNDING) : narrow;
        cover_segments(arms, member, length, rules->many_arms, factors, group->chains);
    }
    double cost = planned_pulls(arms, factors);
    double *now_low = take(&work, n), *now_high = take(&work, n), *keys = take(&work, n);
    int64_t *now_order = take(&work, n);
    double *heap = take(&work, n);
    bool *barred = memcpy(take(&work, n), member, (size_t)n * sizeof *member);
    for (int64_t arm = 0; arm < n; arm++) {
        shrink_arm(arms, arm, factors[arm], now_low, now_high);
        keys[arm] = now_low[arm] + group->shifts[arm];
    }
    memcpy(now_order, group->order, (size_t)n * sizeof *now_order);
    resort(now_order, keys, n);
    const int64_t most_steps = rules->many_arms ? MOST_STEPS : 40 * n;
    for (int64_t step = 0; step < most_steps; step++) {
        if (!(cost < budget))
            return INFINITY;
        const struct inside widest =
            largest_inside(now_low, now_high, now_order, member, n, rules->neighbours, heap);
        if (widest.length <= longest)
            return cost;
        /* Another arm fills the span, or one that bounds it draws nearer to its estimate. */
        const struct stride stride = stride_at(rules, step);
        for (int64_t k = 0; rules->neighbours > 1 && k < n; k++) {
            const int64_t arm = now_order[k]; /* those that fill the span already are barred */
            const bool there = k > widest.place && now_high[arm] < widest.start + longest;
            barred[arm] = member[arm] || there;
        }
        struct filler best = cheapest_filler(arms, &stride, barred, factors, widest.start, longest);
        for (int64_t arm = 0; arm < n; arm++) {
            const bool begins = arm == now_order[widest.place] && means[arm] > widest.start;
            const bool ends =
                now_high[arm] == widest.stop && !member[arm] && means[arm] < widest.stop;
            if (!begins && !ends)
                continue;
            const double factor = stride.bold * factors[arm];
            const double extra = price(arms, arm, factors[arm], factor);
            if (extra < best.cost)
                best = (struct filler){arm, factor, extra};
        }
        if (best.arm < 0)
            return INFINITY;
        cost += best.cost;
        factors[best.arm] = best.factor;
        shrink_arm(arms, best.arm, best.factor, now_low, now_high);
        move_arm(now_order, keys, n, best.arm, now_low[best.arm] + group->shifts[best.arm]);
    }
    return INFINITY;
}

/* Plan until the group's gap is certain to be at most (1+epsilon) times `inside`, a span that is
 * made certain from the arms before `place` to those from `to` on; or at most the floor, if `place`
 * is 0. */
static double refute(const struct arms *arms, const struct rules *rules, const bool *member,
    int64_t place, int64_t to, double inside, double *factors)
{
    const double apart = place ? rules->gap_factor * inside : rules->floor;
    const int64_t n = arms->n, *by_mean = arms->by_mean;
    const double *low = arms->low, *high = arms->high, *means = arms->means;
    if (place)
        certify(arms, rules, 0, place, to, n, inside, factors);
    double best = INFINITY, split = 0.5;
    int64_t chosen = -1;
    for (int64_t k = 1; k < n; k++) {
        const int64_t one = by_mean[k - 1], two = by_mean[k];
        const double spare = apart - (means[two] - means[one]);
        if (member[one] == member[two] || spare <= 0.0)
            continue;
        const double down = means[one] - low[one], up = high[two] - means[two];
        for (int j = 1; j < 10; j++) {
            const double share = j / 10.0;
            const double want_one = most_of(factors[one], squared(down / (share * spare)));
            const double want_two = most_of(factors[two], squared(up / ((1.0 - share) * spare)));
            const double extra =
                price(arms, one, factors[one], want_one) + price(arms, two, factors[two], want_two);
            if (extra < best) {
                best = extra;
                chosen = k;
                split = share;
            }
        }
    }
    if (chosen < 0)
        return INFINITY;
    const int64_t one = by_mean[chosen - 1], two = by_mean[chosen];
    const double spare = apart - (means[two] - means[one]);
    factors[one] = most_of(factors[one], squared((means[one] - low[one]) / (split * spare)));
    factors[two] =
        most_of(factors[two], squared((high[two] - means[two]) / ((1.0 - split) * spare)));
    return planned_pulls(arms, factors);
}

static void ones(double *factors, int64_t n)
{
    for (int64_t arm = 0; arm < n; arm++)
        factors[arm] = 1.0;
}

/* Keep a trial if it costs less than the best so far; return the lesser cost. */
static double keep(double *factors, const double *trial, int64_t n, double cost, double best)
{
    if (!(cost < best))
        return best;
    copy(factors, trial, n);
    return cost;
}

double plan_group(const struct arms *arms, const struct rules *rules, const int64_t *order,
    const bool *member, const double *shifts, double *factors, char *chains)
{
    const int64_t n = arms->n, *by_mean = arms->by_mean;
    const double *means = arms->means;
    const struct group group = {order, member, shifts, chains};
    char *work = arms->work;
    double apart = INFINITY, inside = 0.0;
    int64_t place = 0, to = 0, first = 0; /* the last is where the present segment begins */
    for (int64_t k = 0; k < n; k++) {
        if (k > 0 && member[by_mean[k]] != member[by_mean[k - 1]]) {
            apart = least_of(apart, means[by_mean[k]] - means[by_mean[k - 1]]);
            first = k;
        }
        const int64_t from = k - first < rules->neighbours ? first : k - rules->neighbours;
        const double span = means[by_mean[k]] - means[by_mean[from]];
        if (!member[by_mean[k]] && span > inside) {
            inside = span;
            place = from + 1;
            to = k;
        }
    }
    ones(factors, n);
    double *trial = take(&work, n);
    double best = INFINITY;
    /* What the distance can spare; with a slack both answers may be in reach. */
    const double least = most_of(rules->sure_factor * inside, rules->sure_gap);
    const double short_by = rules->gap_factor * inside - apart;
    for (size_t k = 0; k < sizeof SHARES / sizeof *SHARES; k++) {
        if (apart > least) {
            const double gap = apart - SHARES[k] * (apart - least);
            for (int chain = rules->many_arms; chain <= (chains ? 1 : 0); chain++) {
                ones(trial, n);
                const double cost = confirm(arms, rules, &group, gap, chain, trial, best, work);
                best = keep(factors, trial, n, cost, best);
            }
        }
        if (short_by > 0.0) {
            ones(trial, n);
            const double gap = inside - SHARES[k] * short_by / rules->gap_factor;
            best =
                keep(factors, trial, n, refute(arms, rules, member, place, to, gap, trial), best);
        }
    }
    if (apart < rules->floor) {
        ones(trial, n);
        best = keep(factors, trial, n, refute(arms, rules, member, 0, 0, 0.0, trial), best);
    }
    return best;
}
