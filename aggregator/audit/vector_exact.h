/* The exact privacy loss of a vector mechanism, from its own integers.
 *
 * First its inputs are driven to the edges of the set and beyond (infinite, NaN, a little outside) and
 * what is left after clipping is measured: sensitivity is what the code enforces. Then the laws of the
 * release are enumerated for the pairs of clipped inputs that are furthest apart, every noise value with
 * the weight that the program gives it (noise_law.h), the output clamp included.
 *
 *   laplace    the largest ln P(y) / P'(y), the sum over coordinates of their maxima: noise is
 *              independent and outputs are a product set, so that is the maximum of the vector
 *   gaussian   the least epsilon with delta(epsilon) <= the claimed delta, for a shift of the largest
 *              l2 length along one coordinate; that is the worst pair of a ball. (Other directions:
 *              theorem B2 of exact-privacy and the certificate's margins.)
 *
 * In doubles, whose error (below 1e-11) is far below the margins of the acceptance checks (2^-32 of
 * epsilon and more). */
#ifndef DPOT_AUDIT_VECTOR_EXACT_H
#define DPOT_AUDIT_VECTOR_EXACT_H

#include "audit/noise_law.h"
#include "model/campaign.h"

#define VECTOR_EXACT_DIM_MAX 128

/* The functions of the program that are looked at. Tests put broken ones here. */
struct vector_program {
    const struct dpot_campaign *campaign; /* dim <= VECTOR_EXACT_DIM_MAX */
    void (*quantize)(const struct dpot_vector_domain *vector, const double *x, int64_t *z);
    noise_trial *attempt;
    void (*clamp)(unsigned k, const struct dpot_vector_domain *vector,
                  int64_t *values); /* or NULL */
};

struct vector_finding {
    double epsilon;  /* see above; infinity for an output that one of two inputs cannot have */
    double diameter; /* of what clipping leaves, grid units: l1 for laplace, l2 for gaussian */
    size_t n_inputs;
    bool is_partial; /* the scale is too large to enumerate: laplace at some outputs only */
};

/* quantize, try and clamp as libdpot has them. */
struct vector_program vector_program_of(const struct dpot_campaign *campaign);

/* `delta`: claimed, of a Gaussian. DPOT_ERR_SHAPE, DPOT_ERR_TOO_LARGE (Gaussian scales above 2^14),
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status vector_exact(const struct vector_program *program, double delta,
                                          struct vector_finding *finding, struct dpot_error *error);

#endif
