/* Whether arms are a group, by evidence against a whole truth; for endless rewards in
 * [0, 1].
 *
 * docs/adaptive.md, "Evidence against a whole truth", has the statement and its proof;
 * tests/reference/joint.py has the bets written down one by one. In short: if the members are not a
 * group, some segment has a stretch (x, x + t) free of arms, and neighbours at a border of the
 * group are at most `sure_factor` times t apart. Against means like that, bet that arms beside the
 * stretch lie inside it, and that the two at the border are further apart. What such bets have
 * become is bounded from below over all such means, cell by cell of (x, t). */
#include "bets.h"
#include "blocks.h"

/* Into how many parts an octave of widths is divided; bets are the same within a part. */
#define FINE 5
/* How many columns of cells are looked at together. */
#define COLUMNS 256
/* The most parts of a stretch that a cell can be. */
#define FINEST 128
#define ROWS (FINEST / 7)
/* The most columns at which an arm beside those can be. */
#define WINDOW (COLUMNS + ROWS + FINEST)
/* How far an arm is from the stretch, in 32nds of its width, and what is staked on its being inside
 * (in place of being where it is). */
static const int ZONES[] = {0, 1, 4, 12};
static const double INSIDE[] = {0.4, 0.2, 0.1, 0.03};
#define ZONE_COUNT ((int)(sizeof ZONES / sizeof *ZONES))
/* How far off such a bet takes a mean to be, in parts of the stretch, and what is staked on it. */
static const double INNER_STEPS[] = {0.05, 0.1, 0.2, 0.4};
static const double INNER_STAKES[] = {0.25, 0.25, 0.25, 0.25};
#define INNER ((int)(sizeof INNER_STEPS / sizeof *INNER_STEPS))
/* What is staked on each arm of the pair lying further out, and how far, in parts of the stretch.
 */
#define FURTHER 0.75
static const double PAIR_STEPS[] = {0.03, 0.07, 0.15, 0.4, 1.0, 2.5};
static const double PAIR_STAKES[] = {0.15, 0.15, 0.2, 0.2, 0.2, 0.1};
#define PAIR ((int)(sizeof PAIR_STEPS / sizeof *PAIR_STEPS))
/* Share of the stake on pairs with a wider gap than the stretch, if there are any. */
#define WIDER 0.85
/* More than all errors of rounding in a sum of logs. */
#define ROUNDING 1e-9
/* What no truth within the intervals can have. */
#define IMPOSSIBLE 1e6
/* A log capital beyond this counts as this one. */
#define ENOUGH 60.0
/* More candidates for a pair on one side of a border are not looked at: to decide, and to plan. */
#define CANDIDATES 24
#define PLANNED_CANDIDATES 8
/* Places that are looked at for a pair: to decide, and to plan. */
#define PLACES 512
#define PLANNED_PLACES 64

/* A border: by_mean[begin:at] is the run below it, by_mean[at:end] the run above. */
struct border {
    int64_t begin, at, end;
    int low_count, high_count;
    int64_t low[CANDIDATES], high[CANDIDATES];
    double floor, top, ceiling; /* the highest arm below is from floor to top; the lowest above
                                   at most at `ceiling` */
    double start, step;         /* places: start + a * step */
    int64_t places, beyond;
    double *below, *above; /* rows of PLACES: log capital against each candidate there */
    double *least_above;   /* the least of each column of `above` */
    double *least_below;
};

/* Bets of one kind, one way, against a mean at one place. */
#define MOST_BETS (PAIR * GUESSES)
struct bets {
    int count;
    struct bet bets[MOST_BETS];
    double stakes[MOST_BETS];
};

/* How far off bets of a kind take a mean to be, in parts of the stretch, and what is staked. */
struct kind {
    int count;
    const double *steps, *stakes;
};
static const struct kind INNER_BETS = {INNER, INNER_STEPS, INNER_STAKES};
static const struct kind PAIR_BETS = {PAIR, PAIR_STEPS, PAIR_STAKES};

