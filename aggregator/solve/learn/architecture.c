#include "solve/learn/architecture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define WIDTHS_MAX 8 /* numbers in a name */

/* The numbers after the colon. */
struct widths {
    size_t n;
    size_t at[WIDTHS_MAX];
};

size_t layer_shape_size(const struct layer_shape *shape)
{
    return shape->height * shape->width * shape->channels;
}

static struct layer_shape vector_shape(size_t size)
{
    return (struct layer_shape){1, 1, size};
}

/* --- Adding layers --- */

/* The input shape of the next layer. */
static struct layer_shape shape_so_far(const struct architecture *a)
{
    return a->n_layers == 0 ? vector_shape(a->in_dim) : a->layers[a->n_layers - 1].out;
}

static struct layer *add_layer(struct architecture *a, enum layer_kind kind, struct layer_shape out)
{
    struct layer *layer = &a->layers[a->n_layers];
    *layer = (struct layer){.kind = kind, .in = shape_so_far(a), .out = out};
    a->n_layers++;
    return layer;
}

/* Sets the layer's offsets in the flat vectors. */
static void place(struct architecture *a, struct layer *layer, size_t n_weights, size_t n_biases)
{
    layer->has_bias = n_biases > 0;
    layer->n_weights = n_weights;
    layer->n_parameters = n_weights + n_biases;
    layer->parameters_at = a->n_parameters;
    layer->state_at = a->n_state;
    a->n_parameters += layer->n_parameters;
    a->n_state += layer->n_state;
}

static struct layer *add_dense(struct architecture *a, struct layer_shape out, bool has_bias)
{
    struct layer *layer = add_layer(a, LAYER_DENSE, out);
    const size_t n_in = layer_shape_size(&layer->in), n_out = layer_shape_size(&out);
    layer->in = vector_shape(n_in); /* images are flattened */
    place(a, layer, n_in * n_out, has_bias ? n_out : 0);
    return layer;
}

static struct layer *add_conv(struct architecture *a, enum layer_kind kind, size_t kernel,
                              struct layer_shape out, bool has_bias)
{
    struct layer *layer = add_layer(a, kind, out);
    layer->kernel = kernel;
    layer->stride = 2; /* for a resize convolution: its upsampling factor */
    layer->padding = (kernel - 1) / 2;
    place(a, layer, layer->in.channels * kernel * kernel * out.channels,
          has_bias ? out.channels : 0);
    return layer;
}

static void add_rectified_batch_norm(struct architecture *a)
{
    const struct layer_shape shape = shape_so_far(a);
    struct layer *layer = add_layer(a, LAYER_BATCH_NORM, shape);
    layer->is_rectified = true;
    layer->n_state = 2 * shape.channels;
    place(a, layer, shape.channels, shape.channels);
}

static void add_bound(struct architecture *a, enum network_bound bound, float lo, float hi)
{
    if (bound != NETWORK_UNBOUNDED) {
        struct layer *layer = add_layer(a, LAYER_BOUND, shape_so_far(a));
        layer->bound = bound;
        layer->lo = lo;
        layer->hi = hi;
        place(a, layer, 0, 0);
    }
}

/* --- The families --- */

static dpot_status build_mlp(struct architecture *a, const struct widths *widths,
                             struct dpot_error *error)
{
    (void)error;
    for (size_t i = 0; i < widths->n; i++) {
        add_dense(a, vector_shape(widths->at[i]), true)->is_rectified = true;
    }
    (void)add_dense(a, vector_shape(a->out_dim), true);
    return DPOT_OK;
}

#define IMAGE_SIDE 28
#define IMAGE_SIZE ((size_t)IMAGE_SIDE * IMAGE_SIDE)
#define DCGAN_FULL_WIDTH 128

/* An upsampling layer with batch norm and ReLU. No bias: batch norm would cancel it. */
static void add_enlargement(struct architecture *a, enum layer_kind kind, size_t kernel,
                            struct layer_shape out)
{
    (void)add_conv(a, kind, kernel, out, false);
    add_rectified_batch_norm(a);
}

static dpot_status check_image(const struct architecture *a, const char *family,
                               struct dpot_error *error)
{
    return a->out_dim == IMAGE_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE,
                                "%s makes images of 28x28 = 784 pixels, the data have %zu "
                                "coordinates: use mlp:256,256, say",
                                family, a->out_dim);
}

