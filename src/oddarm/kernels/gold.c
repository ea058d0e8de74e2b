/* GOLD on simulated 0/1 rewards.
 *
 * Arms are pulled in turn, so the rewards of the next sweeps are known before any edge is looked
 * at. A block of sweeps is drawn, how each arm's mean moves is kept, and a pair is looked at only
 * if the extremes of the two arms within the block could part it; only such pairs are followed
 * pull by pull. The decisions are those of looking at every edge after every pull. */
#include "kernels.h"

enum { PER_PULL, AGRESTI, HOEFFDING };

#define BLOCK 128          /* sweeps drawn at once; as in gold.py */
#define CHUNK 64           /* edges of a row that are looked at together */
#define LANES 16           /* extremes kept side by side, so that they are found in wide vectors */
#define NEVER INT64_MAX    /* a time that does not come */
#define SAFE (1.0 - 1e-12) /* times the radii, where they only tell which pairs to follow */

/* What the radius of an arm is made of. */
struct rule {
    int64_t kind;
    double sigma, r, level; /* for PER_PULL, sigma also for HOEFFDING */
    double spent, parts; /* δ' = spent / (parts T²), for those that depend on T, the pulls in all */
};

/* A run, the arms, and room for the work; as `_Gold` in gold.py. */
struct gold {
    int64_t n;
    uint8_t *edges; /* n rows of n */
    int64_t *stage, *score;
    double *beta;
    int64_t *counts;
    double *totals;
    const double *means;
    const uint64_t *starts, *increments;
    int64_t position, pulls, stop_at;
    double b;
    int64_t largest_group, enough;
    struct rule rule;

    double *path;  /* rows of BLOCK + 1: the mean of each arm before and after each pull */
    double *share; /* of the radius in `table` that an arm has at the least; ones at first */
    float *least;  /* at most the lowest that ŷ + bβ comes to within the block */
    float *most;   /* at least the highest that ŷ - bβ comes to */
    int64_t *order, *turn; /* the arms in play as they are pulled, and their places in it */
    int64_t *hub; /* a neighbour that an arm had in common with one that it lost; zeros at first */
    int64_t *times; /* when arms are parted, and which: room for all pairs, of which hardly any */
    int32_t *ones, *others; /* is written to */
    int64_t *latest;        /* of the events at a pull of the block; `before` has the rest */
    int64_t *before;
    int64_t *queue;
    uint8_t *seen;
};

/* The sweeps that are looked at together. */
struct block {
    int64_t k; /* arms in play */
    int64_t sweeps;
    int64_t begin;           /* pulls of the arm that is next, of which no arm has had less */
    float lowest, highest;   /* of `least` and `most` */
    double table[BLOCK + 2]; /* radii by pulls, the Bernoulli radius at p = ½, where it is widest */
};

/* What the radii of all arms have in common after so many pulls in all. */
static double unit_after(int64_t pulls, const struct rule *rule)
{
    if (rule->kind == PER_PULL)
        return 0.0;
    const double spent = rule->spent / (rule->parts * (double)pulls * (double)pulls);
    return rule->kind == HOEFFDING ? -log(spent) : erfcinv(spent);
}

/* The radius of an arm, bit for bit that of `NormalMixture` or as printed. */
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

/* Draw the next rewards of an arm, and fill in its means. */
WIDE static void draw_arm(const struct gold *run, int64_t i, int64_t sweeps, double *restrict y)
{
    int32_t ones[BLOCK + 1]; /* of the rewards up to each pull; small, to be quick */
    const double total = run->totals[i], pulled = (double)run->counts[i];
    const uint64_t increment = run->increments[i];
    const int64_t limit = draw_limit(run->means[i]);
    uint64_t place = run->starts[i] + (uint64_t)run->counts[i] * increment;
    ones[0] = 0;
    for (int s = 1; s <= sweeps; s++) {
        place += increment;
        ones[s] = mixed(place) < limit;
    }
    for (int s = 1; s <= sweeps; s++)
        ones[s] += ones[s - 1];
    for (int s = 0; s <= sweeps; s++)
        y[s] = (total + ones[s]) / (pulled + s);
}

