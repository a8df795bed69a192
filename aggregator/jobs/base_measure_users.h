/* Base measures for a campaign's users, whose places are estimated from its own pool.
 *
 * Post-processing of private reports: it costs no privacy, and min_pool applies as to every job
 * that reads reports. The pool is inverted by maximum likelihood (solve/estimate/channel_em.h) as
 * if every device stayed at one point. This is not true, but good enough for a prior. Each
 * synthetic user is a few draws from that prior; a third as many again are held out to evaluate the
 * result. */
#ifndef DPOT_JOBS_BASE_MEASURE_USERS_H
#define DPOT_JOBS_BASE_MEASURE_USERS_H

#include "jobs/job.h"
#include "solve/base_measure/base_measure.h"
#include "solve/base_measure/report.h"

enum base_measure_method {
    BASE_MEASURE_MIRROR,
    BASE_MEASURE_UNIFORM,
    BASE_MEASURE_CERTIFIED,
    BASE_MEASURE_USERS,
};

/* The parameters of the kind; those that a method does not use are 0. */
struct base_measure_settings {
    enum base_measure_method method;
    size_t max_iterations; /* rounds of certified and users */
    double gap;            /* relative, at which the search ends; 0: all iterations */

    /* Method users: */
    size_t n_users;              /* synthetic ones */
    size_t draws_min, draws_max; /* of the prior, for each user */
    double mix;                  /* share of the worst case in the objective */
    uint64_t seed;
};

/* The measure, and its costs for the held-out users. */
struct base_measure_users_result {
    struct base_measure_answer answer;
    struct base_measure_report report;
};

/* Finds the measure; the artifact gets count and checksum of the pool. After a stop the result must
 * not be used. Release result->answer in every case (base_measure_answer_release). */
DPOT_WARN_UNUSED dpot_status base_measure_users_find(const struct job_input *input,
                                                     const struct base_measure_settings *settings,
                                                     const double *cost /* (domain, output) */,
                                                     struct dpot_artifact *artifact,
                                                     struct base_measure_users_result *result,
                                                     struct dpot_error *error);

#endif
