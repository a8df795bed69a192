/* The exact privacy loss of an index mechanism on a small domain, from its integers: the law
 * W / 2^62 of every input of an enumeration, and the extreme laws of the polytope L <= W <= U, sum
 * W = 2^62, which contains the law of every input (mechanism/sampler.h). Comparisons are in
 * integers. */
#ifndef DPOT_AUDIT_INDEX_EXACT_H
#define DPOT_AUDIT_INDEX_EXACT_H

#include "base/error.h"
#include "model/campaign.h"

#include <stdbool.h>
#include <stddef.h>

#define INDEX_EXACT_POINTS_MAX 4096
#define INDEX_EXACT_OUTPUTS_MAX 4096

/* The functions under audit. Tests replace them by broken ones. */
struct index_program {
    size_t n_points, n_outputs;    /* within the limits above */
    uint64_t epsilon_q32;          /* the claim */
    const uint64_t *lower, *upper; /* (n_outputs) L and U */
    /* The law of the report for this histogram (n_points), whose entries may be invalid. */
    void (*law)(void *ctx, const double *histogram, uint64_t *weights /* (n_outputs) */);
    void *ctx;
};

struct index_finding {
    bool is_private; /* compared in integers: both maxima are within the claim */
    size_t n_inputs;
    /* ln max W_j(x) / W_j(x') over inputs and outputs; infinity: a weight is 0 or a law does not
     * sum to 2^62. */
    double law_maximum;
    double polytope_maximum; /* the same over all laws of the polytope */
};

/* Audits a program. Inputs: no data; up to three units of mass, together or apart; one unit with a
 * speck elsewhere; NaN, infinite and negative entries. Above 16 points, five that are spread over
 * the domain are used, each with its neighbour. */
void index_exact(const struct index_program *program, struct index_finding *finding);

/* Audits the mechanism of an index campaign.
 * With `sample_first` the law of a report is a mixture of the laws of points, so its ratios are no
 * larger, and the inputs are single points. On a sphere the points are both ends of every axis and
 * one that is not a vector; the maxima are over several report ids.
 * DPOT_ERR_SHAPE: above the limits. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status index_exact_campaign(const struct dpot_campaign *campaign,
                                                  struct index_finding *finding,
                                                  struct dpot_error *error);

#endif
