/* Transport problems for the tests of the entropic engine. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_TRANSPORT_H
#define DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_TRANSPORT_H

#include "solve/transport/entropic.h"

#include <stdint.h>

/* A stored cost matrix with its marginals. */
struct transport {
    size_t n, m;
    double *values; /* (n, m) */
    double *a, *b;
    struct entropic_cost cost; /* of `values`; do not copy the struct */
};

/* A number in [0, 1) of a reproducible stream. */
double transport_uniform(uint64_t *state);

/* Squared distances between two random clouds in the plane, the largest 1; random masses of sum
 * one, every `zero_every`-th of them 0 (0: none). */
void transport_init(struct transport *t, size_t n, size_t m, size_t zero_every, uint64_t seed);

/* Of given values. */
void transport_of(struct transport *t, size_t n, size_t m, const double *values, const double *a,
                  const double *b);
void transport_release(struct transport *t);

#endif
