/* Input arrays of the commands, checked: sentences begin with the option and the path. */
#ifndef DPOT_TOOL_SHARED_LOAD_H
#define DPOT_TOOL_SHARED_LOAD_H

#include "files/array.h"
#include "model/campaign.h"
#include "tool/shared/command.h"

/* Reads the file that an option names; "-" at most once in a run. */
DPOT_WARN_UNUSED dpot_status load_array(struct run *run, const char *name, struct array *array);

/* The same with every entry finite. */
DPOT_WARN_UNUSED dpot_status load_finite(struct run *run, const char *name, struct array *array);

/* Probabilities in rows of `width` entries (one row when the array is 1-D): not negative, normalised
 * when the sum is within 1e-6 of 1 or --normalize is given, refused otherwise. Width 0: as many
 * as the file has. */
DPOT_WARN_UNUSED dpot_status load_weights(struct run *run, const char *name, size_t width,
                                          struct array *array);

/* --metric, --power and --ring-size; *metric and *power hold what is meant without them. Touches no file. */
DPOT_WARN_UNUSED dpot_status metric_read_options(struct run *run, struct dpot_metric *metric,
                                                 double *power);

/* Points of an option, for sentences about them. All borrowed. */
struct named_points {
    const char *option, *path;
    const double *values; /* (n, dim) finite */
    size_t n, dim;
};

/* Refuses points that the metric does not take: another number of coordinates, places that are not on earth,
 * positions that are not on the ring. Warns of zero vectors, which have no angle. */
DPOT_WARN_UNUSED dpot_status metric_check_points(struct run *run, const struct dpot_metric *metric,
                                                 const struct named_points *points);

/* A ground cost between two sets of points. */
struct cost {
    size_t n_rows, n_cols;
    double *values;    /* (n_rows, n_cols) owned */
    double range;      /* largest minus smallest */
    double cost_power; /* 0: not known, the matrix came as it is */
};
void cost_release(struct cost *cost);

/* From --cost, or from --`x` and --`v` with --metric, --power and --ring-size. `check` refuses what
 * is wrong on the command line and touches no file. */
DPOT_WARN_UNUSED dpot_status cost_check_options(struct run *run, const char *x, const char *v);
DPOT_WARN_UNUSED dpot_status cost_load(struct run *run, const char *x, const char *v,
                                       struct cost *cost);

/* Refuses (exit code 3) a lambda above 0 that is too small for the costs, as solve/transport/entropic.h does:
 * exp(-C / lambda) would hold nothing that a sweep could mend. */
DPOT_WARN_UNUSED dpot_status cost_check_lambda(struct run *run, const struct cost *cost,
                                               double lambda);

/* Between the domain (rows) and the output points (columns) of a campaign. */
DPOT_WARN_UNUSED dpot_status cost_of_campaign(struct run *run, const struct dpot_campaign *campaign,
                                              struct cost *cost);

/* The options that cost_load reads, for the table of a command. */
#define COST_OPTIONS(x_name, v_name, x_help, v_help)                                               \
    {"cost", "F", "cost matrix (k, kv), already raised to the power"}, {x_name, "F", x_help},      \
        {v_name, "F", v_help},                                                                     \
        {"metric", "M", "euclidean, l1, linf, cosine, haversine (lat, lon; km) or ring"},          \
        {"power", "p", "the cost is distance^p (default 1)"},                                      \
    {                                                                                              \
        "ring-size", "K", "positions of the ring, for --metric ring"                               \
    }

#endif
