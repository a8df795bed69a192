/* dpot central barycenter --method noisy-exact|noisy-agnostic. */
#include "account/zcdp.h"
#include "base/alloc.h"
#include "tool/central/barycenter.h"
#include "tool/shared/load.h"
#include "tool/shared/options.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define TRIES 100000 /* to draw a start inside the border */

/* In units of the lattice. */
struct noisy_run {
    struct central_barycenter *job;
    struct lattice lattice;
    struct integer_group *groups; /* (n_groups) */
    int32_t *points;              /* (n_rows, dim), group by group */
    int64_t *counts;              /* (n_rows) */
    int32_t *start;               /* (m, dim) */
    double *path;                 /* (iterations, m, dim) */
};

/* ---- records in integers ---- */

struct snapped {
    const int32_t *x;
    size_t dim;
    int64_t count;
};

static int compare_snapped(const void *a, const void *b)
{
    const struct snapped *p = a, *q = b;
    for (size_t c = 0; c < p->dim; c++) {
        if (p->x[c] != q->x[c]) {
            return p->x[c] < q->x[c] ? -1 : 1;
        }
    }
    return 0;
}

/* Distinct values with their numbers of records; rows of count 0 are dropped. */
static void merge_values(const struct snapped *rows, size_t n, int32_t *points, int64_t *counts,
                         struct integer_group *group)
{
    const size_t dim = group->dim;
    group->n = 0;
    group->points = points;
    group->counts = counts;
    for (size_t i = 0; i < n; i++) {
        if (rows[i].count == 0) {
            continue;
        }
        if (group->n > 0 &&
            memcmp(points + (group->n - 1) * dim, rows[i].x, dim * sizeof *points) == 0) {
            counts[group->n - 1] += rows[i].count;
        } else {
            memcpy(points + group->n * dim, rows[i].x, dim * sizeof *points);
            counts[group->n++] = rows[i].count;
        }
    }
}

static dpot_status snap_group(struct noisy_run *noisy, const struct records_group *from,
                              struct integer_group *group)
{
    const struct records *records = &noisy->job->records;
    const size_t dim = records->dim, n = from->end - from->begin;
    int32_t *x = dpot_alloc_array(NULL, n * dim, sizeof *x);
    struct snapped *rows = dpot_alloc_array(NULL, n, sizeof *rows);
    const dpot_status status = x && rows ? DPOT_OK : DPOT_ERR_MEMORY;
    *group = (struct integer_group){.dim = dim, .total = from->n};
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        const size_t row = from->begin + i;
        lattice_snap(&noisy->lattice, records->points + row * dim, x + i * dim);
        rows[i] = (struct snapped){x + i * dim, dim, records->counts ? records->counts[row] : 1};
    }
    if (status == DPOT_OK) {
        qsort(rows, n, sizeof *rows, compare_snapped);
        merge_values(rows, n, noisy->points + from->begin * dim, noisy->counts + from->begin,
                     group);
    }
    dpot_free_secret(NULL, x, n * dim, sizeof *x);
    dpot_free_secret(NULL, rows, n, sizeof *rows);
    return status;
}

static dpot_status snap_records(struct noisy_run *noisy)
{
    const struct records *records = &noisy->job->records;
    noisy->groups = dpot_alloc_array(NULL, records->n_groups, sizeof *noisy->groups);
    noisy->points = dpot_alloc_array(NULL, records->n_rows * records->dim, sizeof *noisy->points);
    noisy->counts = dpot_alloc_array(NULL, records->n_rows, sizeof *noisy->counts);
    dpot_status status =
        noisy->groups && noisy->points && noisy->counts ? DPOT_OK : DPOT_ERR_MEMORY;
    for (size_t g = 0; status == DPOT_OK && g < records->n_groups; g++) {
        if (records->groups[g].n == 0) {
            return dpot_error_set(&noisy->job->run->error, DPOT_ERR_SHAPE,
                                  "group %.10g has no records: leave it out",
                                  records->groups[g].name);
        }
        status = snap_group(noisy, &records->groups[g], &noisy->groups[g]);
    }
    return status;
}

/* ---- the public start ---- */

