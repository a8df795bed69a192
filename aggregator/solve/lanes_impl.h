/* The loops of lanes.h for vectors of LANES_BYTES bytes; included once by each lanes_*.c, which is
 * compiled for its instruction set and defines LANES_BYTES and LANES_TABLE. */
#include "solve/lanes.h"

#include <float.h>
#include <math.h>
#include <stdint.h>
#include <string.h>

typedef double wide __attribute__((vector_size(LANES_BYTES)));
typedef double wide_at __attribute__((vector_size(LANES_BYTES), aligned(8), may_alias));
typedef int64_t wide_bits __attribute__((vector_size(LANES_BYTES)));
typedef float single __attribute__((vector_size(LANES_BYTES)));
typedef float single_at __attribute__((vector_size(LANES_BYTES), aligned(4), may_alias));
typedef int32_t single_bits __attribute__((vector_size(LANES_BYTES)));
typedef float half __attribute__((vector_size(LANES_BYTES / 2)));
typedef float half_at __attribute__((vector_size(LANES_BYTES / 2), aligned(4), may_alias));

enum { N_WIDE = LANES_BYTES / sizeof(double), N_SINGLE = LANES_BYTES / sizeof(float) };

/* A block of rows whose column sums are float32 before they join the float64 ones. */
#define SUM_ROWS 64
/* Columns whose row sums are float32 before they join a float64 one. */
#define SUM_COLS 2048
/* Coordinates whose distances are float32 before they join a float64 sum. */
#define SUM_DIMS 64

#define EXP_LOWEST (-708.0)
#define SMALL_LOG_RATIO 0.5

static wide load(const double *x)
{
    return *(const wide_at *)x;
}

static void store(double *x, wide value)
{
    *(wide_at *)x = value;
}

static wide fill(double x)
{
    return (wide){0} + x;
}

static wide pick(wide_bits mask, wide yes, wide no)
{
    return (wide)((mask & (wide_bits)yes) | (~mask & (wide_bits)no));
}

static wide smaller(wide x, wide y)
{
    return pick(x < y, x, y);
}

static wide larger(wide x, wide y)
{
    return pick(x > y, x, y);
}

static double sum_of(wide x)
{
    double sum = 0.0;
    for (int k = 0; k < N_WIDE; k++) {
        sum += x[k];
    }
    return sum;
}

/* e^t for t <= 709: 2^k e^r with |r| <= log(2) / 2 and the Taylor polynomial of degree 13, whose
 * remainder is below 5e-18. 0 below EXP_LOWEST. */
static wide exponential(wide t)
{
    const wide magic = fill(0x1.8p52);
    const wide inside = larger(t, fill(EXP_LOWEST));
    const wide shifted = inside * 0x1.71547652b82fep0 + magic;
    const wide k = shifted - magic;
    const wide r = (inside - k * 0x1.62e42fefa0000p-1) - k * 0x1.cf79abc9e3b3ap-40;
    wide p = fill(1.0 / 6227020800.0);
    p = p * r + 1.0 / 479001600.0;
    p = p * r + 1.0 / 39916800.0;
    p = p * r + 1.0 / 3628800.0;
    p = p * r + 1.0 / 362880.0;
    p = p * r + 1.0 / 40320.0;
    p = p * r + 1.0 / 5040.0;
    p = p * r + 1.0 / 720.0;
    p = p * r + 1.0 / 120.0;
    p = p * r + 1.0 / 24.0;
    p = p * r + 1.0 / 6.0;
    p = p * r + 0.5;
    p = p * r + 1.0;
    p = p * r + 1.0;
    const wide_bits power = ((wide_bits)shifted << 52) + (wide_bits)fill(1.0);
    return pick(t < EXP_LOWEST, fill(0.0), p * (wide)power);
}

/* e^t - 1 - t, without cancellation where t is small. */
static wide second_order(wide t, wide exponential_t)
{
    wide p = fill(1.0 / 1307674368000.0);
    p = p * t + 1.0 / 87178291200.0;
    p = p * t + 1.0 / 6227020800.0;
    p = p * t + 1.0 / 479001600.0;
    p = p * t + 1.0 / 39916800.0;
    p = p * t + 1.0 / 3628800.0;
    p = p * t + 1.0 / 362880.0;
    p = p * t + 1.0 / 40320.0;
    p = p * t + 1.0 / 5040.0;
    p = p * t + 1.0 / 720.0;
    p = p * t + 1.0 / 120.0;
    p = p * t + 1.0 / 24.0;
    p = p * t + 1.0 / 6.0;
    p = p * t + 0.5;
    const wide_bits is_small = (t < SMALL_LOG_RATIO) & (t > -SMALL_LOG_RATIO);
    return pick(is_small, p * t * t, exponential_t - 1.0 - t);
}

