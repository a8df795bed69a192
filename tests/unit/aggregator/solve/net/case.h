/* Networks to test with: every kind of layer is in one of them. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_NET_CASE_H
#define DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_NET_CASE_H

#include "solve/learn/network.h"

struct net_case {
    const char *architecture;
    size_t latent_dim, dim;
    enum network_bound bound;
    size_t n; /* samples */
};

#define N_NET_CASES 8
extern const struct net_case net_cases[N_NET_CASES];

/* Opens the network with random parameters of every kind (gains and offsets too) and state. */
struct network *net_case_open(const struct net_case *c, const struct dpot_linalg_f32 *linalg,
                              struct team *team);

/* Reproducible numbers in (-1, 1). */
void net_case_fill(uint64_t stream, size_t n, float *x);

#endif
