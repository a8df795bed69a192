#include "generator/onnx_graph.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* ---- the tensors of a layer ---- */

/* A tensor and its position in the network. The network stores n_outer matrices (n_pixels,
 * n_channels), ONNX their transposes. */
struct part {
    const char *suffix;
    float *at;
    size_t n_outer, n_pixels, n_channels;
    int64_t dims[4];
    size_t n_dims;
};

#define PARTS_MAX 4

static size_t n_pixels(const struct layer_shape *shape)
{
    return shape->height * shape->width;
}

static size_t part_size(const struct part *part)
{
    return part->n_outer * part->n_pixels * part->n_channels;
}

static struct part vector_part(const char *suffix, float *at, size_t n)
{
    return (struct part){suffix, at, 1, 1, n, {(int64_t)n}, 1};
}

static struct part weights_part(const struct layer *l, float *at)
{
    const int64_t in = (int64_t)l->in.channels, out = (int64_t)l->out.channels;
    if (l->kind == LAYER_CONV_TRANSPOSE) {
        const int64_t k = (int64_t)l->kernel;
        return (struct part){
            ".weight",       at, l->in.channels, l->kernel * l->kernel, l->out.channels,
            {in, out, k, k}, 4};
    }
    if (l->kind == LAYER_RESIZE_CONV) {
        const int64_t k = (int64_t)l->kernel;
        return (struct part){
            ".weight",       at, 1, l->in.channels * l->kernel * l->kernel, l->out.channels,
            {out, in, k, k}, 4};
    }
    return (struct part){".weight",
                         at,
                         l->in.channels,
                         n_pixels(&l->out),
                         l->out.channels,
                         {in, (int64_t)layer_shape_size(&l->out)},
                         2};
}

static size_t parts_of(const struct layer *l, float *parameters, float *state,
                       struct part parts[PARTS_MAX])
{
    float *p = parameters + l->parameters_at, *s = state + l->state_at;
    const size_t c = l->in.channels;
    if (l->kind == LAYER_BOUND) {
        return 0;
    }
    if (l->kind == LAYER_BATCH_NORM) {
        parts[0] = vector_part(".scale", p, c);
        parts[1] = vector_part(".offset", p + c, c);
        parts[2] = vector_part(".mean", s, c);
        parts[3] = vector_part(".variance", s + c, c);
        return 4;
    }
    parts[0] = weights_part(l, p);
    if (!l->has_bias) {
        return 1;
    }
    parts[1] = vector_part(".bias", p + l->n_weights, l->n_parameters - l->n_weights);
    if (l->kind == LAYER_DENSE) { /* one bias per pixel and channel */
        parts[1].n_pixels = n_pixels(&l->out);
        parts[1].n_channels = l->out.channels;
    }
    return 2;
}

/* Transposes each of n matrices (rows, cols). */
static void transpose(size_t n, size_t rows, size_t cols, const float *from, float *to)
{
    for (size_t k = 0; k < n; k++) {
        for (size_t i = 0; i < rows; i++) {
            for (size_t j = 0; j < cols; j++) {
                to[j * rows + i] = from[i * cols + j];
            }
        }
        from += rows * cols;
        to += rows * cols;
    }
}

/* ---- the graph, node by node ---- */

struct writer {
    struct onnx_graph *out;
    float *next;         /* unused values */
    const char *current; /* output of the last node */
};

static struct dpot_onnx_node *add_node(struct writer *w, const char *op, size_t layer,
                                       const char *suffix)
{
    struct dpot_onnx_graph *graph = &w->out->graph;
    struct dpot_onnx_node *node = &w->out->nodes[graph->n_nodes];
    char *name = w->out->names[graph->n_nodes];
    (void)snprintf(name, ONNX_GRAPH_NAME_LEN, "layer%zu%s", layer + 1, suffix);
    *node = (struct dpot_onnx_node){.op = op, .name = name, .n_inputs = 1, .n_outputs = 1};
    node->inputs[0] = w->current;
    node->outputs[0] = name;
    w->current = name;
    graph->n_nodes++;
    return node;
}

