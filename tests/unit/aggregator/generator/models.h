/* Small generators to save and load. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_GENERATOR_MODELS_H
#define DPOT_TESTS_UNIT_AGGREGATOR_GENERATOR_MODELS_H

#include "generator/model.h"

/* A network with all kinds of weights, running state included. */
void model_make(const char *architecture, size_t dim, enum network_bound bound,
                struct generator_model *model);

extern const struct generator_setup model_setup;

#endif
