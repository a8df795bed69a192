#include "ot/linalg.h"

#include "base/compiler.h"
#include "ot/linalg_f32.h"

#include <cblas.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>

/* OpenBLAS sizes are int: larger ones go to the portable backend. */
static int fits(size_t n)
{
    return n <= INT_MAX;
}

static double dot(size_t n, const double *x, const double *y)
{
    return fits(n) ? cblas_ddot((int)n, x, 1, y, 1) : dpot_linalg_portable.dot(n, x, y);
}

static void axpy(size_t n, double alpha, const double *x, double *y)
{
    if (fits(n)) {
        cblas_daxpy((int)n, alpha, x, 1, y, 1);
    } else {
        dpot_linalg_portable.axpy(n, alpha, x, y);
    }
}

static void gemv(enum dpot_transpose transpose, size_t n_rows, size_t n_cols, double alpha,
                 const double *a, size_t lda, const double *x, double beta, double *y)
{
    /* An empty matrix still scales y; BLAS returns early and does not. */
    if (n_rows == 0 || n_cols == 0 || !fits(n_rows) || !fits(n_cols) || !fits(lda)) {
        dpot_linalg_portable.gemv(transpose, n_rows, n_cols, alpha, a, lda, x, beta, y);
        return;
    }
    if (beta == 0.0) {
        memset(y, 0, (transpose == DPOT_TRANSPOSE ? n_cols : n_rows) * sizeof *y);
    }
    cblas_dgemv(CblasRowMajor, transpose == DPOT_TRANSPOSE ? CblasTrans : CblasNoTrans, (int)n_rows,
                (int)n_cols, alpha, a, (int)lda, x, 1, beta, y, 1);
}

static void gemm(enum dpot_transpose transpose_a, enum dpot_transpose transpose_b, size_t m,
                 size_t n, size_t k, double alpha, const double *a, size_t lda, const double *b,
                 size_t ldb, double beta, double *c, size_t ldc)
{
    if (m == 0 || n == 0 || k == 0 || !fits(m) || !fits(n) || !fits(k) || !fits(lda) ||
        !fits(ldb) || !fits(ldc)) {
        dpot_linalg_portable.gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb, beta, c,
                                  ldc);
        return;
    }
    cblas_dgemm(CblasRowMajor, transpose_a == DPOT_TRANSPOSE ? CblasTrans : CblasNoTrans,
                transpose_b == DPOT_TRANSPOSE ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k,
                alpha, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

static void sweep(size_t n_rows, size_t n_cols, const double *kernel, const double *mu,
                  const double *v, double *u, double *s)
{
    for (size_t j = 0; j < n_cols; j++) {
        s[j] = 0.0;
    }
    for (size_t i = 0; i < n_rows; i++) {
        const double *row = kernel + i * n_cols;
        const double row_sum = dot(n_cols, row, v);
        u[i] = row_sum > 0.0 ? mu[i] / row_sum : 0.0;
        axpy(n_cols, u[i], row, s);
    }
}

static const struct dpot_linalg openblas = {"openblas", dot, axpy, gemv, gemm, sweep};

static void gemm_f32(enum dpot_transpose transpose_a, enum dpot_transpose transpose_b, size_t m,
                     size_t n, size_t k, float alpha, const float *a, size_t lda, const float *b,
                     size_t ldb, float beta, float *c, size_t ldc)
{
    if (m == 0 || n == 0 || k == 0 || !fits(m) || !fits(n) || !fits(k) || !fits(lda) ||
        !fits(ldb) || !fits(ldc)) {
        dpot_linalg_f32_portable.gemm(transpose_a, transpose_b, m, n, k, alpha, a, lda, b, ldb,
                                      beta, c, ldc);
        return;
    }
    cblas_sgemm(CblasRowMajor, transpose_a == DPOT_TRANSPOSE ? CblasTrans : CblasNoTrans,
                transpose_b == DPOT_TRANSPOSE ? CblasTrans : CblasNoTrans, (int)m, (int)n, (int)k,
                alpha, a, (int)lda, b, (int)ldb, beta, c, (int)ldc);
}

static const struct dpot_linalg_f32 openblas_f32 = {"openblas", gemm_f32};

/* The callers run in parallel over users, marginals and row blocks: threads of BLAS would only
 * compete. */
static void set_one_thread(void)
{
    openblas_set_num_threads(1);
}

static void settle(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, set_one_thread);
}

/* ---- loading ---- */

/* OpenBLAS starts a thread for each processor while it is loaded. In a small address space they
 * take what others need, or ask again and again without end. One thread is all that is used here:
 * while the libraries' constructors run, OPENBLAS_NUM_THREADS in the environment is 1, in the place
 * of PATH where it has none. Without either, a thread that is refused (a limit of processes) raises
 * SIGINT, which would end the program before main(): it is ignored meanwhile. The first function
 * runs before the constructors of libraries, the second after them. */
#if defined(__ELF__) && !DPOT_IS_SANITIZED
static char one_thread[] = "OPENBLAS_NUM_THREADS=1";
static char **replaced, *entry_before;
static struct sigaction interrupt_before;

static void prepare_loading(int argc, char **argv, char **environment)
{
    struct sigaction ignored = {.sa_handler = SIG_IGN};
    (void)argc;
    (void)argv;
    (void)sigaction(SIGINT, &ignored, &interrupt_before);
    for (char **entry = environment; *entry; entry++) {
        const bool is_own = strncmp(*entry, one_thread, sizeof one_thread - 2) == 0;
        if (is_own || strncmp(*entry, "PATH=", 5) == 0) {
            replaced = entry;
        }
        if (is_own) {
            break;
        }
    }
    if (replaced) {
        entry_before = *replaced;
        *replaced = one_thread;
    }
}

__attribute__((constructor)) static void restore(void)
{
    if (replaced) {
        *replaced = entry_before;
    }
    (void)sigaction(SIGINT, &interrupt_before, NULL);
}

__attribute__((section(".preinit_array"),
               used)) static void (*const before_libraries)(int, char **,
                                                            char **) = prepare_loading;
#endif

const struct dpot_linalg *dpot_linalg_openblas(void)
{
    settle();
    return &openblas;
}

const struct dpot_linalg_f32 *dpot_linalg_f32_openblas(void)
{
    settle();
    return &openblas_f32;
}
