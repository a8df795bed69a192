#include "ot/few_parts.h"

#include <math.h>
#include <string.h>

#define STEPS 12         /* at most, of Newton's method */
#define GOOD_ENOUGH 0.02 /* of the mass in the wrong place: the rest is cheaper by paths */
#define NARROWER 0.7     /* the window after a step that raised the dual */
#define MUCH_NARROWER 0.5
#define SHORTER 0.25 /* a step that did not raise the dual is tried again, shorter */
#define STEP_MAX 2.0 /* windows: beyond them the slopes say nothing */
#define DAMPING                                                                                    \
    0.05 /* of a hub's supply a window: hubs without neighbours in the window move too */

/* Points before i are ranked: point i with price cost_j - f takes its place. No branches, so that
 * the compiler may take many columns at once. */
static void rank_point(const double *restrict cost, double f, double number, size_t n,
                       double *restrict first_price, double *restrict second_price,
                       double *restrict first, double *restrict second)
{
    for (size_t j = 0; j < n; j++) {
        const double price = cost[j] - f;
        const double best = first_price[j], next = second_price[j];
        const double best_point = first[j], next_point = second[j];
        const int is_next = price < next, is_best = price < best;
        const double below = is_next ? price : next, below_point = is_next ? number : next_point;
        second_price[j] = is_best ? best : below;
        second[j] = is_best ? best_point : below_point;
        first_price[j] = is_best ? price : best;
        first[j] = is_best ? number : best_point;
    }
}

void dpot_few_rank(struct dpot_few_projection *p)
{
    for (size_t j = 0; j < p->n_cols; j++) {
        p->first_price[j] = p->costs[0][j] - p->f[0];
        p->second_price[j] = INFINITY;
        p->first[j] = p->second[j] = 0.0;
    }
    for (size_t i = 1; i < p->n_points; i++) {
        rank_point(p->costs[i], p->f[i], (double)i, p->n_cols, p->first_price, p->second_price,
                   p->first, p->second);
    }
}

/* ---- potentials ----
 *
 * Newton's method on the concave dual
 *     D(f) = sum_h s_h f_h + sum_j (lower_j v_j + room_j min(v_j, -f_pool)), v_j = min_i C_ij - f_i,
 * whose slope in f_h is minus the excess of h. D has kinks; its curvature is taken from the columns
 * whose two best prices lie within a window, as if these were shared linearly in the gap. The
 * window narrows; steps that lower D are taken back. This is a start only, so that nothing depends
 * on it but time. */

struct slopes {
    size_t n; /* hubs */
    double window;
    double *matrix;                     /* (n, n) minus the curvature */
    double residual[DPOT_FEW_HUBS_MAX]; /* the slope; then the step */
    double base[DPOT_FEW_HUBS_MAX], step[DPOT_FEW_HUBS_MAX];
};

/* `mass` goes to the better of two hubs; where their prices are within the window, part of it to
 * the other: the share is linear in the gap. */
static void share(struct slopes *s, size_t best, size_t next, double gap, double mass)
{
    if (!(gap < s->window)) {
        s->residual[best] -= mass;
        return;
    }
    const double half = 0.5 * mass / s->window, other = 0.5 * mass - half * gap;
    s->residual[best] -= mass - other;
    s->residual[next] -= other;
    s->matrix[best * s->n + best] += half;
    s->matrix[next * s->n + next] += half;
    s->matrix[best * s->n + next] -= half;
    s->matrix[next * s->n + best] -= half;
}

static double gather_slopes(struct dpot_few_projection *p, struct slopes *s)
{
    const size_t pool = p->n_points;
    const double pool_price = -p->f[pool];
    memset(s->matrix, 0, s->n * s->n * sizeof *s->matrix);
    for (size_t h = 0; h < s->n; h++) {
        s->residual[h] = (double)p->supply[h];
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        const size_t first = (size_t)p->first[j], second = (size_t)p->second[j];
        const double a = p->first_price[j], b = p->second_price[j];
        share(s, first, second, b - a, (double)p->lower[j]);
        if (pool_price <= a) {
            share(s, pool, first, a - pool_price, (double)p->room[j]);
        } else if (pool_price < b) {
            share(s, first, pool, pool_price - a, (double)p->room[j]);
        } else {
            share(s, first, second, b - a, (double)p->room[j]);
        }
    }
    double off = 0.0;
    for (size_t h = 0; h < s->n; h++) {
        off += fabs(s->residual[h]);
    }
    return off;
}