/* Uniform in the region, by a public seed. */
static void draw_start(const struct central_barycenter *job, double *points)
{
    const struct region *region = &job->region;
    const size_t dim = region->dim;
    struct dpot_rng_seeded seeded;
    struct exact_draw draw;
    dpot_rng_seeded_init(&seeded, job->start_seed, 0);
    exact_draw_init(&draw, &seeded.source);
    for (size_t j = 0; j < job->support_size; j++) {
        double *point = points + j * dim;
        for (size_t t = 0; t < TRIES; t++) {
            for (size_t a = 0; a < dim; a++) {
                point[a] = region->lo[a] + exact_draw_unit(&draw) * (region->hi[a] - region->lo[a]);
            }
            if (!region->has_border || polygon_holds(&region->border, point)) {
                break;
            }
        }
    }
    exact_draw_release(&draw);
}

/* The start is public, and so is the number of its points outside the box. */
static void warn_start(const struct central_barycenter *job, const double *points)
{
    const int64_t n = region_n_outside(&job->region, points, NULL, (size_t)job->support_size);
    if (n > 0) {
        run_warn(job->run,
                 "%lld point%s of --init %.200s outside of the public box start%s at its "
                 "nearest face",
                 (long long)n, DPOT_S(n), option_text(job->run, "init"), n == 1 ? "s" : "");
    }
}

static dpot_status load_start(const struct central_barycenter *job, double *points)
{
    struct run *run = job->run;
    const size_t m = (size_t)job->support_size, dim = job->region.dim;
    struct array array = {0};
    dpot_status status = load_finite(run, "init", &array);
    if (status == DPOT_OK && (array.n_rows != m || array.n_cols != dim)) {
        status = dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                                "--init %s is %zu x %zu, the support %zu points of %zu "
                                "coordinates: they must agree",
                                option_text(run, "init"), array.n_rows, array.n_cols, m, dim);
    }
    if (status == DPOT_OK) {
        memcpy(points, array.values, m * dim * sizeof *points);
        warn_start(job, points);
    }
    array_release(&array);
    return status;
}

/* Snaps the start at full resolution: --resolution is for records only. */
static void place_start(const struct noisy_run *noisy, const double *points)
{
    const struct lattice *lattice = &noisy->lattice;
    struct lattice fine = *lattice;
    fine.cells = LATTICE_CELLS_MAX;
    for (size_t j = 0; j < noisy->job->support_size; j++) {
        lattice_snap(&fine, points + j * lattice->dim, noisy->start + j * lattice->dim);
    }
}

static dpot_status make_start(struct noisy_run *noisy)
{
    const struct central_barycenter *job = noisy->job;
    const size_t n_entries = (size_t)job->support_size * job->region.dim;
    double *points = dpot_alloc_array(NULL, n_entries, sizeof *points);
    noisy->start = dpot_alloc_array(NULL, n_entries, sizeof *noisy->start);
    noisy->path = dpot_alloc_array(NULL, n_entries * (size_t)job->iterations, sizeof *noisy->path);
    dpot_status status = points && noisy->start && noisy->path ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK && option_is_given(job->run, "init")) {
        status = load_start(job, points);
    } else if (status == DPOT_OK) {
        draw_start(job, points);
    }
    if (status == DPOT_OK) {
        place_start(noisy, points);
    }
    dpot_free_array(NULL, points, n_entries, sizeof *points);
    return status;
}

/* ---- how much noise ---- */

static dpot_status choose_noise(struct noisy_run *noisy, struct noisy_config *config)
{
    struct central_barycenter *job = noisy->job;
    const struct guarantee *guarantee = &job->guarantee;
    *config = (struct noisy_config){
        .lattice = &noisy->lattice,
        .n_groups = job->records.n_groups,
        .groups = noisy->groups,
        .weights = job->weights.values,
        .support = (size_t)job->support_size,
        .iterations = (size_t)job->iterations,
        .is_exact = job->method == METHOD_NOISY_EXACT,
        .rho = guarantee->rho,
    };
    const dpot_status status =
        guarantee_range_as_usage(job->run, noisy_scale_init(&job->scale, config, &job->run->error));
    job->epsilon_spent =
        status == DPOT_OK ? zcdp_epsilon(job->scale.rho_spent, guarantee->delta) : 0;
    return status;
}

