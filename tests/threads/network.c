/* Passes of a network on a team of threads, under the thread sanitizer: the same bits as on one
 * thread. */
#include "solve/learn/network.h"
#include "solve/run/draw.h"

#include <stdio.h>
#include <string.h>

enum { N = 33, LATENT_DIM = 6, DIM = 784, N_STEPS = 5, N_PARAMETERS_MAX = 4000 };

static float z[N * LATENT_DIM], out[N * DIM], gradient[N_PARAMETERS_MAX];

/* Trains briefly, and returns the parameters. */
static dpot_status train(struct team *team, float *parameters /* (N_PARAMETERS_MAX) */)
{
    struct network *net = NULL;
    const struct network_config config = {.architecture = "dcgan28:6",
                                          .latent_dim = LATENT_DIM,
                                          .dim = DIM,
                                          .bound = NETWORK_TANH,
                                          .lo = -1,
                                          .hi = 1,
                                          .max_batch = N,
                                          .team = team};
    const dpot_status status = network_new(&config, &net, NULL);
    if (status != DPOT_OK || network_n_parameters(net) > N_PARAMETERS_MAX) {
        network_free(net);
        return status != DPOT_OK ? status : DPOT_ERR_TOO_LARGE;
    }
    network_initialise(net, 1);
    for (uint64_t step = 0; step < N_STEPS; step++) {
        latent_draw(1, step, N, LATENT_DIM, z);
        network_forward(net, z, N, NETWORK_TRAIN, out);
        network_backward(net, out, gradient);
        for (size_t i = 0; i < network_n_parameters(net); i++) {
            network_parameters(net)[i] -= 1e-5F * gradient[i];
        }
    }
    memcpy(parameters, network_parameters(net), network_n_parameters(net) * sizeof *parameters);
    network_free(net);
    return DPOT_OK;
}

int main(void)
{
    static float alone[N_PARAMETERS_MAX], shared[N_PARAMETERS_MAX];
    struct team *team = NULL;
    if (team_new(4, &team) != DPOT_OK || train(NULL, alone) != DPOT_OK ||
        train(team, shared) != DPOT_OK) {
        (void)fputs("no memory\n", stderr);
        return 1;
    }
    team_free(team);
    const int is_same = memcmp(alone, shared, sizeof alone) == 0;
    (void)printf("%d steps on 4 threads: %s\n", N_STEPS, is_same ? "the same bits" : "other bits");
    return is_same ? 0 : 1;
}
