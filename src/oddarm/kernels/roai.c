/* Rounds of ROAI-Elim and ROAI-LUCB on simulated rewards, as strategies/robust says. */
#include "kernels.h"

struct ends {
    double median[2], mad[2], theta[2];
};

static double middle_of(const double *values, const int64_t *order, int64_t n)
{
    const double one = values[order[(n - 1) / 2]], two = values[order[n / 2]];
    return n % 2 ? one : (one + two) / 2;
}

/* What the arms' intervals say of median, MAD and threshold; as `RobustRun.ends`. */
static struct ends find_ends(const struct paths *paths, const struct roai *run)
{
    const int64_t n = paths->n;
    const double *const low = paths->low, *const high = paths->high;
    struct ends ends;
    resort(run->by_low, low, n);
    resort(run->by_high, high, n);
    ends.median[0] = middle_of(low, run->by_low, n);
    ends.median[1] = middle_of(high, run->by_high, n);
    for (int64_t i = 0; i < n; i++) {
        run->closest[i] = most_of(low[i] - ends.median[1], ends.median[0] - high[i]);
        run->near[i] = most_of(run->closest[i], 0.0);
        run->far[i] = most_of(high[i] - ends.median[0], ends.median[1] - low[i]);
    }
    resort(run->by_near, run->near, n);
    resort(run->by_far, run->far, n);
    ends.mad[0] = middle_of(run->near, run->by_near, n);
    ends.mad[1] = middle_of(run->far, run->by_far, n);
    for (int end = 0; end < 2; end++)
        ends.theta[end] = ends.median[end] + run->scale * ends.mad[end];
    return ends;
}

static bool overlap(double low, double high, const double ends[2])
{
    return low <= ends[1] && high >= ends[0];
}

/* Note which arms matter for the answer, the median and the MAD. */
static void find_what_matters(
    const struct paths *paths, const struct roai *run, const struct ends *ends)
{
    for (int64_t i = 0; i < paths->n; i++) {
        const double low = paths->low[i], high = paths->high[i];
        run->at_threshold[i] = overlap(low, high, ends->theta);
        run->at_median[i] = overlap(low, high, ends->median);
        run->at_mad[i] = overlap(run->near[i], run->far[i], ends->mad);
    }
}

/* Add to the queue the arm below a border with the largest upper end, and the arm above it with the
 * least lower end, if they matter. */
static void name_pair(struct paths *paths, const struct roai *run, const bool *matter,
    const double *low, const double *high)
{
    int64_t down = -1, up = -1;
    for (int64_t i = 0; i < paths->n; i++) {
        if (run->below[i]) {
            if (down < 0 || high[i] > high[down])
                down = i;
        } else if (up < 0 || low[i] < low[up]) {
            up = i;
        }
    }
    if (down >= 0 && matter[down])
        paths->queue[paths->size++] = down;
    if (up >= 0 && matter[up])
        paths->queue[paths->size++] = up;
}

/* The same for the border before the middle of an order, and for the one behind it. */
static void name_middle(struct paths *paths, const struct roai *run, const int64_t *order,
    const bool *matter, const double *low, const double *high)
{
    const int64_t n = paths->n;
    for (int64_t size = (n - 1) / 2; size <= n / 2 + 1; size += n / 2 + 1 - (n - 1) / 2) {
        for (int64_t p = 0; p < n; p++)
            run->below[order[p]] = p < size;
        name_pair(paths, run, matter, low, high);
    }
}

/* Fill the queue with what ROAI-Elim or ROAI-LUCB pulls next. */
static void next_round(struct paths *paths, const struct roai *run)
{
    const int64_t n = paths->n;
    const struct ends ends = find_ends(paths, run);
    find_what_matters(paths, run, &ends);
    paths->size = paths->next = 0;
    if (run->lucb) {
        const double centre = (ends.theta[0] + ends.theta[1]) / 2;
        for (int64_t i = 0; i < n; i++) {
            run->y[i] = paths->totals[i] / (double)paths->counts[i];
            run->middle[i] = (run->closest[i] + run->far[i]) / 2;
            run->below[i] = run->y[i] < centre;
        }
        resort(run->by_mean, run->y, n);
        resort(run->by_middle, run->middle, n);
        name_pair(paths, run, run->at_threshold, paths->low, paths->high);
        name_middle(paths, run, run->by_mean, run->at_median, paths->low, paths->high);
        name_middle(paths, run, run->by_middle, run->at_mad, run->closest, run->far);
    }
    if (paths->size == 0)
        for (int64_t i = 0; i < n; i++)
            if (run->at_threshold[i] || run->at_median[i] || run->at_mad[i])
                paths->queue[paths->size++] = i;
    if (run->lucb) {
        const int64_t bits = mixed(run->stream[0] + (uint64_t)(paths->pulls + 1) * run->stream[1]);
        const double share = (double)bits * 0x1p-53;
        paths->queue[0] = paths->queue[(int64_t)(share * (double)paths->size)];
        paths->size = 1;
    }
}

static bool can_decide(const struct paths *paths, const struct roai *run)
{
    const struct ends ends = find_ends(paths, run);
    for (int64_t i = 0; i < paths->n; i++)
        if (overlap(paths->low[i], paths->high[i], ends.theta))
            return false;
    return true;
}

int64_t roai_rounds(struct paths *paths, const struct roai *run)
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
