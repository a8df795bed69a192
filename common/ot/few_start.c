#include "ot/few_parts.h"

#include <math.h>
#include <string.h>

#define STEPS 12          /* at most, of Newton's method */
#define GOOD_ENOUGH 0.02F /* part of the mass in the wrong place: paths are cheaper for it */
#define NARROWER 0.7      /* factor of the window after a step that raised the dual */
#define MUCH_NARROWER 0.5
#define SHORTER 0.25   /* factor of a step that did not raise the dual */
#define STEP_MAX 2.0F  /* windows: the slopes are not valid beyond */
#define DAMPING 0.05F  /* supply per window, so that hubs without neighbours in it move too */
#define MASS_MIN 1e-9F /* added to the damping, for hubs of tiny supply */
#define PIVOT_MIN 1e-12F

/* Steps of Newton's method besides ranking: per column, and multiplications per step. */
#define COLUMN_STEPS 6
#define MULTIPLICATIONS 12

/* Adds a point to the ranking of the points before it. No branches. */
static void rank_point(const uint32_t *restrict cost, int64_t shift, size_t n,
                       int64_t *restrict first, int64_t *restrict second)
{
    for (size_t j = 0; j < n; j++) {
        const int64_t entry = dpot_few_cost(cost[j]) + shift, best = first[j], next = second[j];
        const int64_t above = entry < best ? best : entry;
        first[j] = entry < best ? entry : best;
        second[j] = above < next ? above : next;
    }
}

/* The cheapest and second cheapest point of each column, under the potentials. */
static void rank(struct dpot_few_projection *p)
{
    for (size_t j = 0; j < p->n_cols; j++) {
        p->first[j] = p->second[j] = DPOT_FEW_FAR;
    }
    for (size_t i = 0; i < p->n_points; i++) {
        rank_point(p->costs[i], (int64_t)i - p->f[i], p->n_cols, p->first, p->second);
    }
}

/* ---- potentials ----
 *
 * Newton's method on the concave dual
 *     D(f) = sum_h s_h f_h + sum_j (lower_j v_j + room_j min(v_j, -f_pool)),
 *     v_j = min_i C_ij - f_i,
 * whose slope in f_h is minus the excess of h. D has kinks; its curvature is taken from the columns
 * whose two best prices lie within a window, as if they were shared linearly in the gap. The window
 * narrows; steps that lower D are taken back. This is only a starting point, so float precision is
 * enough: within the budget it affects nothing but time. */

struct slopes {
    size_t n; /* hubs */
    double window;
    float *matrix;   /* (n, n) */
    float *residual; /* (n) */
};

/* Gives `mass` to the better of two hubs; if their prices are within the window, a share that is
 * linear in the gap goes to the other one. */
static void share(struct slopes *s, size_t best, size_t next, int64_t gap, float mass)
{
    const float half = 0.5F * mass, part = (float)gap / (float)s->window;
    if (!(part < 1.0F)) {
        s->residual[best] -= mass;
        return;
    }
    const float other = half - half * part;
    s->residual[best] -= mass - other;
    s->residual[next] -= other;
    s->matrix[best * s->n + best] += half;
    s->matrix[next * s->n + next] += half;
    s->matrix[best * s->n + next] -= half;
    s->matrix[next * s->n + best] -= half;
}

/* Slopes and curvature; returns the mass that is in the wrong place. */
static float gather_slopes(struct dpot_few_projection *p, struct slopes *s)
{
    const size_t pool = p->n_points;
    const int64_t pool_price = -p->f[pool];
    const float unit = (float)p->unit;
    memset(s->matrix, 0, s->n * s->n * sizeof *s->matrix);
    for (size_t h = 0; h < s->n; h++) {
        s->residual[h] = (float)p->supply[h] * unit;
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        const size_t first = dpot_few_point(p->first[j]), second = dpot_few_point(p->second[j]);
        const int64_t a = dpot_few_price(p->first[j]), b = dpot_few_price(p->second[j]);
        const float room = (float)p->room[j] * unit;
        share(s, first, second, b - a, (float)p->lower[j] * unit);
        if (pool_price <= a) {
            share(s, pool, first, a - pool_price, room);
        } else if (pool_price < b) {
            share(s, first, pool, pool_price - a, room);
        } else {
            share(s, first, second, b - a, room);
        }
    }
    float off = 0.0F;
    for (size_t h = 0; h < s->n; h++) {
        off += fabsf(s->residual[h]);
    }
    return off;
}