/* ---- passes over a stored kernel ---- */

static double next_u(double r, double u, double omega)
{
    if (!(r > 0.0)) {
        return 0.0;
    }
    return omega == 1.0 || !(u > 0.0) ? 1.0 / r : u * exp(-omega * log(r * u));
}

#define REAL float
#define VECTOR single
#define VECTOR_AT single_at
#define N_VECTOR N_SINGLE
#define PASS pass_f32
#include "solve/lanes_pass.inc"
#undef REAL
#undef VECTOR
#undef VECTOR_AT
#undef N_VECTOR
#undef PASS

#define REAL double
#define VECTOR wide
#define VECTOR_AT wide_at
#define N_VECTOR N_WIDE
#define PASS pass_f64
#include "solve/lanes_pass.inc"
#undef REAL
#undef VECTOR
#undef VECTOR_AT
#undef N_VECTOR
#undef PASS

/* ---- exponentials ---- */

static void kernel_row_f32(size_t n, const double *cost, double inverse_lambda, double f,
                           const double *g, float *kernel)
{
    for (size_t j = 0; j < n; j += N_WIDE) {
        const wide t = (load(g + j) + f) - load(cost + j) * inverse_lambda;
        const wide e = exponential(smaller(t, fill(69.0)));
        const wide normal = pick(e < (double)FLT_MIN, fill(0.0), e);
        *(half_at *)(kernel + j) = __builtin_convertvector(normal, half);
    }
}

static void kernel_row_f64(size_t n, const double *cost, double inverse_lambda, double f,
                           const double *g, double *kernel)
{
    for (size_t j = 0; j < n; j += N_WIDE) {
        const wide t = (load(g + j) + f) - load(cost + j) * inverse_lambda;
        store(kernel + j, exponential(smaller(t, fill(690.0))));
    }
}

static double log_sum_row(size_t n, const double *cost, double inverse_lambda, const double *h)
{
    wide lanes = fill(-DBL_MAX), sums = fill(0.0);
    double largest = -DBL_MAX;
    for (size_t j = 0; j < n; j += N_WIDE) {
        lanes = larger(lanes, load(h + j) - load(cost + j) * inverse_lambda);
    }
    for (int k = 0; k < N_WIDE; k++) {
        largest = lanes[k] > largest ? lanes[k] : largest;
    }
    for (size_t j = 0; j < n; j += N_WIDE) {
        sums += exponential((load(h + j) - load(cost + j) * inverse_lambda) - largest);
    }
    return largest + log(sum_of(sums));
}

static void largest_col(size_t n, const double *cost, double inverse_lambda, double h,
                        double *largest)
{
    for (size_t j = 0; j < n; j += N_WIDE) {
        store(largest + j, larger(load(largest + j), h - load(cost + j) * inverse_lambda));
    }
}

static void log_sum_col(size_t n, const double *cost, double inverse_lambda, double h,
                        const double *largest, double *sum)
{
    for (size_t j = 0; j < n; j += N_WIDE) {
        const wide t = (h - load(cost + j) * inverse_lambda) - load(largest + j);
        store(sum + j, load(sum + j) + exponential(t));
    }
}

static void values_row(size_t n, const double *cost, double lambda, double f, const double *g,
                       const double *b, double a, double *col_mass, struct lanes_values *values)
{
    const double inverse_lambda = 1.0 / lambda;
    wide mass = fill(0.0), linear = mass, kl = mass, logs = mass, dual = mass;
    for (size_t j = 0; j < n; j += N_WIDE) {
        const wide c = load(cost + j), weight = load(b + j);
        const wide sum = smaller(load(g + j) + f, fill(DBL_MAX));
        const wide t = smaller(sum - c * inverse_lambda, fill(690.0));
        const wide e = exponential(t), rest = second_order(t, e);
        const wide_bits is_small = (t < SMALL_LOG_RATIO) & (t > -SMALL_LOG_RATIO);
        const wide p = weight * e;
        /* A point without mass adds nothing, whatever its potential. */
        const wide_bits has_mass = weight > 0.0;
        const wide divergence = pick(is_small, t * (t + rest) - rest, (t - 1.0) * e + 1.0);
        const wide bound = pick(is_small, c - rest * lambda, (sum - (e - 1.0)) * lambda);
        mass += p;
        linear += pick(has_mass, p * c, fill(0.0));
        kl += pick(has_mass, weight * divergence, fill(0.0));
        logs += pick(has_mass, p * t, fill(0.0));
        dual += pick(has_mass, weight * bound, fill(0.0));
        store(col_mass + j, load(col_mass + j) + e * a);
    }
    *values =
        (struct lanes_values){sum_of(mass), sum_of(linear), sum_of(kl), sum_of(logs), sum_of(dual)};
}

/* ---- clouds of points ---- */

static single read(const float *x)
{
    return *(const single_at *)x;
}

