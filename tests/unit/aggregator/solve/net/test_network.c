/* Forward and backward passes against a naive network in double precision. */
#include "solve/learn/network.h"

#include "case.h"
#include "reference.h"
#include "solve/run/draw.h"
#include "support/allocator.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static void *numbers(size_t n, size_t size)
{
    void *array = calloc(n, size);
    cr_assert_not_null(array);
    return array;
}

static double *to_double(const float *x, size_t n)
{
    double *out = numbers(n, sizeof *out);
    for (size_t i = 0; i < n; i++) {
        out[i] = (double)x[i];
    }
    return out;
}

/* One case with its data, in both precisions. */
struct trial {
    const struct net_case *c;
    struct network *net;
    float *z, *out, *d_out, *gradient;
    double *wide_z, *wide_parameters, *wide_out;
};

static void trial_open(struct trial *t, const struct net_case *c,
                       const struct dpot_linalg_f32 *linalg, struct team *team)
{
    t->c = c;
    t->net = net_case_open(c, linalg, team);
    t->z = numbers(c->n * c->latent_dim, sizeof(float));
    t->out = numbers(c->n * c->dim, sizeof(float));
    t->d_out = numbers(c->n * c->dim, sizeof(float));
    t->gradient = numbers(network_n_parameters(t->net), sizeof(float));
    net_case_fill(1, c->n * c->latent_dim, t->z);
    net_case_fill(2, c->n * c->dim, t->d_out);
    t->wide_z = to_double(t->z, c->n * c->latent_dim);
    t->wide_parameters = to_double(network_parameters(t->net), network_n_parameters(t->net));
    t->wide_out = numbers(c->n * c->dim, sizeof(double));
}

static void trial_close(struct trial *t)
{
    network_free(t->net);
    free(t->z);
    free(t->out);
    free(t->d_out);
    free(t->gradient);
    free(t->wide_z);
    free(t->wide_parameters);
    free(t->wide_out);
}

static void check_forward(struct trial *t, enum network_mode mode)
{
    const size_t n = t->c->n * t->c->dim;
    double scale = 0;
    /* The reference first: a training pass moves the state. */
    reference_forward(network_architecture(t->net), t->wide_parameters, network_state(t->net),
                      mode == NETWORK_TRAIN, t->c->n, t->wide_z, t->wide_out);
    network_forward(t->net, t->z, t->c->n, mode, t->out);
    for (size_t i = 0; i < n; i++) {
        scale = fmax(scale, fabs(t->wide_out[i]));
    }
    cr_assert_gt(scale, 0.1);
    for (size_t i = 0; i < n; i++) {
        cr_assert_float_eq((double)t->out[i], t->wide_out[i], 5e-6 * scale, "%s, %zu: %g, not %g",
                           t->c->architecture, i, (double)t->out[i], t->wide_out[i]);
    }
}

Test(network, agrees_with_direct_convolutions_and_sums_in_double_precision)
{
    const struct dpot_linalg_f32 *const backends[2] = {&dpot_linalg_f32_portable,
                                                       dpot_linalg_f32_openblas()};
    for (size_t i = 0; i < 2 * N_NET_CASES; i++) {
        struct trial t;
        trial_open(&t, &net_cases[i / 2], backends[i % 2], NULL);
        check_forward(&t, NETWORK_INFER);
        check_forward(&t, NETWORK_TRAIN);
        trial_close(&t);
    }
}

/* The loss whose gradient network_backward gives. */
static double reference_loss(struct trial *t)
{
    double loss = 0;
    reference_forward(network_architecture(t->net), t->wide_parameters, network_state(t->net), true,
                      t->c->n, t->wide_z, t->wide_out);
    for (size_t i = 0; i < t->c->n * t->c->dim; i++) {
        loss += (double)t->d_out[i] * t->wide_out[i];
    }
    return loss;
}

