/* Small trainings: pools made without chance, and runs of them. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_GENERATOR_RUNS_H
#define DPOT_TESTS_UNIT_AGGREGATOR_GENERATOR_RUNS_H

#include "generator/training.h"

/* A pool and what is asked of it. */
struct case_of_training {
    struct training_input input;
    double *reports; /* (n, dim) the input's, owned */
};

/* n reports of `dim` coordinates: two clusters, with Laplace noise of scale 0.5 by its quantiles. The
 * settings are JSON; fails the test when they are refused. */
void case_make(struct case_of_training *made, size_t n, size_t dim, const char *settings);
void case_release(struct case_of_training *made);

/* Starts a run; fails the test when it cannot. */
void case_begin(const struct case_of_training *made, struct training *training);

/* Does all the steps at once and fails the test unless the run is done. */
void case_finish(struct training *training);

/* Parameters, state and curve are the same, bit by bit. */
void expect_same_run(struct training *a, struct training *b);

#endif
