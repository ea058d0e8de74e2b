/* GOLD on simulated 0/1 rewards: lines 11 to 19 of Algorithm 1.
 *
 * Arms are pulled in turn, so the rewards of the next sweeps are known before any edge is looked
 * at. The kernel draws a block of sweeps, keeps how the mean of each arm moves, and follows a pair
 * pull by pull only if the extremes of the two arms within the block could part it. The decisions
 * are those of looking at every edge after every pull. */
#include "kernels.h"

enum { PER_PULL, AGRESTI, HOEFFDING };

#define BLOCK 128          /* sweeps drawn at once; as in strategies/gold/compiled.py */
#define LANES 16           /* extremes kept side by side, for wide vectors */
#define CHORD 16           /* pulls of an arm from one computed logarithm to the next */
#define NEVER INT64_MAX    /* a time that does not come */
#define OPEN 0             /* a time in the block that has not been computed yet */
#define SAFE (1.0 - 1e-12) /* factor of radii that only decide which pairs to follow */
#define EACH_BYTE 0x0101010101010101u

/* Which pairs to follow is decided in single precision, in units of 2⁻²⁴. When a pair is parted,
 * its means are at most 1 and its radii, times b, sum to less than 1. A mean or a radius is the
 * result of at most four roundings from whole numbers, however large, so its error is below 2.5e-7,
 * and the error of what is compared below 1e-6. The margin is 3.8e-6: no parting is missed. */
#define UNITS 0x1p24f
#define MARGIN 64

/* The sweeps that are looked at together. */
struct block {
    int64_t k; /* arms in play */
    int64_t sweeps;
    int64_t begin;           /* the fewest pulls of an arm in play, those of the next one */
    int32_t lowest, highest; /* the extremes of `least` and `most` */
    double unit;             /* `unit_after` its first pull */
    /* By pulls of an arm, from `begin` on: */
    double inverse[BLOCK + 2]; /* 1 / pulls */
    float units[BLOCK + 2];    /* the same in units */
    float reach[BLOCK + 2];    /* a lower bound of bβ, for AGRESTI at p = ½, in units */
    double table[BLOCK + 2];   /* β, for PER_PULL */
    bool filled;               /* whether `table` has been filled in */
};

/* What the radii of all arms have in common after so many pulls in all. */
static double unit_after(int64_t pulls, const struct rule *rule)
{
    if (rule->kind == PER_PULL)
        return 0.0;
    const double spent = rule->spent / (rule->parts * (double)pulls * (double)pulls);
    return rule->kind == HOEFFDING ? -log(spent) : erfcinv(spent);
}

/* The radius of an arm, to the last bit that of `NormalMixture` or the one as printed. */
static double radius(double count, double total, double unit, const struct rule *rule)
{
    if (rule->kind == PER_PULL) {
        const double r = rule->r;
        return rule->sigma * sqrt((count + r) * (log((count + r) / r) + rule->level)) / count;
    }
    if (rule->kind == HOEFFDING)
        return 2.0 * rule->sigma * sqrt(unit / (2.0 * count));
    const double square = unit * unit;
    const double p = (total + square / 2.0) / (count + square);
    return unit * sqrt(p * (1.0 - p) / count);
}

/* Draw the next rewards of an arm, and fill in how many of them are 1 up to each pull.
 *
 * A word holds these numbers for eight pulls, a byte each: one addition counts a 1 in its own byte
 * and in those after it. Words are drawn side by side. */
WIDE(void, draw_arm, (const struct gold *run, int64_t i, int sweeps, uint8_t *restrict ones),
    (run, i, sweeps, ones))
{
    uint64_t words[BLOCK / 8];
    const int size = (sweeps + 7) / 8;
    const uint64_t increment = run->increments[i];
    const int64_t limit = draw_limit(run->means[i]);
    uint64_t place = run->starts[i] + (uint64_t)run->counts[i] * increment;
    for (int x = 0; x < size; x++) {
        uint64_t word = 0, at = place;
        for (int k = 0; k < 8; k++) {
            at += increment;
            word += (mixed(at) < limit ? EACH_BYTE : 0) << (8 * k);
        }
        words[x] = word;
        place += 8 * increment;
    }
    uint64_t before = 0;
    *ones++ = 0;
    for (int x = 0; x < size; x++) {
        const uint64_t word = words[x] + before * EACH_BYTE;
        for (int k = 0; k < 8; k++) /* in any order of bytes; compilers know this as one store */
            ones[8 * x + k] = (uint8_t)(word >> (8 * k));
        before = word >> 56;
    }
}