static double difference_quotient(struct trial *t, size_t i)
{
    const double step = 1e-8, value = t->wide_parameters[i];
    t->wide_parameters[i] = value + step;
    const double above = reference_loss(t);
    t->wide_parameters[i] = value - step;
    const double below = reference_loss(t);
    t->wide_parameters[i] = value;
    return (above - below) / (2 * step);
}

/* Every layer's parameters, at most 40 of each, spread over it: errors relative to the largest
 * derivative in the layer. */
static void check_layer_gradient(struct trial *t, const struct layer *layer)
{
    const size_t n = layer->n_parameters, stride = 1 + n / 40;
    double scale = 0;
    for (size_t i = 0; i < n; i++) {
        scale = fmax(scale, fabs((double)t->gradient[layer->parameters_at + i]));
    }
    for (size_t i = 0; i < n; i += stride) {
        const size_t p = layer->parameters_at + i;
        const double expected = difference_quotient(t, p);
        cr_assert_float_eq((double)t->gradient[p], expected, 1e-4 * scale,
                           "%s, kind %d, %zu: %g, not %g", t->c->architecture, (int)layer->kind, i,
                           (double)t->gradient[p], expected);
    }
}

Test(network, gradient_is_the_difference_quotient_of_the_loss_in_every_kind_of_layer)
{
    bool is_seen[LAYER_RESIZE_CONV + 1] = {false};
    for (size_t i = 0; i < N_NET_CASES; i++) {
        struct trial t;
        trial_open(&t, &net_cases[i], dpot_linalg_f32_openblas(), NULL);
        network_forward(t.net, t.z, t.c->n, NETWORK_TRAIN, t.out);
        network_backward(t.net, t.d_out, t.gradient);
        const struct architecture *a = network_architecture(t.net);
        for (size_t l = 0; l < a->n_layers; l++) {
            is_seen[a->layers[l].kind] = true;
            check_layer_gradient(&t, &a->layers[l]);
        }
        trial_close(&t);
    }
    for (size_t k = 0; k <= LAYER_RESIZE_CONV; k++) {
        cr_assert(is_seen[k]);
    }
}

static void train_some(struct trial *t)
{
    float *parameters = network_parameters(t->net);
    for (int step = 0; step < 3; step++) {
        network_forward(t->net, t->z, t->c->n, NETWORK_TRAIN, t->out);
        network_backward(t->net, t->d_out, t->gradient);
        for (size_t i = 0; i < network_n_parameters(t->net); i++) {
            parameters[i] -= 1e-4F * t->gradient[i];
        }
    }
}

Test(network, gives_the_same_bits_on_any_number_of_threads)
{
    for (size_t i = 0; i < N_NET_CASES; i++) {
        for (size_t n_threads = 2; n_threads <= 3; n_threads++) {
            struct trial alone, shared;
            struct team *team = NULL;
            cr_assert_eq(team_new(n_threads, &team), DPOT_OK);
            trial_open(&alone, &net_cases[i], dpot_linalg_f32_openblas(), NULL);
            trial_open(&shared, &net_cases[i], dpot_linalg_f32_openblas(), team);
            train_some(&alone);
            train_some(&shared);
            cr_assert_arr_eq(alone.out, shared.out, alone.c->n * alone.c->dim * sizeof(float));
            cr_assert_arr_eq(network_parameters(alone.net), network_parameters(shared.net),
                             network_n_parameters(alone.net) * sizeof(float));
            cr_assert_arr_eq(network_state(alone.net), network_state(shared.net),
                             network_n_state(alone.net) * sizeof(float));
            trial_close(&alone);
            trial_close(&shared);
            team_free(team);
        }
    }
}

