/* The exact privacy loss of an index mechanism on a small domain, from its own integers: every law W /
 * 2^62 that the program gives to an enumeration of inputs, and the extreme laws of the whole polytope
 * L <= W <= U, sum W = 2^62, out of which no input can leave (mechanism/sampler.h). Comparisons are in
 * integers. */
#ifndef DPOT_AUDIT_INDEX_EXACT_H
#define DPOT_AUDIT_INDEX_EXACT_H

#include "base/error.h"
#include "model/campaign.h"

#include <stdbool.h>
#include <stddef.h>

#define INDEX_EXACT_POINTS_MAX 4096
#define INDEX_EXACT_OUTPUTS_MAX 4096

/* The functions of the program that are looked at. Tests put broken ones here. */
struct index_program {
    size_t n_points, n_outputs;    /* up to the limits above */
    uint64_t epsilon_q32;          /* claimed */
    const uint64_t *lower, *upper; /* (n_outputs) L and U */
    /* The law of the report of a device with this histogram (n_points), which need not be sound. */
    void (*law)(void *ctx, const double *histogram, uint64_t *weights /* (n_outputs) */);
    void *ctx;
};

struct index_finding {
    bool is_private; /* by integers: both maxima are within the claim */
    size_t n_inputs;
    double
        law_maximum; /* ln max W_j(x) / W_j(x') over inputs and outputs; infinity: a weight is 0 or
                                a law does not sum to 2^62 */
    double polytope_maximum; /* the same over all laws of the polytope */
};

/* Inputs: no data; up to three places, apart or together; one place beside a speck elsewhere; NaN,
 * infinite and negative entries. Of more than 16 points five that are spread over them are used,
 * each with its neighbour. */
void index_exact(const struct index_program *program, struct index_finding *finding);

/* The same for a campaign of an index mechanism, by the program itself. In a campaign with `sample_first`
 * the law of a report is a mixture of the laws of points, whose ratios are no larger than theirs, and
 * the inputs are the points. On a sphere the points are both ends of every axis and one that is no vector, and
 * the laws those of several report ids, each by itself; the maxima are the largest. DPOT_ERR_SHAPE above the limits; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status index_exact_campaign(const struct dpot_campaign *campaign,
                                                  struct index_finding *finding,
                                                  struct dpot_error *error);

#endif
