/* What intervals show of blocks of arms: which may be outlier groups, and which gaps are certain.
 *
 * docs/adaptive.md has the mathematics; blocks.py says what each exported function does. A *block*
 * is a run of arms in the order of their means; a *rival* of a block is one that may be a piece of
 * a group which does not contain it. */
#include "blocks.h"

/* How many moves for each arm `resort` makes before it sorts from scratch. */
#define MOVES 8

/* Whether arm `one` comes before arm `two`: by key, and by arm where keys are equal. */
static inline bool before(const double *keys, int64_t one, int64_t two)
{
    return keys[one] < keys[two] || (keys[one] == keys[two] && one < two);
}

/* Let the entry at `root` of a heap of n sink to its place. */
static void sink(int64_t *order, const double *keys, int64_t root, int64_t n)
{
    const int64_t arm = order[root];
    for (int64_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
        child += child + 1 < n && before(keys, order[child], order[child + 1]);
        if (!before(keys, arm, order[child]))
            break;
        order[root] = order[child];
        root = child;
    }
    order[root] = arm;
}

static void heap_sort(int64_t *order, const double *keys, int64_t n)
{
    for (int64_t root = n / 2 - 1; root >= 0; root--)
        sink(order, keys, root, n);
    for (int64_t end = n - 1; end > 0; end--) {
        const int64_t last = order[end];
        order[end] = order[0];
        order[0] = last;
        sink(order, keys, 0, end);
    }
}

/* By insertion, in O(n) if few arms have moved; from scratch, in O(n log n), if many have. */
void resort(int64_t *order, const double *keys, int64_t n)
{
    int64_t moves = MOVES * n;
    for (int64_t k = 1; k < n; k++) {
        const int64_t arm = order[k];
        int64_t place = k;
        for (; place > 0 && before(keys, arm, order[place - 1]); place--)
            order[place] = order[place - 1];
        order[place] = arm;
        moves -= k - place;
        if (moves < 0) {
            heap_sort(order, keys, n);
            return;
        }
    }
}

/* Give one arm of a sorted order another key. */
void move_arm(int64_t *order, double *keys, int64_t n, int64_t arm, double key)
{
    int64_t place = 0, end = n;
    while (place < end) {
        const int64_t middle = (place + end) / 2;
        if (before(keys, order[middle], arm))
            place = middle + 1;
        else
            end = middle;
    }
    keys[arm] = key;
    for (; place > 0 && before(keys, arm, order[place - 1]); place--)
        order[place] = order[place - 1];
    for (; place + 1 < n && before(keys, order[place + 1], arm); place++)
        order[place] = order[place + 1];
    order[place] = arm;
}

/* How many more members a group may have than the arms that are declared. */
int64_t further_members(const struct arms *arms, const struct rules *rules)
{
    int64_t count = 0;
    for (int64_t arm = 0; arm < arms->n; arm++)
        count += arms->declared[arm];
    return rules->max_members - count;
}

/* What the sweep of `piece` looks up at each place. */
struct lookup {
    double *ends; /* the least upper end of by_low[k:] */
    int64_t
        *valid; /* the first place from k on in by_high with a possible gap above tau just below */
    double *begins; /* the least lower end of those of by_high[k:] that are not declared */
};

static struct lookup look_up(
    const struct arms *arms, const struct rules *rules, double tau, char **work)
{
    const int64_t n = arms->n, *by_low = arms->by_low, *by_high = arms->by_high;
    const double *low = arms->low, *high = arms->high;
    double *ends = take(work, n + 1), *begins = take(work, n + 1);
    int64_t *valid = take(work, n + 1);
    double latest = -INFINITY;
    int64_t first = 0;
    for (int64_t k = 0; k < n; k++) {
        const double e = high[by_high[k]];
        if (k > 0 && e > high[by_high[k - 1]]) {
            for (int64_t j = first; j < k; j++)
                latest = most_of(latest, low[by_high[j]]);
            first = k;
        }
        valid[k] = first == k && n - k >= rules->min_segment && latest < e - tau ? k : -1;
    }
    ends[n] = begins[n] = INFINITY;
    valid[n] = n;
    for (int64_t k = n - 1; k >= 0; k--) {
        const int64_t arm = by_high[k];
        ends[k] = least_of(ends[k + 1], high[by_low[k]]);
        begins[k] = arms->declared[arm] ? begins[k + 1] : least_of(begins[k + 1], low[arm]);
        if (valid[k] < 0)
            valid[k] = valid[k + 1];
    }
    return (struct lookup){ends, valid, begins};
}

/* Look for a piece of a group with gaps above tau. Its lower gap begins at a lower end x from
 * `start` to `stop`, and its upper gap ends at `reach` or beyond. Finds x, and the upper end e at
 * which its upper gap ends, infinite if nothing need lie above it. */
static bool piece(const struct arms *arms, const struct rules *rules, double tau, double start,
    double stop, double reach, double found[2], char *work)
{
    const int64_t n = arms->n, *by_low = arms->by_low, *by_high = arms->by_high;
    const int64_t further = further_members(arms, rules);
    const double *low = arms->low, *high = arms->high;
    const struct lookup at = look_up(arms, rules, tau, &work);
    bool *inside = take(&work, n / 8 + 1);
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
        if (x < start || k + 1 < rules->min_segment || at.ends[k + 1] <= x + tau)
            continue;
        while (member < n && high[by_high[member]] <= x + tau)
            member++;
        if (at.begins[member] == INFINITY)
            continue;
        const double least = most_of(x + 2 * tau, at.begins[member] + tau);
        while (upper < n && (high[by_high[upper]] <= least || high[by_high[upper]] < reach))
            upper++;
        const int64_t place = at.valid[upper];
        for (; entered < place; entered++) {
            const int64_t other = by_high[entered];
            if (low[other] > x && !arms->declared[other]) {
                inside[other] = true;
                forced++;
            }
        }
        if (forced <= further) {
            found[0] = x;
            found[1] = place == n ? INFINITY : high[by_high[place]];
            return true;
        }
    }
    return false;
}

