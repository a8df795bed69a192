/* Kind `generator`: trains a generator of data before the noise on the pool of a vector campaign
 * (generator/training.h). The artifact's model is the ONNX file, its values are the training curve.
 *
 * Mechanism, scale and transform are the campaign's; reports are taken as coefficients, whose noise
 * is independent. Post-processing of private reports only: it costs no privacy.
 *
 * The result is a function of pool, parameters and version: an interrupted run resumes from its
 * checkpoint and ends with the same bytes. A checkpoint that is damaged, or of another version or
 * pool, is removed and the training starts again. */
#include "generator/checkpoint.h"
#include "jobs/generator_run.h"
#include "pool/decode.h"

#include <string.h>
#include <unistd.h>

#define PROGRAM "dpot " DPOT_PROGRAM_VERSION /* as in dpot generator train: the same model */
#define CHECK_EVERY 4096                     /* reports between two polls of the control */
#define SLICE 10                  /* steps between two checks whether a checkpoint is due */
#define MODEL_OVERHEAD (64 << 10) /* bytes of an ONNX file beside its parameters */

/* ---- parameters ---- */

static dpot_status refuse_index(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    return dpot_mechanism_is_vector(campaign->mechanism)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_SHAPE,
                                "the campaign's mechanism is %s, whose reports name points: a "
                                "generator is trained on vectors, choose a campaign of laplace or "
                                "gaussian",
                                dpot_mechanism_name(campaign->mechanism));
}

static enum dpot_noise noise_of(const struct dpot_campaign *campaign)
{
    return campaign->mechanism == DPOT_MECHANISM_LAPLACE ? DPOT_NOISE_LAPLACE : DPOT_NOISE_GAUSSIAN;
}

/* The box that devices clip to, in data units: one side each, or one for all. */
static dpot_status bound_points(const struct dpot_vector_domain *vector,
                                struct training_input *input, struct dpot_error *error)
{
    const uint32_t n = vector->n_sides > 1 ? vector->n_sides : 1;
    double *sides = dpot_alloc_array(NULL, 2 * (size_t)n, sizeof *sides);
    if (!sides) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
    }
    for (uint32_t j = 0; j < n; j++) {
        sides[j] = (double)dpot_vector_lo(vector, j) * vector->grid_step;
        sides[n + j] = (double)dpot_vector_hi(vector, j) * vector->grid_step;
    }
    training_bound(input, sides, sides + n, n);
    dpot_free_array(NULL, sides, 2 * (size_t)n, sizeof *sides);
    return DPOT_OK;
}

/* Fills the training input for a pool of n, without the reports. */
static dpot_status describe(const struct dpot_campaign *campaign, const json_t *parameters,
                            size_t n, struct training_input *input, struct dpot_error *error)
{
    *input = (struct training_input){.n = n,
                                     .dim = campaign->vector.dim,
                                     .noise = noise_of(campaign),
                                     .scale = decode_scale(campaign),
                                     .vector = &campaign->vector,
                                     .program = PROGRAM};
    const dpot_status status =
        settings_read(parameters, "parameters", input->noise,
                      dpot_vector_data_dim(&campaign->vector), n, &input->settings, error);
    return status == DPOT_OK ? bound_points(&campaign->vector, input, error) : status;
}

static dpot_status check_network(const struct training_input *input, struct dpot_error *error)
{
    size_t n_values = 0;
    const dpot_status status = training_network_size(input, &n_values, error);
    if (status != DPOT_OK) {
        return dpot_error_prefix(error, status, "parameters.arch");
    }
    return n_values <= (DPOT_ARTIFACT_MODEL_MAX - MODEL_OVERHEAD) / sizeof(float)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                "parameters.arch is %s, which has %zu parameters: an artifact has "
                                "space for %zu, choose smaller widths",
                                input->settings.architecture, n_values,
                                (DPOT_ARTIFACT_MODEL_MAX - MODEL_OVERHEAD) / sizeof(float));
}