struct cellwork {
    struct bets upward[WINDOW], downward[WINDOW]; /* inner bets at the columns at hand */
    double capital[WINDOW];
    double below[COLUMNS + 2], above[COLUMNS + ROWS + 2];
    double total[ROWS][COLUMNS], lift_below[ROWS][COLUMNS], lift_above[ROWS][COLUMNS];
};

/* log Σ stakes · exp(capitals). */
static double mixed_capital(const double *capitals, const double *stakes, int count)
{
    double most = -INFINITY, total = 0.0;
    for (int k = 0; k < count; k++)
        most = most_of(most, capitals[k]);
    for (int k = 0; k < count; k++)
        if (capitals[k] > most - 40.0)
            total += stakes[k] * exp(capitals[k] - most);
    return most + log(total);
}

/* Place bets that a mean is `way` (-1 below, 1 above) of `value`. */
static void place_bets(struct bets *bets, const struct arms *arms, double value, int way,
    double scale, struct kind kind)
{
    const int guesses = guesses_for(arms->scatter);
    const double part = 1.0 / guesses;
    bets->count = 0;
    for (int k = 0; k < kind.count; k++)
        for (int guess = 0; guess < guesses; guess++) {
            bets->stakes[bets->count] = kind.stakes[k] * part;
            bets->bets[bets->count++] = bet_on(value, kind.steps[k] * scale * LONGER[guess], way);
        }
}

/* The log of what bets have become. */
static double capital_of(const struct bets *bets, const struct sample *told)
{
    double capitals[MOST_BETS];
    for (int k = 0; k < bets->count; k++)
        capitals[k] = log_capital_of(&bets->bets[k], told);
    return mixed_capital(capitals, bets->stakes, bets->count);
}

/* The log capital of bets that the mean of an arm is `way` of `value`. */
static double capital_against(
    const struct arms *arms, int64_t arm, double value, int way, double scale, struct kind kind)
{
    const struct sample told = told_of(arms, arm, way);
    struct bets bets;
    place_bets(&bets, arms, value, way, scale, kind);
    return capital_of(&bets, &told);
}

/* log(1 - p + p · exp(capital)). */
static double partly(double capital, double p)
{
    if (capital > 40.0)
        return log(p) + capital;
    if (capital < -40.0)
        return log1p(-p);
    return log1p(p * (exp(capital) - 1.0));
}

static double rank_stake(int64_t rank)
{
    static const double FIRST[] = {0.05, 0.35, 0.3};
    if (rank <= 3)
        return FIRST[rank - 1];
    return 0.3 / ((double)(rank - 3) * (double)(rank - 2));
}

/* The log of the least stake on a stretch of at most this rank and a pair with a wider gap. */
static double wider_stake(int64_t rank)
{
    return log(rank_stake(rank) * WIDER / (double)(rank - 1));
}

/* The same for a pair whose gap is not wider. */
static double other_stake(int64_t rank, int64_t n)
{
    double least = rank_stake(1);
    if (rank > 1)
        least = least_of(least, rank_stake(rank) * (1.0 - WIDER));
    return log(least / (double)(n - 1));
}

/* The cheapest place for an arm below the stretch (`way` 1) or above it (-1). */
struct spot {
    double evidence, value, stake;
};

static struct spot cheapest_spot(
    const struct arms *arms, int64_t arm, int way, double edge, double scale)
{
    const double low = arms->low[arm] - scale / 32.0, high = arms->high[arm] + scale / 32.0;
    struct spot best = {IMPOSSIBLE, edge, 0.0};
    for (int zone = 0; zone < ZONE_COUNT; zone++) {
        const double near = ZONES[zone] * scale / 32.0;
        const double far = zone + 1 < ZONE_COUNT ? ZONES[zone + 1] * scale / 32.0 : INFINITY;
        double value;
        if (way > 0) {
            if (edge - near < low || edge - far > high)
                continue;
            value = least_of(edge - near, high);
        } else {
            if (edge + near > high || edge + far < low)
                continue;
            value = most_of(edge + near, low);
        }
        const double evidence =
            partly(capital_against(arms, arm, value, way, scale, INNER_BETS), INSIDE[zone]);
        if (evidence < best.evidence)
            best = (struct spot){evidence, value, INSIDE[zone]};
    }
    return best;
}

