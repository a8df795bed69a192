/* The public transform of a campaign as a matrix, for generators: they produce data, reports are
 * coefficients.
 *
 * Row i is the output of dpot_transformer_forward for unit vector i, so both are the same map for
 * any set of kept coefficients. */
#ifndef DPOT_GENERATOR_TRANSFORM_H
#define DPOT_GENERATOR_TRANSFORM_H

#include "base/error.h"
#include "mechanism/transform.h"
#include "solve/learn/generator_train.h"

struct transform_matrix {
    size_t dim, data_dim;
    float *values; /* (data_dim, dim): column j is row j of the map; NULL: no transform */
    struct generator_transform hooks; /* ctx is this struct: must not be moved */
};

/* `vector`, which has been validated, is not needed afterwards. DPOT_ERR_MEMORY: zeroed. */
DPOT_WARN_UNUSED dpot_status transform_matrix_init(struct transform_matrix *matrix,
                                                   const struct dpot_vector_domain *vector,
                                                   struct dpot_error *error);
void transform_matrix_release(struct transform_matrix *matrix);

#endif
