#include "generator/training.h"

#include "base/alloc.h"
#include "generator/onnx_graph.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CURVE_POINTS 200 /* points of the curve */

/* Terms of training_memory. */
#define PLACED_BYTES 32 /* per report while it is sorted into a cell */
#define COPIES 8 /* of the parameters: gradient, last good ones, two of Adam, the file, twice */
#define PLANS 3  /* kernel, stored costs, plan of a gradient */
#define ROWS_OF_SWEEPS 320 /* scratch of 16 tasks and the marginals of a transport */

void training_release(struct training *training)
{
    generator_train_free(training->train);
    transform_matrix_release(&training->transform);
    atoms_release(&training->atoms);
    memset(training, 0, sizeof *training);
}

/* The factor of the cost. The mismatched cost, for comparison, gets the same variance: 2 b^2 for
 * Laplace. */
static double cost_scale(enum dpot_noise noise, double scale, enum cloud_distance cost)
{
    const bool is_laplace = noise == DPOT_NOISE_LAPLACE;
    if (cost == CLOUD_L1) {
        return is_laplace ? 1.0 / scale : 1.4142135623730951 / scale;
    }
    return is_laplace ? 1.0 / (4.0 * scale * scale) : 1.0 / (2.0 * scale * scale);
}

static struct generator_config config_of(const struct training *training,
                                         const struct training_input *input)
{
    const struct settings *s = &input->settings;
    return (struct generator_config){
        .architecture = s->architecture,
        .latent_dim = s->latent_dim,
        .dim = training->dim,
        .bound = input->is_bounded ? NETWORK_TANH : NETWORK_UNBOUNDED,
        .lo = (float)input->lo,
        .hi = (float)input->hi,
        .distance = s->cost,
        .scale = cost_scale(input->noise, input->scale, s->cost),
        .lambda = s->regularization,
        .batch = s->batch,
        .pool_batch = s->pool_batch ? s->pool_batch : training->atoms.n,
        .sweeps = s->sinkhorn,
        .n_steps = s->steps,
        .optimizer = s->optimizer,
        .learning_rate = s->learning_rate,
        .schedule = s->schedule,
        .seed = s->seed,
        .look_every = s->steps > CURVE_POINTS ? s->steps / CURVE_POINTS : 1,
        .transform = training->transform.values ? &training->transform.hooks : NULL,
        .team = input->team,
    };
}

static bool is_mapped(const struct training_input *input)
{
    return input->vector && input->vector->transform.id != DPOT_TRANSFORM_NONE;
}

static size_t data_dim_of(const struct training_input *input)
{
    return is_mapped(input) ? dpot_vector_data_dim(input->vector) : input->dim;
}

static dpot_status parse_architecture(const struct training_input *input,
                                      struct architecture *architecture, struct dpot_error *error)
{
    const struct settings *s = &input->settings;
    const dpot_status status =
        architecture_parse(s->architecture, s->latent_dim, data_dim_of(input),
                           input->is_bounded ? NETWORK_TANH : NETWORK_UNBOUNDED, (float)input->lo,
                           (float)input->hi, architecture, error);
    return status == DPOT_OK ? onnx_graph_check(architecture, error) : status;
}

dpot_status training_network_size(const struct training_input *input, size_t *n_values,
                                  struct dpot_error *error)
{
    struct architecture architecture;
    const dpot_status status = parse_architecture(input, &architecture, error);
    *n_values = status == DPOT_OK ? architecture.n_parameters + architecture.n_state : 0;
    return status;
}

dpot_status training_memory(const struct training_input *input, uint64_t *n_bytes,
                            struct dpot_error *error)
{
    struct architecture a;
    const struct settings *s = &input->settings;
    const uint64_t n = input->n, dim = input->dim, data_dim = data_dim_of(input);
    const dpot_status status = parse_architecture(input, &a, error);
    *n_bytes = 0;
    if (status != DPOT_OK) {
        return status;
    }
    const uint64_t n_points = s->pool_batch ? s->pool_batch : s->atoms < n ? s->atoms : n;
    const uint64_t reports = n * dim * (sizeof(double) + sizeof(float)) + n * PLACED_BYTES;
    const uint64_t map = is_mapped(input) ? data_dim * dim * sizeof(float) : 0;
    const uint64_t copies = COPIES * sizeof(float) * (uint64_t)(a.n_parameters + a.n_state);
    const uint64_t step = sizeof(float) * (2 * s->batch * (data_dim + dim) + 2 * n_points * dim);
    const uint64_t plan = PLANS * sizeof(float) * s->batch * n_points;
    const uint64_t sweeps = ROWS_OF_SWEEPS * sizeof(double) * (s->batch + n_points);
    *n_bytes = reports + map + network_bytes(&a, s->batch) + copies + step + plan + sweeps;
    return DPOT_OK;
}

