/* Eigenvalues and eigenvectors of a symmetric matrix, by LAPACK (in OpenBLAS). Library dpot_ot_host. */
#ifndef DPOT_OT_SYMMETRIC_H
#define DPOT_OT_SYMMETRIC_H

#include "base/alloc.h"
#include "base/error.h"

#include <stddef.h>

#define DPOT_SYMMETRIC_MAX ((size_t)8192)

/* A = sum_k values_k v_k v_k', values ascending. `a` is overwritten: its row k becomes v_k, of length
 * one. DPOT_ERR_TOO_LARGE beyond DPOT_SYMMETRIC_MAX, DPOT_ERR_RANGE when an entry is not finite,
 * DPOT_ERR_MEMORY; *a is then not to be used. */
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