/* Defaults are those of a large pool: it may have grown when the job begins. */
static dpot_status complete(const struct dpot_campaign *campaign, const json_t *given,
                            json_t **parameters, struct dpot_error *error)
{
    struct training_input input;
    *parameters = NULL;
    dpot_status status = refuse_index(campaign, error);
    if (status == DPOT_OK) {
        status = describe(campaign, given, SIZE_MAX, &input, error);
    }
    if (status == DPOT_OK) {
        status = check_network(&input, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    *parameters = settings_json(&input.settings);
    return *parameters ? DPOT_OK : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
}

static dpot_status check(const struct job_input *job, struct dpot_error *error)
{
    struct training_input input;
    uint64_t n_bytes = 0;
    const struct snapshot *snapshot = job->snapshot;
    const uint64_t most = job->limits.memory_max ? job->limits.memory_max : JOB_MEMORY_DEFAULT;
    dpot_status status = refuse_index(snapshot->campaign, error);
    if (status == DPOT_OK) {
        status = describe(snapshot->campaign, job->parameters, (size_t)snapshot->n_accepted, &input,
                          error);
    }
    if (status == DPOT_OK) {
        status = training_memory(&input, &n_bytes, error);
    }
    if (status == DPOT_OK && n_bytes > most) {
        return dpot_error_set(
            error, DPOT_ERR_TOO_LARGE,
            "training %s on %llu reports of %zu numbers takes %.2f GiB and a job may have %.2f: "
            "take a smaller batch, pool_batch, atoms or arch, raise limits.job_memory_bytes, or "
            "export the pool and run dpot generator train elsewhere",
            input.settings.architecture, (unsigned long long)snapshot->n_accepted, input.dim,
            (double)n_bytes / 0x1p30, (double)most / 0x1p30);
    }
    return status;
}

/* ---- the pool ---- */

struct reading {
    const struct job_input *input;
    struct decoder *decoder;
    double *reports;
    uint64_t n;
    dpot_status status;
    struct dpot_error *error;
};

static int take_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct reading *reading = ctx;
    (void)round;
    reading->status = decoder_run(
        reading->decoder, report,
        reading->reports + reading->n * decoder_n_columns(reading->decoder), reading->error);
    reading->n++;
    return reading->status != DPOT_OK ||
           (reading->n % CHECK_EVERY == 0 && solve_control_must_end(reading->input->control));
}

static dpot_status read_pool(struct generator_run *run, struct dpot_artifact *artifact,
                             struct dpot_error *error)
{
    const struct snapshot *snapshot = run->input->snapshot;
    struct reading reading = {.input = run->input, .reports = run->reports, .error = error};
    dpot_status status =
        decoder_new(snapshot->campaign, DECODE_COEFFICIENTS, &reading.decoder, error);
    artifact->has_pool = true;
    if (status == DPOT_OK) {
        status = snapshot_read(snapshot, take_report, &reading, &artifact->pool_count,
                               artifact->pool_checksum, error);
    }
    decoder_free(reading.decoder);
    return status == DPOT_OK ? reading.status : status;
}

/* ---- the training ---- */

/* Allocates and reads the reports; `check` has compared the total memory with the limit. */
static dpot_status load(struct generator_run *run, struct dpot_artifact *artifact,
                        struct dpot_error *error)
{
    const struct snapshot *snapshot = run->input->snapshot;
    run->n = snapshot->n_accepted;
    dpot_status status = describe(snapshot->campaign, run->input->parameters, (size_t)run->n,
                                  &run->training_input, error);
    if (status != DPOT_OK) {
        return status;
    }
    run->reports =
        dpot_alloc_array(NULL, (size_t)run->n * run->training_input.dim, sizeof *run->reports);
    if (!run->reports) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %llu reports",
                              (unsigned long long)run->n);
    }
    run->training_input.reports = run->reports;
    return read_pool(run, artifact, error);
}

