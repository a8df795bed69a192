/* dpot generator train: trains a generator of clean data on a pool of noisy reports.
 * Post-processing only. */
#include "tool/shared/commands.h"

#include "base/alloc.h"
#include "dpot/dpot.h"
#include "files/number.h"
#include "generator/checkpoint.h"
#include "generator/model.h"
#include "generator/provenance.h"
#include "generator/training.h"
#include "tool/generator/settings.h"
#include "tool/shared/conflict.h"
#include "tool/shared/noisy_pool.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define CHECKPOINT_SECONDS 60.0
#define SLICE 10 /* steps between two readings of the clock */

static const struct option options[] = {
    NOISY_POOL_OPTIONS,
    {"arch", "A", "mlp:256,256, resize28:24,12,128 or dcgan28:32 (28x28 images)"},
    {"latent-dim", "D 1..4096", "latent coordinates (default 2, 10 or 16, by the dimension)"},
    {"range", "lo,hi",
     "keep generated coordinates in this range (default: that of the domain, if known)"},
    {"batch", "N 1..65536", "generated points per step (default 400)"},
    {"pool-batch", "N 1..65536", "reports drawn per step (default 4 for each generated point)"},
    {"atoms", "N 1..65536",
     "use the whole pool in every step, as at most N weighted points (default 4096 in up to "
     "3 dimensions)"},
    {"sweeps", "N 1..100000", "exactly N sweeps per step (default 20 with atoms, otherwise 60)"},
    {"steps", "N 1..10000000", "steps (default 3000)"},
    {"optimizer", "adam|rmsprop", "default adam"},
    {"learning-rate", "r [1e-12,1e6]",
     "at the start (default 0.001; 0.002 with atoms, 0.003 for images)"},
    {"schedule", "cosine|linear|constant", "of the learning rate (default cosine)"},
    {"noise-cost", "l1|squared", "use the cost of another noise, for experiments"},
    {"regularization", "R [1e-6,1e6]", "of the transport; 1 (default) is that of the noise"},
    {"transform", "none|dct", "to check that of the pool"},
    {"checkpoint", "DIR", "save the state to DIR, every minute and when stopped"},
    {"checkpoint-every", "N 1..10000000", "every N steps instead"},
    {"resume", NULL, "continue from the checkpoint"},
    {"trajectory-out", "F",
     "rows of step, loss, gap, residual, learning_rate; a .csv with a header"},
    {"out", "F.onnx", "the generator"},
    {NULL, NULL, NULL},
};

struct train_job {
    struct run *run;
    const char *out_path, *curve_path, *checkpoint_dir;
    char *checkpoint_path;
    bool is_resumed;
    uint64_t checkpoint_every;
    struct noisy_pool pool;
    struct dpot_transform transform; /* of the pool; id none */
    struct training_input input;
    struct training training;
    struct generator_progress result;
    struct progress bar;
    uint64_t first_step;
    double started, seconds;
};

/* ---- options ---- */

static dpot_status read_range(struct train_job *job)
{
    const char *text = option_text(job->run, "range");
    double range[2];
    if (!text) {
        return DPOT_OK;
    }
    if (!number_parse_pair(text, range) ||
        !(range[0] >= -1e30 && range[1] <= 1e30 && range[0] < range[1])) {
        return RUN_USAGE(
            job->run,
            "--range is %.40s: give two numbers of at most 1e30, the lower first, as in -1,1",
            text);
    }
    job->input.lo = range[0];
    job->input.hi = range[1];
    job->input.is_bounded = true;
    return DPOT_OK;
}

static dpot_status read_checkpoint(struct train_job *job)
{
    struct run *run = job->run;
    job->checkpoint_dir = option_text(run, "checkpoint");
    job->is_resumed = option_is_given(run, "resume");
    if (!job->checkpoint_dir && (job->is_resumed || option_is_given(run, "checkpoint-every"))) {
        return RUN_USAGE(run, "--%s needs --checkpoint DIR",
                         job->is_resumed ? "resume" : "checkpoint-every");
    }
    if (!job->checkpoint_dir) {
        return DPOT_OK;
    }
    const size_t len = strlen(job->checkpoint_dir) + sizeof "/checkpoint";
    job->checkpoint_path = dpot_alloc_array(NULL, len, 1);
    if (!job->checkpoint_path) {
        return DPOT_ERR_MEMORY;
    }
    (void)snprintf(job->checkpoint_path, len, "%s/checkpoint", job->checkpoint_dir);
    const dpot_status status = conflict_check(run, "checkpoint", job->checkpoint_path);
    return status != DPOT_OK ? status
                             : option_integer(run, "checkpoint-every", 1, SETTINGS_STEPS_MAX,
                                              &job->checkpoint_every);
}