/* residual := matrix^-1 residual, by a Cholesky factorisation that replaces the matrix. */
static void solve_step(struct slopes *s)
{
    const size_t n = s->n;
    float *m = s->matrix, *x = s->residual;
    for (size_t k = 0; k < n; k++) {
        float pivot = m[k * n + k];
        for (size_t l = 0; l < k; l++) {
            pivot -= m[k * n + l] * m[k * n + l];
        }
        pivot = sqrtf(pivot > PIVOT_MIN ? pivot : PIVOT_MIN);
        m[k * n + k] = pivot;
        for (size_t i = k + 1; i < n; i++) {
            float y = m[i * n + k];
            for (size_t l = 0; l < k; l++) {
                y -= m[i * n + l] * m[k * n + l];
            }
            m[i * n + k] = y / pivot;
        }
        float y = x[k];
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

/* D, in units times cost, from ranked columns. */
static double dual_value(const struct dpot_few_projection *p)
{
    const int64_t pool_price = -p->f[p->n_points];
    double sum = 0.0;
    for (size_t h = 0; h <= p->n_points; h++) {
        sum += (double)p->supply[h] * (double)p->f[h];
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        const int64_t price = dpot_few_price(p->first[j]);
        sum += (double)p->lower[j] * (double)price;
        sum += (double)p->room[j] * (double)(price < pool_price ? price : pool_price);
    }
    return sum;
}

/* A price that nearly every plan pays: the largest of each point's cheapest and of each required
 * column's. Much higher prices, which no plan pays, say nothing about the potentials. */
static int64_t needed_price(const struct dpot_few_projection *p)
{
    int64_t needed = 0;
    for (size_t i = 0; i < p->n_points; i++) {
        uint32_t cheapest = DPOT_FEW_COST_MAX;
        for (size_t j = 0; j < p->n_cols; j++) {
            cheapest = p->costs[i][j] < cheapest ? p->costs[i][j] : cheapest;
        }
        needed = dpot_few_cost(cheapest) > needed ? dpot_few_cost(cheapest) : needed;
    }
    for (size_t j = 0; j < p->n_cols; j++) {
        const int64_t price = p->lower[j] > 0 ? dpot_few_price(p->first[j]) : 0;
        needed = price > needed ? price : needed;
    }
    return needed;
}

/* Starts with points at 0, the pool at minus the mean of the cheapest prices, and a window as wide
 * as the second cheapest ones. */
static void begin(struct dpot_few_projection *p, struct slopes *s)
{
    double mean = 0.0, next = 0.0;
    int64_t least = DPOT_FEW_FAR;
    const int64_t needed = needed_price(p);
    for (size_t j = 0; j < p->n_cols; j++) {
        const int64_t first = dpot_few_price(p->first[j]), second = dpot_few_price(p->second[j]);
        mean += (double)(first < needed ? first : needed);
        next += (double)(second < needed ? second : needed);
        least = first < least ? first : least;
    }
    const double n = (double)p->n_cols;
    p->f[p->n_points] = -dpot_few_price((int64_t)(mean / n));
    s->n = p->n_points + 1;
    s->matrix = p->matrix;
    s->residual = p->residual;
    s->window = next / n - (double)least;
}

static void step_from(struct dpot_few_projection *p, struct slopes *s)
{
    for (size_t h = 0; h < s->n; h++) {
        s->matrix[h * s->n + h] += DAMPING * (float)((double)p->supply[h] * p->unit) + MASS_MIN;
    }
    solve_step(s);
    for (size_t h = 0; h < s->n; h++) {
        p->base[h] = p->f[h];
        p->step[h] = (double)fminf(fmaxf(s->residual[h], -STEP_MAX), STEP_MAX) * s->window;
        p->f[h] += dpot_few_price((int64_t)p->step[h]);
    }
    s->window *= NARROWER;
}

static void step_back(struct dpot_few_projection *p, struct slopes *s)
{
    for (size_t h = 0; h < s->n; h++) {
        p->step[h] *= SHORTER;
        p->f[h] = p->base[h] + dpot_few_price((int64_t)p->step[h]);
    }
    s->window *= MUCH_NARROWER;
}

/* Steps of one step of Newton's method, and of its preparation. */
static uint64_t steps_of_newton(const struct dpot_few_projection *p)
{
    const uint64_t hubs = p->n_points + 1;
    return (p->n_points + COLUMN_STEPS) * p->n_cols + hubs * hubs * hubs / MULTIPLICATIONS;
}

void dpot_few_start(struct dpot_few_projection *p)
{
    struct slopes s;
    double best = -INFINITY;
    memset(p->f, 0, sizeof p->f);
    (void)dpot_few_spend(p, p->n_points * p->n_cols); /* a pass always fits */
    rank(p);
    if (p->n_points == 1 || p->n_points * p->n_points > 4 * p->n_cols ||
        !dpot_few_spend(p, steps_of_newton(p))) {
        return;
    }
    begin(p, &s);
    const float enough =
        GOOD_ENOUGH *
        (float)((double)(p->sum_lower + p->sum_room - p->supply[p->n_points]) * p->unit);
    for (int k = 0; k < STEPS && s.window >= DPOT_FEW_POINTS; k++) {
        if (!dpot_few_spend(p, steps_of_newton(p))) {
            return;
        }
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
        rank(p);
    }
}

/* ---- the pool ---- */

/* Prices in the order of their values. */
static uint64_t key_of(int64_t entry)
{
    return (uint64_t)dpot_few_price(entry) ^ UINT64_C(1) << 63;
}

/* The highest digit whose bin *left does not use up, from above; all digits are read. */
static uint64_t take_digits(const int64_t *bins, int64_t *left)
{
    uint64_t digit = DPOT_FEW_DIGITS - 1;
    int is_used_up = 1;
    for (size_t d = DPOT_FEW_DIGITS - 1; d > 0; d--) {
        is_used_up &= *left >= bins[d];
        *left -= is_used_up ? bins[d] : 0;
        digit -= (uint64_t)is_used_up;
    }
    return digit;
}

/* The key of the column where the pool, which takes the room of the most expensive columns first,
 * runs out; *left becomes what it has for the columns with that key. Digit by digit from the top:
 * eight passes. */
static uint64_t find_threshold(struct dpot_few_projection *p, int64_t *left)
{
    uint64_t prefix = 0, known = 0;
    for (int shift = 64 - DPOT_FEW_DIGIT_BITS; known != UINT64_MAX;
         shift = shift > DPOT_FEW_DIGIT_BITS ? shift - DPOT_FEW_DIGIT_BITS : 0) {
        memset(p->bins, 0, sizeof p->bins);
        for (size_t j = 0; j < p->n_cols; j++) {
            const uint64_t key = key_of(p->first[j]);
            p->bins[key >> shift & (DPOT_FEW_DIGITS - 1)] +=
                (key & known) == prefix ? p->room[j] : 0;
        }
        const uint64_t mask = (uint64_t)(DPOT_FEW_DIGITS - 1) << shift;
        known |= mask;
        prefix = (prefix & ~mask) | take_digits(p->bins, left) << shift;
    }
    return prefix;
}

/* Fills the pool from the most expensive columns; its potential is minus the price where it runs
 * out. */
static void fill_pool(struct dpot_few_projection *p)
{
    int64_t left = p->supply[p->n_points];
    const uint64_t threshold = find_threshold(p, &left);
    int64_t price = DPOT_FEW_FAR, dearest = -DPOT_FEW_FAR;
    for (size_t j = 0; j < p->n_cols; j++) {
        const int64_t here = dpot_few_price(p->first[j]);
        const uint64_t key = key_of(p->first[j]);
        const int64_t most = key > threshold ? p->room[j] : key == threshold ? left : 0;
        p->pool[j] = most < p->room[j] ? most : p->room[j];
        left -= key == threshold ? p->pool[j] : 0;
        price = p->pool[j] > 0 && here < price ? here : price;
        dearest = here > dearest ? here : dearest;
    }
    p->f[p->n_points] = price < DPOT_FEW_FAR ? -price : -dearest;
}

/* What the points serve of a column. */
static int64_t served_units(const struct dpot_few_projection *p, size_t j)
{
    return p->lower[j] + p->room[j] - p->pool[j];
}

/* Room for the pairs of each point: begin[i + 1] is the end of the pairs of point i. */
static void count_pairs(struct dpot_few_projection *p)
{
    memset(p->begin, 0, sizeof p->begin);
    for (size_t j = 0; j < p->n_cols; j++) {
        p->begin[dpot_few_point(p->first[j]) + 1] += served_units(p, j) > 0;
    }
    for (size_t i = 0; i < p->n_points; i++) {
        p->begin[i + 1] += p->begin[i];
    }
}

void dpot_few_serve(struct dpot_few_projection *p)
{
    fill_pool(p);
    count_pairs(p);
    const int32_t n_pairs = p->begin[p->n_points];
    for (size_t i = 0; i < p->n_points; i++) {
        p->excess[i] = -p->supply[i];
    }
    p->excess[p->n_points] = 0;
    for (size_t j = p->n_cols; j-- > 0;) {
        const size_t i = dpot_few_point(p->first[j]);
        const int64_t units = served_units(p, j);
        p->head[j] = DPOT_FEW_NO_PAIR;
        if (units > 0) {
            const int32_t pair = --p->begin[i + 1];
            p->excess[i] += units;
            p->head[j] = pair;
            p->next[pair] = DPOT_FEW_NO_PAIR;
            p->cols[pair] = (int32_t)j;
            p->units[pair] = units;
        }
    }
    memmove(p->begin, p->begin + 1, p->n_points * sizeof *p->begin);
    p->begin[p->n_points] = n_pairs;
}