static dpot_status resume(struct generator_run *run, struct dpot_error *error)
{
    const struct job_checkpoint *checkpoint = run->input->checkpoint;
    return checkpoint ? checkpoint_read(checkpoint->path, run->training.fingerprint,
                                        run->training.train, error)
                      : DPOT_ERR_NOT_FOUND;
}

/* Starts from the checkpoint, or from the first step. */
static dpot_status begin(struct generator_run *run, struct dpot_error *error)
{
    dpot_status status = training_init(&run->training, &run->training_input, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = resume(run, error);
    if (status == DPOT_ERR_CORRUPT || status == DPOT_ERR_SHAPE) {
        (void)unlink(run->input->checkpoint->path);
        training_release(&run->training);
        status = training_init(&run->training, &run->training_input, error);
    }
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

static void drop_reports(struct generator_run *run)
{
    dpot_free_array(NULL, run->reports, (size_t)run->n * run->training_input.dim,
                    sizeof *run->reports);
    run->reports = NULL;
    run->training_input.reports = NULL;
}

static dpot_status save(struct generator_run *run, uint64_t *saved_step, struct dpot_error *error)
{
    const struct job_checkpoint *checkpoint = run->input->checkpoint;
    if (!checkpoint || run->progress.step <= *saved_step) {
        return DPOT_OK;
    }
    const dpot_status status =
        checkpoint_write(checkpoint->path, run->training.fingerprint, run->training.train, error);
    if (status != DPOT_OK) {
        return dpot_error_prefix(error, status,
                                 "the checkpoint of step %llu cannot be written: free space where "
                                 "the store is and start the job again",
                                 (unsigned long long)run->progress.step);
    }
    *saved_step = run->progress.step;
    checkpoint->on_written(checkpoint->ctx);
    return DPOT_OK;
}

/* Trains until the last step, divergence or a stop. */
static dpot_status train(struct generator_run *run, struct dpot_error *error)
{
    const struct job_checkpoint *checkpoint = run->input->checkpoint;
    struct generator_train *train = run->training.train;
    dpot_status status = generator_train_run(train, 0, NULL, &run->progress, error);
    uint64_t saved_step = run->progress.step; /* the step it resumes from */
    while (status == DPOT_OK && run->progress.outcome == GENERATOR_STOPPED &&
           !solve_control_must_end(run->input->control)) {
        status = generator_train_run(train, run->progress.step + SLICE, run->input->control,
                                     &run->progress, error);
        if (status == DPOT_OK && run->progress.outcome == GENERATOR_STOPPED && checkpoint &&
            checkpoint->is_due(checkpoint->ctx)) {
            status = save(run, &saved_step, error);
        }
    }
    return status == DPOT_OK && run->progress.outcome == GENERATOR_STOPPED
               ? save(run, &saved_step, error)
               : status;
}

static dpot_status run(const struct job_input *input, struct dpot_artifact *artifact,
                       struct dpot_error *error)
{
    struct generator_run run = {.input = input};
    struct team *team = NULL;
    dpot_status status = load(&run, artifact, error);
    if (status == DPOT_OK && !solve_control_must_end(input->control)) {
        status = team_new(input->limits.n_threads ? input->limits.n_threads : 1, &team);
        run.training_input.team = team;
    }
    if (status == DPOT_OK && !solve_control_must_end(input->control)) {
        status = begin(&run, error);
        drop_reports(&run);
        if (status == DPOT_OK) {
            status = train(&run, error);
        }
        if (status == DPOT_OK && run.progress.outcome != GENERATOR_STOPPED) {
            status = generator_put_result(&run, artifact, error);
        }
    }
    training_release(&run.training);
    team_free(team);
    drop_reports(&run);
    return status;
}

const struct job_kind job_generator = {
    .name = "generator",
    .needs_pool = true,
    .has_checkpoint = true,
    .complete = complete,
    .check = check,
    .run = run,
};