void training_bound(struct training_input *input, const double *lo, const double *hi, size_t n)
{
    if (input->is_bounded || is_mapped(input)) {
        return;
    }
    input->lo = lo[0];
    input->hi = hi[0];
    for (size_t j = 1; j < n; j++) {
        input->lo = lo[j] < input->lo ? lo[j] : input->lo;
        input->hi = hi[j] > input->hi ? hi[j] : input->hi;
    }
    input->is_bounded = input->lo < input->hi;
}

void training_curve(const struct generator_progress *progress, double *rows)
{
    for (size_t i = 0; i < progress->n_looks; i++) {
        const struct generator_look *look = &progress->looks[i];
        const double row[TRAINING_CURVE_COLUMNS] = {(double)look->step, look->loss, look->gap,
                                                    look->residual, look->learning_rate};
        memcpy(rows + TRAINING_CURVE_COLUMNS * i, row, sizeof row);
    }
}

static void hash_vector(struct dpot_hasher *hasher, const struct dpot_vector_domain *vector)
{
    const struct dpot_transform *t = &vector->transform;
    dpot_hasher_add(hasher, &t->id, sizeof t->id);
    dpot_hasher_add(hasher, &t->rows, sizeof t->rows);
    dpot_hasher_add(hasher, &t->cols, sizeof t->cols);
    dpot_hasher_add(hasher, t->keep, t->n_keep * sizeof *t->keep);
}

static dpot_status compute_fingerprint(struct training *training,
                                       const struct training_input *input, struct dpot_error *error)
{
    struct dpot_hasher hasher;
    const double numbers[] = {input->scale, input->is_bounded ? 1.0 : 0.0, input->lo, input->hi,
                              (double)input->noise};
    json_t *settings = settings_json(&input->settings);
    char *text = settings
                     ? json_dumps(settings, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17))
                     : NULL;
    dpot_hash(training->pool_checksum, input->reports,
              input->n * input->dim * sizeof *input->reports);
    if (text) {
        dpot_hasher_init(&hasher);
        dpot_hasher_add(&hasher, input->program, strlen(input->program) + 1);
        dpot_hasher_add(&hasher, text, strlen(text) + 1);
        dpot_hasher_add(&hasher, numbers, sizeof numbers);
        dpot_hasher_add(&hasher, training->pool_checksum, sizeof training->pool_checksum);
        if (input->vector) {
            hash_vector(&hasher, input->vector);
        }
        dpot_hasher_end(&hasher, training->fingerprint);
    }
    const bool is_done = text != NULL;
    free(text);
    json_decref(settings);
    return is_done ? DPOT_OK : dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
}

dpot_status training_init(struct training *training, const struct training_input *input,
                          struct dpot_error *error)
{
    memset(training, 0, sizeof *training);
    training->dim = data_dim_of(input);
    struct architecture architecture;
    dpot_status status = parse_architecture(input, &architecture, error);
    if (status == DPOT_OK) {
        status = compute_fingerprint(training, input, error);
    }
    if (status == DPOT_OK) {
        const double range[2] = {input->lo, input->hi};
        const bool is_clipped =
            input->is_bounded && !is_mapped(input) && input->settings.cost == CLOUD_L1;
        status = atoms_init(&training->atoms, input->reports, input->n, input->dim,
                            input->settings.atoms, input->scale, is_clipped ? range : NULL, error);
    }
    if (status == DPOT_OK && is_mapped(input)) {
        status = transform_matrix_init(&training->transform, input->vector, error);
    }
    if (status == DPOT_OK) {
        const struct generator_config config = config_of(training, input);
        const struct generator_pool pool = atoms_pool(&training->atoms);
        status = generator_train_new(&config, &pool, &training->train, error);
    }
    if (status != DPOT_OK) {
        training_release(training);
    }
    return status;
}
