/* Public linear transforms of device vectors before clipping, and their inverses: the orthonormal
 * two-dimensional DCT-II of a rows x cols image X (004, section IV-C),
 *
 *   Y[u,v] = a_u b_v sum_{i,j} X[i,j] cos(pi (2i+1) u / (2 rows)) cos(pi (2j+1) v / (2 cols)),
 *
 * with a_0 = sqrt(1/rows), a_u = sqrt(2/rows) for u > 0, and b_v alike with cols. It is an
 * isometry: keeping some coefficients and inverting with zeros for the others loses exactly the
 * energy of the others.
 *
 * Privacy does not depend on it: clipping comes afterwards. Total; the work depends on the shape
 * only. */
#ifndef DPOT_MECHANISM_TRANSFORM_H
#define DPOT_MECHANISM_TRANSFORM_H

#include "model/vector.h"

struct dpot_transformer;

/* Bytes that _new allocates. */
size_t dpot_transformer_bytes(const struct dpot_vector_domain *vector);

/* Allocates tables and scratch for a checked domain, which is borrowed. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_transformer_new(const struct dpot_vector_domain *vector,
                                                  const struct dpot_allocator *allocator,
                                                  struct dpot_transformer **transformer);
void dpot_transformer_free(struct dpot_transformer *transformer); /* wipes; NULL is allowed */

/* Device: data (data_dim) -> coefficients (dim), in data units; a copy without a transform. The
 * effect of numbers that are not finite is unspecified. */
void dpot_transformer_forward(struct dpot_transformer *transformer, const double *data,
                              double *coefficients);

/* Aggregator: coefficients (dim) -> data (data_dim), with zeros for those that were not kept. */
void dpot_transformer_inverse(struct dpot_transformer *transformer, const double *coefficients,
                              double *data);

#endif
