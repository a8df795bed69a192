/* Kind `barycenter`: the Wasserstein barycenter of the groups of a pool (pooled_barycenter.h).
 *
 * Values, row-major:
 *   points (support, dim), then their weights (support);
 *   then for every group, in the order of the campaign, rows (points, 1 + dim) of weight and
 *   coordinates: the estimate of its data before the noise.
 * Counts: the reports of every group. Post-processing of private reports only: it costs no
 * privacy. */
#include "jobs/job.h"
#include "jobs/pooled_barycenter.h"
#include "pool/decode.h"
#include "pool/describe.h"

#include <math.h>
#include <string.h>

#define CHECK_EVERY 4096 /* reports between two polls of the control */

/* ---- parameters ---- */

static dpot_status complete(const struct dpot_campaign *campaign, const json_t *given,
                            json_t **parameters, struct dpot_error *error)
{
    struct pooled_settings settings;
    *parameters = NULL;
    const dpot_status status = pooled_settings_read(given, campaign, &settings, error);
    if (status != DPOT_OK) {
        return status;
    }
    *parameters = pooled_settings_json(&settings, campaign);
    return *parameters ? DPOT_OK : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
}

/* Memory of the largest arrays: the channel, or the reports, sorted and unsorted. */
static uint64_t bytes_of(const struct snapshot *snapshot)
{
    const struct dpot_campaign *campaign = snapshot->campaign;
    const uint64_t n_numbers = dpot_mechanism_is_vector(campaign->mechanism)
                                   ? 2 * snapshot->n_accepted * campaign->vector.dim
                                   : (uint64_t)campaign->domain.size * campaign->output.size;
    return n_numbers * sizeof(double);
}

static dpot_status check(const struct job_input *input, struct dpot_error *error)
{
    struct pooled_settings settings;
    const struct snapshot *snapshot = input->snapshot;
    const uint64_t most = input->limits.memory_max ? input->limits.memory_max : JOB_MEMORY_DEFAULT;
    dpot_status status =
        pooled_settings_read(input->parameters, snapshot->campaign, &settings, error);
    if (status == DPOT_OK && bytes_of(snapshot) > most) {
        status = dpot_error_set(
            error, DPOT_ERR_TOO_LARGE,
            "the barycenter would hold %.2f GiB and a job may have %.2f: raise "
            "limits.job_memory_bytes, or export the pool and run dpot barycenter --pool elsewhere",
            (double)bytes_of(snapshot) / 0x1p30, (double)most / 0x1p30);
    }
    return status;
}

/* ---- the pool ---- */

struct reading {
    const struct job_input *input;
    struct decoder *decoder; /* vectors */
    double *row;             /* (n_columns) */
    size_t n_columns;
    struct group_reports *reports;
    dpot_status status;
    struct dpot_error *error;
};

static int take_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct reading *reading = ctx;
    (void)round;
    if (reading->decoder) {
        reading->status = decoder_run(reading->decoder, report, reading->row, reading->error);
    }
    if (reading->status == DPOT_OK &&
        group_reports_add(reading->reports, report->group, report->index, reading->row,
                          reading->error) != DPOT_OK) {
        reading->status =
            dpot_error_prefix(reading->error, DPOT_ERR_CORRUPT, "restore the store from a backup");
    }
    return reading->status != DPOT_OK || (reading->reports->n % CHECK_EVERY == 0 &&
                                          solve_control_must_end(reading->input->control));
}

static dpot_status open_decoder(struct reading *reading)
{
    const struct dpot_campaign *campaign = reading->input->snapshot->campaign;
    if (!dpot_mechanism_is_vector(campaign->mechanism)) {
        return DPOT_OK;
    }
    const dpot_status status =
        decoder_new(campaign, DECODE_COEFFICIENTS, &reading->decoder, reading->error);
    if (status != DPOT_OK) {
        return status;
    }
    reading->n_columns = decoder_n_columns(reading->decoder);
    reading->row = dpot_alloc_array(NULL, reading->n_columns, sizeof *reading->row);
    return reading->row ? DPOT_OK
                        : dpot_error_set(reading->error, DPOT_ERR_MEMORY, "out of memory");
}

static dpot_status read_pool(const struct job_input *input, struct group_reports *reports,
                             struct dpot_artifact *artifact, struct dpot_error *error)
{
    const struct snapshot *snapshot = input->snapshot;
    struct reading reading = {.input = input, .reports = reports, .error = error};
    artifact->has_pool = true;
    dpot_status status =
        group_reports_init(snapshot->campaign, snapshot->n_accepted, reports, error);
    if (status == DPOT_OK) {
        status = open_decoder(&reading);
    }
    if (status == DPOT_OK) {
        status = snapshot_read(snapshot, take_report, &reading, &artifact->pool_count,
                               artifact->pool_checksum, error);
        status = status == DPOT_OK ? reading.status : status;
    }
    decoder_free(reading.decoder);
    dpot_free_array(NULL, reading.row, reading.n_columns, sizeof *reading.row);
    return status == DPOT_OK ? group_reports_sort(reports, error) : status;
}

/* ---- the artifact ---- */