void joint_slopes(const struct arms *arms, const struct claim *claim, double *slopes)
{
    const int64_t n = arms->n, *order = arms->by_mean;
    const double *row = claim->found;
    const double x = row[1], t = row[2], scale = row[9];
    const int64_t begin = (int64_t)row[8], low_arm = (int64_t)row[3], high_arm = (int64_t)row[5];
    int64_t end = begin;
    while (end < n && !claim->member[order[end]])
        end++;
    struct spot *spots = (struct spot *)claim->memory, *others = spots + n;
    int *ways = (int *)(others + n);
    int64_t lift[2] = {-1, -1};
    double least[2] = {INFINITY, INFINITY};
    for (int64_t place = 0; place < n; place++) {
        const int64_t arm = order[place];
        if (arm == low_arm || arm == high_arm) {
            if (begin <= place && place < end)
                least[place - begin < end - 1 - place] = -1.0; /* it is on its side */
            continue;
        }
        struct spot below = {IMPOSSIBLE, x, 0.0}, above = {IMPOSSIBLE, x + t, 0.0};
        if (place < end)
            below = cheapest_spot(arms, arm, 1, x, scale);
        if (place >= begin)
            above = cheapest_spot(arms, arm, -1, x + t, scale);
        const bool up = above.evidence < below.evidence;
        spots[arm] = up ? above : below;
        others[arm] = up ? below : above;
        ways[arm] = up ? -1 : 1;
        if (place < begin || place >= end)
            continue;
        for (int side = 0; side < 2; side++) { /* 0: one must be above, 1: one below */
            const double more =
                up == (side == 0) ? 0.0 : others[arm].evidence - spots[arm].evidence;
            if (more < least[side]) {
                least[side] = more;
                lift[side] = arm;
            }
        }
    }
    for (int side = 0; side < 2; side++)
        if (least[side] > 0.0 && lift[side] >= 0) {
            spots[lift[side]] = others[lift[side]];
            ways[lift[side]] = side == 0 ? -1 : 1;
        }
    for (int64_t arm = 0; arm < n; arm++) {
        const double mean = arms->totals[arm] / (double)arms->counts[arm];
        const double value = arm == low_arm ? row[4] : arm == high_arm ? row[6] : spots[arm].value;
        const int way = arm == low_arm ? -1 : arm == high_arm ? 1 : ways[arm];
        const struct sample told = told_of(arms, arm, way);
        slopes[arm] = 0.0;
        if (way * (mean - value) > 0.0 && value > 0.0 && value < 1.0)
            slopes[arm] = growth_against(value, &told);
    }
}

/* What the search over cells goes on with. */
struct search {
    const struct arms *arms;
    const struct rules *rules;
    const struct claim *claim;
    struct border *borders;
    int64_t border_count;
    double *beside; /* rows of 2 * COLUMNS + ROWS + 4: log capital against the candidates of all
                       borders, for the columns at hand: below the stretch, then above */
    struct cellwork *work;
    double scale, step; /* the widest stretch of the level, and the side of a cell */
    int64_t parts;      /* of a stretch, each of the side of a cell */
    int64_t first_row, rows;
    int64_t cell; /* 1 to bound whole cells, 0 to look at their corners */
};

#define BESIDE (2 * COLUMNS + ROWS + 4)

/* Place the inner bets against means at columns first, first + 1, …: they serve all arms. */
static void inner_bets(
    const struct search *search, int way, int64_t first, int64_t count, struct bets *bets)
{
    for (int64_t k = 0; k < count; k++)
        place_bets(&bets[k], search->arms, (double)(first + k) * search->step, way, search->scale,
            INNER_BETS);
}

