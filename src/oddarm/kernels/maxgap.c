/* Rounds of MaxGapUCB and MaxGapTop2UCB on simulated rewards, as strategies/maxgap/rule.py says. */
#include "kernels.h"

/* The largest of tree[n + first], …, tree[n + last]; each entry below n is the larger of two. */
static double largest_of(const double *tree, int64_t n, int64_t first, int64_t last)
{
    double most = -INFINITY;
    for (first += n, last += n + 1; first < last; first /= 2, last /= 2) {
        if (first & 1)
            most = most_of(most, tree[first++]);
        if (last & 1)
            most = most_of(most, tree[--last]);
    }
    return most;
}

/* Raise `most` to the most that the gap above each arm can be, for arms from `low` to `high` with
 * `order` by lower end; as `possible_gaps` of definitions/interval_gaps.py. */
static void raise_gaps(const struct maxgap *run, int64_t n, const double *low, const double *high,
    const int64_t *order)
{
    double *const starts = run->starts, *const least = run->least, *const tree = run->tree;
    int64_t *const after = run->after; /* the first arm that starts beyond each */
    double end = INFINITY;
    int64_t top = 0;
    for (int64_t p = n - 1; p >= 0; p--) {
        starts[p] = low[order[p]];
        after[p] = p + 1 < n && starts[p + 1] == starts[p] ? after[p + 1] : p + 1;
        tree[n + p] = after[p] < n ? least[after[p]] - starts[p] : -INFINITY;
        end = least[p] = least_of(end, high[order[p]]);
    }
    for (int64_t node = n - 1; node > 0; node--)
        tree[node] = most_of(tree[2 * node], tree[2 * node + 1]);
    for (int64_t i = 1; i < n; i++)
        if (high[i] > high[top])
            top = i;
    double second = -INFINITY;
    for (int64_t i = 0; i < n; i++)
        if (i != top)
            second = most_of(second, high[i]);
    int64_t first = 0;
    for (int64_t p = 0; p < n; p++) {
        const int64_t arm = order[p];
        while (starts[first] < low[arm])
            first++;
        int64_t last = p, beyond = n; /* the last start within the arm's interval */
        while (last + 1 < beyond) {
            const int64_t half = (last + beyond) / 2;
            if (starts[half] <= high[arm])
                last = half;
            else
                beyond = half;
        }
        double most = most_of(run->most[arm], largest_of(tree, n, first, last));
        if (after[last] == n)
            most = most_of(most, (arm == top ? second : high[top]) - starts[last]);
        run->most[arm] = most;
    }
}

/* The most that the gap beside each arm can be, in `most`. */
static void find_most(const struct paths *paths, const struct maxgap *run)
{
    const int64_t n = paths->n;
    for (int64_t i = 0; i < n; i++) {
        run->downs[i] = -paths->high[i];
        run->ups[i] = -paths->low[i];
        run->most[i] = 0.0;
    }
    resort(run->order, paths->low, n);
    resort(run->mirrored, run->downs, n);
    raise_gaps(run, n, paths->low, paths->high, run->order);
    raise_gaps(run, n, run->downs, run->ups, run->mirrored);
}

/* The most that a gap between the arms of one side can be; `order` has them by lower end. */
static double most_within(const struct paths *paths, const int64_t *order, int64_t size)
{
    if (size < 2)
        return 0.0;
    const double *const low = paths->low, *const high = paths->high;
    const double last = low[order[size - 1]];
    double most = 0.0, least = INFINITY, end = INFINITY, top = -INFINITY;
    int64_t reach = 0; /* arms that may lie at the last start or beyond */
    for (int64_t p = size - 1; p >= 0; p--) {
        const int64_t arm = order[p];
        if (p + 1 < size && low[order[p + 1]] > low[arm])
            least = end; /* the least upper end of those that start beyond */
        if (least < INFINITY)
            most = most_of(most, least - low[arm]);
        end = least_of(end, high[arm]);
        top = most_of(top, high[arm]);
        reach += high[arm] >= last;
    }
    return reach > 1 ? most_of(most, top - last) : most;
}

static double third_largest(const double *values, int64_t n)
{
    double found[3] = {-INFINITY, -INFINITY, -INFINITY};
    for (int64_t i = 0; i < n; i++) {
        double value = values[i];
        for (int place = 0; place < 3; place++)
            if (value > found[place]) {
                const double before = found[place];
                found[place] = value;
                value = before;
            }
    }
    return found[2];
}

static bool can_decide(const struct paths *paths, const struct maxgap *run)
{
    const int64_t n = paths->n;
    resort(run->order, paths->low, n);
    double reach = paths->high[run->order[0]], gap = 0.0;
    int64_t below = 0;
    for (int64_t k = 1; k < n; k++) {
        const double between = paths->low[run->order[k]] - reach;
        if (between > gap) {
            gap = between;
            below = k;
        }
        reach = most_of(reach, paths->high[run->order[k]]);
    }
    if (below > 0) {
        double rival;
        if (run->border) {
            find_most(paths, run);
            rival = third_largest(run->most, n);
        } else {
            rival = most_of(most_within(paths, run->order, below),
                most_within(paths, run->order + below, n - below));
        }
        if (gap >= rival)
            return true;
    }
    if (run->dominance == 0)
        return false;
    int64_t one = 0, two = 0;
    for (int64_t i = 0; i < n; i++) {
        const int64_t count = paths->counts[i];
        if (count > one) {
            two = one;
            one = count;
        } else if (count > two) {
            two = count;
        }
    }
    return one + two >= run->dominance * (paths->pulls - one - two);
}

/* Fill the queue with the arms of the largest values of `most`. */
static void next_round(struct paths *paths, const struct maxgap *run)
{
    const int64_t n = paths->n;
    find_most(paths, run);
    double least = INFINITY;
    for (int64_t value = 0; value < run->values; value++) {
        double next = -INFINITY;
        for (int64_t i = 0; i < n; i++)
            if (run->most[i] < least)
                next = most_of(next, run->most[i]);
        if (next == -INFINITY)
            break;
        least = next;
    }
    paths->size = paths->next = 0;
    for (int64_t i = 0; i < n; i++)
        if (run->most[i] >= least)
            paths->queue[paths->size++] = i;
}

int64_t maxgap_rounds(struct paths *paths, const struct maxgap *run)
{
    while (paths->pulls < paths->stop_at) {
        if (paths->next == paths->size)
            next_round(paths, run);
        if (pull_next(paths) < 0)
            return paths->queue[paths->next];
        if (can_decide(paths, run))
            return OVER;
    }
    return ENOUGH;
}
