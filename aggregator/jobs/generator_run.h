/* Internals of kind `generator`, for generator.c and generator_result.c. */
#ifndef DPOT_JOBS_GENERATOR_RUN_H
#define DPOT_JOBS_GENERATOR_RUN_H

#include "generator/training.h"
#include "jobs/job.h"

struct generator_run {
    const struct job_input *input;
    struct training_input training_input;
    struct training training;
    struct generator_progress progress;
    double *reports; /* (n, dim) coefficients; NULL once the training has copied them */
    uint64_t n;
};

/* Fills values, numbers and model of the artifact from a finished run. */
DPOT_WARN_UNUSED dpot_status generator_put_result(const struct generator_run *run,
                                                  struct dpot_artifact *artifact,
                                                  struct dpot_error *error);

#endif
