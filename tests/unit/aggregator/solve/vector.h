/* Base measure problems: golden vectors, rings and grids, random ones, and what the suites
 * share. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_VECTOR_H
#define DPOT_TESTS_UNIT_AGGREGATOR_SOLVE_VECTOR_H

#include "solve/base_measure/phi.h"

#include <jansson.h>
#include <stddef.h>
#include <stdint.h>

struct vector {
    size_t n_rows, n_cols;
    double epsilon;
    double *cost;      /* (n_rows, n_cols) owned */
    json_t *root;      /* the file; NULL for generated problems */
    json_t *reference; /* borrowed from it */
};

/* Reads golden/base_measure/<name>.json, or another path below golden/ when `name` has a slash. */
void vector_load(struct vector *vector, const char *name);

/* Fills the cost of a {"type": ...} object. */
void vector_load_cost(struct vector *vector, const json_t *spec);

/* k points on a ring, distance^p. */
void vector_ring(struct vector *vector, size_t k, double cost_power, double epsilon);

/* side x side points with corners at the corners of the unit square, distance^p. */
void vector_grid(struct vector *vector, size_t side, double cost_power, double epsilon);

/* Costs at random in [0, 1), some equal and some 0. */
void vector_random(struct vector *vector, size_t n_rows, size_t n_cols, double epsilon,
                   uint64_t *state);
void vector_release(struct vector *vector);

/* A phi over it, worst case or weighted mean; fails the test on errors. */
void vector_phi(const struct vector *vector, const double *weights, struct phi *phi);

/* A fresh array of a list of numbers under `key`. */
double *vector_numbers(const json_t *object, const char *key);
double vector_number(const json_t *object, const char *key);

/* Random masses with a total in [alpha, beta], sometimes at an end; a few are 0. */
void random_base_measure(uint64_t *state, const struct phi *phi, double *m);

/* In [0, 1), reproducible. */
double random_next(uint64_t *state);

double total_of(const double *x, size_t n);

/* Inside M up to rounding, entries >= 0. */
void expect_feasible(const struct phi *phi, const double *m);

#endif