/* Against an arm that is below the stretch if `way` is 1, above if it is -1: the log capital if
 * the edge of the stretch is at column first, first + 1, …; the bet is that the arm is inside.
 *
 * The arm is in one of the zones beside the edge, as near to it as the zone and its interval let
 * it. So at most one column for each zone counts, and beyond the interval it is always the same. */
static void against_outside(
    const struct search *search, int64_t arm, int way, int64_t first, int64_t count, double *out)
{
    const struct arms *arms = search->arms;
    const struct bets *bets = way > 0 ? search->work->upward : search->work->downward;
    const struct sample told = told_of(arms, arm, way);
    const double step = search->step;
    const int64_t unit = search->parts / 32, reach = ZONES[ZONE_COUNT - 1] * unit;
    const int64_t lowest = (int64_t)floor(arms->low[arm] / step);
    const int64_t highest = (int64_t)ceil(arms->high[arm] / step);
    double *capital = search->work->capital;
    const int64_t begin = way > 0 ? first - reach : first;
    const int64_t from = begin > lowest ? begin : lowest;
    const int64_t end = begin + count + reach - 1, to = end < highest ? end : highest;
    for (int64_t place = from; place <= to; place++) {
        const struct bets *placed = &bets[place - begin];
        double total = 0.0;
        for (int k = 0; k < placed->count; k++)
            total +=
                placed->stakes[k] * exp(least_of(log_capital_of(&placed->bets[k], &told), ENOUGH));
        capital[place - from] = total;
    }
    /* The end of the interval beyond which the arm cannot go towards the stretch. */
    const int64_t clip = way > 0 ? highest : lowest;
    const double clipped = exp(least_of(
        ENOUGH, capital_against(arms, arm, (double)clip * step, way, search->scale, INNER_BETS)));
    const double last = INSIDE[ZONE_COUNT - 1], beyond = log(1.0 - last + last * clipped);
    for (int64_t k = 0; k < count; k++) {
        const int64_t edge = first + k;
        /* How far the edge is beyond the near end of the interval, and beyond the far end. */
        const int64_t in = way > 0 ? edge - lowest : highest - edge;
        const int64_t past =
            way > 0 ? edge - search->cell - highest : lowest - edge - 2 * search->cell;
        if (in < 0 || past > reach) {
            out[k] = in < 0 ? IMPOSSIBLE : beyond;
            continue;
        }
        double least = INFINITY;
        for (int zone = 0; zone < ZONE_COUNT; zone++) {
            const int64_t near = ZONES[zone] * unit;
            if (near > in)
                break;
            if (zone + 1 < ZONE_COUNT && past > ZONES[zone + 1] * unit)
                continue;
            const int64_t place = edge - way * near;
            const bool outside = way > 0 ? place >= clip : place <= clip;
            const double value = outside ? clipped : capital[place - from];
            least = least_of(least, 1.0 - INSIDE[zone] + INSIDE[zone] * value);
        }
        out[k] = log(least);
    }
}

