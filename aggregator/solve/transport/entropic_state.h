/* Internal to entropic.h: the state shared by entropic.c (memory, solve), entropic_sweep.c and
 * entropic_few.c (passes) and entropic_value.c (certificates). */
#ifndef DPOT_SOLVE_TRANSPORT_ENTROPIC_STATE_H
#define DPOT_SOLVE_TRANSPORT_ENTROPIC_STATE_H

#include "solve/transport/entropic.h"
#include "solve/transport/lanes.h"

#define TILE_ROWS 8  /* rows of cost per call of fill */
#define TASKS_MAX 16 /* per loop */

/* Memory of one task. */
struct entropic_scratch {
    double *cost;   /* (TILE_ROWS, stride) */
    void *tile;     /* (TILE_ROWS, stride) kernel if it is not stored; a row of doubles */
    void *sums;     /* (stride) of the kernel's type, or more sums over rows */
    double *s;      /* (stride) this task's sums over its rows */
    double largest; /* largest |cost| / lambda of its rows */
    struct lanes_values values;
    double row_residual;
};

struct entropic {
    struct entropic_options options;
    const struct lanes *lanes;
    size_t n_rows_max, stride_max;
    struct entropic_scratch scratch[TASKS_MAX];

    /* The current problem, scaled to mass one; potentials in units of lambda. */
    const struct entropic_cost *cost;
    double lambda, mass;
    size_t n_rows, n_cols, stride;
    size_t rows_per_task, n_tasks;
    size_t n_warm_f, n_warm_g;               /* lengths from entropic_warm_start; 0: none */
    double *a, *f, *u, *last_u, *r;          /* (n_rows_max) */
    double *b, *g, *v, *s, *last_s, *h, *g2; /* (stride_max) */
    double *w;                               /* (stride_max) of the kernel's type */
    void *kernel; /* (n_rows, stride) of its type; NULL: recomputed every sweep */
    void *kept;   /* (n_rows, stride) costs of the kernel's type; NULL: filled again */

    /* Few rows (entropic_few.c). */
    bool is_few;                /* the current problem has few rows */
    bool has_row_sums;          /* r is K (b v) */
    bool has_few_v;             /* v is only in few_v */
    void *few_x;                /* (n_rows_max) a u of the kernel's type */
    void *few_b, *few_v;        /* (stride_max) of the kernel's type */
    double few_least, few_most; /* range of v */
    bool is_few_lost;

    char *arrays_memory, *kernel_memory, *kept_memory;
    size_t arrays_cap, kernel_cap, kept_cap; /* bytes */
    double omega;
    double bound; /* scalings beyond e^+-bound are absorbed */
};

/* The next multiple of LANES_PAD: length of row and column arrays, whose mass beyond n is 0. */
static inline size_t entropic_padded(size_t n)
{
    return (n + LANES_PAD - 1) / LANES_PAD * LANES_PAD;
}

static inline size_t entropic_real_size(const struct entropic *e)
{
    return e->options.precision == ENTROPIC_F32 ? sizeof(float) : sizeof(double);
}

/* Costs of `n_rows` <= TILE_ROWS rows, padding included; borrowed from the scratch or the cost. */
const double *entropic_cost_tile(const struct entropic *e, struct entropic_scratch *scratch,
                                 size_t first, size_t n_rows);

/* Fills the cached cost, if any, and returns the largest |cost| / lambda; INFINITY: a cost is not
 * finite. */
double entropic_read_cost(struct entropic *e);

/* A sweep in the log domain, f from g and then g from f, or its second half. Sets scalings to 1. */
void entropic_log_sweep(struct entropic *e);
void entropic_log_cols(struct entropic *e);

/* Computes the kernel of f and g. */
void entropic_take_kernel(struct entropic *e);

/* f += log u, g += log v; sets scalings to 1. The kernel is then stale. */
void entropic_absorb(struct entropic *e);

/* One fused sweep; returns the L1 violation of both marginals by the plan before it. */
double entropic_sweep(struct entropic *e);

/* Decides whether the current problem counts as one with few rows. Its kernel must be reserved. */
void entropic_few_prepare(struct entropic *e);

/* As entropic_sweep without relaxation, but returns the violation by the plan after it. */
double entropic_few_sweep(struct entropic *e);

/* Converts few_v back to v. */
void entropic_few_leave(struct entropic *e);

/* True if a scaling is out of bounds; *is_lost: one is not positive or not finite. */
bool entropic_is_far(const struct entropic *e, bool *is_lost);

#endif