/* The most that some numbers are off ½. */
WIDE static double most_off_half(const double *restrict y, int size)
{
    double off[LANES] = {0.0};
    for (int s = 0; s < size; s += LANES) {
        const int width = size - s < LANES ? size - s : LANES;
        for (int lane = 0; lane < width; lane++)
            off[lane] = most_of(off[lane], fabs(y[s + lane] - 0.5));
    }
    for (int lane = 1; lane < LANES; lane++)
        off[0] = most_of(off[0], off[lane]);
    return off[0];
}

/* The lowest that the upper ends of intervals come to, and the highest that the lower ones do. */
WIDE static void extremes(const double *restrict y, const double *restrict radii, double wide,
    int size, double *restrict lowest, double *restrict highest)
{
    double low[LANES], high[LANES];
    for (int lane = 0; lane < LANES; lane++) {
        low[lane] = INFINITY;
        high[lane] = -INFINITY;
    }
    for (int s = 0; s < size; s += LANES) {
        const int width = size - s < LANES ? size - s : LANES;
        for (int lane = 0; lane < width; lane++) {
            const double reach = wide * radii[s + lane];
            low[lane] = least_of(low[lane], y[s + lane] + reach);
            high[lane] = most_of(high[lane], y[s + lane] - reach);
        }
    }
    *lowest = low[0];
    *highest = high[0];
    for (int lane = 1; lane < LANES; lane++) {
        *lowest = least_of(*lowest, low[lane]);
        *highest = most_of(*highest, high[lane]);
    }
}

/* Draw the next rewards of every arm in play, and fill in what is known of the block. */
static void draw_block(const struct gold *run, struct block *block)
{
    const int sweeps = (int)block->sweeps;
    const double unit = unit_after(run->pulls + 1, &run->rule);
    block->begin = run->counts[run->order[0]];
    block->lowest = INFINITY;
    block->highest = -INFINITY;
    for (int s = 0; s < sweeps + 2; s++) {
        const double count = (double)(block->begin + s);
        block->table[s] = radius(count, count / 2, unit, &run->rule);
    }
    for (int64_t x = 0; x < block->k; x++) {
        const int64_t i = run->order[x];
        double *y = run->path + i * (BLOCK + 1);
        draw_arm(run, i, sweeps, y);
        if (run->rule.kind == AGRESTI) {
            /* The most that ŷ is off ½, hence p̃ less: it is drawn to ½ by z²/(m + z²). */
            const double last = (double)(run->counts[i] + sweeps);
            const double off = most_off_half(y, sweeps + 1) * (last / (last + unit * unit));
            run->share[i] = sqrt(most_of(1.0 - 4.0 * off * off, 0.0));
        }
        double low, high;
        const double *radii = block->table + (run->counts[i] - block->begin);
        extremes(y, radii, run->b * SAFE * run->share[i], sweeps + 1, &low, &high);
        run->least[i] = (float)(low - 1e-5);
        run->most[i] = (float)(high + 1e-5);
        if (run->least[i] < block->lowest)
            block->lowest = run->least[i];
        if (run->most[i] > block->highest)
            block->highest = run->most[i];
    }
}

/* Whether one of the edges could break within the block. */
WIDE static bool near(const uint8_t *restrict row, const float *restrict least,
    const float *restrict most, int64_t size, float low, float high)
{
    int32_t found = 0;
    for (int64_t x = 0; x < size; x++)
        found += row[x] & ((low < most[x]) | (least[x] < high));
    return found > 0;
}

/* After which pull, of all, the distance of two arms outgrows their radii; NEVER if that does not
 * happen in the block. */
