/* dpot central barycenter: the measures of the groups. */
#include "base/alloc.h"
#include "central/condense.h"
#include "tool/central/barycenter.h"

#include <stdlib.h>
#include <string.h>

static dpot_status alloc_measure(struct group_measure *measure, size_t n, size_t dim)
{
    measure->n = measure->cap = n;
    measure->points = dpot_alloc_array(NULL, n * dim, sizeof *measure->points);
    measure->weights = dpot_alloc_array(NULL, n, sizeof *measure->weights);
    return measure->points && measure->weights ? DPOT_OK : DPOT_ERR_MEMORY;
}

static void condense_measure(const struct central_barycenter *job, const uint64_t *codes,
                             struct group_measure *measure)
{
    measure->n = condense(codes, measure->n, measure->depth, (size_t)job->cells, job->region.dim,
                          measure->points, measure->weights);
}

/* ---- with noise ---- */

static dpot_status take_coreset(struct central_barycenter *job, struct coreset *coreset,
                                struct group_measure *measure)
{
    const size_t n = coreset->leaves.n;
    uint64_t *codes = dpot_alloc_array(NULL, n, sizeof *codes);
    dpot_status status = codes ? alloc_measure(measure, n, job->region.dim) : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        coreset_weigh(coreset, &job->draw, measure->points, measure->weights);
        for (size_t l = 0; l < n; l++) {
            codes[l] = coreset->leaves.leaves[l].code;
        }
        measure->cells = n;
        condense_measure(job, codes, measure);
    }
    dpot_free_array(NULL, codes, n, sizeof *codes);
    return status;
}

static dpot_status make_private(struct central_barycenter *job, const struct coreset_config *config,
                                const struct records_group *group, struct group_measure *measure)
{
    const struct records *records = &job->records;
    struct coreset coreset;
    dpot_status status =
        coreset_count(config, records->points + group->begin * records->dim,
                      records->counts ? records->counts + group->begin : NULL,
                      group->end - group->begin, &job->draw, &coreset, &job->run->error);
    if (status == DPOT_OK) {
        status = take_coreset(job, &coreset, measure);
        coreset_release(&coreset);
    }
    measure->spent = budget_spent(&config->budget);
    return status;
}

/* ---- without ---- */

/* A record and its cell, for sorting. */
struct tag {
    uint64_t code;
    size_t row;
};

static int compare_tags(const void *a, const void *b)
{
    const struct tag *x = a, *y = b;
    if (x->code != y->code) {
        return x->code < y->code ? -1 : 1;
    }
    return (x->row > y->row) - (x->row < y->row);
}

static void take_records(const struct central_barycenter *job, const struct records_group *group,
                         const struct tag *tags, struct group_measure *measure, uint64_t *codes)
{
    const struct records *records = &job->records;
    const size_t dim = records->dim;
    for (size_t i = 0; i < measure->n; i++) {
        const size_t row = group->begin + tags[i].row;
        const double count = records->counts ? (double)records->counts[row] : 1;
        memcpy(measure->points + i * dim, records->points + row * dim, dim * sizeof(double));
        measure->weights[i] = count / (double)group->n;
        codes[i] = tags[i].code;
    }
}

/* The finest partition: only the limit on points merges records. */
dpot_status central_measure_of_records(const struct central_barycenter *job,
                                       const struct records_group *group,
                                       struct group_measure *measure)
{
    const struct partition partition = {job->region.dim, BUDGET_DEPTH_MAX, job->region.lo,
                                        job->region.hi};
    const size_t n = group->end - group->begin;
    struct tag *tags = dpot_alloc_array(NULL, n, sizeof *tags);
    uint64_t *codes = dpot_alloc_array(NULL, n, sizeof *codes);
    dpot_status status = tags && codes ? alloc_measure(measure, n, partition.dim) : DPOT_ERR_MEMORY;
    measure->depth = partition.depth;
    if (status == DPOT_OK) {
        for (size_t i = 0; i < n; i++) {
            const double *point = job->records.points + (group->begin + i) * partition.dim;
            tags[i] = (struct tag){partition_code(&partition, point), i};
        }
        qsort(tags, n, sizeof *tags, compare_tags);
        take_records(job, group, tags, measure, codes);
        condense_measure(job, codes, measure);
    }
    dpot_free_secret(NULL, tags, n, sizeof *tags);
    dpot_free_secret(NULL, codes, n, sizeof *codes);
    return status;
}

/* ---- all groups ---- */

static dpot_status make_coreset(struct central_barycenter *job, const struct records_group *group,
                                struct group_measure *measure)
{
    const double epsilon = job->guarantee.epsilon;
    const size_t dim = job->region.dim;
    const size_t depth =
        job->depth > 0 ? (size_t)job->depth : budget_choose_depth(epsilon, (double)group->n);
    struct coreset_config config = {
        .partition = {.dim = dim, .depth = depth, .lo = job->region.lo, .hi = job->region.hi},
        .border = job->region.has_border ? &job->region.border : NULL,
        .shrink = job->shrink,
    };
    measure->depth = depth;
    const dpot_status status =
        guarantee_range_as_usage(job->run, budget_init(&config.budget, epsilon, depth, dim,
                                                       ADJACENCY_REPLACE_ONE, &job->run->error));
    return status == DPOT_OK ? make_private(job, &config, group, measure) : status;
}

static dpot_status make_measure(struct central_barycenter *job, const struct records_group *group,
                                struct group_measure *measure)
{
    const dpot_status status = job->method == METHOD_CORESET
                                   ? make_coreset(job, group, measure)
                                   : central_measure_of_records(job, group, measure);
    return status == DPOT_OK || !job->records.has_groups
               ? status
               : dpot_error_prefix(&job->run->error, status, "group %.10g", group->name);
}

static void warn_depth(const struct central_barycenter *job)
{
    const size_t dim = job->region.dim, depth = job->measures[0].depth;
    if (job->method == METHOD_CORESET && depth < dim) {
        run_warn(job->run,
                 "the depth %zu halves the first %zu of %zu coordinates only: the others are "
                 "uniform over the box, whatever the data",
                 depth, depth, dim);
    }
}

dpot_status central_measures_make(struct central_barycenter *job)
{
    const size_t k = job->records.n_groups;
    job->measures = dpot_alloc_array(NULL, k, sizeof *job->measures);
    job->sets = dpot_alloc_array(NULL, k, sizeof *job->sets);
    job->n_measures = k;
    if (!job->measures || !job->sets) {
        return DPOT_ERR_MEMORY;
    }
    dpot_status status = DPOT_OK;
    for (size_t g = 0; status == DPOT_OK && g < k; g++) {
        struct group_measure *measure = &job->measures[g];
        status = make_measure(job, &job->records.groups[g], measure);
        job->sets[g] = (struct point_set){measure->n, measure->points, measure->weights};
    }
    if (status == DPOT_OK) {
        warn_depth(job);
    }
    return status;
}

void central_measures_free(struct group_measure *measures, size_t n, size_t dim)
{
    for (size_t g = 0; measures && g < n; g++) {
        struct group_measure *measure = &measures[g];
        dpot_free_secret(NULL, measure->points, measure->cap * dim, sizeof *measure->points);
        dpot_free_secret(NULL, measure->weights, measure->cap, sizeof *measure->weights);
    }
    dpot_free_array(NULL, measures, n, sizeof *measures);
}
