/* A network in double precision, written down naively: convolutions as their definition says, batch
 * norm in two passes. What the fast one must agree with, and what its gradients are differences
 * of. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_NET_REFERENCE_H
#define DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_NET_REFERENCE_H

#include "solve/learn/architecture.h"

#include <stdbool.h>

/* (n, in_dim) -> (n, out_dim) */
void reference_forward(const struct architecture *architecture, const double *parameters,
                       const float *state, bool is_training, size_t n, const double *z,
                       double *out);

#endif