static void warn_delta(const struct central_barycenter *job)
{
    double n = 0;
    for (size_t g = 0; g < job->records.n_groups; g++) {
        n += (double)job->records.groups[g].n;
    }
    if (job->guarantee.delta * n > 1) {
        run_warn(job->run,
                 "--delta %g is above 1 / n, n = %.0f: publishing a record at random would pass; "
                 "choose one far below",
                 job->guarantee.delta, n);
    }
}

/* ---- the run ---- */

/* Averages the last half of the path: post-processing. */
static dpot_status take_result(struct noisy_run *noisy)
{
    struct central_barycenter *job = noisy->job;
    struct barycenter_result *r = &job->result;
    const size_t m = (size_t)job->support_size, dim = job->region.dim;
    const size_t n_tail = ((size_t)job->iterations + 1) / 2;
    r->support_size = m;
    r->dim = dim;
    r->support = dpot_alloc_array(NULL, m * dim, sizeof *r->support);
    r->weights = dpot_alloc_array(NULL, m, sizeof *r->weights);
    if (!r->support || !r->weights) {
        return DPOT_ERR_MEMORY;
    }
    double *tail = noisy->path + ((size_t)job->iterations - n_tail) * m * dim;
    for (size_t t = 1; t < n_tail; t++) {
        for (size_t k = 0; k < m * dim; k++) {
            tail[k] += tail[t * m * dim + k];
        }
    }
    for (size_t j = 0; j < m; j++) {
        r->weights[j] = 1 / (double)m;
        for (size_t a = 0; a < dim; a++) {
            tail[j * dim + a] /= (double)n_tail;
        }
        lattice_place(&noisy->lattice, tail + j * dim, r->support + j * dim);
    }
    return DPOT_OK;
}

static dpot_status iterate(struct noisy_run *noisy)
{
    struct central_barycenter *job = noisy->job;
    struct noisy_config config;
    dpot_status status = choose_noise(noisy, &config);
    job->diameter = lattice_diameter(&noisy->lattice) * noisy->lattice.unit;
    if (status == DPOT_OK) {
        warn_delta(job);
        status = noisy_barycenter_run(&config, &job->scale, noisy->start, &job->draw, noisy->path);
    }
    return status == DPOT_OK ? take_result(noisy) : status;
}

static void release(struct noisy_run *noisy)
{
    const struct central_barycenter *job = noisy->job;
    const size_t n_rows = job->records.n_rows, dim = job->records.dim;
    const size_t n_entries = (size_t)job->support_size * dim;
    dpot_free_array(NULL, noisy->groups, job->records.n_groups, sizeof *noisy->groups);
    dpot_free_secret(NULL, noisy->points, n_rows * dim, sizeof *noisy->points);
    dpot_free_secret(NULL, noisy->counts, n_rows, sizeof *noisy->counts);
    dpot_free_array(NULL, noisy->start, n_entries, sizeof *noisy->start);
    dpot_free_array(NULL, noisy->path, n_entries * (size_t)job->iterations, sizeof *noisy->path);
    lattice_release(&noisy->lattice);
}

dpot_status central_iterate(struct central_barycenter *job)
{
    struct noisy_run noisy = {
        .job = job,
        .lattice = {.dim = job->region.dim,
                    .lo = job->region.lo,
                    .hi = job->region.hi,
                    .cells = (uint32_t)job->resolution,
                    .radius = job->region.radius},
    };
    dpot_status status = DPOT_OK;
    if (job->support_size > NOISY_SUPPORT_MAX) {
        status = RUN_USAGE(job->run, "--support is %llu: noisy iterations move at most %d points",
                           (unsigned long long)job->support_size, NOISY_SUPPORT_MAX);
    }
    if (status == DPOT_OK) {
        status = lattice_init(&noisy.lattice, &job->run->error);
    }
    if (status == DPOT_OK) {
        status = snap_records(&noisy);
    }
    if (status == DPOT_OK) {
        status = make_start(&noisy);
    }
    if (status == DPOT_OK) {
        status = iterate(&noisy);
    }
    release(&noisy);
    return status;
}