/* Fill in the capital against the candidates of a border at all places, on the present scale. */
static void weigh_pairs(const struct search *search, struct border *border)
{
    const struct arms *arms = search->arms;
    const double range = border->top - border->floor;
    const int64_t most = search->cell ? PLACES : PLANNED_PLACES;
    double step = search->step;
    while (range / step > (double)(most - 3))
        step *= 2.0;
    border->step = step;
    border->start = border->floor;
    border->places = range >= 0.0 ? (int64_t)ceil(range / step) + 1 : 0;
    for (int64_t a = 0; a < PLACES; a++)
        border->least_below[a] = border->least_above[a] = IMPOSSIBLE;
    for (int64_t a = 0; a < border->places; a++) {
        const double value = border->start + (double)a * step;
        struct bets bets;
        place_bets(&bets, arms, value, -1, search->scale, PAIR_BETS);
        for (int c = 0; c < border->low_count; c++) {
            const int64_t arm = border->low[c];
            double *found = &border->below[c * PLACES + a];
            *found = IMPOSSIBLE;
            if (value > arms->high[arm] || value + step < arms->low[arm])
                continue;
            const struct sample told = told_of(arms, arm, -1);
            *found = partly(capital_of(&bets, &told), FURTHER);
            border->least_below[a] = least_of(border->least_below[a], *found);
        }
    }
    /* Above: from the ceiling downwards. */
    int64_t count = (int64_t)ceil((border->ceiling - border->floor) / step) + 1;
    border->beyond = count < PLACES ? count : PLACES;
    for (int64_t b = 0; b < border->beyond; b++) {
        const double value = border->ceiling - (double)b * step;
        struct bets bets;
        place_bets(&bets, arms, value, 1, search->scale, PAIR_BETS);
        for (int c = 0; c < border->high_count; c++) {
            const int64_t arm = border->high[c];
            double *found = &border->above[c * PLACES + b];
            *found = IMPOSSIBLE;
            if (value < arms->low[arm])
                continue;
            const struct sample told = told_of(arms, arm, 1);
            *found = partly(capital_of(&bets, &told), FURTHER);
            border->least_above[b] = least_of(border->least_above[b], *found);
        }
    }
}

/* The place above the border, counted down from the ceiling, that bounds an arm at `value` or
 * below: the next one above it. */
static int64_t place_above(const struct border *border, double value, int64_t cell)
{
    const double down = floor((border->ceiling - value) / border->step + (cell ? 0.0 : 0.5));
    return down <= 0.0 ? 0 : down < (double)border->beyond ? (int64_t)down : border->beyond - 1;
}

/* What the candidates of a border count for without the pair, and the most that one does. */
struct beside {
    double low[CANDIDATES], high[CANDIDATES];
    double most;
};

/* The least log capital against a pair at most `wide` apart, the lower one at `bottom` or above,
 * the upper one at `top` or below; less what the two count for without it, unless `beside` is NULL.
 * Writes which arms, and where. */
static double against_pair(const struct search *search, const struct border *border, double wide,
    double bottom, double top, const struct beside *beside, double found[4])
{
    double least = IMPOSSIBLE;
    const int64_t cell = search->cell;
    int64_t a = 0;
    if (bottom > border->start)
        a = (int64_t)least_of(floor((bottom - border->start) / border->step), PLACES);
    for (; a < border->places; a++) {
        const double z = border->start + (double)a * border->step;
        const double y = least_of(z + (double)cell * border->step + wide, top);
        const int64_t b = place_above(border, y, cell);
        double low = border->least_below[a], high = border->least_above[b];
        if (beside == NULL) {
            least = least_of(least, low + high);
            continue;
        }
        if (low + high - beside->most >= least)
            continue;
        low = high = IMPOSSIBLE;
        int low_at = 0, high_at = 0;
        for (int c = 0; c < border->low_count; c++)
            if (border->below[c * PLACES + a] - beside->low[c] < low) {
                low = border->below[c * PLACES + a] - beside->low[c];
                low_at = c;
            }
        for (int c = 0; c < border->high_count; c++)
            if (border->above[c * PLACES + b] - beside->high[c] < high) {
                high = border->above[c * PLACES + b] - beside->high[c];
                high_at = c;
            }
        if (low + high < least) {
            least = low + high;
            found[0] = (double)border->low[low_at];
            found[1] = z;
            found[2] = (double)border->high[high_at];
            found[3] = border->ceiling - (double)b * border->step; /* as it was weighed */
        }
    }
    return least;
}

