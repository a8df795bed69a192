/* The vectorised inner loops of entropic transport: one source compiled for each instruction set,
 * chosen once at run time. Each is a loop over one block of rows; none allocates, locks, or
 * branches on data except for the clamps documented here.
 *
 * Rows are padded: `n` (columns) is a multiple of LANES_PAD and padding has weight 0 and potential
 * LANES_NOTHING, so no loop has a tail. The same processor gives the same bits. */
#ifndef DPOT_SOLVE_TRANSPORT_LANES_H
#define DPOT_SOLVE_TRANSPORT_LANES_H

#include <stdbool.h>
#include <stddef.h>

#define LANES_PAD 16
#define LANES_NOTHING (-1e300) /* a potential whose exponential is 0 */

/* Contribution of one row to the values of a plan P_ij = a_i b_j exp(t_ij), t = f_i + g_j - C_ij /
 * lambda; every sum is over j, per unit of a_i. */
struct lanes_values {
    double mass;   /* sum b e^t */
    double linear; /* sum b e^t C */
    double kl;     /* sum b (t e^t - e^t + 1) */
    double log;    /* sum b e^t t */
    double dual;   /* sum b (C - lambda (e^t - 1 - t)) */
};

enum lanes_distance {
    LANES_L1,      /* sum_c |x_c - y_c| */
    LANES_SQUARED, /* sum_c (x_c - y_c)^2 */
};

/* A pass over stored kernel rows, for float32 and float64 kernels alike: for every row r_i = sum_j
 * K_ij w_j, then u_i, x_i = a_i u_i, and s_j += x_i K_ij while the row is in cache. u_i = 1 / r_i;
 * with relaxation omega != 1 it is u_i^(1-omega) r_i^(-omega) of the previous u_i. Column sums are
 * float64 over blocks of rows. A row with r_i = 0 gets u_i = 0. */
struct lanes_pass {
    size_t n_rows, n, stride;
    const void *kernel;
    const void *w;   /* (n) of the kernel's type */
    const double *a; /* (n_rows) */
    double omega;
    double *u;     /* (n_rows) */
    double *r;     /* (n_rows) */
    double *s;     /* (n), added to */
    void *scratch; /* (n) of the kernel's type */
};

/* The same for a kernel of at most LANES_FUSED_ROWS rows, column by column: s_j = sum_i x_i K_ij,
 * v_j = 1 / s_j, and r_i += K_ij b_j v_j while the column is in cache, so that a sweep reads the
 * kernel once and ends with the row sums of its plan. x, b and v are of the kernel's type. */
#define LANES_FUSED_ROWS 128
struct lanes_fused {
    size_t n_rows, n, stride;
    const void *kernel;
    const void *x; /* (n_rows) a_i u_i */
    const void *b; /* (n) */
    void *v;       /* (n) out; 0 where s is not positive */
    double *r;     /* (n_rows) out: sum_j K_ij b_j v_j */

    /* Out: the range of v over columns with mass, extended to include 1; whether the sum of such a
     * column underflowed. */
    double least, most;
    int is_lost;
};

/* The KL projection of a measure s onto lower <= q <= upper (ot/polytope.h) at a scale t: q =
 * min(max(t s, lower), upper). All arrays are of the kernel's type; entries with upper 0 are
 * ignored. */
struct lanes_clip {
    size_t n;
    const void *s, *lower, *upper;
    void *v; /* scalings: previous v in, q / (t s) out; 0 where upper is 0 */
    double scale;

    double bound;    /* sums, out: mass of the entries at a bound */
    double free_sum; /* sums, out: sum of s over the others */

    double least_sum;   /* scalings: t s below it or above its inverse is lost */
    bool measures;      /* scalings: compute least and most */
    bool is_lost;       /* scalings, out */
    double least, most; /* scalings, out: range of new v / old v where both are > 0 */
};

struct lanes {
    const char *name;

    void (*pass_f32)(const struct lanes_pass *pass);
    void (*pass_f64)(const struct lanes_pass *pass);
    void (*fused_f32)(struct lanes_fused *sweep);
    void (*fused_f64)(struct lanes_fused *sweep);

