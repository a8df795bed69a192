/* Eigenvalues and eigenvectors of a symmetric matrix, by LAPACK in OpenBLAS. Library
 * dpot_ot_host. */
#ifndef DPOT_OT_SYMMETRIC_H
#define DPOT_OT_SYMMETRIC_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>

#define DPOT_SYMMETRIC_MAX ((size_t)8192)

/* A = sum_k values_k v_k v_k', values ascending. `a` is overwritten: row k becomes v_k, of length
 * one. On failure its content is undefined. DPOT_ERR_TOO_LARGE: n is 0 or above DPOT_SYMMETRIC_MAX;
 * DPOT_ERR_RANGE: an entry is not finite; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_symmetric_eigen(size_t n, double *a /* (n, n) */,
                                                  double *values /* (n) */,
                                                  const struct dpot_allocator *allocator,
                                                  struct dpot_error *error);

/* The same without vectors, about three times faster. */
DPOT_WARN_UNUSED dpot_status dpot_symmetric_values(size_t n, double *a /* (n, n) overwritten */,
                                                   double *values /* (n) */,
                                                   const struct dpot_allocator *allocator,
                                                   struct dpot_error *error);

#endif