/* By the intervals, the most gaps beside members that are at least `width`, and one. */
static int64_t most_rank(const struct search *search, double width)
{
    const struct arms *arms = search->arms;
    const int64_t n = arms->n, *order = arms->by_mean;
    const bool *member = search->claim->member;
    int64_t rank = 1 + search->border_count, k = 0;
    while (k < n) {
        int64_t end = k;
        double low = INFINITY, high = -INFINITY;
        for (; end < n && member[order[end]] == member[order[k]]; end++) {
            low = least_of(low, arms->low[order[end]]);
            high = most_of(high, arms->high[order[end]]);
        }
        if (member[order[k]]) {
            const double fit = floor((high - low) / width);
            rank += fit < (double)(end - k - 1) ? (int64_t)fit : end - k - 1;
        }
        k = end;
    }
    return rank;
}

/* Look at the columns first to first + count of a segment, by_mean[begin:end]; whether all cells
 * have enough, or those that have least are to be found. */
static bool columns_have_enough(
    struct search *search, int64_t begin, int64_t end, int64_t first, int64_t count)
{
    const struct arms *arms = search->arms;
    const struct claim *claim = search->claim;
    const int64_t n = arms->n, *order = arms->by_mean, cell = search->cell;
    const int64_t rows = search->rows, top_row = search->first_row;
    struct cellwork *work = search->work;
    for (int64_t r = 0; r < rows; r++)
        for (int64_t j = 0; j < count; j++) {
            work->total[r][j] = 0.0;
            work->lift_below[r][j] = work->lift_above[r][j] = IMPOSSIBLE;
        }
    const int64_t reach = ZONES[ZONE_COUNT - 1] * (search->parts / 32);
    inner_bets(search, 1, first + cell - reach, count + reach, work->upward);
    inner_bets(search, -1, first + top_row, count + rows + reach, work->downward);
    for (int64_t place = 0; place < n; place++) {
        const int64_t arm = order[place];
        const bool may_below = place < end, may_above = place >= begin;
        double *below = work->below, *above = work->above;
        for (int64_t j = 0; j < count; j++)
            below[j] = IMPOSSIBLE;
        for (int64_t j = 0; j < count + rows; j++)
            above[j] = IMPOSSIBLE;
        if (may_below)
            against_outside(search, arm, 1, first + cell, count, below);
        if (may_above)
            against_outside(search, arm, -1, first + top_row, count + rows, above);
        for (int64_t b = 0; b < search->border_count; b++) {
            struct border *border = &search->borders[b];
            double *rows_of = search->beside + b * 2 * CANDIDATES * BESIDE;
            for (int side = 0; side < 2; side++) {
                const int64_t *arms_of = side ? border->high : border->low;
                const int some = side ? border->high_count : border->low_count;
                for (int c = 0; c < some; c++)
                    if (arms_of[c] == arm) {
                        double *row = rows_of + (side * CANDIDATES + c) * BESIDE;
                        memcpy(row, below, (size_t)count * sizeof *row);
                        memcpy(row + COLUMNS, above, (size_t)(count + rows) * sizeof *row);
                    }
            }
        }
        const bool inside = may_below && may_above;
        for (int64_t r = 0; r < rows; r++) {
            double *total = work->total[r];
            for (int64_t j = 0; j < count; j++)
                total[j] += least_of(below[j], above[j + r]);
            if (!inside)
                continue;
            double *lift_below = work->lift_below[r], *lift_above = work->lift_above[r];
            for (int64_t j = 0; j < count; j++) {
                const double more = below[j] - above[j + r];
                lift_below[j] = least_of(lift_below[j], most_of(more, 0.0));
                lift_above[j] = least_of(lift_above[j], most_of(-more, 0.0));
            }
        }
    }
    for (int64_t r = 0; r < rows; r++) {
        const double width = (double)(top_row + r) * search->step;
        const double most_width = (double)(top_row + r + cell) * search->step;
        const int64_t rank = most_rank(search, width);
        for (int64_t b = 0; b < search->border_count; b++) {
            struct border *border = &search->borders[b];
            const int next = border->at == end ? 1 : border->at == begin ? -1 : 0;
            const double *rows_of = search->beside + b * 2 * CANDIDATES * BESIDE;
            for (int wider = 0; wider < 2; wider++) {
                const double wide = (wider ? search->rules->sure_factor : 1.0) * most_width;
                const double needed =
                    claim->log_odds + ROUNDING - (wider ? wider_stake(rank) : other_stake(rank, n));
                const double pair_alone =
                    against_pair(search, border, wide, -INFINITY, INFINITY, NULL, NULL);
                int64_t bin = 0; /* how many arms are before the middle of the stretch */
                for (int64_t j = 0; j < count; j++) {
                    double *row = claim->found;
                    const double x = (double)(first + j) * search->step;
                    if (row != NULL) {
                        while (bin < n && arms->means[order[bin]] < x + 0.5 * width)
                            bin++;
                        row += 10 * bin;
                    }
                    const double limit = row == NULL ? 0.0 : row[0];
                    struct beside beside;
                    double most_low = -INFINITY, most_high = -INFINITY;
                    for (int c = 0; c < border->low_count; c++) {
                        const double *values = rows_of + c * BESIDE;
                        beside.low[c] = least_of(values[j], values[COLUMNS + j + r]);
                        most_low = most_of(most_low, beside.low[c]);
                    }
                    for (int c = 0; c < border->high_count; c++) {
                        const double *values = rows_of + (CANDIDATES + c) * BESIDE;
                        beside.high[c] = least_of(values[j], values[COLUMNS + j + r]);
                        most_high = most_of(most_high, beside.high[c]);
                    }
                    beside.most = most_low + most_high;
                    double total = work->total[r][j] - needed;
                    if (next == 1)
                        total += work->lift_below[r][j];
                    else if (next == -1)
                        total += work->lift_above[r][j];
                    else
                        total += most_of(work->lift_below[r][j], work->lift_above[r][j]);
                    if (total - beside.most + pair_alone >= limit)
                        continue;
                    double found[4];
                    const double bottom = next == 1 ? x + width : -INFINITY;
                    const double top = next == -1 ? x + (double)cell * search->step : INFINITY;
                    total += against_pair(search, border, wide, bottom, top, &beside, found);
                    if (total >= limit)
                        continue;
                    if (row == NULL)
                        return false;
                    row[0] = total;
                    row[1] = x;
                    row[2] = width;
                    memcpy(row + 3, found, sizeof found);
                    row[7] = needed;
                    row[8] = (double)begin;
                    row[9] = search->scale;
                }
            }
        }
    }
    return true;
}

