/* What the files of `dpot estimate` share: estimate.c (options, pool, results), estimate_likelihood.c (the
 * channel and its inversion), estimate_sphere.c (the mean of vectors), estimate_intervals.c (the bootstrap). */
#ifndef DPOT_TOOL_ESTIMATE_ESTIMATE_H
#define DPOT_TOOL_ESTIMATE_ESTIMATE_H

#include "files/array.h"
#include "solve/estimate/channel_em.h"
#include "tool/shared/campaign_file.h"

struct estimate {
    struct run *run;
    const char *pool_path, *out_path;
    struct campaign_file file;
    json_t *pool_side; /* the file beside the pool; NULL without one */
    size_t n, kv, n_resamples;
    double level;         /* of the intervals */
    bool is_likelihood;   /* or frequencies */
    uint32_t *pool;       /* (n) */
    struct array values;  /* (kv) frequencies, or (k) weights of domain points */
    struct array prior;   /* the same shape: what would be said without a report */
    const char *prior_is; /* a word for the result */

    double *channel; /* (k, kv) likelihood only */
    struct channel_em_result em;
    size_t n_determined; /* weights that the channel determines */

    uint32_t *counts; /* (kv, n_resamples) */
    size_t counts_size;
    struct array errors, lower,
        upper; /* as values; a standard error that is not determined is NAN */
};

/* Fills values and prior by maximum likelihood, from --start. */
DPOT_WARN_UNUSED dpot_status estimate_likelihood(struct estimate *e);

/* Fills errors, lower and upper from n_resamples > 0 resamples of the reports. */
DPOT_WARN_UNUSED dpot_status estimate_intervals(struct estimate *e);

/* What the results of every method share: which revision the reports are of (a SPEC has none, but the pool's
 * side file may tell); a list with null for what is not a number; and that a pool and its side file are of one
 * export. */
void estimate_put_revision(const struct estimate *e, json_t *object);
json_t *estimate_list(const struct array *array);
DPOT_WARN_UNUSED dpot_status estimate_check_count(struct estimate *e, size_t n_rows);

/* The quantities above that estimate_likelihood and _intervals made. */
void estimate_release_parts(struct estimate *e);

#endif