static struct dpot_onnx_tensor *add_tensor(struct writer *w, struct dpot_onnx_node *node,
                                           size_t layer, const char *suffix)
{
    struct dpot_onnx_graph *graph = &w->out->graph;
    struct dpot_onnx_tensor *tensor = &w->out->tensors[graph->n_tensors];
    char *name = w->out->tensor_names[graph->n_tensors];
    (void)snprintf(name, ONNX_GRAPH_NAME_LEN, "layer%zu%s", layer + 1, suffix);
    *tensor = (struct dpot_onnx_tensor){.name = name};
    node->inputs[node->n_inputs] = name;
    node->n_inputs++;
    graph->n_tensors++;
    return tensor;
}

static void add_part(struct writer *w, struct dpot_onnx_node *node, size_t layer,
                     const struct part *part)
{
    struct dpot_onnx_tensor *tensor = add_tensor(w, node, layer, part->suffix);
    transpose(part->n_outer, part->n_pixels, part->n_channels, part->at, w->next);
    memcpy(tensor->dims, part->dims, sizeof part->dims);
    tensor->n_dims = part->n_dims;
    tensor->n_values = part_size(part);
    tensor->floats = w->next;
    w->next += tensor->n_values;
}

static void add_number(struct writer *w, struct dpot_onnx_node *node, size_t layer,
                       const char *suffix, float value)
{
    struct dpot_onnx_tensor *tensor = add_tensor(w, node, layer, suffix);
    *w->next = value;
    tensor->dims[0] = 1;
    tensor->n_dims = 1;
    tensor->n_values = 1;
    tensor->floats = w->next;
    w->next++;
}

static void add_reshape(struct writer *w, size_t layer, const int64_t *shape, size_t n)
{
    struct dpot_onnx_node *node = add_node(w, "Reshape", layer, ".reshaped");
    struct dpot_onnx_tensor *tensor = add_tensor(w, node, layer, ".shape");
    int64_t *copy = w->out->shapes[w->out->n_shapes];
    memcpy(copy, shape, n * sizeof *copy);
    w->out->n_shapes++;
    tensor->dims[0] = (int64_t)n;
    tensor->n_dims = 1;
    tensor->n_values = n;
    tensor->ints = copy;
}

/* Transposed convolutions: kernel 4x4, stride 2, padding 1 on every side. */
static const int64_t four[2] = {4, 4}, two[2] = {2, 2}, ones[4] = {1, 1, 1, 1};
static const struct dpot_onnx_attribute transposed_attributes[] = {
    {.name = "kernel_shape", .type = DPOT_ONNX_INTS, .ints = four, .n_ints = 2},
    {.name = "pads", .type = DPOT_ONNX_INTS, .ints = ones, .n_ints = 4},
    {.name = "strides", .type = DPOT_ONNX_INTS, .ints = two, .n_ints = 2},
};
/* Resize convolutions: linear interpolation as a transposed convolution of each channel with fixed
 * weights, whose output has one more pixel on every side; then kernel 5x5, stride 1, padding 1. */
#define TAPS 4
static const float taps[TAPS] = {0.25F, 0.75F, 0.75F, 0.25F};
static const int64_t five[2] = {5, 5};
static const struct dpot_onnx_attribute conv_attributes[] = {
    {.name = "kernel_shape", .type = DPOT_ONNX_INTS, .ints = five, .n_ints = 2},
    {.name = "pads", .type = DPOT_ONNX_INTS, .ints = ones, .n_ints = 4},
};
static const struct dpot_onnx_attribute norm_attributes[] = {
    {.name = "epsilon", .type = DPOT_ONNX_FLOAT, .f = BATCH_NORM_FLOOR},
};

static void add_bound(struct writer *w, size_t i, const struct layer *l)
{
    const bool is_tanh = l->bound == NETWORK_TANH;
    const float width = l->hi - l->lo, half = 0.5F * width;
    (void)add_node(w, is_tanh ? "Tanh" : "Sigmoid", i, "");
    struct dpot_onnx_node *scale = add_node(w, "Mul", i, ".scaled");
    add_number(w, scale, i, ".factor", is_tanh ? half : width);
    struct dpot_onnx_node *move = add_node(w, "Add", i, ".moved");
    add_number(w, move, i, ".summand", is_tanh ? l->lo + half : l->lo);
}

/* Number of weights of the enlargement in this layer. */
static size_t n_enlarging(const struct layer *l)
{
    return l->kind == LAYER_RESIZE_CONV ? l->in.channels * TAPS * TAPS : 0;
}

