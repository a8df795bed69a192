#include "jobs/group_reports.h"

#include "base/alloc.h"

#include <string.h>

#define ROWS_MAX ((uint64_t)1 << 28) /* numbers of a pool of vectors: 2 GiB */

static dpot_status allocate(struct group_reports *reports, uint64_t n_most,
                            struct dpot_error *error)
{
    const struct dpot_campaign *campaign = reports->campaign;
    reports->n_of = dpot_alloc_array(NULL, reports->n_groups, sizeof *reports->n_of);
    if (!dpot_mechanism_is_vector(campaign->mechanism)) {
        reports->n_outputs = campaign->output.size;
        reports->counts =
            dpot_alloc_array(NULL, reports->n_groups * reports->n_outputs, sizeof(double));
        return reports->n_of && reports->counts ? DPOT_OK : DPOT_ERR_MEMORY;
    }
    reports->dim = campaign->vector.dim;
    if (n_most > ROWS_MAX / reports->dim) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the pool has %llu x %zu numbers: at most %llu are held at once",
                              (unsigned long long)n_most, reports->dim,
                              (unsigned long long)ROWS_MAX);
    }
    reports->n_most = (size_t)n_most;
    reports->rows = dpot_alloc_array(NULL, reports->n_most * reports->dim, sizeof(double));
    reports->group = dpot_alloc_array(NULL, reports->n_most, sizeof *reports->group);
    return reports->n_of && reports->rows && reports->group ? DPOT_OK : DPOT_ERR_MEMORY;
}

dpot_status group_reports_init(const struct dpot_campaign *campaign, uint64_t n_most,
                               struct group_reports *reports, struct dpot_error *error)
{
    *reports = (struct group_reports){.campaign = campaign, .n_groups = campaign->n_groups};
    if (campaign->n_groups == 0) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "the campaign \"%s\" has no groups, and a barycenter is that of several: "
            "name them in \"groups\" of the SPEC, before devices report",
            campaign->name);
    }
    const dpot_status status = allocate(reports, n_most, error);
    return status == DPOT_ERR_MEMORY
               ? dpot_error_set(error, status, "out of memory for the reports")
               : status;
}

void group_reports_release(struct group_reports *reports)
{
    dpot_free_array(NULL, reports->n_of, reports->n_groups, sizeof *reports->n_of);
    dpot_free_array(NULL, reports->counts, reports->n_groups * reports->n_outputs, sizeof(double));
    dpot_free_array(NULL, reports->rows, reports->n_most * reports->dim, sizeof(double));
    dpot_free_array(NULL, reports->group, reports->n_most, sizeof *reports->group);
    *reports = (struct group_reports){0};
}

dpot_status group_reports_add(struct group_reports *reports, uint32_t group, uint32_t index,
                              const double *row, struct dpot_error *error)
{
    if (group >= reports->n_groups) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE, "report %llu is of group %u: the campaign has 0 to %zu",
            (unsigned long long)reports->n + 1, (unsigned)group, reports->n_groups - 1);
    }
    if (reports->counts && index >= reports->n_outputs) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "report %llu names point %u: the campaign's output points are 0 to %zu",
            (unsigned long long)reports->n + 1, (unsigned)index, reports->n_outputs - 1);
    }
    if (reports->rows && reports->n >= reports->n_most) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "there are more than %zu reports",
                              reports->n_most);
    }
    if (reports->counts) {
        reports->counts[group * reports->n_outputs + index]++;
    } else {
        memcpy(reports->rows + reports->n * reports->dim, row, reports->dim * sizeof(double));
        reports->group[reports->n] = group;
    }
    reports->n_of[group]++;
    reports->n++;
    return DPOT_OK;
}

dpot_status group_reports_sort(struct group_reports *reports, struct dpot_error *error)
{
    size_t next[DPOT_GROUPS_MAX] = {0};
    const size_t dim = reports->dim;
    if (reports->counts) {
        return DPOT_OK;
    }
    double *sorted = dpot_alloc_array(NULL, reports->n_most * dim, sizeof *sorted);
    if (!sorted) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the reports");
    }
    for (size_t g = 1; g < reports->n_groups; g++) {
        next[g] = next[g - 1] + (size_t)reports->n_of[g - 1];
    }
    for (size_t i = 0; i < reports->n; i++) {
        memcpy(sorted + next[reports->group[i]]++ * dim, reports->rows + i * dim,
               dim * sizeof(double));
    }
    dpot_free_array(NULL, reports->rows, reports->n_most * dim, sizeof(double));
    reports->rows = sorted;
    return DPOT_OK;
}

const double *group_reports_rows(const struct group_reports *reports, size_t group)
{
    uint64_t first = 0;
    for (size_t g = 0; g < group; g++) {
        first += reports->n_of[g];
    }
    return reports->rows + first * reports->dim;
}

dpot_status group_reports_check_ready(const struct group_reports *reports, uint64_t least,
                                      const double *weights, struct dpot_error *error)
{
    for (size_t g = 0; g < reports->n_groups; g++) {
        if (reports->n_of[g] < least && (!weights || weights[g] > 0)) {
            return dpot_error_set(
                error, DPOT_ERR_STATE,
                "not yet: group \"%s\" has %llu of %llu accepted report%s: wait, or give "
                "it the weight 0",
                reports->campaign->groups[g], (unsigned long long)reports->n_of[g],
                (unsigned long long)least, DPOT_S(least));
        }
    }
    return DPOT_OK;
}