static dpot_status read_options(struct train_job *job)
{
    struct run *run = job->run;
    dpot_status status =
        option_require_output(run, "out", "a file for the generator", &job->out_path);
    if (status == DPOT_OK) {
        status = option_array_output(run, "trajectory-out", &job->curve_path);
    }
    if (status == DPOT_OK) {
        status = read_range(job);
    }
    return status == DPOT_OK ? read_checkpoint(job) : status;
}

/* ---- the pool ---- */

/* Reads the transform of the pool's side file; --transform only checks it. */
static dpot_status read_transform(struct train_job *job)
{
    struct run *run = job->run;
    const char *option = option_text(run, "transform");
    if (option && strcmp(option, "none") != 0 && strcmp(option, "dct") != 0) {
        return RUN_USAGE(run, "--transform is %.40s: choose none or dct", option);
    }
    dpot_status status =
        spec_read_transform(job->pool.side ? job->pool.side : NULL, &job->transform, &run->error);
    if (status != DPOT_OK) {
        return status;
    }
    const char *found = job->transform.id == DPOT_TRANSFORM_DCT ? "dct" : "none";
    if (option && strcmp(option, found) != 0) {
        return dpot_error_set(
            &run->error, DPOT_ERR_RANGE,
            "--transform is %s, and the pool's transform is %s (by %s.json, if it "
            "is there): leave the option out, or export the pool with its file",
            option, found, option_text(run, "pool"));
    }
    if (job->transform.id == DPOT_TRANSFORM_DCT &&
        job->transform.n_keep != job->pool.reports.n_cols) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "the transform keeps %u coefficients and --pool %s has %zu columns",
                              job->transform.n_keep, option_text(run, "pool"),
                              job->pool.reports.n_cols);
    }
    return DPOT_OK;
}

/* Bounds points by the domain to which devices clip, if it is known in the space of the data. */
static void bound_points(struct train_job *job)
{
    const struct noisy_pool *pool = &job->pool;
    if (strcmp(pool->domain, "pool") != 0) {
        training_bound(&job->input, pool->lo, pool->hi, pool->reports.n_cols);
    }
}

/* Settings come from options: an invalid one is exit code 2. */
static dpot_status settings_as_usage(struct run *run, dpot_status status)
{
    if (status == DPOT_ERR_RANGE || status == DPOT_ERR_MALFORMED) {
        run->forced_exit = EXIT_CODE_USAGE;
    }
    return status;
}

static dpot_status load(struct train_job *job)
{
    struct run *run = job->run;
    json_t *given = json_object();
    size_t dim;
    if (!given) {
        return DPOT_ERR_MEMORY;
    }
    dpot_status status = generator_settings_given(run, given); /* before any file is read */
    if (status == DPOT_OK) {
        status = noisy_pool_load(run, &job->pool);
    }
    if (status == DPOT_OK) {
        status = read_transform(job);
    }
    if (status == DPOT_OK) {
        dim = job->transform.id == DPOT_TRANSFORM_DCT
                  ? (size_t)job->transform.rows * job->transform.cols
                  : job->pool.reports.n_cols;
        status = settings_read(given, "", job->pool.density.noise, dim, job->pool.reports.n_rows,
                               &job->input.settings, &run->error);
        status = settings_as_usage(run, status);
    }
    json_decref(given);
    return status;
}

static dpot_status init_training(struct train_job *job)
{
    struct training_input *input = &job->input;
    struct dpot_vector_domain vector = {.transform = job->transform,
                                        .dim = (uint32_t)job->pool.reports.n_cols};
    input->reports = job->pool.reports.values;
    input->n = job->pool.reports.n_rows;
    input->dim = job->pool.reports.n_cols;
    input->noise = job->pool.density.noise;
    input->scale = job->pool.density.scale;
    input->vector = job->transform.id == DPOT_TRANSFORM_NONE ? NULL : &vector;
    input->program = "dpot " DPOT_VERSION;
    bound_points(job);
    const dpot_status status = training_init(&job->training, input, &job->run->error);
    input->reports = NULL;
    input->vector = NULL;
    array_release(&job->pool.reports); /* twice as large as the copy that training keeps */
    return status;
}

/* ---- checkpoints ---- */

