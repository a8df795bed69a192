/* Kind `estimate`: the share of reports that name each output point.
 *
 * An unbiased estimate of the mean of what devices report, which the mechanism has moved towards
 * the base measure. Post-processing of private reports only: it costs no privacy. */
#include "jobs/job.h"
#include "json/fields.h"

#define CHECK_EVERY 4096 /* reports between two polls of the control */

static dpot_status complete(const struct dpot_campaign *campaign, const json_t *given,
                            json_t **parameters, struct dpot_error *error)
{
    (void)campaign;
    static const struct json_field none[] = {{.key = NULL}};
    *parameters = NULL;
    const dpot_status status = json_read_fields(given, "parameters", none, NULL, NULL, error);
    if (status != DPOT_OK) {
        return status;
    }
    *parameters = json_object();
    return *parameters ? DPOT_OK : DPOT_ERR_MEMORY;
}

static dpot_status check(const struct job_input *input, struct dpot_error *error)
{
    const struct dpot_campaign *campaign = input->snapshot->campaign;
    if (dpot_mechanism_is_vector(campaign->mechanism)) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the campaign's mechanism is %s, whose reports are vectors: estimate "
                              "counts those of wpm, kpm and exponential, which name points",
                              dpot_mechanism_name(campaign->mechanism));
    }
    return DPOT_OK;
}

struct counting {
    const struct solve_control *control;
    uint64_t *counts; /* (n_counts) */
    size_t n_counts;
    uint64_t n, n_total;
    bool is_out_of_range;
};

static int count_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct counting *counting = ctx;
    enum solve_outcome outcome = SOLVE_CONVERGED;
    (void)round;
    if (report->index >= counting->n_counts) {
        counting->is_out_of_range = true;
        return 1;
    }
    counting->counts[report->index]++;
    counting->n++;
    return counting->n % CHECK_EVERY == 0 &&
           solve_control_stops(counting->control, (size_t)counting->n, (size_t)counting->n_total,
                               &outcome);
}

static dpot_status count_pool(const struct job_input *input, struct dpot_artifact *artifact,
                              struct dpot_error *error)
{
    struct counting counting = {.control = input->control,
                                .counts = artifact->counts,
                                .n_counts = artifact->n_counts,
                                .n_total = input->snapshot->n_accepted};
    artifact->has_pool = true;
    const dpot_status status = snapshot_read(input->snapshot, count_report, &counting,
                                             &artifact->pool_count, artifact->pool_checksum, error);
    if (status == DPOT_OK && counting.is_out_of_range) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "a stored report names a point that the campaign does not have: "
                              "restore the store from a backup");
    }
    return status;
}

static dpot_status run(const struct job_input *input, struct dpot_artifact *artifact,
                       struct dpot_error *error)
{
    const size_t size = input->snapshot->campaign->output.size;
    artifact->counts = dpot_alloc_array(artifact->allocator, size, sizeof *artifact->counts);
    artifact->n_counts = artifact->counts ? size : 0;
    artifact->values = dpot_alloc_array(artifact->allocator, size, sizeof *artifact->values);
    artifact->n_values = artifact->values ? size : 0;
    if (!artifact->counts || !artifact->values) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu points", size);
    }
    const dpot_status status = count_pool(input, artifact, error);
    for (size_t j = 0; status == DPOT_OK && artifact->pool_count > 0 && j < size; j++) {
        artifact->values[j] = (double)artifact->counts[j] / (double)artifact->pool_count;
    }
    return status;
}

const struct job_kind job_estimate = {
    .name = "estimate",
    .needs_pool = true,
    .complete = complete,
    .check = check,
    .run = run,
};
