#include "problem.h"

#include "base/splitmix.h"
#include "ot/cost.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double *numbers_load(const json_t *list, size_t *n)
{
    *n = json_array_size(list);
    double *numbers = calloc(*n + 1, sizeof *numbers);
    cr_assert_not_null(numbers);
    for (size_t i = 0; i < *n; i++) {
        numbers[i] = json_number_value(json_array_get(list, i));
    }
    return numbers;
}

/* Appends the numbers of a list of rows. */
static double *matrix_load(const json_t *rows, size_t *n_rows, size_t *n_cols)
{
    *n_rows = json_array_size(rows);
    *n_cols = json_array_size(json_array_get(rows, 0));
    double *matrix = calloc(*n_rows * *n_cols + 1, sizeof *matrix);
    cr_assert_not_null(matrix);
    for (size_t i = 0; i < *n_rows; i++) {
        for (size_t j = 0; j < *n_cols; j++) {
            matrix[i * *n_cols + j] = json_number_value(json_array_get(json_array_get(rows, i), j));
        }
    }
    return matrix;
}

static void load_ring(struct problem *problem, const json_t *spec, double cost_power)
{
    const size_t k = (size_t)json_integer_value(json_object_get(spec, "k"));
    const struct dpot_metric metric = {DPOT_METRIC_RING, (uint32_t)k};
    double *points = calloc(k, sizeof *points);
    problem->n_rows = problem->n_cols = k;
    problem->cost = calloc(k * k, sizeof *problem->cost);
    cr_assert(points && problem->cost);
    for (size_t i = 0; i < k; i++) {
        points[i] = (double)i;
    }
    dpot_cost_matrix(&metric, cost_power, 1, points, k, points, k, problem->cost);
    free(points);
}

static void load_euclidean(struct problem *problem, const json_t *spec, double cost_power)
{
    const struct dpot_metric metric = {DPOT_METRIC_EUCLIDEAN, 0};
    size_t dim = 0;
    double *x = matrix_load(json_object_get(spec, "X"), &problem->n_rows, &dim);
    double *v = matrix_load(json_object_get(spec, "V"), &problem->n_cols, &dim);
    problem->cost = calloc(problem->n_rows * problem->n_cols, sizeof *problem->cost);
    cr_assert_not_null(problem->cost);
    dpot_cost_matrix(&metric, cost_power, (uint32_t)dim, x, problem->n_rows, v, problem->n_cols,
                     problem->cost);
    free(x);
    free(v);
}

static void load_cost(struct problem *problem, const json_t *spec)
{
    const char *type = json_string_value(json_object_get(spec, "type"));
    const double cost_power = json_number_value(json_object_get(spec, "p"));
    if (strcmp(type, "ring") == 0) {
        load_ring(problem, spec, cost_power);
    } else if (strcmp(type, "euclid") == 0) {
        load_euclidean(problem, spec, cost_power);
    } else {
        problem->cost =
            matrix_load(json_object_get(spec, "data"), &problem->n_rows, &problem->n_cols);
    }
}

void problem_load(struct problem *problem, const char *name)
{
    char path[512];
    memset(problem, 0, sizeof *problem);
    (void)snprintf(path, sizeof path, "%s/golden/wpm/%s.json", DPOT_TEST_DATA, name);
    problem->root = json_load_file(path, 0, NULL);
    cr_assert_not_null(problem->root, "cannot read %s", path);
    const json_t *input = json_object_get(problem->root, "input");
    size_t n_mu = 0, n_m = 0;
    load_cost(problem, json_object_get(input, "cost"));
    problem->mu = numbers_load(json_object_get(input, "mu"), &n_mu);
    problem->lower = numbers_load(json_object_get(input, "m"), &n_m);
    problem->upper = calloc(n_m, sizeof *problem->upper);
    cr_assert(problem->upper && n_mu == problem->n_rows && n_m == problem->n_cols);
    problem->epsilon = json_number_value(json_object_get(input, "eps"));
    for (size_t j = 0; j < n_m; j++) {
        problem->upper[j] = problem->lower[j] * exp(problem->epsilon / 2.0);
        problem->lower[j] *= exp(-problem->epsilon / 2.0);
    }
    problem->polytope = (struct dpot_polytope){n_m, problem->lower, problem->upper};
}

void problem_release(struct problem *problem)
{
    json_decref(problem->root);
    free(problem->cost);
    free(problem->mu);
    free(problem->lower);
    free(problem->upper);
}

double cost_range_of(const double *cost, size_t n)
{
    double least = cost[0], most = cost[0];
    for (size_t i = 0; i < n; i++) {
        least = fmin(least, cost[i]);
        most = fmax(most, cost[i]);
    }
    return most - least;
}

double l1_distance(const double *x, const double *y, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += fabs(x[i] - y[i]);
    }
    return sum;
}

double sum_of(const double *x, size_t n)
{
    double sum = 0.0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum;
}

double uniform_next(uint64_t *state)
{
    return splitmix_unit(state);
}

void random_measure(uint64_t *state, double *weights, size_t n, int with_zeros)
{
    for (size_t i = 0; i < n; i++) {
        const double x = uniform_next(state);
        weights[i] = with_zeros && x < 1.0 / 3.0 ? 0.0 : x * x + 1e-3;
    }
    weights[(size_t)(uniform_next(state) * (double)n)] += 1.0;
    const double sum = sum_of(weights, n);
    for (size_t i = 0; i < n; i++) {
        weights[i] /= sum;
    }
}
