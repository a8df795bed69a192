#include "solve/learn/network.h"

#include "solve/learn/layer.h"
#include "solve/run/draw.h"

#include <math.h>
#include <string.h>

/* The arrays of a network, in one block of `n_floats`. */
struct network {
    struct architecture architecture;
    const struct dpot_linalg_f32 *linalg;
    struct team *team;
    const struct dpot_allocator *allocator;
    size_t max_batch;
    size_t n; /* samples of the last pass */

    size_t n_floats;
    float *block;
    float *parameters, *state;
    float *values[ARCHITECTURE_LAYERS_MAX + 1]; /* input, then the output of each layer */
    float *memory[ARCHITECTURE_LAYERS_MAX];
    float *differences[2]; /* d loss / d output of the current layer, and of the one before */
    float *scratch;
    size_t scratch_len;
};

/* --- Set-up --- */

/* Sizes in floats. Each is below 2^50 (limits of architecture.h times NETWORK_BATCH_MAX), so their
 * sum does not overflow. */
struct sizes {
    uint64_t values, memory, widest, scratch;
};

static struct sizes measure(const struct architecture *a, uint64_t max_batch)
{
    struct sizes sizes = {.values = a->in_dim * max_batch};
    for (size_t i = 0; i < a->n_layers; i++) {
        const uint64_t size = layer_shape_size(&a->layers[i].out) * max_batch;
        const uint64_t scratch = layer_scratch_len(&a->layers[i]);
        sizes.values += size;
        sizes.memory += layer_memory_len(&a->layers[i]);
        sizes.widest = size > sizes.widest ? size : sizes.widest;
        sizes.scratch = scratch > sizes.scratch ? scratch : sizes.scratch;
    }
    return sizes;
}

static uint64_t total_floats(const struct architecture *a, const struct sizes *sizes)
{
    return a->n_parameters + a->n_state + sizes->values + sizes->memory + 2 * sizes->widest +
           LAYER_CHUNKS * sizes->scratch;
}

uint64_t network_bytes(const struct architecture *architecture, size_t max_batch)
{
    const struct sizes sizes = measure(architecture, max_batch);
    return total_floats(architecture, &sizes) * sizeof(float);
}

static float *take(float **next, size_t n)
{
    float *array = *next;
    *next += n;
    return array;
}

static void lay_out(struct network *net, const struct sizes *sizes)
{
    const struct architecture *a = &net->architecture;
    float *next = net->block;
    net->parameters = take(&next, a->n_parameters);
    net->state = take(&next, a->n_state);
    net->values[0] = take(&next, a->in_dim * net->max_batch);
    for (size_t i = 0; i < a->n_layers; i++) {
        net->values[i + 1] = take(&next, layer_shape_size(&a->layers[i].out) * net->max_batch);
        net->memory[i] = take(&next, layer_memory_len(&a->layers[i]));
    }
    net->differences[0] = take(&next, (size_t)sizes->widest);
    net->differences[1] = take(&next, (size_t)sizes->widest);
    net->scratch_len = (size_t)sizes->scratch;
    net->scratch = take(&next, LAYER_CHUNKS * net->scratch_len);
}

dpot_status network_new(const struct network_config *config, struct network **net,
                        struct dpot_error *error)
{
    struct architecture architecture;
    *net = NULL;
    if (config->max_batch < 1 || config->max_batch > NETWORK_BATCH_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "a batch of %zu points: choose 1 to %zu",
                              config->max_batch, NETWORK_BATCH_MAX);
    }
    const dpot_status status =
        architecture_parse(config->architecture, config->latent_dim, config->dim, config->bound,
                           config->lo, config->hi, &architecture, error);
    if (status != DPOT_OK) {
        return status;
    }
    const struct sizes sizes = measure(&architecture, config->max_batch);
    const uint64_t n_floats = total_floats(&architecture, &sizes);
    if (n_floats > NETWORK_BYTES_MAX / sizeof(float)) {
        return dpot_error_set(
            error, DPOT_ERR_TOO_LARGE,
            "%s with a batch of %zu points needs %.1f GiB, more than %.0f: choose "
            "smaller widths or a smaller batch",
            architecture.name, config->max_batch, (double)n_floats * sizeof(float) / 0x1p30,
            (double)NETWORK_BYTES_MAX / 0x1p30);
    }
    struct network *made = dpot_alloc_array(config->allocator, 1, sizeof *made);
    float *block = dpot_alloc_array(config->allocator, (size_t)n_floats, sizeof *block);
    if (!made || !block) {
        dpot_free_array(config->allocator, made, 1, sizeof *made);
        dpot_free_array(config->allocator, block, (size_t)n_floats, sizeof *block);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for %s with a batch of %zu points",
                              architecture.name, config->max_batch);
    }
    *made = (struct network){.architecture = architecture,
                             .linalg = config->linalg ? config->linalg : &dpot_linalg_f32_portable,
                             .team = config->team,
                             .allocator = config->allocator,
                             .max_batch = config->max_batch,
                             .n_floats = (size_t)n_floats,
                             .block = block};
    lay_out(made, &sizes);
    *net = made;
    return DPOT_OK;
}

void network_free(struct network *net)
{
    if (net) {
        const struct dpot_allocator *allocator = net->allocator;
        dpot_free_array(allocator, net->block, net->n_floats, sizeof *net->block);
        dpot_free_array(allocator, net, 1, sizeof *net);
    }
}

/* --- Initial weights --- */