/* residual := matrix^-1 residual by Cholesky's factors, which replace the matrix. */
static void solve_step(struct slopes *s)
{
    const size_t n = s->n;
    double *m = s->matrix, *x = s->residual;
    for (size_t k = 0; k < n; k++) {
        double pivot = m[k * n + k];
        for (size_t l = 0; l < k; l++) {
            pivot -= m[k * n + l] * m[k * n + l];
        }
        pivot = sqrt(pivot > 0.0 ? pivot : 1e-300);
        m[k * n + k] = pivot;
        for (size_t i = k + 1; i < n; i++) {
            double y = m[i * n + k];
            for (size_t l = 0; l < k; l++) {
                y -= m[i * n + l] * m[k * n + l];
            }
            m[i * n + k] = y / pivot;
        }
        double y = x[k];
        for (size_t l = 0; l < k; l++) {
            y -= m[k * n + l] * x[l];
        }
        x[k] = y / pivot;
    }
    for (size_t k = n; k-- > 0;) {
        for (size_t i = k + 1; i < n; i++) {
            x[k] -= m[i * n + k] * x[i];
        }
        x[k] /= m[k * n + k];
    }
}

/* D in units times cost; the columns are ranked. */
static double dual_value(const struct dpot_few_projection *p)
{
    const double pool_price = -p->f[p->n_points];
    double sum = 0.0;
    for (size_t h = 0; h <= p->n_points; h++) {
        sum += (double)p->supply[h] * p->f[h];
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        const double price = p->first_price[j];
        sum += (double)p->lower[j] * price;
        sum += (double)p->room[j] * (price < pool_price ? price : pool_price);
    }
    return sum;
}

/* A price that the plan cannot do without, or nearly: the largest of each point's cheapest and of
 * each needed column's. Prices far above, that nobody pays, say nothing about the potentials. */
static double needed_price(const struct dpot_few_projection *p)
{
    double needed = -INFINITY;
    for (size_t i = 0; i < p->n_points; i++) {
        double cheapest = INFINITY;
        for (size_t j = 0; j < p->n_cols; j++) {
            cheapest = p->costs[i][j] < cheapest ? p->costs[i][j] : cheapest;
        }
        needed = cheapest > needed ? cheapest : needed;
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        const double price = p->lower[j] > 0 ? p->first_price[j] : -INFINITY;
        needed = price > needed ? price : needed;
    }
    return needed;
}

/* Points at 0, the pool at the mean of the cheapest prices, a window as wide as the next ones. */
static void begin(struct dpot_few_projection *p, struct slopes *s)
{
    const double n = (double)p->n_cols;
    double mean = 0.0, next = 0.0, least = INFINITY;
    const double needed = needed_price(p);
    for (size_t j = 0; j < p->n_cols; j++) {
        mean += fmin(p->first_price[j], needed) / n;
        next += fmin(p->second_price[j], needed) / n;
        least = p->first_price[j] < least ? p->first_price[j] : least;
    }
    p->f[p->n_points] = -mean;
    s->n = p->n_points + 1;
    s->matrix = p->matrix;
    s->window = next > least ? next - least : 0.0;
}

static void step_from(struct dpot_few_projection *p, struct slopes *s)
{
    const double limit = STEP_MAX * s->window;
    for (size_t h = 0; h < s->n; h++) {
        s->matrix[h * s->n + h] += DAMPING * (double)p->supply[h] / s->window;
    }
    solve_step(s);
    for (size_t h = 0; h < s->n; h++) {
        s->base[h] = p->f[h];
        s->step[h] = fmin(fmax(s->residual[h], -limit), limit);
        p->f[h] += s->step[h];
    }
    s->window *= NARROWER;
}

static void step_back(struct dpot_few_projection *p, struct slopes *s)
{
    for (size_t h = 0; h < s->n; h++) {
        s->step[h] *= SHORTER;
        p->f[h] = s->base[h] + s->step[h];
    }
    s->window *= MUCH_NARROWER;
}

