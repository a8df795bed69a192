/* Decodes reports to rows of numbers.
 *
 * A vector report with integers y, in data units:
 *
 *   coefficients   c = grid_step y         (dim)
 *   data           x = T^-1 c              (data_dim), 0 for coefficients that were not kept
 *
 * Without a transform T is the identity and both are the same. Decoding post-processes private
 * reports and costs no privacy. The noise of c is independent between coordinates; that of x is not
 * where coefficients were left out, so whoever uses the density of the noise (generators) takes
 * coefficients.
 *
 * A report of a sphere campaign names one of the directions that belong to its id: its row is that
 * unit vector (mechanism/codebook.h). It has no coefficients. */
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

/* The scale of the noise of one coordinate in data units, 2^scale_log2 grid_step: b of Laplace,
 * sigma of Gaussian. Vector campaigns only. */
double decode_scale(const struct dpot_campaign *campaign);

struct decoder;

/* True for vector mechanisms and spheres. Reports of other campaigns name points and have no
 * rows. */
bool decode_has_rows(const struct dpot_campaign *campaign);

/* The campaign is borrowed and must have been checked. DPOT_ERR_SHAPE: its reports have no rows in
 * `space`; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status decoder_new(const struct dpot_campaign *campaign,
                                         enum decode_space space, struct decoder **decoder,
                                         struct dpot_error *error);
void decoder_free(struct decoder *decoder); /* NULL is allowed */

/* Numbers in a row: data_dim or dim. */
size_t decoder_n_columns(const struct decoder *decoder);

/* Fills row (n_columns). DPOT_ERR_CORRUPT: the report is not of this campaign, which ingest never
 * stores. */
DPOT_WARN_UNUSED dpot_status decoder_run(struct decoder *decoder, const struct dpot_report *report,
                                         double *row, struct dpot_error *error);

#endif
