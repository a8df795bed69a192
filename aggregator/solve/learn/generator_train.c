#include "solve/learn/generator_train.h"

#include "base/alloc.h"
#include "solve/run/draw.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Streams of draw_bits, distinct from those of the latent points, which are numbered by step. */
#define STREAM_POOL (UINT64_C(1) << 62)

#define LOSS_TOO_HIGH 8.0 /* relative to the first loss: diverged */

/* Progress of a run, in one block that can be saved. */
struct counters {
    uint64_t step;
    uint64_t n_optimizer_steps;
    uint64_t n_looks;
    uint64_t has_potentials;
};

struct generator_train {
    struct generator_config config;
    struct generator_pool pool;
    size_t report_dim, pool_batch;
    bool is_whole; /* every step uses the whole pool */

    struct network *net;
    struct optimizer optimizer;
    struct cloud cloud;
    struct entropic *engine;
    struct counters counters;

    float *z, *out, *mapped, *grad, *mapped_grad; /* the generated points of a step */
    float *reports;                               /* (pool_batch, report_dim) unless whole */
    float *gradient;                              /* (n_parameters) */
    float *good;                  /* (n_parameters + n_state) at the last good point of the curve */
    float *state_before;          /* (n_state) before the step, to undo it */
    double *g;                    /* (n) potentials of the whole pool */
    struct generator_look *looks; /* (looks_max) */
    size_t looks_max;
};

/* ---- memory ---- */

static size_t n_saved(const struct generator_train *t)
{
    return t->net ? network_n_parameters(t->net) + network_n_state(t->net) : 0;
}

void generator_train_free(struct generator_train *t)
{
    if (!t) {
        return;
    }
    const size_t batch = t->config.batch, dim = t->config.dim;
    dpot_free_array(NULL, t->looks, t->looks_max, sizeof *t->looks);
    dpot_free_array(NULL, t->g, t->is_whole ? t->pool.n : 1, sizeof *t->g);
    dpot_free_array(NULL, t->state_before, t->net ? network_n_state(t->net) : 0,
                    sizeof *t->state_before);
    dpot_free_array(NULL, t->good, n_saved(t), sizeof *t->good);
    dpot_free_array(NULL, t->gradient, t->net ? network_n_parameters(t->net) : 0,
                    sizeof *t->gradient);
    dpot_free_array(NULL, t->reports, t->is_whole ? 1 : t->pool_batch * t->report_dim,
                    sizeof *t->reports);
    dpot_free_array(NULL, t->mapped_grad, batch * t->report_dim, sizeof *t->mapped_grad);
    dpot_free_array(NULL, t->grad, batch * dim, sizeof *t->grad);
    dpot_free_array(NULL, t->mapped, batch * t->report_dim, sizeof *t->mapped);
    dpot_free_array(NULL, t->out, batch * dim, sizeof *t->out);
    dpot_free_array(NULL, t->z, batch * t->config.latent_dim, sizeof *t->z);
    entropic_free(t->engine);
    cloud_release(&t->cloud);
    optimizer_release(&t->optimizer);
    network_free(t->net);
    dpot_free_array(NULL, t, 1, sizeof *t);
}

static bool init_arrays(struct generator_train *t)
{
    const size_t batch = t->config.batch, dim = t->config.dim;
    t->looks_max = t->config.n_steps / t->config.look_every + 2;
    t->z = dpot_alloc_array(NULL, batch * t->config.latent_dim, sizeof *t->z);
    t->out = dpot_alloc_array(NULL, batch * dim, sizeof *t->out);
    t->mapped = dpot_alloc_array(NULL, batch * t->report_dim, sizeof *t->mapped);
    t->grad = dpot_alloc_array(NULL, batch * dim, sizeof *t->grad);
    t->mapped_grad = dpot_alloc_array(NULL, batch * t->report_dim, sizeof *t->mapped_grad);
    t->reports =
        dpot_alloc_array(NULL, t->is_whole ? 1 : t->pool_batch * t->report_dim, sizeof *t->reports);
    t->gradient = dpot_alloc_array(NULL, network_n_parameters(t->net), sizeof *t->gradient);
    t->good = dpot_alloc_array(NULL, n_saved(t), sizeof *t->good);
    t->state_before = dpot_alloc_array(NULL, network_n_state(t->net), sizeof *t->state_before);
    t->g = dpot_alloc_array(NULL, t->is_whole ? t->pool.n : 1, sizeof *t->g);
    t->looks = dpot_alloc_array(NULL, t->looks_max, sizeof *t->looks);
    return t->z && t->out && t->mapped && t->grad && t->mapped_grad && t->reports && t->gradient &&
           t->good && t->state_before && t->g && t->looks;
}

