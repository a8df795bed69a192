/* What the two files of solve/base_measure/planes.h share: the state of the rounds
 * (base_measure/planes.c), and the tangents that they gather with what these prove
 * (base_measure/planes_cuts.c). */
#ifndef DPOT_SOLVE_BASE_MEASURE_PLANES_PARTS_H
#define DPOT_SOLVE_BASE_MEASURE_PLANES_PARTS_H

#include "solve/base_measure/lp.h"
#include "solve/base_measure/planes.h"

#include <stdbool.h>

/* Where a tangent comes from: a row and its y, or a group of users and the potentials of a round. */
struct source {
    bool is_row;
    size_t index; /* row, or snapshot */
    double y;
};

struct planes {
    const struct base_measure_planes_config *config;
    struct base_measure_planes_result *result;
    struct base_measure_lp *lp;
    size_t n_groups; /* of the program: those of users, then the worst case */
    size_t n_user_groups;
    double temperature;           /* of the crowd */
    double mass_unit, value_unit; /* what the program's numbers are counted in */

    double *orbit_size; /* (n_orbits) */
    double *point;      /* (n_cols) evaluated next, or last */
    double *solution;   /* (n_cols) of the program */
    double *x;          /* (n_orbits) */
    double *gradient;   /* (n_cols) */
    double *tied;       /* (n_orbits) gradient of a tangent in the program's units */
    double *offsets;    /* (n_user_groups) */
    double *gradients;  /* (n_user_groups, n_cols) */
    double *w, *y;      /* (n_rows) trial dual point */
    double *potentials; /* (n_points) */

    struct source *sources; /* (cap_sources) by number of the cut */
    size_t n_sources, cap_sources;
    double **snapshots; /* (n_snapshots) potentials of the rounds */
    size_t n_snapshots, cap_snapshots;
    double *cut_weights; /* (cap_sources) */
};

static inline size_t planes_n_orbits(const struct base_measure_planes_config *config)
{
    return config->orbit ? config->n_orbits : config->n_cols;
}

static inline size_t planes_n_points(const struct base_measure_planes_config *config)
{
    return config->crowd ? config->users->first[config->users->n] : 0;
}

static inline size_t planes_n_rows(const struct base_measure_planes_config *config)
{
    return config->phi ? config->phi->n_rows : 0;
}

/* Tangents at m into the program: one for each group of users, and those of the rows above `level`.
 * The best measure so far is kept. Nothing happens when the crowd is stopped on the way. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status planes_visit(struct planes *p, const double *m, double level);

/* What the program's weights prove, perturbed or not; kept when it is more than before. */
void planes_prove(struct planes *p, bool is_perturbed);

#endif