/* Number of terms in one output of the layer. A transposed convolution reaches each pixel from only
 * (kernel / stride)^2 positions. */
static size_t n_summands(const struct layer *layer)
{
    switch (layer->kind) {
    case LAYER_DENSE:
        return layer->in.channels;
    case LAYER_CONV:
    case LAYER_RESIZE_CONV:
        return layer->kernel * layer->kernel * layer->in.channels;
    case LAYER_CONV_TRANSPOSE:
        return layer->kernel * layer->kernel * layer->in.channels / (layer->stride * layer->stride);
    case LAYER_BATCH_NORM:
    case LAYER_BOUND:
        break;
    }
    return 1;
}

/* Uniform with variance 1 / n_summands, twice that before a ReLU, which halves it (He et al. 2015).
 */
static void draw_weights(const struct layer *layer, uint64_t seed, size_t number, float *weights)
{
    const float variance = (layer->is_rectified ? 2.0F : 1.0F) / (float)n_summands(layer);
    const float width = 2.0F * sqrtf(3.0F * variance);
    for (size_t i = 0; i < layer->n_weights; i++) {
        weights[i] = width * (draw_uniform(seed, number, i) - 0.5F);
    }
}

static void fill(float *x, size_t n, float value)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = value;
    }
}

void network_initialise(struct network *net, uint64_t seed)
{
    const struct architecture *a = &net->architecture;
    for (size_t i = 0; i < a->n_layers; i++) {
        const struct layer *layer = &a->layers[i];
        float *parameters = net->parameters + layer->parameters_at;
        fill(parameters, layer->n_parameters, 0.0F);
        if (layer->kind == LAYER_BATCH_NORM) {
            float *state = net->state + layer->state_at;
            fill(parameters, layer->n_weights, 1.0F);
            fill(state, layer->in.channels, 0.0F);
            fill(state + layer->in.channels, layer->in.channels, 1.0F);
        } else {
            draw_weights(layer, seed, i, parameters);
        }
    }
}

/* --- Accessors --- */

const struct architecture *network_architecture(const struct network *net)
{
    return &net->architecture;
}

float *network_parameters(struct network *net)
{
    return net->parameters;
}

float *network_state(struct network *net)
{
    return net->state;
}

size_t network_n_parameters(const struct network *net)
{
    return net->architecture.n_parameters;
}

size_t network_n_state(const struct network *net)
{
    return net->architecture.n_state;
}

/* The layer whose output is the last hidden one; n_layers: none. */
static size_t last_hidden(const struct architecture *a)
{
    for (size_t i = a->n_layers; i > 0; i--) {
        if (a->layers[i - 1].is_rectified) {
            return i - 1;
        }
    }
    return a->n_layers;
}

const float *network_hidden(const struct network *net)
{
    const size_t i = last_hidden(&net->architecture);
    return i < net->architecture.n_layers ? net->values[i + 1] : NULL;
}

size_t network_hidden_dim(const struct network *net)
{
    const size_t i = last_hidden(&net->architecture);
    return i < net->architecture.n_layers ? layer_shape_size(&net->architecture.layers[i].out) : 0;
}

/* --- Passes --- */

static struct layer_pass pass_of(struct network *net, size_t i, bool is_training)
{
    const struct layer *layer = &net->architecture.layers[i];
    return (struct layer_pass){.layer = layer,
                               .linalg = net->linalg,
                               .team = net->team,
                               .is_training = is_training,
                               .n = net->n,
                               .parameters = net->parameters + layer->parameters_at,
                               .state = net->state + layer->state_at,
                               .memory = net->memory[i],
                               .in = net->values[i],
                               .out = net->values[i + 1],
                               .scratch = net->scratch,
                               .scratch_len = net->scratch_len};
}

static void forward(struct network *net, const float *z, size_t n, bool is_training, float *out)
{
    const struct architecture *a = &net->architecture;
    net->n = n;
    memcpy(net->values[0], z, n * a->in_dim * sizeof *z);
    for (size_t i = 0; i < a->n_layers; i++) {
        struct layer_pass pass = pass_of(net, i, is_training);
        layer_class_of(pass.layer)->forward(&pass);
    }
    memcpy(out, net->values[a->n_layers], n * a->out_dim * sizeof *out);
}

void network_forward(struct network *net, const float *z, size_t n, enum network_mode mode,
                     float *out)
{
    const struct architecture *a = &net->architecture;
    for (size_t at = 0; at < n; at += net->max_batch) {
        const size_t left = n - at, part = left < net->max_batch ? left : net->max_batch;
        forward(net, z + at * a->in_dim, part, mode == NETWORK_TRAIN, out + at * a->out_dim);
    }
}

void network_backward(struct network *net, const float *d_out, float *gradient)
{
    const struct architecture *a = &net->architecture;
    float *here = net->differences[0], *before = net->differences[1];
    memcpy(here, d_out, net->n * a->out_dim * sizeof *d_out);
    for (size_t i = a->n_layers; i > 0; i--) {
        struct layer_pass pass = pass_of(net, i - 1, true);
        const struct layer_class *class = layer_class_of(pass.layer);
        pass.gradient = gradient + pass.layer->parameters_at;
        pass.d_out = here;
        pass.d_in = i == 1 ? NULL : class->is_in_place ? here : before;
        class->backward(&pass);
        if (!class->is_in_place) {
            float *spare = here;
            here = before;
            before = spare;
        }
    }
}