static dpot_status init_network(struct generator_train *t, struct dpot_error *error)
{
    const struct generator_config *c = &t->config;
    const struct network_config config = {
        .architecture = c->architecture,
        .latent_dim = c->latent_dim,
        .dim = c->dim,
        .bound = c->bound,
        .lo = c->lo,
        .hi = c->hi,
        .max_batch = c->batch,
        .linalg = dpot_linalg_f32_openblas(),
        .team = c->team,
    };
    const dpot_status status = network_new(&config, &t->net, error);
    if (status == DPOT_OK) {
        network_initialise(t->net, c->seed);
    }
    return status;
}

static dpot_status init_transport(struct generator_train *t, struct dpot_error *error)
{
    const struct generator_config *c = &t->config;
    const struct entropic_options options = {
        .lambda = c->lambda,
        .max_iterations = c->sweeps,
        .precision = ENTROPIC_F32,
        .team = c->team,
    };
    dpot_status status =
        cloud_init(&t->cloud, c->batch, t->pool_batch, t->report_dim, c->distance, c->scale);
    if (status != DPOT_OK) {
        return dpot_error_set(error, status, "no memory for %zu reports a step", t->pool_batch);
    }
    return entropic_new(c->batch, t->pool_batch, &options, &t->engine, error);
}

static dpot_status check(const struct generator_config *c, const struct generator_pool *pool,
                         struct dpot_error *error)
{
    if (pool->n == 0) {
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "the pool is empty: a generator needs reports");
    }
    if (!(c->scale > 0 && c->scale <= DBL_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "the cost's scale is %g: it must be positive",
                              c->scale);
    }
    if (!(c->learning_rate > 0 && c->learning_rate <= 1e6)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the learning rate is %g: it must be positive, at most 1e6",
                              c->learning_rate);
    }
    if (c->batch == 0 || c->pool_batch == 0 || c->sweeps == 0 || c->look_every == 0 ||
        c->n_steps == 0 || c->latent_dim == 0 || c->dim == 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "batch %zu, reports a step %zu, sweeps %zu, steps %zu, latent "
                              "dimension %zu: each must be at least 1",
                              c->batch, c->pool_batch, c->sweeps, c->n_steps, c->latent_dim);
    }
    if (pool->weights && c->pool_batch < pool->n) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "a pool with weights has %zu points and a step takes %zu: weighted "
                              "pools are taken whole",
                              pool->n, c->pool_batch);
    }
    return DPOT_OK;
}

dpot_status generator_train_new(const struct generator_config *config,
                                const struct generator_pool *pool, struct generator_train **out,
                                struct dpot_error *error)
{
    *out = NULL;
    dpot_status status = check(config, pool, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct generator_train *t = dpot_alloc_array(NULL, 1, sizeof *t);
    if (!t) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for a generator");
    }
    t->config = *config;
    t->pool = *pool;
    t->report_dim = config->transform ? config->transform->dim : config->dim;
    t->is_whole = config->pool_batch >= pool->n;
    t->pool_batch = t->is_whole ? pool->n : config->pool_batch;
    status = init_network(t, error);
    if (status == DPOT_OK) {
        status = init_transport(t, error);
    }
    if (status == DPOT_OK) {
        status =
            optimizer_init(&t->optimizer, config->optimizer, network_n_parameters(t->net), NULL);
    }
    if (status == DPOT_OK && !init_arrays(t)) {
        status = DPOT_ERR_MEMORY;
    }
    if (status != DPOT_OK) {
        if (status == DPOT_ERR_MEMORY) {
            (void)dpot_error_set(error, status, "no memory for batches of %zu and %zu",
                                 config->batch, t->pool_batch);
        }
        generator_train_free(t);
        return status;
    }
    *out = t;
    return DPOT_OK;
}

/* ---- a step ---- */

static const float *draw_reports(struct generator_train *t)
{
    if (t->is_whole) {
        return t->pool.points;
    }
    for (size_t k = 0; k < t->pool_batch; k++) {
        const uint64_t bits = draw_bits(t->config.seed, STREAM_POOL + t->counters.step, k);
        /* The high half of bits * n: uniform up to n / 2^32, for pools below 2^32 reports. */
        const size_t row = (size_t)(((bits >> 32) * (uint64_t)t->pool.n) >> 32);
        memcpy(t->reports + k * t->report_dim, t->pool.points + row * t->report_dim,
               t->report_dim * sizeof(float));
    }
    return t->reports;
}