    /* K_j = exp(f + g_j - inverse_lambda C_j), at most 1e30 (float32) or 1e300; below the normal
     * numbers of float32 it is 0. */
    void (*kernel_row_f32)(size_t n, const double *cost, double inverse_lambda, double f,
                           const double *g, float *kernel);
    void (*kernel_row_f64)(size_t n, const double *cost, double inverse_lambda, double f,
                           const double *g, double *kernel);

    /* out_j = exp(x_j + shift), x_j + shift at most 690, and log(x_j) + shift, LANES_NOTHING +
     * shift where x_j is not positive. */
    void (*exponentials)(size_t n, const double *x, double shift, double *out);
    void (*logarithms)(size_t n, const double *x, double shift, double *out);

    /* Returns log sum_j exp(h_j - inverse_lambda C_j), without overflow, and adds the row of mass a
     * to the columns: s_j += a exp(h_j - inverse_lambda C_j) / sum. */
    double (*log_row)(size_t n, const double *cost, double inverse_lambda, const double *h,
                      double a, double *terms /* (n) scratch */, double *s);

    /* The same along columns, in two passes: largest_j = max(largest_j, h - inverse_lambda C_j),
     * then sum_j += exp(h - inverse_lambda C_j - largest_j). */
    void (*largest_col)(size_t n, const double *cost, double inverse_lambda, double h,
                        double *largest);
    void (*log_sum_col)(size_t n, const double *cost, double inverse_lambda, double h,
                        const double *largest, double *sum);

    /* Values of one row, and exponential_j = e^t_j; masses_row leaves kl and dual 0. */
    void (*values_row)(size_t n, const double *cost, double lambda, double f, const double *g,
                       const double *b, double *exponential, struct lanes_values *values);
    void (*masses_row)(size_t n, const double *cost, double lambda, double f, const double *g,
                       const double *b, double *exponential, struct lanes_values *values);

    /* s_j += a x_j. */
    void (*add_row)(size_t n, double a, const double *x, double *s);

    /* inverse_j = 1 / x_j, 0 where x_j is not positive. */
    void (*invert)(size_t n, const double *x, double *inverse);

    /* sum of mass |x y - 1| over entries with mass. */
    double (*violation)(size_t n, const double *mass, const double *x, const double *y);

    /* Extends [*least, *most] to every positive x; returns whether one with mass is not positive
     * and finite. */
    int (*widen)(size_t n, const double *mass, const double *x, double *least, double *most);

    /* max |x_j|; INFINITY if one is not finite. */
    double (*largest_size)(size_t n, const double *x);

    /* out_rj = scale distance(x_r, y_j): x is (n_rows, dim), y_t is (dim, n) (columns are
     * points). */
    void (*distances)(enum lanes_distance distance, size_t n_rows, size_t n, size_t dim,
                      double scale, const float *x, const float *y_t, double *out /* stride n */);

    /* out_rj = sum_c (x_rc - y_jc)^2 in float64; x (n_rows, dim), y_t (dim, n), out of stride n. */
    void (*squares)(size_t n_rows, size_t n, size_t dim, const double *x, const double *y_t,
                    double *out);

    /* grad_rc += sum_j p_rj sign(x_rc - y_jc), with sign(0) = 0. */
    void (*l1_gradient)(size_t n_rows, size_t n, size_t dim, const float *p /* stride n */,
                        const float *x, const float *y_t, float *grad /* (n_rows, dim) */);

    void (*clip_sums_f32)(struct lanes_clip *clip);
    void (*clip_sums_f64)(struct lanes_clip *clip);
    void (*clip_scalings_f32)(struct lanes_clip *clip);
    void (*clip_scalings_f64)(struct lanes_clip *clip);

    /* out = x / y, 0 where x is not positive; false: a y with x > 0 is below least_sum or above its
     * inverse. */
    bool (*quotient_f32)(size_t n, const void *x, const void *y, double least_sum, void *out);
    bool (*quotient_f64)(size_t n, const void *x, const void *y, double least_sum, void *out);
};

/* The loops for the best instruction set of this processor. */
const struct lanes *lanes_get(void);

/* All that this processor can run, best first, ending with NULL: for the tests. */
const struct lanes *const *lanes_list(void);

#endif
