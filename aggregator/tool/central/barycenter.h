/* Parts of dpot central barycenter: options (barycenter_options.c), outputs (barycenter.c),
 * measures of the groups (barycenter_measures.c), their barycenter (barycenter_solve.c), noisy
 * iterations (barycenter_noisy.c). */
#ifndef DPOT_TOOL_CENTRAL_BARYCENTER_H
#define DPOT_TOOL_CENTRAL_BARYCENTER_H

#include "central/coreset.h"
#include "central/noisy_barycenter.h"
#include "files/array.h"
#include "solve/barycenter/barycenter.h"
#include "tool/central/guarantee.h"
#include "tool/central/region.h"

enum central_method {
    METHOD_CORESET,        /* a barycenter of private measures of the groups */
    METHOD_NON_PRIVATE,    /* a barycenter of the records; simulations only */
    METHOD_NOISY_EXACT,    /* noisy iterations with the exact plan */
    METHOD_NOISY_AGNOSTIC, /* noisy iterations with any plan */
};

/* The measure that the solver uses for a group. */
struct group_measure {
    size_t n;
    double *points;  /* (n, dim) owned */
    double *weights; /* (n) owned */
    size_t cap;      /* of both arrays */

    size_t depth, cells; /* of the private measure */
    double spent;        /* epsilon */
};

struct central_barycenter {
    struct run *run;
    enum central_method method;
    struct guarantee guarantee;
    struct records records;
    struct region region;
    struct exact_draw draw;

    uint64_t support_size, n_starts, outer, inner, project, cells, depth;
    uint64_t iterations, resolution, start_seed; /* of noisy iterations */
    double tol, lambda, shrink;
    const char *out_path;
    struct array weights; /* of the groups, empty without --group-weights */

    struct team *team;
    struct group_measure *measures; /* (records.n_groups) owned */
    size_t n_measures;
    struct point_set *sets; /* (n_measures) views of the measures, owned */
    struct barycenter_result result;
    double cost;              /* of the result, to the measures */
    struct noisy_scale scale; /* of noisy iterations */
    double diameter;          /* of their domain, in its units */
    double epsilon_spent;
};

const char *central_method_name(enum central_method method); /* as in --method */
const char *central_mechanism_name(enum central_method method);
bool central_is_noisy(enum central_method method);

/* Reads all options; reads no file. */
DPOT_WARN_UNUSED dpot_status central_read_options(struct central_barycenter *job);

/* Makes the measures of all groups, with noise or without, of at most --max-points points. Warns of
 * a depth that leaves coordinates undivided. */
DPOT_WARN_UNUSED dpot_status central_measures_make(struct central_barycenter *job);

/* PRIVATE: the records of a group, merged to at most --max-points points. */
DPOT_WARN_UNUSED dpot_status central_measure_of_records(const struct central_barycenter *job,
                                                        const struct records_group *group,
                                                        struct group_measure *measure);

void central_measures_free(struct group_measure *measures, size_t n, size_t dim);

/* Finds the barycenter of the measures, and its cost to them. Post-processing. */
DPOT_WARN_UNUSED dpot_status central_solve(struct central_barycenter *job);

/* Runs the noisy iterations. job->result is their mean over the last half; sets epsilon_spent and
 * scale. */
DPOT_WARN_UNUSED dpot_status central_iterate(struct central_barycenter *job);

/* PRIVATE: the cost of the result to the records, by exact plans that keep the records of a cell
 * together, at most --max-points cells a group: exact if a group has at most that many records. */
DPOT_WARN_UNUSED dpot_status central_data_cost(struct central_barycenter *job, double *cost);

#endif