/* Look for a piece with gaps above tau that can leave out an arm of a block, whose arms lie from
 * `begin` to `end`; only pieces whose lower gap begins at `top` or below and whose upper gap ends
 * at `bottom` or above. */
bool rival(const struct arms *arms, const struct rules *rules, double tau, double begin, double end,
    double top, double bottom, double found[2], char *work)
{
    if (piece(arms, rules, tau, begin, top, bottom, found, work))
        return true;
    const int64_t n = arms->n;
    double *low = take(&work, n), *high = take(&work, n);
    int64_t *by_low = take(&work, n), *by_high = take(&work, n);
    for (int64_t k = 0; k < n; k++) {
        low[k] = -arms->high[k];
        high[k] = -arms->low[k];
        by_low[k] = arms->by_high[n - 1 - k];
        by_high[k] = arms->by_low[n - 1 - k];
    }
    struct arms mirror = *arms;
    mirror.low = low, mirror.high = high, mirror.by_low = by_low, mirror.by_high = by_high;
    double ends[2];
    if (!piece(&mirror, rules, tau, -end, -bottom, -top, ends, work))
        return false;
    found[0] = -ends[1];
    found[1] = -ends[0];
    return true;
}

bool find_rival(const struct arms *arms, const struct rules *rules, double tau, double begin,
    double end, double top, double bottom, double found[2])
{
    return rival(arms, rules, tau, begin, end, top, bottom, found, arms->work);
}

void find_gaps(const struct arms *arms, double *gaps)
{
    const int64_t n = arms->n, *order = arms->by_mean;
    gaps[0] = gaps[n] = INFINITY;
    double least = INFINITY;
    for (int64_t k = n - 1; k > 0; k--) {
        least = least_of(least, arms->low[order[k]]);
        gaps[k] = least;
    }
    double reach = -INFINITY;
    for (int64_t k = 1; k < n; k++) {
        reach = most_of(reach, arms->high[order[k - 1]]);
        gaps[k] -= reach;
    }
}

double best_block(const struct arms *arms, const struct rules *rules, const double *gaps,
    int64_t enough, int64_t block[2])
{
    const int64_t n = arms->n, max_members = rules->max_members;
    const int64_t missing = enough - (max_members - further_members(arms, rules));
    double best = 0.0;
    block[0] = block[1] = 0;
    for (int64_t i = 0; i < n; i++) {
        if (gaps[i] <= best)
            continue;
        int64_t new = 0;
        for (int64_t j = i + 1; j <= n && j <= i + max_members; j++) {
            new += !arms->declared[arms->by_mean[j - 1]];
            const double gap = least_of(gaps[i], gaps[j]);
            if (gap > best && new > 0 && new >= missing) {
                best = gap;
                block[0] = i;
                block[1] = j;
            }
        }
    }
    return best;
}

/* Whether there are `wanted` windows with this level and this distance to spare; writes them. It
 * takes one window after the other, always the one that ends soonest. */
static bool find_windows(const struct arms *arms, const double *gaps, double level, double spare,
    int64_t (*windows)[2], int64_t wanted)
{
    const int64_t n = arms->n, *order = arms->by_mean;
    const double *low = arms->low, *high = arms->high;
    const bool *declared = arms->declared;
    char *work = arms->work;
    double *begins = take(&work, n + 1); /* the least lower end from a place on */
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
            if (first >= 0 && gaps[k] >= level + spare) {
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

double best_windows(const struct arms *arms, const double *gaps, double level,
    int64_t (*windows)[2], int64_t wanted)
{
    double least = INFINITY, most = -INFINITY;
    for (int64_t arm = 0; arm < arms->n; arm++) {
        least = least_of(least, arms->low[arm]);
        most = most_of(most, arms->high[arm]);
    }
    double under = 0.0, over = most - least;
    for (int halving = 0; halving < 30; halving++) {
        if (over - under <= 1e-3 * over)
            break;
        const double middle = (under + over) / 2;
        const double wanted_level = level > 0.0 ? level : middle,
                     spare = level > 0.0 ? middle : 0.0;
        if (find_windows(arms, gaps, wanted_level, spare, windows, wanted))
            under = middle;
        else
            over = middle;
    }
    if (under > 0.0) {
        const double wanted_level = level > 0.0 ? level : under, spare = level > 0.0 ? under : 0.0;
        find_windows(arms, gaps, wanted_level, spare, windows, wanted);
    }
    return under;
}

void beside(const struct arms *arms, int64_t at, double gap, double sides[2])
{
    double top = -INFINITY, latest = -INFINITY, bottom = INFINITY, soonest = INFINITY;
    for (int64_t k = 0; k < arms->n; k++) {
        const double low = arms->low[arms->by_mean[k]], high = arms->high[arms->by_mean[k]];
        if (k < at) {
            top = most_of(top, high);
            latest = most_of(latest, low);
        } else {
            bottom = least_of(bottom, low);
            soonest = least_of(soonest, high);
        }
    }
    sides[0] = least_of(top, soonest - gap);
    sides[1] = most_of(bottom, latest + gap);
}
