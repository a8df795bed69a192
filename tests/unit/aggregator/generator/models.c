#include "models.h"

#include "solve/run/draw.h"

#include <criterion/criterion.h>

#define LATENT_DIM 5

const struct generator_setup model_setup = {.max_batch = 10};

void model_make(const char *architecture, size_t dim, enum network_bound bound,
                struct generator_model *model)
{
    struct dpot_error error = {""};
    const struct network_config config = {.architecture = architecture,
                                          .latent_dim = LATENT_DIM,
                                          .dim = dim,
                                          .bound = bound,
                                          .lo = -1.1F,
                                          .hi = 3.3F,
                                          .max_batch = 10};
    *model = (struct generator_model){0};
    cr_assert_eq(network_new(&config, &model->network, &error), DPOT_OK, "%s", error.text);
    network_initialise(model->network, 3);
    float *p = network_parameters(model->network), *s = network_state(model->network);
    for (size_t i = 0; i < network_n_parameters(model->network); i++) {
        p[i] += 0.1F * draw_uniform(1, 2, i);
    }
    for (size_t i = 0; i < network_n_state(model->network); i++) {
        s[i] += 0.1F * draw_uniform(1, 3, i);
    }
}