WIDE static int64_t parting(const struct gold *run, const struct block *block, int64_t i, int64_t j)
{
    const int64_t first = run->turn[i] < run->turn[j] ? i : j, second = i + j - first;
    const int64_t *counts = run->counts;
    const double *y = run->path + first * (BLOCK + 1), *z = run->path + second * (BLOCK + 1);
    const double *beta = block->table + (counts[first] - block->begin);
    const double *gamma = block->table + (counts[second] - block->begin);
    const double wide = run->b * SAFE * run->share[first];
    const double large = run->b * SAFE * run->share[second];
    const int sweeps = (int)block->sweeps;
    int64_t apart[BLOCK], found = 0;
    for (int s = 0; s < sweeps; s++) {
        const double reach = wide * beta[s + 1];
        apart[s] = (fabs(y[s + 1] - z[s]) > reach + large * gamma[s]) |
                   (fabs(y[s + 1] - z[s + 1]) > reach + large * gamma[s + 1]);
        found |= apart[s];
    }
    if (!found)
        return NEVER;
    for (int s = 0; s < sweeps; s++) {
        if (!apart[s])
            continue;
        const int u = s + 1;
        for (int w = s; w < s + 2; w++) { /* after the pull of the first, then of the second */
            const int64_t place = run->turn[w == s ? first : second];
            const int64_t time = run->pulls + s * block->k + place + 1;
            double reach = beta[u] + gamma[w];
            if (run->rule.kind != PER_PULL) {
                const double unit = unit_after(time, &run->rule);
                const double mine = (double)(counts[first] + u);
                const double theirs = (double)(counts[second] + w);
                reach = radius(mine, rint(y[u] * mine), unit, &run->rule) +
                        radius(theirs, rint(z[w] * theirs), unit, &run->rule);
            }
            if (fabs(y[u] - z[w]) > run->b * reach)
                return time;
        }
    }
    return NEVER;
}

/* Find the edges that break within the block, up to the pull `end`; return how many. */
static int64_t find_parted(const struct gold *run, const struct block *block, int64_t end)
{
    const int64_t n = run->n;
    const float *least = run->least, *most = run->most;
    int64_t parted = 0;
    for (int64_t i = 0; i < n; i++) {
        const uint8_t *row = run->edges + i * n;
        if (least[i] >= block->highest && block->lowest >= most[i])
            continue;
        for (int64_t begin = i + 1; begin < n; begin += CHUNK) {
            const int64_t size = n - begin < CHUNK ? n - begin : CHUNK;
            if (!near(row + begin, least + begin, most + begin, size, least[i], most[i]))
                continue;
            for (int64_t j = begin; j < begin + size; j++) {
                if (!row[j] || (least[i] >= most[j] && least[j] >= most[i]))
                    continue;
                const int64_t time = parting(run, block, i, j);
                if (time <= end) {
                    run->times[parted] = time;
                    run->ones[parted] = (int32_t)i;
                    run->others[parted] = (int32_t)j;
                    parted++;
                }
            }
        }
    }
    return parted;
}

/* Delete edges that are there, restore those that are not. */
static void flip(const struct gold *run, int64_t parted)
{
    for (int64_t e = 0; e < parted; e++) {
        const int64_t i = run->ones[e], j = run->others[e];
        run->edges[i * run->n + j] ^= 1;
        run->edges[j * run->n + i] ^= 1;
    }
}

/* A common neighbour of two arms that are none, -1 if they have none. */
static int64_t common(const struct gold *run, int64_t i, int64_t j)
{
    const uint8_t *mine = run->edges + i * run->n, *theirs = run->edges + j * run->n;
    for (int64_t x = 0; x < run->n; x++)
        if (mine[x] && theirs[x])
            return x;
    return -1;
}

/* Delete edges; if each pair has a neighbour in common no community splits, else undo. */
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
    int64_t found = 0;
    for (int64_t i = 0; i < run->n; i++)
        found += run->stage[i] > 0;
    return found;
}

