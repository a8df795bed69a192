/* A naive network in double precision: convolutions by their definition, batch norm in two passes.
 * The fast network must agree with it, and its gradients with difference quotients of it. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_NET_REFERENCE_H
#define DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_NET_REFERENCE_H

#include "solve/learn/architecture.h"

#include <stdbool.h>

/* (n, in_dim) -> (n, out_dim) */
void reference_forward(const struct architecture *architecture, const double *parameters,
                       const float *state, bool is_training, size_t n, const double *z,
                       double *out);

#endif
