/* RR and WRR on simulated 0/1 rewards. */
#include "kernels.h"

enum { HOEFFDING, AGRESTI, PROVED };

/* Pulls until running sums are added up anew, so that rounding cannot pile up. */
#define ANEW 1000
#define PI_SQUARED 9.869604401089358

/* Sums over arms: of y, y^2, 1/m, and of r and r^2 of the proved intervals. */
struct sums {
    double first, second, inverse, near, far;
};

static double radius_of(double y, double low, double high)
{
    return most_of(most_of(high - y, y - low), 0.0);
}

static struct sums add_up(const struct visits *run)
{
    const double *y = run->y;
    struct sums sums = {0.0, 0.0, 0.0, 0.0, 0.0};
    for (int64_t j = 0; j < run->n; j++) {
        sums.first += y[j];
        sums.second += y[j] * y[j];
        sums.inverse += 1.0 / run->m[j];
        if (run->kind == PROVED) {
            const double radius = run->radius[j] = radius_of(y[j], run->low[j], run->high[j]);
            sums.near += radius;
            sums.far += radius * radius;
        }
    }
    return sums;
}

/* The radii of Agresti and Coull, and that of the threshold, which is returned. What is the same
 * for each arm stands apart from the sums, so that it is done for several arms at once. */
WIDE(double, agresti,
    (int64_t n, double k, double z, const double *restrict totals, const double *restrict m,
        double *restrict p, double *restrict part, double *restrict radius),
    (n, k, z, totals, m, p, part, radius))
{
    const double square = z * z;
    for (int64_t j = 0; j < n; j++) {
        p[j] = (totals[j] + square / 2) / (m[j] + square);
        radius[j] = z * sqrt(p[j] * (1 - p[j]) / m[j]);
    }
    double centre = 0.0;
    for (int64_t j = 0; j < n; j++)
        centre += p[j];
    centre /= (double)n;
    double spread = 0.0;
    for (int64_t j = 0; j < n; j++)
        spread += squared(p[j] - centre);
    spread = sqrt(spread / (double)n);
    for (int64_t j = 0; j < n; j++) {
        const double slope = spread == 0.0 ? 1.0 : k * (p[j] - centre) / spread + 1;
        part[j] = squared(slope * radius[j]);
    }
    double total = 0.0;
    for (int64_t j = 0; j < n; j++)
        total += part[j];
    return sqrt(total) / (double)n;
}

/* Note whether the interval of an arm meets that of the threshold. */
static bool meet(const struct visits *run, int64_t arm, double unit, double theta, double width)
{
    double low = run->low[arm], high = run->high[arm];
    if (run->kind != PROVED) {
        const double reach = run->kind == HOEFFDING ? unit / sqrt(run->m[arm]) : run->radius[arm];
        low = run->y[arm] - reach;
        high = run->y[arm] + reach;
    }
    return run->overlap[arm] = low <= theta + width && high >= theta - width;
}

/* Pull until the run is over or `stop_at` pulls have been made in all. */
void sigma_advance(struct visits *run)
{
    const int64_t n = run->n, kind = run->kind;
    double *const y = run->y, *const m = run->m, *const radius = run->radius;
    double theta = 0.0, width = 0.0, unit = 0.0;
    struct sums sums = {0.0, 0.0, 0.0, 0.0, 0.0};
    int64_t witness = 0; /* an arm that was active at the last look: while it is, all goes on */
    int64_t fresh = 0;   /* pulls until the sums are added up anew */
    run->over = false;
    if (run->pulls >= run->stop_at)
        return;
    for (int64_t j = 0; j < n; j++) {
        m[j] = (double)run->counts[j];
        y[j] = run->totals[j] / m[j];
        radius[j] = 0.0;
    }
    while (!run->over && run->pulls < run->stop_at) {
        int64_t i = run->position;
        if (!(run->weighted && i >= 0 && run->overlap[i] && m[i] < run->quota[i])) {
            i = i + 1 < n ? i + 1 : 0;
            run->position = i;
            if (run->weighted)
                run->quota[i] += run->weight;
        }
        run->counts[i]++;
        run->pulls++;
        if (draw(run->starts[i], run->increments[i], run->counts[i], run->means[i]))
            run->totals[i] += 1.0;
        const double y_before = y[i], m_before = m[i];
        m[i] = (double)run->counts[i];
        y[i] = run->totals[i] / m[i];
        sums.first += y[i] - y_before;
        sums.second += y[i] * y[i] - y_before * y_before;
        sums.inverse += 1.0 / m[i] - 1.0 / m_before;
        if (kind == PROVED) {
            jeffreys_intersect(run->totals[i], m[i], run->level, &run->low[i], &run->high[i]);
            const double before = radius[i];
            radius[i] = radius_of(y[i], run->low[i], run->high[i]);
            sums.near += radius[i] - before;
            sums.far += radius[i] * radius[i] - before * before;
        }
        if (fresh == 0) {
            fresh = ANEW;
            sums = add_up(run);
        }
        fresh--;
        const double arms = (double)n, pulls = (double)run->pulls;
        const double centre = sums.first / arms;
        const double variance = most_of(sums.second / arms - centre * centre, 0.0);
        theta = centre + run->k * sqrt(variance);
        if (kind == PROVED) {
            width = sums.near / arms + run->k * sqrt(most_of(sums.far / arms, 0.0));
        } else {
            const double spent = 6 * run->delta / (PI_SQUARED * (arms + 1) * pulls * pulls);
            if (kind == HOEFFDING) {
                unit = run->span * sqrt(-log(spent) / 2);
                width = unit * run->root * sqrt(sums.inverse / arms);
            } else {
                const double z = erfcinv(spent / 2);
                width = agresti(n, run->k, z, run->totals, m, run->p, run->part, radius);
            }
        }
        /* Only the visited arm and the witness are looked at, and all when the witness falls. */
        run->over = true;
        for (int64_t look = 0; look < n + 2; look++) {
            const int64_t j = look == 0 ? i : look == 1 ? witness : look - 2;
            if (meet(run, j, unit, theta, width)) {
                run->over = false;
                if (look >= 1) {
                    witness = j;
                    break;
                }
            }
        }
    }
    for (int64_t j = 0; j < n; j++) /* what is left behind is the state of now, for all arms */
        meet(run, j, unit, theta, width);
}