static single absolute(single x)
{
    return (single)((single_bits)x & ((single_bits){0} + INT32_MAX));
}

/* Distances of up to four rows to one vector of points over coordinates [first, end). */
#define N_BLOCK 4
static void add_distances(enum lanes_distance distance, size_t n_rows, size_t n, size_t dim,
                          size_t first, size_t end, const float *x, const float *y_t, size_t j,
                          single *sums)
{
    for (size_t c = first; c < end; c++) {
        const single y = read(y_t + c * n + j);
        for (size_t r = 0; r < n_rows; r++) {
            const single difference = y - x[r * dim + c];
            sums[r] += distance == LANES_L1 ? absolute(difference) : difference * difference;
        }
    }
}

static void distances_block(enum lanes_distance distance, size_t n_rows, size_t n, size_t dim,
                            double scale, const float *x, const float *y_t, double *out)
{
    for (size_t j = 0; j < n; j += N_SINGLE) {
        double totals[N_BLOCK][N_SINGLE] = {{0}};
        for (size_t first = 0; first < dim; first += SUM_DIMS) {
            const size_t end = first + SUM_DIMS < dim ? first + SUM_DIMS : dim;
            single sums[N_BLOCK] = {{0}};
            if (n_rows == N_BLOCK && distance == LANES_L1) {
                add_distances(LANES_L1, N_BLOCK, n, dim, first, end, x, y_t, j, sums);
            } else if (n_rows == N_BLOCK) {
                add_distances(LANES_SQUARED, N_BLOCK, n, dim, first, end, x, y_t, j, sums);
            } else {
                add_distances(distance, n_rows, n, dim, first, end, x, y_t, j, sums);
            }
            for (size_t r = 0; r < n_rows; r++) {
                for (int k = 0; k < N_SINGLE; k++) {
                    totals[r][k] += (double)sums[r][k];
                }
            }
        }
        for (size_t r = 0; r < n_rows; r++) {
            for (int k = 0; k < N_SINGLE; k++) {
                out[r * n + j + (size_t)k] = scale * totals[r][k];
            }
        }
    }
}

static void distances(enum lanes_distance distance, size_t n_rows, size_t n, size_t dim,
                      double scale, const float *x, const float *y_t, double *out)
{
    for (size_t r = 0; r < n_rows; r += N_BLOCK) {
        const size_t n_block = n_rows - r < N_BLOCK ? n_rows - r : N_BLOCK;
        distances_block(distance, n_block, n, dim, scale, x + r * dim, y_t, out + r * n);
    }
}

/* p where x > y, -p where x < y, 0 where they are equal or unordered. */
static single signed_mass(single p, float x, single y)
{
    const single_bits above = y<x, below = y> x;
    return (single)((single_bits)p & above) - (single)((single_bits)p & below);
}

static float sum_single(single x)
{
    float sum = 0.0F;
    for (int k = 0; k < N_SINGLE; k++) {
        sum += x[k];
    }
    return sum;
}

static void l1_gradient(size_t n_rows, size_t n, size_t dim, const float *p, const float *x,
                        const float *y_t, float *grad)
{
    for (size_t c = 0; c < dim; c++) {
        size_t r = 0;
        for (; r + N_BLOCK <= n_rows; r += N_BLOCK) {
            const float *q = p + r * n;
            const float x0 = x[r * dim + c], x1 = x[(r + 1) * dim + c], x2 = x[(r + 2) * dim + c],
                        x3 = x[(r + 3) * dim + c];
            single s0 = {0}, s1 = {0}, s2 = {0}, s3 = {0};
            for (size_t j = 0; j < n; j += N_SINGLE) {
                const single y = read(y_t + c * n + j);
                s0 += signed_mass(read(q + j), x0, y);
                s1 += signed_mass(read(q + n + j), x1, y);
                s2 += signed_mass(read(q + 2 * n + j), x2, y);
                s3 += signed_mass(read(q + 3 * n + j), x3, y);
            }
            grad[r * dim + c] += sum_single(s0);
            grad[(r + 1) * dim + c] += sum_single(s1);
            grad[(r + 2) * dim + c] += sum_single(s2);
            grad[(r + 3) * dim + c] += sum_single(s3);
        }
        for (; r < n_rows; r++) {
            single sum = {0};
            for (size_t j = 0; j < n; j += N_SINGLE) {
                sum += signed_mass(read(p + r * n + j), x[r * dim + c], read(y_t + c * n + j));
            }
            grad[r * dim + c] += sum_single(sum);
        }
    }
}

const struct lanes LANES_TABLE = {
    LANES_NAME,  pass_f32,    pass_f64,   kernel_row_f32, kernel_row_f64, log_sum_row,
    largest_col, log_sum_col, values_row, distances,      l1_gradient,
};
