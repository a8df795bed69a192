#include "transport.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

double transport_uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005U + 1442695040888963407U;
    return (double)(*state >> 11) * 0x1p-53;
}

static void fill(const void *ctx, size_t first, size_t n_rows, size_t stride, double *out)
{
    const struct transport *t = ctx;
    for (size_t r = 0; r < n_rows; r++) {
        memcpy(out + r * stride, t->values + (first + r) * t->m, t->m * sizeof *out);
    }
}

static void allocate(struct transport *t, size_t n, size_t m)
{
    t->n = n;
    t->m = m;
    t->values = calloc(n * m, sizeof *t->values);
    t->a = calloc(n, sizeof *t->a);
    t->b = calloc(m, sizeof *t->b);
    cr_assert(t->values && t->a && t->b);
    t->cost = (struct entropic_cost){.n_rows = n, .n_cols = m, .fill = fill, .ctx = t};
}

static void draw_masses(double *mass, size_t n, size_t zero_every, uint64_t *seed)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        mass[i] = zero_every > 0 && i % zero_every == 0 ? 0.0 : 0.1 + transport_uniform(seed);
        sum += mass[i];
    }
    for (size_t i = 0; i < n; i++) {
        mass[i] /= sum;
    }
}

void transport_init(struct transport *t, size_t n, size_t m, size_t zero_every, uint64_t seed)
{
    double *points = calloc(2 * (n + m), sizeof *points), largest = 0.0;
    cr_assert_not_null(points);
    allocate(t, n, m);
    for (size_t k = 0; k < 2 * (n + m); k++) {
        points[k] = transport_uniform(&seed) + (k < 2 * n ? 0.0 : 0.3);
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t j = 0; j < m; j++) {
            const double *x = points + 2 * i, *y = points + 2 * (n + j);
            const double c = (x[0] - y[0]) * (x[0] - y[0]) + (x[1] - y[1]) * (x[1] - y[1]);
            t->values[i * m + j] = c;
            largest = c > largest ? c : largest;
        }
    }
    for (size_t k = 0; k < n * m; k++) {
        t->values[k] /= largest;
    }
    draw_masses(t->a, n, zero_every, &seed);
    draw_masses(t->b, m, zero_every, &seed);
    free(points);
}

void transport_of(struct transport *t, size_t n, size_t m, const double *values, const double *a,
                  const double *b)
{
    allocate(t, n, m);
    memcpy(t->values, values, n * m * sizeof *values);
    memcpy(t->a, a, n * sizeof *a);
    memcpy(t->b, b, m * sizeof *b);
}

void transport_release(struct transport *t)
{
    free(t->values);
    free(t->a);
    free(t->b);
    memset(t, 0, sizeof *t);
}