static dpot_status build_dcgan28(struct architecture *a, const struct widths *widths,
                                 struct dpot_error *error)
{
    const size_t width = widths->n == 0 ? DCGAN_FULL_WIDTH : widths->at[0];
    if (widths->n > 1 || width < 2 || width % 2 != 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "dcgan28 takes one even width: dcgan28:32 or dcgan28:128, say");
    }
    (void)add_dense(a, (struct layer_shape){7, 7, width}, false);
    add_rectified_batch_norm(a);
    add_enlargement(a, LAYER_CONV_TRANSPOSE, 4, (struct layer_shape){14, 14, width / 2});
    (void)add_conv(a, LAYER_CONV_TRANSPOSE, 4, (struct layer_shape){IMAGE_SIDE, IMAGE_SIDE, 1},
                   true);
    return check_image(a, "dcgan28", error);
}

/* Widths: channels at 7x7 and 14x14, then dense layers before them. */
static dpot_status build_resize28(struct architecture *a, const struct widths *widths,
                                  struct dpot_error *error)
{
    if (widths->n < 2) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "resize28 takes the channels at 7x7 and at 14x14, and perhaps widths "
                              "of dense layers before them: resize28:32,16 or resize28:32,16,256, "
                              "say");
    }
    for (size_t i = 2; i < widths->n; i++) {
        add_dense(a, vector_shape(widths->at[i]), true)->is_rectified = true;
    }
    (void)add_dense(a, (struct layer_shape){7, 7, widths->at[0]}, false);
    add_rectified_batch_norm(a);
    add_enlargement(a, LAYER_RESIZE_CONV, 5, (struct layer_shape){14, 14, widths->at[1]});
    (void)add_conv(a, LAYER_RESIZE_CONV, 5, (struct layer_shape){IMAGE_SIDE, IMAGE_SIDE, 1}, true);
    return check_image(a, "resize28", error);
}

static dpot_status build_conv28(struct architecture *a, const struct widths *widths,
                                struct dpot_error *error)
{
    if (widths->n != 3) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "conv28 takes three widths: conv28:16,32,128, say");
    }
    if (a->in_dim != IMAGE_SIZE) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "conv28 reads images of 28x28 = 784 pixels, not of %zu: use "
                              "mlp:256,256, say",
                              a->in_dim);
    }
    const struct layer_shape first = {14, 14, widths->at[0]}, second = {7, 7, widths->at[1]};
    struct layer *layer = add_conv(a, LAYER_CONV, 5, first, true);
    layer->is_rectified = true;
    /* The input vector is an image, row by row. */
    layer->in = (struct layer_shape){IMAGE_SIDE, IMAGE_SIDE, 1};
    layer->n_weights = 25 * first.channels;
    layer->n_parameters = a->n_parameters = layer->n_weights + first.channels;
    add_conv(a, LAYER_CONV, 5, second, true)->is_rectified = true;
    add_dense(a, vector_shape(widths->at[2]), true)->is_rectified = true;
    (void)add_dense(a, vector_shape(a->out_dim), true);
    return DPOT_OK;
}

struct family {
    const char *name;
    dpot_status (*build)(struct architecture *a, const struct widths *widths,
                         struct dpot_error *error);
};

static const struct family families[] = {{"mlp", build_mlp},
                                         {"dcgan28", build_dcgan28},
                                         {"resize28", build_resize28},
                                         {"conv28", build_conv28}};

#define N_FAMILIES (sizeof families / sizeof families[0])

/* --- Reading the name --- */

/* A number up to a comma or the end; 0: none, or too large. */
static size_t read_width(const char **text)
{
    size_t value = 0;
    while (**text >= '0' && **text <= '9' && value <= ARCHITECTURE_WIDTH_MAX) {
        value = 10 * value + (size_t)(**text - '0');
        (*text)++;
    }
    return value <= ARCHITECTURE_WIDTH_MAX ? value : 0;
}