/* The largest distance of an arm's means from ½. */
WIDE(double, most_off_half,
    (const uint8_t *restrict ones, double total, const double *restrict inverse, int size),
    (ones, total, inverse, size))
{
    double off[LANES] = {0.0};
    for (int s = 0; s < size; s += LANES) {
        const int width = size - s < LANES ? size - s : LANES;
        for (int lane = 0; lane < width; lane++)
            off[lane] =
                most_of(off[lane], fabs((total + ones[s + lane]) * inverse[s + lane] - 0.5));
    }
    for (int lane = 1; lane < LANES; lane++)
        off[0] = most_of(off[0], off[lane]);
    return off[0];
}

/* Bounds of the intervals ŷ ± bβ within the block: one that no upper end falls below, and one that
 * no lower end rises above; in units. */
WIDE(void, extremes,
    (const uint8_t *restrict ones, float total, float share, const float *restrict units,
        const float *restrict reach, int size, int32_t *restrict lowest, int32_t *restrict highest),
    (ones, total, share, units, reach, size, lowest, highest))
{
    int32_t low = INT32_MAX, high = INT32_MIN; /* extremes of whole numbers are quick to find */
    for (int s = 0; s < size; s++) {
        const float mean = (total + (float)ones[s]) * units[s], far = share * reach[s];
        const int32_t upper = (int32_t)(mean + far), lower = (int32_t)(mean - far);
        low = upper < low ? upper : low;
        high = lower > high ? lower : high;
    }
    *lowest = low - MARGIN;
    *highest = high + MARGIN;
}

/* Fill in the numbers of single precision that depend on the pulls of an arm, with few logarithms.
 *
 * log(1 + m/r) is concave, so its chords are below it and take its place. The other radii fall as
 * 1/√m. A radius wider than any distance parts no pair, so it may be cut to that. */
WIDE(void, fill_reach, (const struct gold *run, struct block *block), (run, block))
{
    const double begin = (double)block->begin, r = run->rule.r, level = run->rule.level;
    const double scale = (double)UNITS * run->b * SAFE, most = 2.0 * (double)UNITS;
    const int size = (int)block->sweeps + 2;
    if (run->rule.kind == PER_PULL) {
        double here = log((begin + r) / r) + level;
        for (int s = 0; s < size; s += CHORD) {
            const int width = size - s < CHORD ? size - s : CHORD;
            const double next = log((begin + s + CHORD + r) / r) + level;
            const double slope = (next - here) / CHORD;
            for (int t = 0; t < width; t++) {
                const double count = begin + s + t, square = (count + r) * (here + slope * t);
                const double reach = scale * (run->rule.sigma * sqrt(square) / count);
                block->reach[s + t] = (float)least_of(reach, most);
            }
            here = next;
        }
    } else {
        const double first = scale * radius(begin, begin / 2, block->unit, &run->rule);
        for (int s = 0; s < size; s++)
            block->reach[s] = (float)least_of(first * sqrt(begin / (begin + s)), most);
    }
    for (int s = 0; s < size; s++) {
        block->inverse[s] = 1.0 / (begin + s);
        block->units[s] = (float)((double)UNITS * block->inverse[s]);
    }
}

/* Draw the next rewards of every arm in play, and fill in what is known of the block. */
static void draw_block(const struct gold *run, struct block *block)
{
    const int sweeps = (int)block->sweeps;
    block->begin = run->counts[run->order[0]];
    block->lowest = INT32_MAX;
    block->highest = INT32_MIN;
    block->unit = unit_after(run->pulls + 1, &run->rule);
    block->filled = false;
    fill_reach(run, block);
    const double square = block->unit * block->unit;
    for (int64_t x = 0; x < block->k; x++) {
        const int64_t i = run->order[x], offset = run->counts[i] - block->begin;
        const double total = run->totals[i];
        uint8_t *ones = run->path + i * (BLOCK + 1);
        draw_arm(run, i, sweeps, ones);
        if (run->rule.kind == AGRESTI) {
            /* p̃ is nearer to ½ than ŷ: by the factor m/(m + z²). */
            const double last = (double)(run->counts[i] + sweeps);
            const double off = most_off_half(ones, total, block->inverse + offset, sweeps + 1) *
                               (last / (last + square));
            run->share[i] = sqrt(most_of(1.0 - 1e-14 - 4.0 * off * off, 0.0)); /* less rounding */
        }
        extremes(ones, (float)total, (float)run->share[i], block->units + offset,
            block->reach + offset, sweeps + 1, run->least + i, run->most + i);
        if (run->least[i] < block->lowest)
            block->lowest = run->least[i];
        if (run->most[i] > block->highest)
            block->highest = run->most[i];
    }
}