/* Find the borders, and which arms can be beside them. */
static bool find_borders(const struct search *search)
{
    const struct arms *arms = search->arms;
    const int64_t n = arms->n, *order = arms->by_mean;
    const bool *member = search->claim->member;
    const int most = search->cell ? CANDIDATES : PLANNED_CANDIDATES;
    for (int64_t b = 0; b < search->border_count; b++) {
        struct border *border = &search->borders[b];
        border->floor = border->top = -INFINITY;
        border->ceiling = INFINITY;
        double bottom = INFINITY;
        int64_t at = b == 0 ? 1 : search->borders[b - 1].at + 1;
        while (member[order[at]] == member[order[at - 1]])
            at++;
        border->at = border->end = at;
        border->begin = at - 1;
        while (border->begin > 0 && member[order[border->begin - 1]] == member[order[at - 1]])
            border->begin--;
        while (border->end < n && member[order[border->end]] == member[order[at]])
            border->end++;
        for (int64_t k = border->begin; k < at; k++) {
            border->floor = most_of(border->floor, arms->low[order[k]]);
            border->top = most_of(border->top, arms->high[order[k]]);
        }
        for (int64_t k = at; k < border->end; k++) {
            border->ceiling = least_of(border->ceiling, arms->high[order[k]]);
            bottom = least_of(bottom, arms->low[order[k]]);
        }
        border->top = least_of(border->top, border->ceiling);
        border->low_count = border->high_count = 0;
        for (int64_t k = at - 1; k >= border->begin; k--) /* the nearest first */
            if (arms->high[order[k]] >= border->floor) {
                if (border->low_count < most)
                    border->low[border->low_count++] = order[k];
                else if (search->cell)
                    return false;
            }
        for (int64_t k = at; k < border->end; k++)
            if (arms->low[order[k]] <= border->ceiling) {
                if (border->high_count < most)
                    border->high[border->high_count++] = order[k];
                else if (search->cell)
                    return false;
            }
    }
    return true;
}

