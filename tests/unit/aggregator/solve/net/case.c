#include "case.h"

#include "solve/run/draw.h"

#include <criterion/criterion.h>

const struct net_case net_cases[N_NET_CASES] = {
    {"mlp:7,300", 3, 2, NETWORK_UNBOUNDED, 35},
    {"mlp", 4, 5, NETWORK_TANH, 9},
    {"mlp:16", 2, 3, NETWORK_SIGMOID, 300},
    {"dcgan28:2", 5, 784, NETWORK_TANH, 3},
    {"dcgan28:6", 3, 784, NETWORK_UNBOUNDED, 37},
    {"resize28:3,2", 4, 784, NETWORK_TANH, 4},
    {"resize28:2,3,7,4", 3, 784, NETWORK_UNBOUNDED, 3},
    {"conv28:3,2,6", 784, 10, NETWORK_UNBOUNDED, 19},
};

struct network *net_case_open(const struct net_case *c, const struct dpot_linalg_f32 *linalg,
                              struct team *team)
{
    const struct network_config config = {.architecture = c->architecture,
                                          .latent_dim = c->latent_dim,
                                          .dim = c->dim,
                                          .bound = c->bound,
                                          .lo = -0.5F,
                                          .hi = 2.0F,
                                          .max_batch = c->n,
                                          .linalg = linalg,
                                          .team = team};
    struct network *net = NULL;
    struct dpot_error error = {""};
    cr_assert_eq(network_new(&config, &net, &error), DPOT_OK, "%s", error.text);
    network_initialise(net, 5);
    float *parameters = network_parameters(net), *state = network_state(net);
    for (size_t i = 0; i < network_n_parameters(net); i++) {
        parameters[i] += 0.2F * (draw_uniform(1, 77, i) - 0.5F);
    }
    for (size_t i = 0; i < network_n_state(net); i++) {
        state[i] += 0.2F * draw_uniform(1, 78, i);
    }
    return net;
}

void net_case_fill(uint64_t stream, size_t n, float *x)
{
    for (size_t i = 0; i < n; i++) {
        x[i] = 2.0F * draw_uniform(9, stream, i) - 1.0F;
    }
}
