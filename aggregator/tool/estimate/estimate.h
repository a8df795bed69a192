/* Parts of dpot estimate: options, pool, results (estimate.c), the channel and EM
 * (estimate_likelihood.c), the mean of vectors (estimate_sphere.c), the bootstrap
 * (estimate_intervals.c). */
#ifndef DPOT_TOOL_ESTIMATE_ESTIMATE_H
#define DPOT_TOOL_ESTIMATE_ESTIMATE_H

#include "files/array.h"
#include "solve/estimate/channel_em.h"
#include "tool/shared/campaign_file.h"

struct estimate {
    struct run *run;
    const char *pool_path, *out_path;
    struct campaign_file file;
    json_t *pool_side; /* the side file of the pool; NULL: none */
    size_t n, kv, n_resamples;
    double level;         /* of the intervals */
    bool is_likelihood;   /* false: frequencies */
    uint32_t *pool;       /* (n) */
    struct array values;  /* (kv) frequencies, or (k) weights of domain points */
    struct array prior;   /* the same shape: the estimate without reports */
    const char *prior_is; /* "base measure", "uniform", "start" */

    double *channel; /* (k, kv) likelihood only */
    struct channel_em_result em;
    size_t n_determined; /* weights that the channel determines */

    uint32_t *counts; /* (kv, n_resamples) */
    size_t counts_size;
    struct array errors, lower, upper; /* as values; NAN: a standard error that is not determined */
};

/* Fills values and prior by maximum likelihood, from --init. */
DPOT_WARN_UNUSED dpot_status estimate_likelihood(struct estimate *e);

/* Fills errors, lower and upper from n_resamples > 0 resamples of the reports. */
DPOT_WARN_UNUSED dpot_status estimate_intervals(struct estimate *e);

/* Adds campaign_hash and revision: of a signed campaign, otherwise those of the pool's side
 * file. */
void estimate_put_revision(const struct estimate *e, json_t *object);

/* The values as a JSON list, with null in place of NAN. */
json_t *estimate_list(const struct array *array);

/* Refuses a pool with another number of reports than its side file. */
DPOT_WARN_UNUSED dpot_status estimate_check_count(struct estimate *e, size_t n_rows);

/* Releases the arrays that estimate_likelihood and estimate_intervals made. */
void estimate_release_parts(struct estimate *e);

#endif
