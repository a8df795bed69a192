/* The campaign's public transform as a matrix, for generators: they make data, reports are coefficients.
 *
 * Rows are what dpot_transformer_forward gives for unit vectors, so that both are one and the same map,
 * whatever coefficients are kept. */
#ifndef DPOT_GENERATOR_TRANSFORM_H
#define DPOT_GENERATOR_TRANSFORM_H

#include "base/error.h"
#include "mechanism/transform.h"
#include "solve/learn/generator_train.h"

struct transform_matrix {
    size_t dim, data_dim;
    float *values; /* (data_dim, dim): column j is the map's row j; NULL: no transform */
    struct generator_transform hooks; /* ctx is this struct: do not copy it */
};

/* `vector` (checked) is not needed afterwards. DPOT_ERR_MEMORY leaves it zeroed. */
DPOT_WARN_UNUSED dpot_status transform_matrix_init(struct transform_matrix *matrix,
                                                   const struct dpot_vector_domain *vector,
                                                   struct dpot_error *error);
void transform_matrix_release(struct transform_matrix *matrix);

#endif