static void generate(struct generator_train *t)
{
    const struct generator_config *c = &t->config;
    latent_draw(c->seed, t->counters.step, c->batch, c->latent_dim, t->z);
    network_forward(t->net, t->z, c->batch, NETWORK_TRAIN, t->out);
    if (c->transform) {
        c->transform->forward(c->transform->ctx, t->out, c->batch, t->mapped);
    }
}

static bool all_finite(const float *x, size_t n)
{
    float sum = 0.0F;
    for (size_t i = 0; i < n; i++) {
        sum += x[i] * 0.0F;
    }
    return sum == 0.0F;
}

static bool is_stopped(const struct entropic_result *result)
{
    return result->outcome == SOLVE_CANCELLED || result->outcome == SOLVE_DEADLINE;
}

/* The sweeps check the control too. An interrupted result is not used. */
static dpot_status transport(struct generator_train *t, const struct solve_control *control,
                             struct entropic_result *result, struct dpot_error *error)
{
    const float *x = t->config.transform ? t->mapped : t->out;
    struct solve_control stops = control ? *control : (struct solve_control){.cancel = NULL};
    stops.progress = NULL; /* progress counts steps, not sweeps */
    cloud_set(&t->cloud, x, t->config.batch, draw_reports(t), t->pool_batch);
    if (t->is_whole && t->counters.has_potentials) {
        entropic_warm_start(t->engine, NULL, 0, t->g, t->pool.n);
    }
    const dpot_status status =
        entropic_solve(t->engine, &t->cloud.cost, NULL, t->pool.weights, &stops, result, error);
    if (status == DPOT_OK && t->is_whole && !is_stopped(result)) {
        entropic_potentials(t->engine, NULL, t->g);
        t->counters.has_potentials = 1;
    }
    return status;
}

static dpot_status descend(struct generator_train *t, double rate, bool *is_finite)
{
    const struct generator_transform *transform = t->config.transform;
    float *grad = transform ? t->mapped_grad : t->grad;
    const dpot_status status = cloud_gradient(&t->cloud, t->engine, t->config.team, grad);
    if (status != DPOT_OK) {
        return status;
    }
    if (transform) {
        transform->backward(transform->ctx, t->mapped_grad, t->config.batch, t->grad);
    }
    network_backward(t->net, t->grad, t->gradient);
    *is_finite = all_finite(t->gradient, network_n_parameters(t->net));
    if (*is_finite) {
        optimizer_step(&t->optimizer, (float)rate, t->gradient, network_parameters(t->net));
    }
    return DPOT_OK;
}

/* ---- the curve ---- */

static void save_good(struct generator_train *t)
{
    const size_t n = network_n_parameters(t->net);
    memcpy(t->good, network_parameters(t->net), n * sizeof *t->good);
    memcpy(t->good + n, network_state(t->net), network_n_state(t->net) * sizeof *t->good);
}

static void restore_good(struct generator_train *t)
{
    const size_t n = network_n_parameters(t->net);
    memcpy(network_parameters(t->net), t->good, n * sizeof *t->good);
    memcpy(network_state(t->net), t->good + n, network_n_state(t->net) * sizeof *t->good);
}

/* Records a point of the curve; false: the run has diverged. */
static bool record_point(struct generator_train *t, double rate, struct entropic_result *result)
{
    struct counters *done = &t->counters;
    entropic_value(t->engine, result);
    if (!isfinite(result->value)) {
        return false;
    }
    if (done->n_looks < t->looks_max) {
        t->looks[done->n_looks++] =
            (struct generator_look){done->step, result->value, result->gap, result->residual, rate};
    }
    return !(result->value > LOSS_TOO_HIGH * fabs(t->looks[0].loss));
}

static bool is_point_due(const struct generator_train *t)
{
    return t->counters.step % t->config.look_every == 0 ||
           t->counters.step + 1 == t->config.n_steps;
}

/* Undoes a step that has not moved the parameters: restores the network's running state. */
static void undo_step(struct generator_train *t)
{
    memcpy(network_state(t->net), t->state_before,
           network_n_state(t->net) * sizeof *t->state_before);
}

/* One step. *goes_on is false if the run has diverged; nothing is then changed. If the control
 * stops it midway, the step is undone. */
