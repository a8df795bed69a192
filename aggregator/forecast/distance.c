#include "forecast/distance.h"

#include "base/alloc.h"
#include "ot/cost.h"
#include "ot/network_simplex.h"

#include <math.h>
#include <stdlib.h>

#define MASS_NONE 1e-13 /* above the rounding error of the difference of two equal measures */

static bool is_line(const struct dpot_campaign *campaign)
{
    const enum dpot_metric_id id = campaign->metric.id;
    return campaign->domain.dim == 1 &&
           (id == DPOT_METRIC_EUCLIDEAN || id == DPOT_METRIC_L1 || id == DPOT_METRIC_LINF);
}

static size_t count_points(const double *population, size_t k)
{
    size_t n = 0;
    for (size_t i = 0; i < k; i++) {
        n += population[i] > 0;
    }
    return n;
}

bool distance_fits(const struct dpot_campaign *campaign, const double *population)
{
    const size_t n = count_points(population, campaign->domain.size);
    return is_line(campaign) || n <= DISTANCE_COSTS_MAX / campaign->output.size;
}

struct place {
    double position;
    uint32_t point;
};

static int by_position(const void *a, const void *b)
{
    const struct place *p = a, *q = b;
    const int order = (p->position > q->position) - (p->position < q->position);
    return order ? order : (p->point > q->point) - (p->point < q->point);
}

/* Sorts points by position. */
static dpot_status sort_line(const struct dpot_domain *domain, uint32_t *points, double *positions,
                             size_t n)
{
    struct place *places = dpot_alloc_array(NULL, n, sizeof *places);
    if (!places) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; i < n; i++) {
        places[i].point = points[i];
        dpot_domain_point(domain, points[i], &places[i].position);
    }
    qsort(places, n, sizeof *places, by_position);
    for (size_t i = 0; i < n; i++) {
        points[i] = places[i].point;
        positions[i] = places[i].position;
    }
    dpot_free_array(NULL, places, n, sizeof *places);
    return DPOT_OK;
}

static dpot_status fill_costs(struct distance *d, const struct dpot_campaign *campaign)
{
    const uint32_t dim = campaign->domain.dim;
    double *output = dpot_alloc_array(NULL, d->n_cols * dim, sizeof *output);
    double *place = dpot_alloc_array(NULL, dim, sizeof *place);
    d->cost = dpot_alloc_array(NULL, d->n_rows * d->n_cols, sizeof *d->cost);
    const dpot_status status = output && place && d->cost ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        dpot_domain_points(&campaign->output, output);
        for (size_t r = 0; r < d->n_rows; r++) {
            dpot_domain_point(&campaign->domain, d->row[r], place);
            dpot_cost_row(&campaign->metric, d->power, dim, place, output, d->n_cols,
                          d->cost + r * d->n_cols);
        }
    }
    dpot_free_array(NULL, output, d->n_cols * dim, sizeof *output);
    dpot_free_array(NULL, place, dim, sizeof *place);
    return status;
}

static dpot_status prepare_line(struct distance *d, const struct dpot_campaign *campaign)
{
    d->column = dpot_alloc_array(NULL, d->n_cols, sizeof *d->column);
    d->x = dpot_alloc_array(NULL, d->n_rows, sizeof *d->x);
    d->y = dpot_alloc_array(NULL, d->n_cols, sizeof *d->y);
    if (!d->column || !d->x || !d->y) {
        return DPOT_ERR_MEMORY;
    }
    for (size_t j = 0; j < d->n_cols; j++) {
        d->column[j] = (uint32_t)j;
    }
    const dpot_status status = sort_line(&campaign->domain, d->row, d->x, d->n_rows);
    return status == DPOT_OK ? sort_line(&campaign->output, d->column, d->y, d->n_cols) : status;
}