/* Make the members of every small community terminal; return whether any became so. */
static bool declare(const struct gold *run, int64_t pulls)
{
    const int64_t n = run->n;
    int64_t *stage = run->stage, *queue = run->queue, latest = 1;
    for (int64_t i = 0; i < n; i++) {
        run->seen[i] = 0;
        if (stage[i] + 1 > latest)
            latest = stage[i] + 1;
    }
    bool found = false;
    for (int64_t first = 0; first < n; first++) {
        if (run->seen[first])
            continue;
        int64_t size = 1;
        queue[0] = first;
        run->seen[first] = 1;
        for (int64_t at = 0; at < size; at++) {
            const uint8_t *row = run->edges + queue[at] * n;
            for (int64_t j = 0; j < n; j++) {
                if (row[j] && !run->seen[j]) {
                    run->seen[j] = 1;
                    queue[size++] = j;
                }
            }
        }
        if (size > run->largest_group)
            continue;
        for (int64_t at = 0; at < size; at++) {
            if (!stage[queue[at]]) {
                stage[queue[at]] = latest;
                run->score[queue[at]] = pulls;
                found = true;
            }
        }
    }
    return found;
}

/* Delete edges in the order of time, up to the pull that makes arms terminal; return the number of
 * that pull, `end` if there is none. */
static int64_t replay(const struct gold *run, int64_t parted, int64_t end)
{
    const int64_t n = run->n, size = end - run->pulls;
    int64_t *latest = run->latest, *before = run->before;
    for (int64_t at = 1; at <= size; at++)
        latest[at] = -1;
    for (int64_t e = 0; e < parted; e++) {
        before[e] = latest[run->times[e] - run->pulls];
        latest[run->times[e] - run->pulls] = e;
    }
    for (int64_t at = 1; at <= size; at++) {
        for (int64_t e = latest[at]; e >= 0; e = before[e]) {
            run->edges[run->ones[e] * n + run->others[e]] = 0;
            run->edges[run->others[e] * n + run->ones[e]] = 0;
        }
        bool split = false;
        for (int64_t e = latest[at]; e >= 0 && !split; e = before[e])
            split = common(run, run->ones[e], run->others[e]) < 0;
        if (split && declare(run, run->pulls + at))
            return run->pulls + at;
    }
    return end;
}

/* Note the order in which the arms in play are pulled, from the position on; return how many. */
static int64_t line_up(const struct gold *run)
{
    int64_t k = 0;
    for (int64_t x = 0; x < run->n; x++) {
        const int64_t i = (run->position + x) % run->n;
        run->least[i] = INFINITY; /* for arms out of play */
        run->most[i] = -INFINITY;
        if (!run->stage[i]) {
            run->order[k] = i;
            run->turn[i] = k++;
        }
    }
    return k;
}

/* Take over the pulls of the block up to `end`. */
static void take_over(struct gold *run, const struct block *block, int64_t end)
{
    const int64_t k = block->k, *order = run->order;
    int64_t *counts = run->counts;
    for (int64_t x = 0; x < k; x++) {
        const int64_t i = order[x], made = (end - run->pulls - x + k - 1) / k;
        counts[i] += made;
        run->totals[i] = rint(run->path[i * (BLOCK + 1) + made] * (double)counts[i]);
    }
    run->position = (order[(end - run->pulls - 1) % k] + 1) % run->n;
    run->pulls = end;
    if (run->rule.kind != PER_PULL)
        return;
    for (int64_t x = 0; x < k; x++) {
        const int64_t i = order[x];
        if (x && counts[i] == counts[order[x - 1]])
            run->beta[i] = run->beta[order[x - 1]];
        else
            run->beta[i] = radius((double)counts[i], run->totals[i], 0.0, &run->rule);
    }
}

/* Pull until enough arms are terminal or `stop_at` pulls have been made in all; return whether
 * enough are. */
EXPORT bool gold_advance(struct gold *run)
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
            end = replay(run, parted, end);
            over = terminals(run) >= run->enough;
        }
        take_over(run, &block, end);
    }
    return over;
}
