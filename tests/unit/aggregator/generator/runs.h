/* Small training runs on deterministic pools. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_GENERATOR_RUNS_H
#define DPOT_TESTS_UNIT_AGGREGATOR_GENERATOR_RUNS_H

#include "generator/training.h"

/* A pool and its training input. */
struct case_of_training {
    struct training_input input;
    double *reports; /* (n, dim) the input's, owned */
};

/* n reports of `dim` coordinates: two clusters, with Laplace noise of scale 0.5 at its quantiles.
 * The settings are JSON; the test fails if they are refused. */
void case_make(struct case_of_training *made, size_t n, size_t dim, const char *settings);
void case_release(struct case_of_training *made);

/* Starts a run; the test fails if it cannot. */
void case_begin(const struct case_of_training *made, struct training *training);

/* Runs all steps at once; the test fails unless the run completes. */
void case_finish(struct training *training);

/* Parameters, state and curve are equal bit for bit. */
void expect_same_run(struct training *a, struct training *b);

#endif