dpot_status distance_init(struct distance *distance, const struct dpot_campaign *campaign,
                          const double *population, double power, struct dpot_error *error)
{
    struct distance *d = distance;
    *d = (struct distance){.power = power,
                           .is_line = is_line(campaign),
                           .n_rows = count_points(population, campaign->domain.size),
                           .n_cols = campaign->output.size};
    d->is_cancelling = !d->is_line && power <= 1 && campaign->output_is_domain &&
                       campaign->metric.id != DPOT_METRIC_COSINE;
    d->row = dpot_alloc_array(NULL, d->n_rows, sizeof *d->row);
    d->mass = dpot_alloc_array(NULL, d->n_rows, sizeof *d->mass);
    dpot_status status = d->row && d->mass ? DPOT_OK : DPOT_ERR_MEMORY;
    size_t n = 0;
    for (size_t i = 0; status == DPOT_OK && i < campaign->domain.size; i++) {
        if (population[i] > 0) {
            d->row[n++] = (uint32_t)i;
        }
    }
    if (status == DPOT_OK) {
        status = d->is_line ? prepare_line(d, campaign) : fill_costs(d, campaign);
    }
    for (size_t r = 0; status == DPOT_OK && r < d->n_rows; r++) {
        d->mass[r] = population[d->row[r]];
    }
    return status == DPOT_OK ? status
                             : dpot_error_set(error, status, "out of memory for %zu x %zu costs",
                                              d->n_rows, d->n_cols);
}

void distance_release(struct distance *distance)
{
    struct distance *d = distance;
    dpot_free_array(NULL, d->row, d->n_rows, sizeof *d->row);
    dpot_free_array(NULL, d->column, d->n_cols, sizeof *d->column);
    dpot_free_array(NULL, d->mass, d->n_rows, sizeof *d->mass);
    dpot_free_array(NULL, d->x, d->n_rows, sizeof *d->x);
    dpot_free_array(NULL, d->y, d->n_cols, sizeof *d->y);
    dpot_free_array(NULL, d->cost, d->n_rows * d->n_cols, sizeof *d->cost);
    *d = (struct distance){0};
}

dpot_status distance_scratch_init(struct distance_scratch *scratch, const struct distance *distance,
                                  struct dpot_error *error)
{
    struct distance_scratch *s = scratch;
    *s = (struct distance_scratch){.n_rows = distance->n_rows, .n_cols = distance->n_cols};
    s->cap_costs = distance->is_line ? 0 : s->n_rows * s->n_cols;
    s->rows = dpot_alloc_array(NULL, s->n_rows, sizeof *s->rows);
    s->cols = dpot_alloc_array(NULL, s->n_cols, sizeof *s->cols);
    s->a = dpot_alloc_array(NULL, s->n_rows, sizeof *s->a);
    s->b = dpot_alloc_array(NULL, s->n_cols, sizeof *s->b);
    s->cost = dpot_alloc_array(NULL, s->cap_costs, sizeof *s->cost);
    return s->rows && s->cols && s->a && s->b && s->cost
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu x %zu costs",
                                s->n_rows, s->n_cols);
}

void distance_scratch_release(struct distance_scratch *scratch)
{
    struct distance_scratch *s = scratch;
    dpot_free_array(NULL, s->rows, s->n_rows, sizeof *s->rows);
    dpot_free_array(NULL, s->cols, s->n_cols, sizeof *s->cols);
    dpot_free_array(NULL, s->a, s->n_rows, sizeof *s->a);
    dpot_free_array(NULL, s->b, s->n_cols, sizeof *s->b);
    dpot_free_array(NULL, s->cost, s->cap_costs, sizeof *s->cost);
    *s = (struct distance_scratch){0};
}

