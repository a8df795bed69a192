/* Base measures for the users a campaign seems to have: its own pool says where people are.
 *
 * Post-processing of private reports: it costs no privacy, and min_pool holds as for every job that reads reports. The
 * pool is inverted by maximum likelihood (solve/estimate/channel_em.h) as if every device stayed at one point, which it does not:
 * good enough for a prior, not for an estimate. Synthetic users then have a few draws from it each. A third as many more are held
 * out to report on. */
#ifndef DPOT_JOBS_BASE_MEASURE_USERS_H
#define DPOT_JOBS_BASE_MEASURE_USERS_H

#include "jobs/job.h"
#include "solve/base_measure/base_measure.h"
#include "solve/base_measure/report.h"

/* Adds users, draws_min, draws_max, mix and seed to the parameters, with their defaults. */
DPOT_WARN_UNUSED dpot_status base_measure_users_complete(const json_t *given, json_t *parameters,
                                                         struct dpot_error *error);

/* The measure, and what it means for the users held out; the artifact names the pool. What a stopped run leaves does not
 * matter, but *m is always a measure. */
struct base_measure_users_result {
    struct base_measure_answer answer;
    struct base_measure_report report;
};
DPOT_WARN_UNUSED dpot_status base_measure_users_find(const struct job_input *input,
                                                     const double *cost /* (domain, output) */,
                                                     struct dpot_artifact *artifact,
                                                     struct base_measure_users_result *result,
                                                     struct dpot_error *error);

#endif
