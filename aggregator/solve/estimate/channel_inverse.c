#include "solve/estimate/channel_inverse.h"

#include "base/alloc.h"
#include "ot/symmetric.h"

#include <math.h>

/* Directions whose information relative to the largest is below this count as lost: they would need
 * a billion times as many reports. */
#define LOST 1e-9

/* Largest squared component of a determined weight in the lost directions. */
#define DETERMINED_TOL 1e-12

struct information {
    double *scaled;  /* (n_inputs, n_outputs) A diag(1 / f) */
    double *vectors; /* (n_inputs, n_inputs) I, then its eigenvectors in rows */
    double *values;  /* (n_inputs) ascending */
    double *product; /* (n_inputs, n_outputs) rows v' A diag(1 / f) / eigenvalue of v */
};

static bool information_init(struct information *info, size_t n, size_t m)
{
    info->scaled = dpot_alloc_array(NULL, n * m, sizeof(double));
    info->vectors = dpot_alloc_array(NULL, n * n, sizeof(double));
    info->values = dpot_alloc_array(NULL, n, sizeof(double));
    info->product = dpot_alloc_array(NULL, n * m, sizeof(double));
    return info->scaled && info->vectors && info->values && info->product;
}

static void information_release(struct information *info, size_t n, size_t m)
{
    dpot_free_array(NULL, info->scaled, n * m, sizeof(double));
    dpot_free_array(NULL, info->vectors, n * n, sizeof(double));
    dpot_free_array(NULL, info->values, n, sizeof(double));
    dpot_free_array(NULL, info->product, n * m, sizeof(double));
}

/* Zeroes the rows of lost directions and divides the others by their eigenvalue; sums what each
 * weight loses. */
static void invert(struct information *info, struct channel_inverse *inverse)
{
    const size_t n = inverse->n_inputs, m = inverse->n_outputs;
    const double least = LOST * info->values[n - 1];
    double *lost = info->scaled; /* (n) reused: no longer needed */
    for (size_t l = 0; l < n; l++) {
        lost[l] = 0;
    }
    for (size_t k = 0; k < n; k++) {
        const bool is_lost = !(info->values[k] > least);
        for (size_t l = 0; is_lost && l < n; l++) {
            lost[l] += info->vectors[k * n + l] * info->vectors[k * n + l];
        }
        for (size_t j = 0; j < m; j++) {
            info->product[k * m + j] = is_lost ? 0 : info->product[k * m + j] / info->values[k];
        }
    }
    for (size_t l = 0; l < n; l++) {
        inverse->is_determined[l] = lost[l] <= DETERMINED_TOL;
        inverse->n_determined += inverse->is_determined[l];
    }
}

static dpot_status solve(const double *channel, const double *law, const struct dpot_linalg *linalg,
                         struct information *info, struct channel_inverse *inverse,
                         struct dpot_error *error)
{
    const size_t n = inverse->n_inputs, m = inverse->n_outputs;
    for (size_t k = 0; k < n * m; k++) {
        info->scaled[k] = law[k % m] > 0 ? channel[k] / law[k % m] : 0;
    }
    linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_TRANSPOSE, n, n, m, 1, info->scaled, m, channel, m, 0,
                 info->vectors, n);
    const dpot_status status = dpot_symmetric_eigen(n, info->vectors, info->values, NULL, error);
    if (status != DPOT_OK) {
        return status;
    }
    linalg->gemm(DPOT_NO_TRANSPOSE, DPOT_NO_TRANSPOSE, n, m, n, 1, info->vectors, n, info->scaled,
                 m, 0, info->product, m);
    invert(info, inverse);
    linalg->gemm(DPOT_TRANSPOSE, DPOT_NO_TRANSPOSE, n, m, n, 1, info->vectors, n, info->product, m,
                 0, inverse->inverse, m);
    return DPOT_OK;
}

dpot_status channel_inverse_init(const double *channel, size_t n_inputs, size_t n_outputs,
                                 const double *law, const struct dpot_linalg *linalg,
                                 struct channel_inverse *inverse, struct dpot_error *error)
{
    struct information info = {0};
    *inverse = (struct channel_inverse){.n_inputs = n_inputs, .n_outputs = n_outputs};
    if (n_inputs == 0 || n_inputs > DPOT_SYMMETRIC_MAX) {
        *inverse = (struct channel_inverse){0};
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "a channel of %zu points is inverted up to %zu of them", n_inputs,
                              DPOT_SYMMETRIC_MAX);
    }
    inverse->inverse = dpot_alloc_array(NULL, n_inputs * n_outputs, sizeof(double));
    inverse->is_determined = dpot_alloc_array(NULL, n_inputs, sizeof(bool));
    const bool is_complete = information_init(&info, n_inputs, n_outputs);
    const dpot_status status =
        is_complete && inverse->inverse && inverse->is_determined
            ? solve(channel, law, linalg, &info, inverse, error)
            : dpot_error_set(error, DPOT_ERR_MEMORY,
                             "out of memory for the inverse of a channel of %zu x %zu", n_inputs,
                             n_outputs);
    information_release(&info, n_inputs, n_outputs);
    if (status != DPOT_OK) {
        channel_inverse_release(inverse);
    }
    return status;
}

void channel_inverse_release(struct channel_inverse *inverse)
{
    dpot_free_array(NULL, inverse->inverse, inverse->n_inputs * inverse->n_outputs, sizeof(double));
    dpot_free_array(NULL, inverse->is_determined, inverse->n_inputs, sizeof(bool));
    *inverse = (struct channel_inverse){0};
}
