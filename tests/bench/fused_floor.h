/* The floor of a Sinkhorn solve with a stored kernel: the fused sweep alone.
 * No absorption, no residual, no float64 sums, no log domain, no tasks; a kernel that underflows
 * gives NaN. Compiled for this machine.
 *
 *     u_i = 1 / (n K_i v),   s += u_i K_i while row i is in the cache,   v = 1 / (n s) */
#ifndef DPOT_BENCH_FUSED_FLOOR_H
#define DPOT_BENCH_FUSED_FLOOR_H

#include <stddef.h>

#define FLOOR_PAD 16 /* n is a multiple of it */
#define FLOOR_ROWS 8 /* rows allocated after the kernel's: they are fetched, not used */

/* `n_sweeps` sweeps from v = 1 over the kernel (n, n), all 64-byte aligned. Leaves u and v; s is
 * scratch. */
void floor_f32(size_t n, size_t n_sweeps, const float *kernel, float *u, float *v, float *s);
void floor_f64(size_t n, size_t n_sweeps, const double *kernel, double *u, double *v, double *s);

#endif
