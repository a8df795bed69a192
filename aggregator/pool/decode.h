/* Decoding: the rows of numbers that reports stand for.
 *
 * Of a vector report, integers y, in data units:
 *
 *   coefficients   c = grid_step y         (dim)
 *   data           x = T^-1 c              (data_dim), zeros for the coefficients that were not kept
 *
 * Post-processing of a private report: it costs no privacy. Without a transform T is the identity and
 * both are the same. The noise of y is independent from coordinate to coordinate; that of x is not where
 * coefficients were left out, so whoever uses the density of the noise (generators) takes coefficients.
 *
 * Of a report of a sphere campaign, which names one of the directions that its id stands for: that unit
 * vector (mechanism/codebook.h). It has no coefficients. */
#ifndef DPOT_POOL_DECODE_H
#define DPOT_POOL_DECODE_H

#include "base/error.h"
#include "model/campaign.h"

enum decode_space {
    DECODE_DATA = 1,
    DECODE_COEFFICIENTS = 2,
};

/* "data", "coefficients". */
const char *decode_space_name(enum decode_space space);

/* The scale of the noise of one coordinate, data units: 2^scale_log2 grid_step (Laplace b, Gaussian
 * sigma). Vector campaigns. */
double decode_scale(const struct dpot_campaign *campaign);

struct decoder;

/* True when reports stand for rows: vector mechanisms, and spheres. Others name points. */
bool decode_has_rows(const struct dpot_campaign *campaign);

/* The campaign is borrowed and must have been checked. DPOT_ERR_SHAPE: its reports are no rows in that space;
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status decoder_new(const struct dpot_campaign *campaign,
                                         enum decode_space space, struct decoder **decoder,
                                         struct dpot_error *error);
void decoder_free(struct decoder *decoder); /* NULL is allowed */

/* Numbers of a row: data_dim or dim. */
size_t decoder_n_columns(const struct decoder *decoder);

/* Fills row (n_columns). DPOT_ERR_CORRUPT: a report that is none of this campaign, which ingest never
 * stores. */
DPOT_WARN_UNUSED dpot_status decoder_run(struct decoder *decoder, const struct dpot_report *report,
                                         double *row, struct dpot_error *error);

#endif
