/* One pass of lanes.h for kernels of REAL; included by lanes_impl.h for float and for double. */

#define NAME_(name, pass) name##_##pass
#define NAME(name, pass) NAME_(name, pass)

/* Row sums of four rows over at most SUM_COLS columns, added to r. */
static void NAME(sum_rows, PASS)(size_t n, size_t stride, const REAL *k, const REAL *w, double *r)
{
    VECTOR d0 = {0}, d1 = {0}, d2 = {0}, d3 = {0};
    for (size_t j = 0; j < n; j += N_VECTOR) {
        const VECTOR x = *(const VECTOR_AT *)(w + j);
        d0 += *(const VECTOR_AT *)(k + j) * x;
        d1 += *(const VECTOR_AT *)(k + stride + j) * x;
        d2 += *(const VECTOR_AT *)(k + 2 * stride + j) * x;
        d3 += *(const VECTOR_AT *)(k + 3 * stride + j) * x;
    }
    for (int l = 0; l < N_VECTOR; l++) {
        r[0] += (double)d0[l];
        r[1] += (double)d1[l];
        r[2] += (double)d2[l];
        r[3] += (double)d3[l];
    }
}

static void NAME(add_rows, PASS)(size_t n, size_t stride, const REAL *k, const REAL *x, REAL *s)
{
    for (size_t j = 0; j < n; j += N_VECTOR) {
        VECTOR y = *(const VECTOR_AT *)(s + j);
        y += *(const VECTOR_AT *)(k + j) * x[0];
        y += *(const VECTOR_AT *)(k + stride + j) * x[1];
        y += *(const VECTOR_AT *)(k + 2 * stride + j) * x[2];
        y += *(const VECTOR_AT *)(k + 3 * stride + j) * x[3];
        *(VECTOR_AT *)(s + j) = y;
    }
}

/* Rows [i, i + n_rows) with n_rows <= 4; a short block reads its last row again, with mass 0. */
static void NAME(four_rows, PASS)(const struct lanes_pass *p, size_t i, size_t n_rows, REAL *s)
{
    const REAL *k = (const REAL *)p->kernel + i * p->stride, *w = p->w;
    double r[4] = {0};
    REAL x[4] = {0};
    if (n_rows == 4) {
        for (size_t j = 0; j < p->n; j += SUM_COLS) {
            const size_t n = p->n - j < SUM_COLS ? p->n - j : SUM_COLS;
            NAME(sum_rows, PASS)(n, p->stride, k + j, w + j, r);
        }
    }
    for (size_t row = 0; n_rows < 4 && row < n_rows; row++) {
        double same[4] = {0};
        for (size_t j = 0; j < p->n; j += SUM_COLS) {
            const size_t n = p->n - j < SUM_COLS ? p->n - j : SUM_COLS;
            NAME(sum_rows, PASS)(n, 0, k + row * p->stride + j, w + j, same);
        }
        r[row] = same[0];
    }
    for (size_t row = 0; row < n_rows; row++) {
        p->r[i + row] = r[row];
        p->u[i + row] = next_u(r[row], p->u[i + row], p->omega);
        x[row] = (REAL)(p->a[i + row] * p->u[i + row]);
    }
    if (n_rows == 4) {
        NAME(add_rows, PASS)(p->n, p->stride, k, x, s);
    }
    for (size_t row = 0; n_rows < 4 && row < n_rows; row++) {
        const REAL alone[4] = {x[row], 0, 0, 0};
        NAME(add_rows, PASS)(p->n, 0, k + row * p->stride, alone, s);
    }
}

static void PASS(const struct lanes_pass *p)
{
    REAL *s = p->scratch;
    for (size_t first = 0; first < p->n_rows; first += SUM_ROWS) {
        const size_t end = first + SUM_ROWS < p->n_rows ? first + SUM_ROWS : p->n_rows;
        memset(s, 0, p->n * sizeof *s);
        for (size_t i = first; i < end; i += 4) {
            NAME(four_rows, PASS)(p, i, end - i < 4 ? end - i : 4, s);
        }
        for (size_t j = 0; j < p->n; j++) {
            p->s[j] += (double)s[j];
        }
    }
}

#undef NAME
#undef NAME_