/* Fill in which edges of an arm could break within the block. */
WIDE(void, near,
    (const uint8_t *restrict row, const int32_t *restrict least, const int32_t *restrict most,
        int64_t size, int32_t low, int32_t high, uint8_t *restrict close),
    (row, least, most, size, low, high, close))
{
    for (int64_t x = 0; x < size; x++)
        close[x] = row[x] & ((low < most[x]) | (least[x] < high));
}

/* Fill in the radii to the last bit, unless that has been done; most blocks need none. */
static void fill_table(const struct gold *run, struct block *block)
{
    if (block->filled)
        return;
    block->filled = true;
    for (int s = 0; s < block->sweeps + 2; s++) {
        const double count = (double)(block->begin + s);
        block->table[s] = radius(count, 0.0, 0.0, &run->rule);
    }
}

/* Fill in after which sweeps the distance of two arms may exceed their radii, after the pull of the
 * first or that of the second. */
WIDE(void, maybe_apart,
    (const struct gold *run, const struct block *block, int64_t first, int64_t second,
        uint8_t *restrict apart),
    (run, block, first, second, apart))
{
    const int64_t ahead = run->counts[first] - block->begin;
    const int64_t behind = run->counts[second] - block->begin;
    const uint8_t *ones = run->path + first * (BLOCK + 1);
    const uint8_t *others = run->path + second * (BLOCK + 1);
    const float *units = block->units, *reach = block->reach;
    const float total = (float)run->totals[first], other = (float)run->totals[second];
    const float first_share = (float)run->share[first], second_share = (float)run->share[second];
    const int sweeps = (int)block->sweeps;
    float z[BLOCK + 1], second_reach[BLOCK + 1];
    for (int s = 0; s <= sweeps; s++) {
        z[s] = (other + (float)others[s]) * units[behind + s];
        second_reach[s] = second_share * reach[behind + s] - MARGIN;
    }
    for (int s = 0; s < sweeps; s++) {
        const float y = (total + (float)ones[s + 1]) * units[ahead + s + 1];
        const float first_reach = first_share * reach[ahead + s + 1];
        apart[s] = (fabsf(y - z[s]) > first_reach + second_reach[s]) |
                   (fabsf(y - z[s + 1]) > first_reach + second_reach[s + 1]);
    }
}

/* Line 25: whether the distance of two arms exceeds their radii, u and w pulls into the block, when
 * `time` pulls have been made in all. */
static bool apart_at(const struct gold *run, struct block *block, int64_t first, int64_t second,
    int u, int w, int64_t time)
{
    const int64_t first_count = run->counts[first] + u, second_count = run->counts[second] + w;
    const double total = run->totals[first] + run->path[first * (BLOCK + 1) + u];
    const double other = run->totals[second] + run->path[second * (BLOCK + 1) + w];
    const double distance = fabs(total / (double)first_count - other / (double)second_count);
    if (run->rule.kind == PER_PULL) {
        fill_table(run, block);
        return distance > run->b * (block->table[first_count - block->begin] +
                                       block->table[second_count - block->begin]);
    }
    double unit = block->unit; /* the least within the block, as radii grow with time */
    double both = radius((double)first_count, total, unit, &run->rule) +
                  radius((double)second_count, other, unit, &run->rule);
    if (distance <= run->b * SAFE * both)
        return false;
    unit = unit_after(time, &run->rule);
    both = radius((double)first_count, total, unit, &run->rule) +
           radius((double)second_count, other, unit, &run->rule);
    return distance > run->b * both;
}