Test(network, backends_agree_on_the_gradient_within_rounding)
{
    for (size_t i = 0; i < N_NET_CASES; i++) {
        struct trial a, b;
        double scale = 0;
        trial_open(&a, &net_cases[i], dpot_linalg_f32_openblas(), NULL);
        trial_open(&b, &net_cases[i], NULL, NULL);
        network_forward(a.net, a.z, a.c->n, NETWORK_TRAIN, a.out);
        network_forward(b.net, b.z, b.c->n, NETWORK_TRAIN, b.out);
        network_backward(a.net, a.d_out, a.gradient);
        network_backward(b.net, b.d_out, b.gradient);
        for (size_t p = 0; p < network_n_parameters(a.net); p++) {
            scale = fmax(scale, fabs((double)a.gradient[p]));
        }
        for (size_t p = 0; p < network_n_parameters(a.net); p++) {
            cr_assert_float_eq((double)a.gradient[p], (double)b.gradient[p], 1e-4 * scale);
        }
        trial_close(&a);
        trial_close(&b);
    }
}

Test(network, infers_any_number_of_points_independently)
{
    const struct net_case *c = &net_cases[3];
    struct network *net = net_case_open(c, dpot_linalg_f32_openblas(), NULL);
    float z[8 * 5], one[784], *all = numbers(8 * 784, sizeof *all);
    net_case_fill(3, 8 * 5, z);
    network_forward(net, z, 8, NETWORK_INFER, all); /* more than max_batch */
    for (size_t i = 0; i < 8; i++) {
        network_forward(net, z + 5 * i, 1, NETWORK_INFER, one);
        for (size_t j = 0; j < 784; j++) {
            cr_assert_float_eq((double)one[j], (double)all[784 * i + j], 1e-5);
        }
    }
    free(all);
    network_free(net);
}

Test(network, running_state_of_batch_norm_approaches_the_batch)
{
    struct trial t;
    trial_open(&t, &net_cases[4], dpot_linalg_f32_openblas(), NULL);
    float *trained = numbers(t.c->n * 784, sizeof *trained);
    for (int i = 0; i < 150; i++) {
        network_forward(t.net, t.z, t.c->n, NETWORK_TRAIN, trained);
    }
    network_forward(t.net, t.z, t.c->n, NETWORK_INFER, t.out);
    for (size_t i = 0; i < t.c->n * 784; i++) {
        /* The running variance is the unbiased one: N / (N - 1) of the batch's, N = 37 * 49. */
        cr_assert_float_eq((double)t.out[i], (double)trained[i], 2e-3);
    }
    free(trained);
    trial_close(&t);
}

Test(network, bounded_output_stays_inside_its_range)
{
    struct trial t;
    trial_open(&t, &net_cases[1], NULL, NULL);
    for (size_t i = 0; i < t.c->n * t.c->latent_dim; i++) {
        t.z[i] *= 1e4F;
    }
    network_forward(t.net, t.z, t.c->n, NETWORK_INFER, t.out);
    for (size_t i = 0; i < t.c->n * t.c->dim; i++) {
        cr_assert(t.out[i] >= -0.5F && t.out[i] <= 2.0F);
    }
    trial_close(&t);
}

Test(network, starts_with_activations_near_one_and_from_the_seed_alone)
{
    const struct network_config config = {
        .architecture = "mlp:256,256,256", .latent_dim = 16, .dim = 64, .max_batch = 500};
    struct network *a = NULL, *b = NULL;
    float *z = numbers(500 * 16, sizeof *z), *out = numbers(500 * 64, sizeof *out);
    double square = 0;
    cr_assert_eq(network_new(&config, &a, NULL), DPOT_OK);
    cr_assert_eq(network_new(&config, &b, NULL), DPOT_OK);
    network_initialise(a, 1);
    network_initialise(b, 1);
    cr_assert_arr_eq(network_parameters(a), network_parameters(b),
                     network_n_parameters(a) * sizeof(float));
    network_initialise(b, 2);
    cr_assert_arr_neq(network_parameters(a), network_parameters(b),
                      network_n_parameters(a) * sizeof(float));
    latent_draw(1, 0, 500, 16, z);
    network_forward(a, z, 500, NETWORK_INFER, out);
    for (size_t i = 0; i < 500 * 64; i++) {
        square += (double)(out[i] * out[i]) / (500 * 64);
    }
    cr_assert(square > 0.5 && square < 2, "%g", square);
    cr_assert_eq(network_hidden_dim(a), 256);
    cr_assert_not_null(network_hidden(a));
    network_free(a);
    network_free(b);
    free(z);
    free(out);
}

