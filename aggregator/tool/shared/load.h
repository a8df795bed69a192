/* Input arrays of commands, validated. Messages begin with the option and the path. */
#ifndef DPOT_TOOL_SHARED_LOAD_H
#define DPOT_TOOL_SHARED_LOAD_H

#include "files/array.h"
#include "model/campaign.h"
#include "tool/shared/command.h"

/* Reads the file of an option; "-" (stdin) at most once per run. Says on stderr which line was
 * taken for names of columns. load_form: of that form; release also after DPOT_ERR_SHAPE. */
DPOT_WARN_UNUSED dpot_status load_array(struct run *run, const char *name, struct array *array);
DPOT_WARN_UNUSED dpot_status load_form(struct run *run, const char *name,
                                       const struct array_form *form, struct array *array);

/* Reads the private records of a curator, as array_read_private does and up to the limits of public
 * files: no outcome depends on what a record holds, and what is no number is NaN. The first line of
 * a text file has names if the options say so (`has_header`, or a name in FILE:LIST); else a
 * warning says that it is a record. A file without records has n_rows 0. Release with
 * array_wipe. */
DPOT_WARN_UNUSED dpot_status load_private(struct run *run, const char *name, bool has_header,
                                          struct array *array);

#define HEADER_OPTION                                                                              \
    {                                                                                              \
        "header", NULL, "the first line holds the names of the columns, whatever they are"         \
    }

/* What --columns and --header say, for the table of a command. */
struct array_form load_form_options(const struct run *run);
#define FORM_OPTIONS                                                                               \
    {"columns", "LIST", "names, numbers from 0 and slices, as in lat,4,7:10 (default: all)"},      \
        HEADER_OPTION

/* As load_array and load_form; refuses entries that are not finite. */
DPOT_WARN_UNUSED dpot_status load_finite(struct run *run, const char *name, struct array *array);
DPOT_WARN_UNUSED dpot_status load_finite_form(struct run *run, const char *name,
                                              const struct array_form *form, struct array *array);

/* Loads probabilities in rows of `width` entries (a 1-D array is one row; width 0: any). They must
 * not be negative. A row is normalised when its sum is within 1e-6 of 1 or with --normalize,
 * otherwise refused. */
DPOT_WARN_UNUSED dpot_status load_weights(struct run *run, const char *name, size_t width,
                                          struct array *array);

/* As load_weights, for a single measure: refuses several rows. */
DPOT_WARN_UNUSED dpot_status load_measure(struct run *run, const char *name, size_t width,
                                          struct array *array);

/* Reads --metric, --power and --ring-size; *metric and *power hold the defaults. Reads no file. */
DPOT_WARN_UNUSED dpot_status metric_read_options(struct run *run, struct dpot_metric *metric,
                                                 double *power);

/* Points of an option, named in messages. All borrowed. */
struct named_points {
    const char *option, *path;
    const double *values; /* (n, dim) finite */
    size_t n, dim;
};

/* Refuses points that the metric does not take: wrong number of coordinates, places not on earth,
 * positions not on the ring. Warns of zero vectors, which have no angle. */
DPOT_WARN_UNUSED dpot_status metric_check_points(struct run *run, const struct dpot_metric *metric,
                                                 const struct named_points *points);

/* A ground cost between two sets of points. */
struct cost {
    size_t n_rows, n_cols;
    double *values;    /* (n_rows, n_cols) owned */
    double range;      /* largest minus smallest */
    double cost_power; /* 0: unknown, the matrix was given with --cost */
};
void cost_release(struct cost *cost);

/* The option that names the output points: those of --x without --v. */
const char *cost_output_option(const struct run *run);

/* Loads the cost from --cost, or from --`x` and --`v` with --metric, --power and --ring-size.
 * cost_check_options validates the command line and reads no file. */
DPOT_WARN_UNUSED dpot_status cost_check_options(struct run *run, const char *x, const char *v);
DPOT_WARN_UNUSED dpot_status cost_load(struct run *run, const char *x, const char *v,
                                       struct cost *cost);

/* Refuses (exit code 3) a lambda above 0 that is too small for the costs, by the bound of
 * solve/transport/entropic.h: all of exp(-C / lambda) could underflow. */
DPOT_WARN_UNUSED dpot_status cost_check_lambda(struct run *run, const struct cost *cost,
                                               double lambda);

/* The cost between the domain (rows) and the output points (columns) of a campaign. */
DPOT_WARN_UNUSED dpot_status cost_of_campaign(struct run *run, const struct dpot_campaign *campaign,
                                              struct cost *cost);

/* The options of cost_load, for the table of a command. */
#define COST_OPTIONS(x_name, v_name, x_help, v_help)                                               \
    {"cost", "F", "cost matrix (k, kv), already raised to the power"}, {x_name, "F", x_help},      \
        {v_name, "F", v_help},                                                                     \
        {"metric", "euclidean|l1|linf|cosine|haversine|ring",                                      \
         "ground metric (haversine: lat, lon in degrees; km)"},                                    \
        {"power", "p (0,64]", "the cost is distance^p (default 1)"},                               \
    {                                                                                              \
        "ring-size", "K 1..1048576", "positions of the ring, for --metric ring"                    \
    }

#endif
