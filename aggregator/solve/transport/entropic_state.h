/* The engine's insides, shared by entropic.c (memory, the solve), entropic_sweep.c (passes) and
 * entropic_value.c (certificates). */
#ifndef DPOT_SOLVE_TRANSPORT_ENTROPIC_STATE_H
#define DPOT_SOLVE_TRANSPORT_ENTROPIC_STATE_H

#include "solve/transport/entropic.h"
#include "solve/transport/lanes.h"

#define TILE_ROWS 8  /* rows whose cost is filled at once */
#define TASKS_MAX 16 /* of one loop */

/* A task's own memory. */
struct entropic_scratch {
    double *cost;   /* (TILE_ROWS, stride) */
    void *tile;     /* (TILE_ROWS, stride) kernel, when it is not stored; a row of doubles */
    void *sums;     /* (stride) of the kernel's type, or more sums over rows */
    double *s;      /* (stride) this task's sums over its rows */
    double largest; /* |cost| / lambda seen */
    struct lanes_values values;
    double row_residual;
};

struct entropic {
    struct entropic_options options;
    const struct lanes *lanes;
    size_t n_rows_max, stride_max;
    struct entropic_scratch scratch[TASKS_MAX];

    /* The present problem, scaled to mass one; potentials in units of lambda. */
    const struct entropic_cost *cost;
    double lambda, mass;
    size_t n_rows, n_cols, stride;
    size_t rows_per_task, n_tasks;
    size_t n_warm_f, n_warm_g;               /* lengths given by entropic_warm_start; 0: none */
    double *a, *f, *u, *last_u, *r;          /* (n_rows_max) */
    double *b, *g, *v, *s, *last_s, *h, *g2; /* (stride_max) */
    double *w;                               /* (stride_max) room for the kernel's type */
    void *kernel; /* (n_rows, stride) of its type; NULL: recomputed in every sweep */
    void *kept;   /* (n_rows, stride) costs of the kernel's type; NULL: filled again */

    /* Few rows (entropic_few.c). */
    bool is_few;                /* the present problem is such a one */
    bool has_row_sums;          /* r is K (b v) */
    bool has_few_v;             /* v is in few_v alone */
    void *few_x;                /* (n_rows_max) a u of the kernel's type */
    void *few_b, *few_v;        /* (stride_max) of the kernel's type */
    double few_least, few_most; /* range of v */
    bool is_few_lost;

    char *arrays_memory, *kernel_memory, *kept_memory;
    size_t arrays_cap, kernel_cap, kept_cap; /* bytes */
    double omega;
    double bound; /* scalings beyond e^+-bound are absorbed */
};

/* The next multiple of LANES_PAD; row and column arrays are that long, with no mass beyond n. */
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

/* Fills the kept cost, where there is one, and finds the largest |cost| / lambda; a cost that is not
 * finite gives infinity. */
double entropic_read_cost(struct entropic *e);

/* In the log domain: a sweep, f for g and then g for f, or its second half. Scalings are 1
 * afterwards. */
void entropic_log_sweep(struct entropic *e);
void entropic_log_cols(struct entropic *e);

/* Takes the kernel of f and g. */
void entropic_take_kernel(struct entropic *e);

/* f += log u, g += log v; scalings are 1 afterwards and the kernel is stale. */
void entropic_absorb(struct entropic *e);

/* One fused sweep. Returns the L1 violation of both marginals by the plan before it. */
double entropic_sweep(struct entropic *e);

/* Decides whether the present problem has few rows; its kernel is reserved. */
void entropic_few_prepare(struct entropic *e);

/* As entropic_sweep without relaxation, but the residual is that of the plan after it. */
double entropic_few_sweep(struct entropic *e);

/* Brings v home. */
void entropic_few_leave(struct entropic *e);

/* Whether a scaling has left the bound; *is_lost when one is not positive and finite. */
bool entropic_is_far(const struct entropic *e, bool *is_lost);

#endif
