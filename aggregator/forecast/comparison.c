#include "forecast/comparison.h"

#include "base/alloc.h"
#include "solve/run/draw.h"
#include "solve/run/workers.h"
#include "solve/transport/moments.h"

#include <math.h>
#include <string.h>

#define SHUFFLE_STREAM UINT64_C(0x73687566666c65)
#define RESAMPLE_STREAM UINT64_C(0x726573616d706c65)
#define REFERENCE_MIN 4 /* two halves that have moments */

static size_t smaller(size_t a, size_t b)
{
    return a < b ? a : b;
}

static dpot_status refuse_memory(struct dpot_error *error, size_t n, size_t dim)
{
    return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu points of %zu coordinates",
                          n, dim);
}

static dpot_status candidate_init(struct candidate *c, const char *name, size_t n, size_t dim,
                                  struct dpot_error *error)
{
    *c = (struct candidate){.name = name, .n = n, .cap = n, .frechet = (double)NAN};
    c->points = n <= SIZE_MAX / dim ? dpot_alloc_array(NULL, n * dim, sizeof *c->points) : NULL;
    return c->points ? DPOT_OK : refuse_memory(error, n, dim);
}

static void candidate_release(struct candidate *c, size_t dim)
{
    dpot_free_array(NULL, c->points, c->cap * dim, sizeof *c->points);
    dpot_free_array(NULL, c->weights, c->cap, sizeof *c->weights);
    *c = (struct candidate){0};
}

/* Copies `points` in an order that depends only on the seed and n (Fisher, Yates). */
static dpot_status copy_shuffled(const double *points, size_t n, size_t dim, uint64_t seed,
                                 double *out, struct dpot_error *error)
{
    size_t *order = dpot_alloc_array(NULL, n, sizeof *order);
    if (!order) {
        return refuse_memory(error, n, dim);
    }
    for (size_t i = 0; i < n; i++) {
        const size_t j = (size_t)(draw_bits(seed, SHUFFLE_STREAM, i) % (i + 1));
        order[i] = order[j];
        order[j] = i;
    }
    for (size_t i = 0; i < n; i++) {
        memcpy(out + i * dim, points + order[i] * dim, dim * sizeof *out);
    }
    dpot_free_array(NULL, order, n, sizeof *order);
    return DPOT_OK;
}

dpot_status comparison_init(struct comparison *comparison, const double *reference, size_t n,
                            size_t dim, uint64_t seed, struct dpot_error *error)
{
    *comparison = (struct comparison){.dim = dim, .seed = seed};
    if (n < REFERENCE_MIN) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the reference has %zu points: give at least %d, since one half is "
                              "compared with the other",
                              n, REFERENCE_MIN);
    }
    dpot_status status = candidate_init(&comparison->reference, "", n, dim, error);
    if (status == DPOT_OK) {
        status = copy_shuffled(reference, n, dim, seed, comparison->reference.points, error);
    }
    comparison->n_each = n / 2;
    return status;
}

void comparison_release(struct comparison *comparison)
{
    candidate_release(&comparison->reference, comparison->dim);
    for (size_t i = 0; i < comparison->n_entries; i++) {
        candidate_release(&comparison->entries[i], comparison->dim);
    }
    *comparison = (struct comparison){0};
}

