#include "ot/symmetric.h"

#include "ot/linalg.h"

#include <math.h>

/* LAPACK's divide and conquer. OpenBLAS exports it under its Fortran name, without a header in
 * Debian; its integers are those of cblas.h, int. The hidden lengths of the two strings are passed
 * as Fortran compilers do; callees without them ignore them. */
void dsyevd_(const char *job, const char *triangle, const int *n, double *a, const int *lda,
             double *values, double *work, const int *work_len, int *integers,
             const int *integers_len, int *info, size_t job_len, size_t triangle_len);

static dpot_status check(size_t n, const double *a, struct dpot_error *error)
{
    if (n == 0 || n > DPOT_SYMMETRIC_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "a symmetric matrix of %zu rows: give 1 to %zu", n,
                              DPOT_SYMMETRIC_MAX);
    }
    for (size_t i = 0; i < n * n; i++) {
        if (!isfinite(a[i])) {
            return dpot_error_set(error, DPOT_ERR_RANGE, "a matrix has an entry that is %g", a[i]);
        }
    }
    return DPOT_OK;
}

static dpot_status decompose(const char *job, size_t n, double *a, double *values,
                             const struct dpot_allocator *allocator, struct dpot_error *error)
{
    dpot_status status = check(n, a, error);
    if (status != DPOT_OK) {
        return status;
    }
    /* As its manual requires with vectors; enough without, too. */
    const size_t work_len = 1 + 6 * n + 2 * n * n, integers_len = 3 + 5 * n;
    const int order = (int)n, n_work = (int)work_len, n_integers = (int)integers_len;
    double *work = dpot_alloc_array(allocator, work_len, sizeof *work);
    int *integers = dpot_alloc_array(allocator, integers_len, sizeof *integers);
    int info = 0;
    if (!work || !integers) {
        status =
            dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for a %zu x %zu matrix", n, n);
    } else {
        (void)dpot_linalg_openblas(); /* one thread a call */
        dsyevd_(job, "U", &order, a, &order, values, work, &n_work, integers, &n_integers, &info, 1,
                1);
        if (info != 0) {
            status = dpot_error_set(error, DPOT_ERR_RANGE,
                                    "the eigenvalues of a %zu x %zu matrix were not found", n, n);
        }
    }
    dpot_free_array(allocator, work, work_len, sizeof *work);
    dpot_free_array(allocator, integers, integers_len, sizeof *integers);
    return status;
}

/* Fortran columns are C rows; a symmetric matrix is the same both ways. */
dpot_status dpot_symmetric_eigen(size_t n, double *a, double *values,
                                 const struct dpot_allocator *allocator, struct dpot_error *error)
{
    return decompose("V", n, a, values, allocator, error);
}

dpot_status dpot_symmetric_values(size_t n, double *a, double *values,
                                  const struct dpot_allocator *allocator, struct dpot_error *error)
{
    return decompose("N", n, a, values, allocator, error);
}