/* Sum of |x - y|^p times mass over the common refinement of both sets of quantiles. */
static double match_quantiles(const struct distance *d, const double *histogram)
{
    size_t i = 0, j = 0;
    double a = d->mass[0], b = histogram[d->column[0]], cost = 0;
    while (i < d->n_rows && j < d->n_cols) {
        const double moved = a < b ? a : b;
        cost += moved * pow(fabs(d->x[i] - d->y[j]), d->power);
        a -= moved;
        b -= moved;
        if (a <= 0) {
            i++;
            a = i < d->n_rows ? d->mass[i] : 0;
        } else {
            j++;
            b = j < d->n_cols ? histogram[d->column[j]] : 0;
        }
    }
    return cost;
}

/* Splits population - histogram into excess and deficit; returns the mass that must move. */
static double find_surplus(const struct distance *d, const double *histogram,
                           struct distance_scratch *s, size_t *n_rows, size_t *n_cols)
{
    double total = 0;
    size_t r = 0;
    *n_rows = *n_cols = 0;
    for (size_t j = 0; j < d->n_cols; j++) {
        const bool is_row = r < d->n_rows && d->row[r] == j;
        const double surplus = (is_row ? d->mass[r] : 0) - histogram[j];
        if (surplus > 0) {
            s->rows[*n_rows] = r;
            s->a[(*n_rows)++] = surplus;
            total += surplus;
        } else if (surplus < 0) {
            s->cols[*n_cols] = j;
            s->b[(*n_cols)++] = -surplus;
        }
        r += is_row;
    }
    return total;
}

/* Selects the columns with mass; the others need no potentials. */
static void find_columns(const struct distance *d, const double *histogram,
                         struct distance_scratch *s, size_t *n_rows, size_t *n_cols)
{
    *n_rows = d->n_rows;
    *n_cols = 0;
    for (size_t r = 0; r < d->n_rows; r++) {
        s->rows[r] = r;
        s->a[r] = d->mass[r];
    }
    for (size_t j = 0; j < d->n_cols; j++) {
        if (histogram[j] > 0) {
            s->cols[*n_cols] = j;
            s->b[(*n_cols)++] = histogram[j];
        }
    }
}

static void equalise(const double *a, size_t n_rows, double *b, size_t n_cols)
{
    double sum_a = 0, sum_b = 0;
    for (size_t r = 0; r < n_rows; r++) {
        sum_a += a[r];
    }
    for (size_t j = 0; j < n_cols; j++) {
        sum_b += b[j];
    }
    for (size_t j = 0; j < n_cols; j++) {
        b[j] *= sum_a / sum_b;
    }
}

static dpot_status solve(const struct distance *d, const double *histogram,
                         struct distance_scratch *s, double *cost, struct dpot_error *error)
{
    size_t n_rows = 0, n_cols = 0;
    struct dpot_exact_result exact;
    *cost = 0;
    if (!d->is_cancelling) {
        find_columns(d, histogram, s, &n_rows, &n_cols);
    } else if (!(find_surplus(d, histogram, s, &n_rows, &n_cols) > MASS_NONE) || n_cols == 0) {
        return DPOT_OK;
    }
    for (size_t r = 0; r < n_rows; r++) {
        for (size_t j = 0; j < n_cols; j++) {
            s->cost[r * n_cols + j] = d->cost[s->rows[r] * d->n_cols + s->cols[j]];
        }
    }
    equalise(s->a, n_rows, s->b, n_cols);
    const dpot_status status =
        dpot_exact_ot(s->cost, s->a, s->b, n_rows, n_cols, NULL, &exact, error);
    if (status == DPOT_OK) {
        *cost = exact.transport_cost;
        dpot_exact_result_release(&exact);
    }
    return status;
}

dpot_status distance_measure(const struct distance *distance, struct distance_scratch *scratch,
                             const double *histogram, double *wp, struct dpot_error *error)
{
    double cost = 0;
    dpot_status status = DPOT_OK;
    if (distance->is_line) {
        cost = match_quantiles(distance, histogram);
    } else {
        status = solve(distance, histogram, scratch, &cost, error);
    }
    *wp = pow(cost > 0 ? cost : 0, 1 / distance->power);
    return status;
}