static dpot_status step(struct generator_train *t, const struct solve_control *control,
                        bool *goes_on, struct dpot_error *error)
{
    struct entropic_result result = {.outcome = SOLVE_CONVERGED};
    const struct generator_config *c = &t->config;
    const double rate =
        (double)learning_rate_at(c->schedule, c->learning_rate, t->counters.step, c->n_steps);
    const bool is_due = is_point_due(t);
    if (t->counters.step == 0) {
        save_good(t);
    }
    memcpy(t->state_before, network_state(t->net),
           network_n_state(t->net) * sizeof *t->state_before);
    generate(t);
    *goes_on = all_finite(t->out, c->batch * c->dim);
    if (!*goes_on) {
        return DPOT_OK;
    }
    dpot_status status = transport(t, control, &result, error);
    if (status == DPOT_ERR_RANGE && t->counters.step > 0) { /* costs out of range: diverged */
        if (error) {
            error->text[0] = '\0';
        }
        *goes_on = false;
        return DPOT_OK;
    }
    if (status == DPOT_ERR_RANGE) { /* at the first step: pool and noise scale do not match */
        return dpot_error_set(
            error, status,
            "some reports are too far from the generator's first points to be "
            "computed with (costs above 10^15): are the scale of the noise and the "
            "range those of this pool?");
    }
    if (status == DPOT_OK && is_stopped(&result)) {
        undo_step(t);
        return DPOT_OK;
    }
    if (status == DPOT_OK && is_due) {
        *goes_on = record_point(t, rate, &result);
        if (*goes_on) {
            save_good(t);
        }
    }
    if (status == DPOT_OK && *goes_on) {
        status = descend(t, rate, goes_on);
    }
    t->counters.step += status == DPOT_OK && *goes_on;
    t->counters.n_optimizer_steps = t->optimizer.n_steps;
    return status;
}

dpot_status generator_train_run(struct generator_train *t, uint64_t until,
                                const struct solve_control *control,
                                struct generator_progress *progress, struct dpot_error *error)
{
    const uint64_t n_steps = t->config.n_steps, end = until < n_steps ? until : n_steps;
    enum solve_outcome outcome = SOLVE_CONVERGED;
    dpot_status status = DPOT_OK;
    bool goes_on = true;
    memset(progress, 0, sizeof *progress);
    while (status == DPOT_OK && goes_on && t->counters.step < end) {
        status = step(t, control, &goes_on, error);
        if (status == DPOT_OK && goes_on &&
            solve_control_stops(control, (size_t)t->counters.step, t->config.n_steps, &outcome)) {
            break;
        }
    }
    progress->outcome = t->counters.step >= n_steps ? GENERATOR_DONE : GENERATOR_STOPPED;
    if (!goes_on) {
        restore_good(t);
        progress->outcome = GENERATOR_DIVERGED;
    }
    progress->step = t->counters.step;
    progress->looks = t->looks;
    progress->n_looks = (size_t)t->counters.n_looks;
    return status;
}

struct network *generator_train_network(struct generator_train *t)
{
    return t->net;
}

/* ---- saving and restoring ---- */

void generator_train_parts(struct generator_train *t, struct generator_part parts[GENERATOR_PARTS])
{
    const size_t n = network_n_parameters(t->net), n_state = network_n_state(t->net);
    const struct generator_part all[GENERATOR_PARTS] = {
        {"counters", &t->counters, sizeof t->counters},
        {"parameters", network_parameters(t->net), n * sizeof(float)},
        {"state", network_state(t->net), n_state * sizeof(float)},
        {"optimizer", t->optimizer.state, t->optimizer.n_state * sizeof(float)},
        {"good", t->good, n_saved(t) * sizeof(float)},
        {"potentials", t->g, (t->is_whole ? t->pool.n : 1) * sizeof *t->g},
        {"looks", t->looks, t->looks_max * sizeof *t->looks},
    };
    memcpy(parts, all, sizeof all);
}

dpot_status generator_train_resume(struct generator_train *t, struct dpot_error *error)
{
    const struct counters *done = &t->counters;
    const bool is_whole = done->has_potentials <= 1 && (t->is_whole || !done->has_potentials);
    if (done->step > t->config.n_steps || done->n_optimizer_steps != done->step ||
        done->n_looks > t->looks_max || (done->step > 0 && done->n_looks == 0) || !is_whole ||
        !all_finite(network_parameters(t->net), network_n_parameters(t->net))) {
        return dpot_error_set(error, DPOT_ERR_CORRUPT,
                              "the checkpoint's parts do not fit together (step %llu of %zu): "
                              "start without it",
                              (unsigned long long)done->step, t->config.n_steps);
    }
    t->optimizer.n_steps = done->n_optimizer_steps;
    return DPOT_OK;
}