/* The pull at which two arms are parted, counted over all arms; NEVER if not in the block. */
static int64_t parting(const struct gold *run, struct block *block, int64_t i, int64_t j)
{
    const int64_t first = run->turn[i] < run->turn[j] ? i : j, second = i + j - first;
    uint8_t apart[BLOCK];
    maybe_apart(run, block, first, second, apart);
    const uint8_t *at = apart, *stop = apart + block->sweeps;
    for (; (at = memchr(at, 1, (size_t)(stop - at))); at++) {
        const int s = (int)(at - apart);
        const int64_t begun = run->pulls + s * block->k + 1;
        if (apart_at(run, block, first, second, s + 1, s, begun + run->turn[first]))
            return begun + run->turn[first];
        if (apart_at(run, block, first, second, s + 1, s + 1, begun + run->turn[second]))
            return begun + run->turn[second];
    }
    return NEVER;
}

/* Whether two arms are apart after the last sweep. Most that part still are, and as long as no
 * community splits, the time at which they did is not needed. */
static bool apart_in_the_end(const struct gold *run, struct block *block, int64_t i, int64_t j)
{
    const int64_t last = run->turn[i] < run->turn[j] ? run->turn[j] : run->turn[i];
    const int sweeps = (int)block->sweeps;
    return apart_at(
        run, block, i, j, sweeps, sweeps, run->pulls + (sweeps - 1) * block->k + last + 1);
}

/* Find the edges that break within the block, up to the pull `end`; return how many. Some of their
 * times stay OPEN. */
static int64_t find_parted(const struct gold *run, struct block *block, int64_t end)
{
    const int64_t n = run->n;
    const bool whole = end == run->pulls + block->sweeps * block->k;
    const int32_t *least = run->least, *most = run->most;
    int64_t parted = 0;
    for (int64_t i = 0; i < n; i++) {
        if (least[i] >= block->highest && block->lowest >= most[i])
            continue;
        const int64_t after = i + 1;
        near(run->edges + i * n + after, least + after, most + after, n - after, least[i], most[i],
            run->close + after);
        const uint8_t *at = run->close + after, *stop = run->close + n;
        for (; (at = memchr(at, 1, (size_t)(stop - at))); at++) {
            const int64_t j = at - run->close;
            int64_t time = OPEN;
            if (!whole || !apart_in_the_end(run, block, i, j))
                time = parting(run, block, i, j);
            if (time <= end) {
                run->times[parted] = time;
                run->ones[parted] = (int32_t)i;
                run->others[parted] = (int32_t)j;
                parted++;
            }
        }
    }
    return parted;
}

/* Delete the edges of all parted pairs; called again, restore them. */
static void flip(const struct gold *run, int64_t parted)
{
    for (int64_t e = 0; e < parted; e++) {
        const int64_t i = run->ones[e], j = run->others[e];
        run->edges[i * run->n + j] ^= 1;
        run->edges[j * run->n + i] ^= 1;
    }
}

/* A common neighbour of two arms; -1 if there is none. */
static int64_t common(const struct gold *run, int64_t i, int64_t j)
{
    const uint8_t *row_i = run->edges + i * run->n, *row_j = run->edges + j * run->n;
    for (int64_t x = 0; x < run->n; x++)
        if (row_i[x] && row_j[x])
            return x;
    return -1;
}

/* Delete edges. If each pair has a common neighbour no community splits; otherwise undo it. */
static bool joined(const struct gold *run, int64_t parted)
{
    flip(run, parted);
    for (int64_t e = 0; e < parted; e++) {
        const int64_t i = run->ones[e], j = run->others[e], hub = run->hub[i];
        if (run->edges[i * run->n + hub] && run->edges[j * run->n + hub])
            continue;
        const int64_t x = common(run, i, j);
        if (x < 0) {
            flip(run, parted);
            return false;
        }
        run->hub[i] = x;
    }
    return true;
}

static int64_t terminals(const struct gold *run)
{
    int64_t count = 0;
    for (int64_t i = 0; i < run->n; i++)
        count += run->stage[i] > 0;
    return count;
}

/* Lines 18, 19 and 30 to 36: find the communities, and make the members of small ones terminal.
 * Return whether an arm became terminal. */
