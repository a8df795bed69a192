/* Internal to solve/base_measure/planes.h: the state shared by the rounds (base_measure/planes.c)
 * and by the tangents and bounds (base_measure/planes_cuts.c). */
#ifndef DPOT_SOLVE_BASE_MEASURE_PLANES_PARTS_H
#define DPOT_SOLVE_BASE_MEASURE_PLANES_PARTS_H

#include "solve/base_measure/lp.h"
#include "solve/base_measure/planes.h"

#include <stdbool.h>

/* Origin of a tangent: a row and its y, or a group of users and the potentials of an evaluation. */
struct source {
    bool is_row;
    size_t index; /* row, or snapshot */
    double y;
};

struct planes {
    const struct base_measure_planes_config *config;
    struct base_measure_planes_result *result;
    struct base_measure_lp *lp;
    size_t n_groups; /* of the program: the users' groups, then the worst case */
    size_t n_user_groups;
    double temperature;           /* of the crowd */
    double mass_unit, value_unit; /* units of the program's variables */

    double *orbit_size; /* (n_orbits) */
    double *point;      /* (n_cols) to evaluate */
    double *solution;   /* (n_cols) measure of the program's solution */
    double *x;          /* (n_orbits) */
    double *gradient;   /* (n_cols) */
    double *tied;       /* (n_orbits) gradient of a tangent in the program's units */
    double *offsets;    /* (n_user_groups) */
    double *gradients;  /* (n_user_groups, n_cols) */
    double *w, *y;      /* (n_rows) candidate dual point */
    double *potentials; /* (n_points) */

    struct source *sources; /* (cap_sources) indexed by cut */
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

/* Evaluates F at m, adds its tangents to the program (one for each group of users, and those of the
 * rows above `level`) and updates the best measure. No effect if the crowd is stopped meanwhile.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status planes_evaluate(struct planes *p, const double *m, double level);

/* Computes the bound of the program's weights, perturbed or not; stores it if it is the best. */
void planes_update_bound(struct planes *p, bool is_perturbed);

#endif