static void check_refused(struct network_config config, dpot_status expected, const char *says)
{
    struct network *net = NULL;
    struct dpot_error error = {""};
    cr_assert_eq(network_new(&config, &net, &error), expected, "%s: %s", config.architecture,
                 error.text);
    cr_assert_null(net);
    cr_assert_not_null(strstr(error.text, says), "%s", error.text);
}

Test(network, refuses_invalid_networks_with_the_remedy)
{
    const struct network_config good = {
        .architecture = "mlp:8", .latent_dim = 2, .dim = 784, .max_batch = 4};
    static const char *const names[][2] = {{"mlp:", "widths"},
                                           {"mlp:0", "widths"},
                                           {"mlp:8,", "widths"},
                                           {"mlp:8x", "widths"},
                                           {"mlp:1,2,3,4,5,6,7,8,9", "at most 8"},
                                           {"mlp:16385", "16384"},
                                           {"mlp:99999999999999999999999", "widths"},
                                           {"mlpx", "not known"},
                                           {"", "not known"},
                                           {"dcgan28:3", "even"},
                                           {"dcgan28:4,4", "one even width"},
                                           {"conv28:1,2", "three widths"},
                                           {"conv28:1,2,3", "784"}};
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        struct network_config config = good;
        config.architecture = names[i][0];
        check_refused(config, DPOT_ERR_RANGE, names[i][1]);
    }
    struct network_config config = good;
    config.architecture = "dcgan28";
    config.dim = 3;
    check_refused(config, DPOT_ERR_RANGE, "the data have 3 coordinates");
    config = good;
    config.dim = 0;
    check_refused(config, DPOT_ERR_RANGE, "from 2 to 0 coordinates");
    config = good;
    config.max_batch = 0;
    check_refused(config, DPOT_ERR_RANGE, "batch of 0");
    config = good;
    config.bound = NETWORK_TANH;
    config.lo = 1;
    check_refused(config, DPOT_ERR_RANGE, "the smaller first");
    config.hi = INFINITY;
    check_refused(config, DPOT_ERR_RANGE, "finite");
    config = good;
    config.architecture = "dcgan28";
    config.max_batch = NETWORK_BATCH_MAX;
    check_refused(config, DPOT_ERR_TOO_LARGE, "smaller batch");
    config.architecture = "mlp:16384,16384,16384";
    config.max_batch = 1;
    config.dim = 1u << 20;
    check_refused(config, DPOT_ERR_RANGE, "parameters");
}

Test(network, leaks_nothing_when_memory_runs_out)
{
    struct test_allocator heap;
    test_allocator_init(&heap);
    const struct network_config config = {.architecture = "dcgan28:4",
                                          .latent_dim = 2,
                                          .dim = 784,
                                          .max_batch = 4,
                                          .allocator = &heap.allocator};
    struct network *net = NULL;
    for (size_t at = 1; at <= 2; at++) {
        test_allocator_fail_at(&heap, at);
        cr_assert_eq(network_new(&config, &net, NULL), DPOT_ERR_MEMORY);
        cr_assert_eq(heap.bytes, 0);
    }
    test_allocator_fail_at(&heap, 0);
    cr_assert_eq(network_new(&config, &net, NULL), DPOT_OK);
    float z[4 * 2] = {0}, *out = numbers(4 * 784, sizeof *out);
    float *gradient = numbers(network_n_parameters(net), sizeof *gradient);
    test_allocator_fail_at(&heap, 1); /* passes allocate nothing */
    network_forward(net, z, 4, NETWORK_TRAIN, out);
    network_backward(net, out, gradient);
    network_free(net);
    cr_assert_eq(heap.bytes, 0);
    free(out);
    free(gradient);
}
