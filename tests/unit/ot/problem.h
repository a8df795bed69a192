/* Projection problems of tests/golden/wpm, random measures, and helpers for both. */
#ifndef DPOT_TESTS_UNIT_OT_PROBLEM_H
#define DPOT_TESTS_UNIT_OT_PROBLEM_H

#include "ot/polytope.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct problem {
    json_t *root;
    size_t n_rows, n_cols;
    double epsilon;
    double *cost; /* (n_rows, n_cols) */
    double *mu;   /* (n_rows) */
    double *lower, *upper;
    struct dpot_polytope polytope;
};

/* Reads golden/wpm/<name>.json; fails the test if it cannot. */
void problem_load(struct problem *problem, const char *name);
void problem_release(struct problem *problem);

/* A new array from a JSON list of numbers. */
double *numbers_load(const json_t *list, size_t *n);

/* max C - min C */
double cost_range_of(const double *cost, size_t n);
double l1_distance(const double *x, const double *y, size_t n);
double sum_of(const double *x, size_t n);

/* A reproducible stream of numbers in [0, 1); each test starts it at its own number. */
double uniform_next(uint64_t *state);

/* Weights that sum to one; about a third of them are zero if `with_zeros`. */
void random_measure(uint64_t *state, double *weights, size_t n, int with_zeros);

#endif
