/* The numbers behind gauss_certificate.h, packed: 48 bytes a node. Made by
 * make_gauss_certificate.py; use gauss_certificate.h. */
#ifndef DPOT_MECHANISM_GAUSS_CERTIFICATE_ROWS_H
#define DPOT_MECHANISM_GAUSS_CERTIFICATE_ROWS_H

#include <stdint.h>

#define DPOT_GAUSS_N_DELTAS 7

/* E, then mu2_q40 of each column: numbers below 2^48 in two parts. */
struct dpot_gauss_node {
    uint32_t low[1 + DPOT_GAUSS_N_DELTAS];
    uint16_t high[1 + DPOT_GAUSS_N_DELTAS];
};

extern const uint64_t dpot_gauss_deltas[DPOT_GAUSS_N_DELTAS];
extern const uint32_t dpot_gauss_n_nodes;
extern const struct dpot_gauss_node dpot_gauss_nodes[];

/* d_max of the nodes from this one on; before it, 2^20 in every column. */
extern const uint32_t dpot_gauss_first_limited;
extern const uint32_t dpot_gauss_d_max[][DPOT_GAUSS_N_DELTAS];

#endif