dpot_status comparison_add(struct comparison *comparison, const char *name, const double *points,
                           const double *weights, size_t n, struct dpot_error *error)
{
    struct candidate *c = &comparison->entries[comparison->n_entries++];
    dpot_status status = candidate_init(c, name, n, comparison->dim, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (!weights) {
        comparison->n_each = smaller(comparison->n_each, n);
        return copy_shuffled(points, n, comparison->dim, comparison->seed + comparison->n_entries,
                             c->points, error);
    }
    c->weights = dpot_alloc_array(NULL, n, sizeof *c->weights);
    if (!c->weights) {
        return refuse_memory(error, n, comparison->dim);
    }
    memcpy(c->points, points, n * comparison->dim * sizeof *points);
    memcpy(c->weights, weights, n * sizeof *weights);
    return DPOT_OK;
}

static dpot_status add_gaussian(struct comparison *comparison, const struct moments *moments,
                                struct dpot_error *error)
{
    struct candidate *c = &comparison->entries[comparison->n_entries++];
    const dpot_status status =
        candidate_init(c, "gaussian", comparison->n_each, comparison->dim, error);
    return status == DPOT_OK ? moments_draw(moments, c->n, comparison->seed, c->points, error)
                             : status;
}

static dpot_status add_mean(struct comparison *comparison, const double *points, size_t n,
                            struct dpot_error *error)
{
    const size_t dim = comparison->dim;
    struct candidate *c = &comparison->entries[comparison->n_entries++];
    const dpot_status status = candidate_init(c, "mean", 1, dim, error);
    for (size_t i = 0; status == DPOT_OK && i < n * dim; i++) {
        c->points[i % dim] += points[i] / (double)n;
    }
    return status;
}

dpot_status comparison_complete(struct comparison *comparison, size_t n_exact,
                                struct dpot_error *error)
{
    const size_t dim = comparison->dim, n = comparison->reference.n / 2;
    const double *other = comparison->reference.points + (comparison->reference.n - n) * dim;
    struct moments moments = {0};
    comparison->n_exact = smaller(n_exact, comparison->n_each);
    comparison->reference.n -= n; /* `other` stays valid, behind the rows in use */
    for (size_t i = 0; i < comparison->n_entries; i++) {
        struct candidate *c = &comparison->entries[i];
        c->n = c->weights ? c->n : comparison->n_each;
    }
    struct candidate *floor_entry = &comparison->entries[comparison->n_entries++];
    dpot_status status = candidate_init(floor_entry, "reference", comparison->n_each, dim, error);
    if (status == DPOT_OK) {
        memcpy(floor_entry->points, other, floor_entry->n * dim * sizeof *other);
        if (dim <= MOMENTS_DIM_MAX) {
            status = moments_init(other, NULL, n, dim, NULL, &moments, error);
        }
    }
    if (status == DPOT_OK && dim <= MOMENTS_DIM_MAX) {
        status = add_gaussian(comparison, &moments, error);
    }
    if (status == DPOT_OK) {
        status = add_mean(comparison, other, n, error);
    }
    moments_release(&moments);
    return status;
}

const struct candidate *comparison_find(const struct comparison *comparison, const char *name)
{
    for (size_t i = 0; i < comparison->n_entries; i++) {
        if (strcmp(comparison->entries[i].name, name) == 0) {
            return &comparison->entries[i];
        }
    }
    return NULL;
}

/* Draws n equally weighted points from the weighted ones (systematic resampling: the i-th is where
 * the running sum of the weights passes (i + u) / n). */
static void resample(const struct candidate *c, size_t n, size_t dim, uint64_t seed, double *out)
{
    const double u = ((double)(draw_bits(seed, RESAMPLE_STREAM, 0) >> 11) + 0.5) * 0x1p-53;
    double sum = c->weights[0];
    size_t at = 0;
    for (size_t i = 0; i < n; i++) {
        while (at + 1 < c->n && sum <= ((double)i + u) / (double)n) {
            sum += c->weights[++at];
        }
        memcpy(out + i * dim, c->points + at * dim, dim * sizeof *out);
    }
}

/* The exact distance of one candidate, from at most n_exact points. */
static dpot_status measure_exact(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct comparison *comparison = ctx;
    struct candidate *c = &comparison->entries[item];
    const size_t n = comparison->n_exact, dim = comparison->dim;
    const struct point_set y = {n, comparison->reference.points, NULL};
    struct point_set x = {c->weights ? c->n : smaller(n, c->n), c->points, c->weights};
    double *drawn = NULL;
    (void)worker;
    if (c->weights && c->n > n) {
        drawn = dpot_alloc_array(NULL, n * dim, sizeof *drawn);
        if (!drawn) {
            return refuse_memory(error, n, dim);
        }
        resample(c, n, dim, comparison->seed, drawn);
        x = (struct point_set){n, drawn, NULL};
    }
    const dpot_status status = wasserstein_exact(&x, &y, dim, NULL, &c->exact, error);
    dpot_free_array(NULL, drawn, n * dim, sizeof *drawn);
    return status;
}

dpot_status comparison_measure_exact(struct comparison *comparison, size_t n_threads,
                                     const struct solve_control *control, struct dpot_error *error)
{
    return workers_run(comparison->n_entries, n_threads, measure_exact, comparison, control, error);
}

dpot_status comparison_measure_sliced(struct comparison *comparison, size_t n_directions,
                                      size_t n_threads, const struct solve_control *control,
                                      struct dpot_error *error)
{
    struct team *team = NULL;
    const struct point_set y = {comparison->reference.n, comparison->reference.points, NULL};
    dpot_status status = team_new(n_threads, &team);
    for (size_t i = 0; status == DPOT_OK && i < comparison->n_entries; i++) {
        struct candidate *c = &comparison->entries[i];
        const struct point_set x = {c->n, c->points, c->weights};
        status = wasserstein_sliced(&x, &y, comparison->dim, n_directions, comparison->seed, team,
                                    NULL, &c->sliced, error);
        if (control && control->progress) {
            control->progress(control->ctx, i + 1, comparison->n_entries);
        }
    }
    team_free(team);
    return status;
}
