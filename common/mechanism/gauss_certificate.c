#include "mechanism/gauss_certificate.h"

#include "mechanism/gauss_certificate_rows.h"

#include <math.h>

#define DIM_MAX (1u << 20)
#define MU2_OF_C_11 ((uint64_t)16 << 40) /* mu < 4 */

static uint64_t unpack(const struct dpot_gauss_node *node, uint32_t i)
{
    return (uint64_t)node->high[i] << 32 | node->low[i];
}

uint32_t dpot_gauss_row_count(void)
{
    return dpot_gauss_n_nodes * DPOT_GAUSS_N_DELTAS;
}

dpot_status dpot_gauss_row(uint32_t index, struct dpot_gauss_row *row)
{
    *row = (struct dpot_gauss_row){0};
    if (index < 1 || index > dpot_gauss_row_count()) {
        return DPOT_ERR_NOT_FOUND;
    }
    const uint32_t i = (index - 1) / DPOT_GAUSS_N_DELTAS,
                   column = (index - 1) % DPOT_GAUSS_N_DELTAS;
    row->epsilon_q32 = unpack(&dpot_gauss_nodes[i], 0);
    row->delta_q64 = dpot_gauss_deltas[column];
    row->mu2_q40 = unpack(&dpot_gauss_nodes[i], 1 + column);
    row->c = row->mu2_q40 < MU2_OF_C_11 ? 11 : 12;
    row->d_max = i < dpot_gauss_first_limited
                     ? DIM_MAX
                     : dpot_gauss_d_max[i - dpot_gauss_first_limited][column];
    return DPOT_OK;
}

dpot_status dpot_gauss_row_find(uint64_t epsilon_q32, uint64_t delta_q64, uint32_t dim,
                                uint32_t *index, struct dpot_error *error)
{
    uint64_t largest = 0;
    *index = 0;
    for (uint32_t i = 1; i <= dpot_gauss_row_count(); i++) {
        struct dpot_gauss_row row;
        if (dpot_gauss_row(i, &row) == DPOT_OK && row.epsilon_q32 <= epsilon_q32 &&
            row.delta_q64 <= delta_q64 && dim <= row.d_max && row.mu2_q40 > largest) {
            largest = row.mu2_q40;
            *index = i;
        }
    }
    if (*index == 0) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "no row of the Gaussian certificate has epsilon <= %.6g and delta <= "
            "%.6g for %u coordinates: ask for epsilon at least 0.1, delta at least "
            "2^-40 and at most 2^20 coordinates",
            ldexp((double)epsilon_q32, -32), ldexp((double)delta_q64, -64), dim);
    }
    return DPOT_OK;
}