static dpot_status start_checkpoint(struct train_job *job)
{
    struct run *run = job->run;
    if (!job->checkpoint_path) {
        return DPOT_OK;
    }
    if (mkdir(job->checkpoint_dir, 0777) != 0 && errno != EEXIST) {
        return dpot_error_set(&run->error, DPOT_ERR_IO, "--checkpoint %s: %s", job->checkpoint_dir,
                              strerror(errno));
    }
    if (job->is_resumed) {
        const dpot_status status = checkpoint_read(job->checkpoint_path, job->training.fingerprint,
                                                   job->training.train, &run->error);
        return status == DPOT_ERR_NOT_FOUND
                   ? dpot_error_set(&run->error, DPOT_ERR_IO,
                                    "--resume: there is no %s: leave the option out to start",
                                    job->checkpoint_path)
                   : status;
    }
    struct stat info;
    if (stat(job->checkpoint_path, &info) == 0) {
        return RUN_USAGE(run,
                         "%s is there already: --resume goes on from it; to start again, remove it "
                         "or name another directory",
                         job->checkpoint_path);
    }
    return DPOT_OK;
}

static dpot_status save_checkpoint(struct train_job *job)
{
    return job->checkpoint_path ? checkpoint_write(job->checkpoint_path, job->training.fingerprint,
                                                   job->training.train, &job->run->error)
                                : DPOT_OK;
}

/* ---- the run ---- */

static atomic_bool is_interrupted;

static void interrupt(int number)
{
    (void)number;
    atomic_store(&is_interrupted, true);
}

static uint64_t next_stop(const struct train_job *job)
{
    const uint64_t step = job->result.step, slice = job->checkpoint_every;
    return slice ? step + slice - step % slice : step + SLICE;
}

static dpot_status run_steps(struct train_job *job)
{
    struct solve_control control = progress_control(&job->bar);
    double saved = progress_seconds();
    dpot_status status = generator_train_run(job->training.train, 0, NULL, &job->result,
                                             &job->run->error); /* reads the current step */
    control.cancel = &is_interrupted;
    job->first_step = job->result.step;
    job->started = saved;
    while (status == DPOT_OK && job->result.outcome == GENERATOR_STOPPED &&
           !atomic_load(&is_interrupted)) {
        status = generator_train_run(job->training.train, next_stop(job), &control, &job->result,
                                     &job->run->error);
        const bool is_due =
            job->checkpoint_every > 0 || progress_seconds() - saved > CHECKPOINT_SECONDS;
        if (status == DPOT_OK && job->result.outcome == GENERATOR_STOPPED && is_due) {
            status = save_checkpoint(job);
            saved = progress_seconds();
        }
    }
    job->seconds = progress_seconds() - job->started;
    if (status == DPOT_OK && job->result.outcome != GENERATOR_DIVERGED) {
        status = save_checkpoint(job);
    }
    return status;
}

static dpot_status train(struct train_job *job)
{
    struct sigaction action = {.sa_handler = interrupt}, before_int, before_term;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, &before_int);
    (void)sigaction(SIGTERM, &action, &before_term);
    progress_init(&job->bar, job->run, "training", job->input.settings.steps);
    if (job->is_resumed) {
        progress_join(&job->bar);
    }
    const dpot_status status = run_steps(job);
    progress_end(&job->bar);
    (void)sigaction(SIGINT, &before_int, NULL);
    (void)sigaction(SIGTERM, &before_term, NULL);
    return status;
}

/* ---- outputs ---- */

static dpot_status write_curve(struct train_job *job)
{
    struct array array = {0};
    const struct generator_progress *result = &job->result;
    if (!job->curve_path || result->n_looks == 0) {
        return DPOT_OK;
    }
    dpot_status status = array_init(&array, result->n_looks, TRAINING_CURVE_COLUMNS, false);
    if (status == DPOT_OK) {
        training_curve(result, array.values);
        status = array_write_named(job->curve_path, &array, TRAINING_CURVE_NAMES, &job->run->error);
    }
    array_release(&array);
    return status;
}