static void add_enlargement(struct writer *w, size_t i, const struct layer *l)
{
    struct dpot_onnx_attribute *attributes = w->out->enlargements[i];
    struct dpot_onnx_node *node = add_node(w, "ConvTranspose", i, ".enlarged");
    struct dpot_onnx_tensor *tensor = add_tensor(w, node, i, ".taps");
    const size_t n = n_enlarging(l);
    attributes[0] = (struct dpot_onnx_attribute){
        .name = "group", .type = DPOT_ONNX_INT, .i = (int64_t)l->in.channels};
    attributes[1] = transposed_attributes[0];
    attributes[2] = (struct dpot_onnx_attribute){
        .name = "strides", .type = DPOT_ONNX_INTS, .ints = two, .n_ints = 2};
    node->attributes = attributes;
    node->n_attributes = ONNX_GRAPH_ENLARGEMENT;
    for (size_t k = 0; k < n; k++) {
        w->next[k] = taps[k / TAPS % TAPS] * taps[k % TAPS];
    }
    tensor->dims[0] = (int64_t)l->in.channels;
    tensor->dims[1] = 1;
    tensor->dims[2] = tensor->dims[3] = TAPS;
    tensor->n_dims = 4;
    tensor->n_values = n;
    tensor->floats = w->next;
    w->next += n;
}

static const char *op_of(enum layer_kind kind)
{
    switch (kind) {
    case LAYER_DENSE:
        return "Gemm";
    case LAYER_BATCH_NORM:
        return "BatchNormalization";
    case LAYER_CONV:
    case LAYER_RESIZE_CONV:
        return "Conv";
    case LAYER_CONV_TRANSPOSE:
    case LAYER_BOUND:
        break;
    }
    return "ConvTranspose";
}

static void add_layer(struct writer *w, struct network *net, size_t i)
{
    const struct layer *l = &network_architecture(net)->layers[i];
    struct part parts[PARTS_MAX];
    const size_t n_parts = parts_of(l, network_parameters(net), network_state(net), parts);
    if (l->kind == LAYER_BOUND) {
        add_bound(w, i, l);
        return;
    }
    if (l->kind == LAYER_RESIZE_CONV) {
        add_enlargement(w, i, l);
    }
    struct dpot_onnx_node *node = add_node(w, op_of(l->kind), i, "");
    for (size_t p = 0; p < n_parts; p++) {
        add_part(w, node, i, &parts[p]);
    }
    if (l->kind == LAYER_CONV_TRANSPOSE) {
        node->attributes = transposed_attributes;
        node->n_attributes = sizeof transposed_attributes / sizeof transposed_attributes[0];
    } else if (l->kind == LAYER_RESIZE_CONV) {
        node->attributes = conv_attributes;
        node->n_attributes = sizeof conv_attributes / sizeof conv_attributes[0];
    } else if (l->kind == LAYER_BATCH_NORM) {
        node->attributes = norm_attributes;
        node->n_attributes = 1;
    } else if (n_pixels(&l->out) > 1) {
        const int64_t shape[4] = {-1, (int64_t)l->out.channels, (int64_t)l->out.height,
                                  (int64_t)l->out.width};
        add_reshape(w, i, shape, 4);
    }
    if (l->is_rectified) {
        (void)add_node(w, "Relu", i, ".relu");
    }
}

/* Makes the last node produce "x", with one point per row. */
static void add_ends(struct writer *w, const struct architecture *a)
{
    struct onnx_graph *out = w->out;
    const struct layer *last = &a->layers[a->n_layers - 1];
    const int64_t latent_dim = (int64_t)a->in_dim, dim = (int64_t)a->out_dim;
    if (n_pixels(&last->out) > 1) {
        const int64_t shape[2] = {-1, dim};
        add_reshape(w, a->n_layers - 1, shape, 2);
    }
    out->nodes[out->graph.n_nodes - 1].outputs[0] = "x";
    out->input = (struct dpot_onnx_end){"z", {0, latent_dim}, 2};
    out->output = (struct dpot_onnx_end){"x", {0, dim}, 2};
    out->graph.inputs = &out->input;
    out->graph.n_inputs = 1;
    out->graph.outputs = &out->output;
    out->graph.n_outputs = 1;
}

/* Whether the nodes above can express the network: images come from the convolutions above and end
 * with one channel. */