int64_t joint_memory(int64_t borders)
{
    return borders * ((int64_t)(sizeof(struct border) / 8 + 1) +
                         2 * CANDIDATES * (PLACES + BESIDE) + 2 * PLACES) +
           (int64_t)(sizeof(struct cellwork) / 8 + 1);
}

bool joint_evidence(const struct arms *arms, const struct rules *rules, const struct claim *claim)
{
    const int64_t n = arms->n, *order = arms->by_mean;
    char *memory = (char *)claim->memory;
    struct search search = {.arms = arms, .rules = rules, .claim = claim};
    search.cell = claim->found == NULL;
    for (int64_t k = 1; k < n; k++)
        search.border_count += claim->member[order[k]] != claim->member[order[k - 1]];
    search.borders = take(&memory, search.border_count * (int64_t)(sizeof(struct border) / 8 + 1));
    if (!find_borders(&search))
        return false;
    search.beside = take(&memory, search.border_count * 2 * CANDIDATES * BESIDE);
    for (int64_t b = 0; b < search.border_count; b++) {
        search.borders[b].below = take(&memory, CANDIDATES * PLACES);
        search.borders[b].above = take(&memory, CANDIDATES * PLACES);
        search.borders[b].least_below = take(&memory, PLACES);
        search.borders[b].least_above = take(&memory, PLACES);
    }
    search.work = take(&memory, (int64_t)(sizeof(struct cellwork) / 8 + 1));
    double span = 0.0; /* the longest of the segments */
    for (int64_t k = 0; k < n;) {
        double low = INFINITY, high = -INFINITY;
        const int64_t first = k;
        for (; k < n && claim->member[order[k]] == claim->member[order[first]]; k++) {
            low = least_of(low, arms->low[order[k]]);
            high = most_of(high, arms->high[order[k]]);
        }
        if (!claim->member[order[first]] && k - first > 1)
            span = most_of(span, high - low);
    }
    for (int64_t level = (int64_t)ceil(FINE * log2(claim->narrowest) - 1e-9);; level++) {
        search.scale = exp2((double)level / FINE);
        const double least_width = exp2((double)(level - 1) / FINE);
        if (least_width > span)
            return true;
        int64_t parts = claim->parts;
        for (bool enough = false; !enough; parts *= 2) {
            if (parts > FINEST || parts > claim->most_parts)
                return false;
            enough = true;
            search.parts = parts;
            search.step = search.scale / (double)parts;
            search.first_row = (int64_t)floor((double)parts * (least_width / search.scale));
            search.rows = parts - search.first_row;
            for (int64_t b = 0; b < search.border_count; b++)
                weigh_pairs(&search, &search.borders[b]);
            for (int64_t k = 0; k < n && enough;) {
                double low = INFINITY, high = -INFINITY;
                const int64_t first = k;
                for (; k < n && claim->member[order[k]] == claim->member[order[first]]; k++) {
                    low = least_of(low, arms->low[order[k]]);
                    high = most_of(high, arms->high[order[k]]);
                }
                if (claim->member[order[first]] || k - first < 2)
                    continue;
                const int64_t last = (int64_t)ceil(high / search.step) - search.first_row;
                for (int64_t j = (int64_t)floor(low / search.step); j <= last && enough;
                    j += COLUMNS) {
                    const int64_t count = last - j + 1 < COLUMNS ? last - j + 1 : COLUMNS;
                    enough = columns_have_enough(&search, first, k, j, count);
                }
            }
        }
    }
}