static bool declare(const struct gold *run, int64_t pulls)
{
    const int64_t n = run->n;
    int64_t *stage = run->stage, *queue = run->queue, latest = 1;
    for (int64_t i = 0; i < n; i++) {
        run->seen[i] = 0;
        if (stage[i] + 1 > latest)
            latest = stage[i] + 1;
    }
    bool changed = false;
    for (int64_t first = 0; first < n; first++) {
        if (run->seen[first])
            continue;
        int64_t size = 1;
        queue[0] = first;
        run->seen[first] = 1;
        for (int64_t place = 0; place < size; place++) {
            const uint8_t *row = run->edges + queue[place] * n;
            for (int64_t j = 0; j < n; j++) {
                if (row[j] && !run->seen[j]) {
                    run->seen[j] = 1;
                    queue[size++] = j;
                }
            }
        }
        if (size > run->max_members)
            continue;
        for (int64_t place = 0; place < size; place++) {
            if (!stage[queue[place]]) {
                stage[queue[place]] = latest;
                run->score[queue[place]] = pulls;
                changed = true;
            }
        }
    }
    return changed;
}

/* Compute the times that are OPEN. */
static void find_times(const struct gold *run, struct block *block, int64_t parted)
{
    for (int64_t e = 0; e < parted; e++)
        if (run->times[e] == OPEN)
            run->times[e] = parting(run, block, run->ones[e], run->others[e]);
}

/* Delete edges in the order of time, up to the pull that makes an arm terminal. Return the number
 * of that pull; `end` if there is none. */
static int64_t replay(const struct gold *run, int64_t parted, int64_t end)
{
    const int64_t n = run->n, size = end - run->pulls;
    int64_t *latest = run->latest, *before = run->before;
    for (int64_t step = 1; step <= size; step++)
        latest[step] = -1;
    for (int64_t e = 0; e < parted; e++) {
        before[e] = latest[run->times[e] - run->pulls];
        latest[run->times[e] - run->pulls] = e;
    }
    for (int64_t step = 1; step <= size; step++) {
        for (int64_t e = latest[step]; e >= 0; e = before[e]) {
            run->edges[run->ones[e] * n + run->others[e]] = 0;
            run->edges[run->others[e] * n + run->ones[e]] = 0;
        }
        bool split = false;
        for (int64_t e = latest[step]; e >= 0 && !split; e = before[e])
            split = common(run, run->ones[e], run->others[e]) < 0;
        if (split && declare(run, run->pulls + step))
            return run->pulls + step;
    }
    return end;
}

/* Lines 12 and 13: put the arms in play in the order of their pulls; return how many there are. */
static int64_t line_up(const struct gold *run)
{
    int64_t k = 0;
    for (int64_t x = 0; x < run->n; x++) {
        const int64_t i = (run->position + x) % run->n;
        run->least[i] = INT32_MAX; /* stays so for terminal arms */
        run->most[i] = INT32_MIN;
        if (!run->stage[i]) {
            run->order[k] = i;
            run->turn[i] = k++;
        }
    }
    return k;
}

/* Count the pulls of the block up to `end` (lines 14 and 15). */
static void take_over(struct gold *run, const struct block *block, int64_t end)
{
    const int64_t k = block->k, *order = run->order;
    for (int64_t x = 0; x < k; x++) {
        const int64_t i = order[x], made = (end - run->pulls - x + k - 1) / k;
        run->counts[i] += made;
        run->totals[i] += run->path[i * (BLOCK + 1) + made];
    }
    run->position = (order[(end - run->pulls - 1) % k] + 1) % run->n;
    run->pulls = end;
}

/* Line 11: pull until enough arms are terminal or `stop_at` pulls have been made in all. Return
 * whether enough are. */
bool gold_advance(struct gold *run)
{
    struct block block;
    bool over = terminals(run) >= run->enough;
    while (!over && run->pulls < run->stop_at) {
        const int64_t k = line_up(run), sweeps = (run->stop_at - run->pulls + k - 1) / k;
        block.k = k;
        block.sweeps = sweeps < BLOCK ? sweeps : BLOCK;
        int64_t end = run->pulls + block.sweeps * k;
        end = end < run->stop_at ? end : run->stop_at;
        draw_block(run, &block);
        const int64_t parted = find_parted(run, &block, end);
        if (parted && !joined(run, parted)) {
            find_times(run, &block, parted);
            end = replay(run, parted, end);
            over = terminals(run) >= run->enough;
        }
        take_over(run, &block, end);
    }
    return over;
}