static bool is_generator(const struct architecture *a)
{
    for (size_t i = 0; i < a->n_layers; i++) {
        const struct layer *l = &a->layers[i];
        const bool is_four = l->kernel == 4 && l->stride == 2 && l->padding == 1;
        const bool is_five = l->kernel == 5 && l->stride == 2 && l->padding == 2;
        if (l->kind == LAYER_CONV || (l->kind == LAYER_CONV_TRANSPOSE && !is_four) ||
            (l->kind == LAYER_RESIZE_CONV && !is_five)) {
            return false;
        }
    }
    const struct layer_shape *out = &a->layers[a->n_layers - 1].out;
    return n_pixels(out) == 1 || out->channels == 1;
}

dpot_status onnx_graph_check(const struct architecture *architecture, struct dpot_error *error)
{
    return is_generator(architecture)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE,
                                "%s is not a generator: mlp, resize28 and dcgan28 can be saved",
                                architecture->name);
}

size_t onnx_graph_n_values(const struct architecture *architecture)
{
    size_t n = architecture->n_parameters + architecture->n_state;
    for (size_t i = 0; i < architecture->n_layers; i++) {
        n += n_enlarging(&architecture->layers[i]) +
             (architecture->layers[i].kind == LAYER_BOUND ? 2 : 0);
    }
    return n;
}

dpot_status onnx_graph_init(struct onnx_graph *out, struct network *net,
                            const struct dpot_allocator *allocator, struct dpot_error *error)
{
    const struct architecture *a = network_architecture(net);
    memset(out, 0, sizeof *out);
    const dpot_status status = onnx_graph_check(a, error);
    if (status != DPOT_OK) {
        return status;
    }
    out->allocator = allocator;
    out->n_values = onnx_graph_n_values(a);
    out->values = dpot_alloc_array(allocator, out->n_values, sizeof *out->values);
    if (!out->values) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory to save the model");
    }
    struct writer writer = {out, out->values, "z"};
    for (size_t i = 0; i < a->n_layers; i++) {
        add_layer(&writer, net, i);
    }
    add_ends(&writer, a);
    out->graph.nodes = out->nodes;
    out->graph.tensors = out->tensors;
    return DPOT_OK;
}

void onnx_graph_release(struct onnx_graph *graph)
{
    dpot_free_array(graph->allocator, graph->values, graph->n_values, sizeof *graph->values);
    memset(graph, 0, sizeof *graph);
}

/* ---- reading ---- */

/* The next tensor of float32 values. */
static const struct dpot_onnx_tensor *next_floats(const struct dpot_onnx_graph *graph, size_t *at)
{
    while (*at < graph->n_tensors && !graph->tensors[*at].floats) {
        (*at)++;
    }
    return *at < graph->n_tensors ? &graph->tensors[(*at)++] : NULL;
}

static dpot_status read_part(const struct dpot_onnx_tensor *tensor, const struct part *part,
                             size_t layer, struct dpot_error *error)
{
    if (!tensor || tensor->n_values != part_size(part)) {
        return dpot_error_set(
            error, DPOT_ERR_SHAPE,
            "layer%zu%s has %zu values in the model, %zu by its architecture: the "
            "file is damaged",
            layer + 1, part->suffix, tensor ? tensor->n_values : 0, part_size(part));
    }
    for (size_t i = 0; i < tensor->n_values; i++) {
        if (!isfinite(tensor->floats[i])) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "layer%zu%s of the model has a value that is not finite: train "
                                  "it again, with a smaller learning rate perhaps",
                                  layer + 1, part->suffix);
        }
    }
    transpose(part->n_outer, part->n_channels, part->n_pixels, tensor->floats, part->at);
    return DPOT_OK;
}

dpot_status onnx_graph_read(const struct dpot_onnx_graph *graph, struct network *net,
                            struct dpot_error *error)
{
    const struct architecture *a = network_architecture(net);
    size_t at = 0;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; i < a->n_layers; i++) {
        struct part parts[PARTS_MAX];
        if (a->layers[i].kind == LAYER_RESIZE_CONV) {
            (void)next_floats(graph, &at); /* skips the taps */
        }
        const size_t n =
            parts_of(&a->layers[i], network_parameters(net), network_state(net), parts);
        for (size_t p = 0; p < n && status == DPOT_OK; p++) {
            status = read_part(next_floats(graph, &at), &parts[p], i, error);
        }
    }
    return status;
}