void dpot_few_start(struct dpot_few_projection *p)
{
    struct slopes s;
    double best = -INFINITY;
    memset(p->f, 0, sizeof p->f);
    dpot_few_rank(p);
    if (p->n_points == 1) {
        return;
    }
    begin(p, &s);
    const double enough =
        GOOD_ENOUGH * (double)(p->sum_lower + p->sum_room - p->supply[p->n_points]);
    for (int k = 0; k < STEPS && s.window > 0.0; k++) {
        const double dual = dual_value(p);
        if (dual < best) {
            step_back(p, &s);
        } else {
            best = dual;
            if (gather_slopes(p, &s) <= enough) {
                return;
            }
            step_from(p, &s);
        }
        dpot_few_rank(p);
    }
}

/* ---- the pool ---- */

/* Doubles in the order of their values. */
static uint64_t key_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits >> 63 ? ~bits : bits | UINT64_C(1) << 63;
}

/* The key of the column where the pool, which takes the room of the dearest first, runs out; what
 * it has left for the columns with that key in *left. Digit by digit from the highest: six passes.
 */
static uint64_t find_threshold(struct dpot_few_projection *p, int64_t *left)
{
    uint64_t prefix = 0, known = 0;
    for (int shift = 64 - DPOT_FEW_DIGIT_BITS; known != UINT64_MAX;
         shift = shift > DPOT_FEW_DIGIT_BITS ? shift - DPOT_FEW_DIGIT_BITS : 0) {
        memset(p->bins, 0, sizeof p->bins);
        for (size_t j = 0; j < p->n_cols; j++) {
            const uint64_t key = key_of(p->first_price[j]);
            if ((key & known) == prefix) {
                p->bins[key >> shift & (DPOT_FEW_DIGITS - 1)] += p->room[j];
            }
        }
        size_t digit = DPOT_FEW_DIGITS - 1;
        while (digit > 0 && *left >= p->bins[digit]) {
            *left -= p->bins[digit];
            digit--;
        }
        known |= (uint64_t)(DPOT_FEW_DIGITS - 1) << shift;
        prefix = (prefix & ~((uint64_t)(DPOT_FEW_DIGITS - 1) << shift)) | (uint64_t)digit << shift;
    }
    return prefix;
}

/* The room that the pool leaves to q, dearest columns first; its potential is minus the price where
 * it runs out. */
static void fill_pool(struct dpot_few_projection *p)
{
    int64_t left = p->supply[p->n_points];
    const uint64_t threshold = find_threshold(p, &left);
    double price = INFINITY, dearest = -INFINITY;
    for (size_t j = 0; j < p->n_cols; j++) {
        const uint64_t key = key_of(p->first_price[j]);
        const int64_t most = key > threshold ? p->room[j] : key == threshold ? left : 0;
        p->pool[j] = most < p->room[j] ? most : p->room[j];
        p->closed[j] = p->pool[j] > 0 ? 0.0 : INFINITY;
        left -= key == threshold ? p->pool[j] : 0;
        price = p->pool[j] > 0 && p->first_price[j] < price ? p->first_price[j] : price;
        dearest = p->first_price[j] > dearest ? p->first_price[j] : dearest;
    }
    p->f[p->n_points] = isfinite(price) ? -price : -dearest;
}

void dpot_few_serve(struct dpot_few_projection *p)
{
    fill_pool(p);
    memset(p->units, 0, p->n_points * p->n_cols * sizeof *p->units);
    memset(p->n_served, 0, sizeof p->n_served);
    for (size_t i = 0; i < p->n_points; i++) {
        p->excess[i] = -p->supply[i];
    }
    p->excess[p->n_points] = 0;
    for (size_t j = 0; j < p->n_cols; j++) {
        const size_t i = (size_t)p->first[j], at = i * p->n_cols;
        const int64_t units = p->lower[j] + p->room[j] - p->pool[j];
        if (units > 0) {
            p->units[at + j] = units;
            p->excess[i] += units;
            p->place[at + j] = (int32_t)p->n_served[i];
            p->served[at + p->n_served[i]++] = (int32_t)j;
        }
    }
}