/* A number of the side file; NAN if missing. */
static double side_number(const struct train_job *job, const char *key)
{
    const json_t *value = json_object_get(job->pool.side, key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static dpot_status write_notes(struct train_job *job, struct generator_model *model)
{
    const json_int_t revision = json_integer_value(json_object_get(job->pool.side, "revision"));
    const struct provenance provenance = {
        .input = &job->input,
        .training = &job->training,
        .transform = job->transform.id,
        .campaign_hash = job->pool.campaign_hash,
        .revision = revision > 0 ? (uint64_t)revision : 0,
        .epsilon = side_number(job, "epsilon"),
        .delta = side_number(job, "delta"),
        .steps_done = job->result.step,
    };
    return provenance_note(&provenance, model, &job->run->error);
}

static dpot_status write_model(struct train_job *job)
{
    struct generator_model model = {.network = generator_train_network(job->training.train)};
    dpot_status status = write_notes(job, &model);
    if (status == DPOT_OK) {
        status = generator_model_save(&model, job->out_path, &job->run->error);
    }
    model.network = NULL; /* owned by the training */
    generator_model_release(&model);
    return status;
}

static void put_result(struct train_job *job)
{
    struct run *run = job->run;
    const struct generator_progress *result = &job->result;
    static const char *const outcomes[] = {"done", "interrupted", "diverged"};
    const uint64_t n = result->step - job->first_step;
    run_put_integer(run, "steps", result->step);
    run_put(run, "loss",
            json_number(result->n_looks ? result->looks[result->n_looks - 1].loss : NAN));
    run_put_number(run, "seconds_per_step", n ? job->seconds / (double)n : 0);
    run_put_text(run, "outcome", outcomes[result->outcome]);
    run_put_integer(run, "n", job->input.n);
    run_put_integer(run, "dim", job->training.dim);
    run_put_integer(run, "points", job->training.atoms.n);
    run_put_text(run, "arch", job->input.settings.architecture);
    if (result->outcome != GENERATOR_DONE) {
        run->forced_exit = EXIT_CODE_STOPPED; /* not is_stopped, which is about a tolerance */
    }
    if (result->outcome == GENERATOR_STOPPED) {
        run_warn(run,
                 job->checkpoint_path
                     ? "interrupted at step %llu: the generator is that of this step; the same "
                       "options with --resume go on from there"
                     : "interrupted at step %llu: the generator is that of this step; with "
                       "--checkpoint DIR a run can be resumed",
                 (unsigned long long)result->step);
    }
    if (result->outcome == GENERATOR_DIVERGED) {
        run_warn(
            run,
            "training diverged at step %llu (the loss is not finite or far above its start): the "
            "generator is that of the last good step; take a smaller --learning-rate",
            (unsigned long long)result->step);
    }
}

static dpot_status finish(struct train_job *job)
{
    dpot_status status = write_curve(job);
    if (status == DPOT_OK) {
        status = write_model(job);
    }
    if (status == DPOT_OK) {
        put_result(job);
    }
    return status;
}

static dpot_status run_generator_train(struct run *run)
{
    struct train_job job = {.run = run, .pool.needs_no_domain = true};
    dpot_status status = read_options(&job);
    if (status == DPOT_OK) {
        status = load(&job);
    }
    if (status == DPOT_OK) {
        status = team_new(run->n_threads, &job.input.team);
    }
    if (status == DPOT_OK) {
        status = init_training(&job);
    }
    if (status == DPOT_OK) {
        status = start_checkpoint(&job);
    }
    if (status == DPOT_OK) {
        status = train(&job);
    }
    if (status == DPOT_OK) {
        status = finish(&job);
    }
    training_release(&job.training);
    team_free(job.input.team);
    dpot_free_array(NULL, job.transform.keep, job.transform.n_keep, sizeof *job.transform.keep);
    noisy_pool_release(&job.pool);
    dpot_free_array(NULL, job.checkpoint_path,
                    job.checkpoint_path ? strlen(job.checkpoint_path) + 1 : 0, 1);
    return status;
}

const struct command command_generator_train = {
    .name = "generator train",
    .summary = "train a generator of clean data on a pool of noisy reports",
    .details =
        "The network G minimises the entropic transport cost from G(z) to the reports, with\n"
        "minus the logarithm of the pool's noise density as the cost: at the optimum G(z) has\n"
        "the distribution of the data before the noise. Mechanism, scale and transform come from\n"
        "the side file F.json of the pool; training costs no privacy. The model is ONNX, with\n"
        "its provenance as metadata. On a signal it saves its state (--checkpoint) and writes\n"
        "the generator so far, exit code 5; with the same options, --resume ends with the same\n"
        "bytes as an uninterrupted run.\n"
        "Keys: steps, loss (last measured), seconds_per_step, outcome (done, interrupted,\n"
        "diverged), n, dim, points (of the pool as used in training), arch.",
    .example =
        "dpot generator train --pool noisy.csv --mechanism laplace --scale 0.5 --steps 100 \\\n"
        "    --out generator.onnx",
    .options = options,
    .run = run_generator_train,
};