static dpot_status put_values(const struct clean_groups *groups,
                              const struct barycenter_result *barycenter,
                              struct dpot_artifact *artifact, struct dpot_error *error)
{
    const size_t dim = groups->dim, m = barycenter->support_size;
    const size_t n_rows = groups->n_groups * groups->n_points;
    if (n_rows > (DPOT_ARTIFACT_VALUES_MAX - m * (dim + 1)) / (dim + 1)) {
        return dpot_error_set(
            error, DPOT_ERR_TOO_LARGE,
            "%zu groups of %zu points do not fit an artifact: use fewer cells or atoms",
            groups->n_groups, groups->n_points);
    }
    artifact->values =
        dpot_alloc_array(artifact->allocator, (m + n_rows) * (dim + 1), sizeof *artifact->values);
    if (!artifact->values) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the artifact");
    }
    artifact->n_values = (m + n_rows) * (dim + 1);
    memcpy(artifact->values, barycenter->support, m * dim * sizeof(double));
    memcpy(artifact->values + m * dim, barycenter->weights, m * sizeof(double));
    double *row = artifact->values + m * (dim + 1);
    for (size_t i = 0; i < n_rows; i++, row += dim + 1) {
        const struct point_set *set = &groups->sets[i / groups->n_points];
        row[0] = set->weights[i % groups->n_points];
        memcpy(row + 1, set->points + i % groups->n_points * dim, dim * sizeof(double));
    }
    return DPOT_OK;
}

static dpot_status put_counts(const struct clean_groups *groups, struct dpot_artifact *artifact)
{
    artifact->counts =
        dpot_alloc_array(artifact->allocator, groups->n_groups, sizeof *artifact->counts);
    if (!artifact->counts) {
        return DPOT_ERR_MEMORY;
    }
    artifact->n_counts = groups->n_groups;
    for (size_t g = 0; g < groups->n_groups; g++) {
        artifact->counts[g] = groups->group[g].n;
    }
    return DPOT_OK;
}

static dpot_status put_numbers(const struct job_input *input, const struct clean_groups *groups,
                               const struct pooled_result *result, struct dpot_artifact *artifact)
{
    size_t n_steps = 0;
    bool are_steps_done = true;
    double epsilon = NAN, delta = NAN;
    for (size_t g = 0; g < groups->n_groups; g++) {
        n_steps = groups->group[g].iterations > n_steps ? groups->group[g].iterations : n_steps;
        are_steps_done = are_steps_done && groups->group[g].outcome == SOLVE_CONVERGED;
    }
    describe_charge(input->snapshot->campaign, &epsilon, &delta);
    const struct dpot_artifact_number numbers[] = {
        {"cost", result->cost},
        {"data_free_cost", result->data_free_cost},
        {"one_point_cost", result->barycenter.one_point_cost},
        {"lower_bound", result->lower_bound},
        {"support", (double)result->barycenter.support_size},
        {"dim", (double)groups->dim},
        {"groups", (double)groups->n_groups},
        {"points", (double)groups->n_points},
        {"iterations", (double)result->barycenter.iterations},
        {"is_converged", result->barycenter.outcome == SOLVE_CONVERGED},
        {"deconvolve_steps", (double)n_steps},
        {"is_deconvolved", are_steps_done},
        {"epsilon", epsilon},
        {"delta", delta},
    };
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof numbers / sizeof numbers[0]; i++) {
        if (isfinite(numbers[i].value)) {
            status = dpot_artifact_add_number(artifact, numbers[i].name, numbers[i].value);
        }
    }
    return status;
}

/* ---- the run ---- */

static dpot_status average(const struct job_input *input, const struct clean_groups *groups,
                           const struct pooled_settings *settings, struct dpot_artifact *artifact,
                           struct dpot_error *error)
{
    struct pooled_result result;
    dpot_status status = pooled_average(groups, settings, input->control, &result, error);
    if (status == DPOT_OK && !solve_control_must_end(input->control)) {
        status = put_values(groups, &result.barycenter, artifact, error);
        if (status == DPOT_OK) {
            status = put_counts(groups, artifact);
        }
        if (status == DPOT_OK) {
            status = put_numbers(input, groups, &result, artifact);
        }
    }
    pooled_result_release(&result);
    return status;
}

static dpot_status run(const struct job_input *input, struct dpot_artifact *artifact,
                       struct dpot_error *error)
{
    struct pooled_settings settings;
    struct group_reports reports = {0};
    struct clean_groups groups = {0};
    struct team *team = NULL;
    dpot_status status =
        pooled_settings_read(input->parameters, input->snapshot->campaign, &settings, error);
    if (status == DPOT_OK) {
        status = read_pool(input, &reports, artifact, error);
    }
    if (status == DPOT_OK && !solve_control_must_end(input->control)) {
        status = group_reports_check_ready(&reports, settings.least,
                                           settings.n_weights > 0 ? settings.weights : NULL, error);
    }
    if (status == DPOT_OK && !solve_control_must_end(input->control)) {
        status = team_new(input->limits.n_threads ? input->limits.n_threads : 1, &team);
        settings.clean.team = team;
    }
    if (status == DPOT_OK && !solve_control_must_end(input->control)) {
        status = clean_groups_run(&reports, &settings.clean, input->control, &groups, error);
    }
    if (status == DPOT_OK && !solve_control_must_end(input->control)) {
        status = average(input, &groups, &settings, artifact, error);
    }
    team_free(team);
    clean_groups_release(&groups);
    group_reports_release(&reports);
    return status;
}

const struct job_kind job_barycenter = {
    .name = "barycenter",
    .needs_pool = true,
    .complete = complete,
    .check = check,
    .run = run,
};