static dpot_status read_widths(const char *name, const char *text, struct widths *widths,
                               struct dpot_error *error)
{
    bool is_good = true;
    for (bool is_more = *text == ':'; is_more && is_good; is_more = *text == ',') {
        text++;
        const size_t width = read_width(&text);
        is_good = width > 0 && widths->n < WIDTHS_MAX;
        if (is_good) {
            widths->at[widths->n] = width;
            widths->n++;
        }
    }
    if (!is_good || *text != '\0') {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "architecture %.60s: after the colon come at most %d widths of 1 to "
                              "%d with commas between",
                              name, WIDTHS_MAX, ARCHITECTURE_WIDTH_MAX);
    }
    return DPOT_OK;
}

static void write_name(struct architecture *a, const char *family, const struct widths *widths)
{
    /* At most 8 + 8 * 6 characters: it fits. */
    size_t len = (size_t)snprintf(a->name, sizeof a->name, "%s", family);
    if (strcmp(family, "dcgan28") == 0 && widths->n == 0) {
        (void)snprintf(a->name, sizeof a->name, "%s:%d", family, DCGAN_FULL_WIDTH);
    }
    for (size_t i = 0; i < widths->n; i++) {
        len += (size_t)snprintf(a->name + len, sizeof a->name - len, "%c%zu", i == 0 ? ':' : ',',
                                widths->at[i]);
    }
}

static dpot_status check_ends(size_t in_dim, size_t out_dim, enum network_bound bound, float lo,
                              float hi, struct dpot_error *error)
{
    if (in_dim < 1 || in_dim > ARCHITECTURE_DIM_MAX || out_dim < 1 ||
        out_dim > ARCHITECTURE_DIM_MAX) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "a network from %zu to %zu coordinates: 1 to %u of each are possible",
                              in_dim, out_dim, ARCHITECTURE_DIM_MAX);
    }
    if (bound != NETWORK_UNBOUNDED &&
        !(isfinite(lo) && isfinite(hi) && lo < hi && isfinite(hi - lo))) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "the range of a bounded output is %g to %g: give finite numbers, the "
                              "smaller first",
                              (double)lo, (double)hi);
    }
    return DPOT_OK;
}

static dpot_status check_sizes(const struct architecture *a, struct dpot_error *error)
{
    for (size_t i = 0; i < a->n_layers; i++) {
        const struct layer *layer = &a->layers[i];
        if (layer->n_parameters > ARCHITECTURE_SIZE_MAX ||
            layer_shape_size(&layer->out) > ARCHITECTURE_SIZE_MAX) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "architecture %s: layer %zu would have %zu parameters, at most "
                                  "%u are possible: choose smaller widths",
                                  a->name, i + 1, layer->n_parameters, ARCHITECTURE_SIZE_MAX);
        }
    }
    return DPOT_OK;
}

/* The family of a name; *widths receives the numbers after the colon. */
static dpot_status read_name(const char *name, const struct family **family, struct widths *widths,
                             struct dpot_error *error)
{
    for (size_t i = 0; i < N_FAMILIES; i++) {
        const size_t len = strlen(families[i].name);
        if (strncmp(name, families[i].name, len) == 0 && (name[len] == ':' || name[len] == '\0')) {
            *family = &families[i];
            return read_widths(name, name + len, widths, error);
        }
    }
    return dpot_error_set(error, DPOT_ERR_RANGE,
                          "architecture %.60s is not known: choose mlp:256,256, say, or for images "
                          "of 28x28 resize28:32,16 or dcgan28 (generators), conv28:16,32,128 "
                          "(classifiers)",
                          name);
}

dpot_status architecture_check_name(const char *name, struct dpot_error *error)
{
    const struct family *family = NULL;
    struct widths widths = {0};
    return read_name(name, &family, &widths, error);
}

dpot_status architecture_parse(const char *name, size_t in_dim, size_t out_dim,
                               enum network_bound bound, float lo, float hi,
                               struct architecture *architecture, struct dpot_error *error)
{
    const struct family *family = NULL;
    struct widths widths = {0};
    *architecture = (struct architecture){.in_dim = in_dim, .out_dim = out_dim};
    dpot_status status = check_ends(in_dim, out_dim, bound, lo, hi, error);
    if (status == DPOT_OK) {
        status = read_name(name, &family, &widths, error);
    }
    if (status == DPOT_OK) {
        write_name(architecture, family->name, &widths);
        status = family->build(architecture, &widths, error);
    }
    if (status == DPOT_OK) {
        add_bound(architecture, bound, lo, hi);
        status = check_sizes(architecture, error);
    }
    return status;
}
