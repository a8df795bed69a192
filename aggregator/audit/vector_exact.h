/* The exact privacy loss of a vector mechanism, from its integers.
 *
 * First, inputs at the edges of the set and beyond (infinite, NaN, slightly outside) are clipped
 * and the results measured: the sensitivity is what the code enforces. Then the laws of the release
 * are enumerated for the clipped inputs that are furthest apart, every noise value with the weight
 * that the program gives it (noise_law.h), including the clamp of the output.
 *
 *   laplace    the largest ln P(y) / P'(y), the sum over coordinates of their maxima. That is the
 *              maximum of the vector, since noise is independent and outputs are a product set.
 *   gaussian   the least epsilon with delta(epsilon) <= the claimed delta, for a shift of the
 *              largest l2 length along one coordinate, the worst pair of a ball. (Other directions:
 *              client/doc/exact-privacy.md, Theorem B2, and the margins of the certificate.)
 *
 * In doubles. Their error (below 1e-11) is far below the margins of the acceptance checks (2^-32 of
 * epsilon and more). */
#ifndef DPOT_AUDIT_VECTOR_EXACT_H
#define DPOT_AUDIT_VECTOR_EXACT_H

#include "audit/noise_law.h"
#include "model/campaign.h"

#define VECTOR_EXACT_DIM_MAX 128

/* The functions under audit. Tests replace them by broken ones. */
struct vector_program {
    const struct dpot_campaign *campaign; /* dim <= VECTOR_EXACT_DIM_MAX */
    void (*quantize)(const struct dpot_vector_domain *vector, const double *x, int64_t *z);
    noise_trial *attempt;
    /* May be NULL. */
    void (*clamp)(unsigned k, const struct dpot_vector_domain *vector, int64_t *values);
};

struct vector_finding {
    double epsilon;  /* see above; infinity: an output is possible for one input only */
    double diameter; /* after clipping, in grid units: l1 for laplace, l2 for gaussian */
    size_t n_inputs;
    bool is_partial; /* the scale is too large to enumerate; laplace: some outputs only */
};

/* quantize, try and clamp of libdpot. */
struct vector_program vector_program_of(const struct dpot_campaign *campaign);

/* Audits a program. delta: the claimed delta of a Gaussian. DPOT_ERR_SHAPE, DPOT_ERR_TOO_LARGE
 * (Gaussian scales above 2^14), DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status vector_exact(const struct vector_program *program, double delta,
                                          struct vector_finding *finding, struct dpot_error *error);

#endif
