/* Shared by laplace.c and gaussian.c: transform, quantise, enforce the set, add integer noise.
 *
 *   data --transform--> coefficients --round to grid--> z --enforce the set--> z --+noise--> y
 *        doubles                        integers from here on
 *
 * Whatever the doubles are, noise is added to integers of the set whose diameter `check` has
 * compared with the noise. */
#ifndef DPOT_MECHANISM_VECTOR_NOISE_H
#define DPOT_MECHANISM_VECTOR_NOISE_H

#include "mechanism/acceptance.h"
#include "mechanism/mechanism.h"
#include "mechanism/noise.h"
#include "mechanism/transform.h"

struct dpot_vector_noise {
    const struct dpot_campaign *campaign; /* borrowed */
    const struct dpot_allocator *allocator;
    struct dpot_transformer *transformer;
    double *coefficients; /* (dim) */
};

/* Members of struct dpot_mechanism: steps, workspace_bytes, workspace_new, workspace_free. */
uint64_t dpot_vector_noise_steps(const struct dpot_campaign *campaign);
size_t dpot_vector_noise_bytes(const struct dpot_campaign *campaign);
DPOT_WARN_UNUSED dpot_status dpot_vector_noise_new(const struct dpot_campaign *campaign,
                                                   const struct dpot_allocator *allocator,
                                                   void **workspace, struct dpot_error *error);
void dpot_vector_noise_free(void *workspace);

/* Fills report->values with noisy integers, not yet clamped. Total. */
void dpot_vector_noise_privatize(void *workspace, enum dpot_noise noise,
                                 const struct dpot_private_vector *private_vector,
                                 struct dpot_rng *rng, struct dpot_report *report);

/* The sensitivity of a campaign's set; all UINT64_MAX, above every limit, for an invalid set. */
struct dpot_sensitivity dpot_campaign_sensitivity(const struct dpot_campaign *campaign);

#endif
