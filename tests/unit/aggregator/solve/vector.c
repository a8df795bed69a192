#include "vector.h"
#include "base/splitmix.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

double vector_number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "%s is missing", key);
    return json_number_value(value);
}

double *vector_numbers(const json_t *object, const char *key)
{
    const json_t *list = json_object_get(object, key);
    double *numbers = calloc(json_array_size(list) + 1, sizeof *numbers);
    cr_assert(numbers && json_is_array(list), "%s is missing", key);
    for (size_t i = 0; i < json_array_size(list); i++) {
        numbers[i] = json_number_value(json_array_get(list, i));
    }
    return numbers;
}

static double euclidean(const json_t *x, const json_t *y)
{
    double sum = 0;
    for (size_t d = 0; d < json_array_size(x); d++) {
        const double diff =
            json_number_value(json_array_get(x, d)) - json_number_value(json_array_get(y, d));
        sum += diff * diff;
    }
    return sqrt(sum);
}

static void allocate_cost(struct vector *vector, size_t n_rows, size_t n_cols)
{
    vector->n_rows = n_rows;
    vector->n_cols = n_cols;
    vector->cost = calloc(n_rows * n_cols, sizeof *vector->cost);
    cr_assert_not_null(vector->cost);
}

static void fill_ring(struct vector *vector, double cost_power)
{
    const size_t k = vector->n_rows;
    for (size_t e = 0; e < k * k; e++) {
        const size_t i = e / k, j = e % k, d = i > j ? i - j : j - i;
        vector->cost[e] = pow((double)(d < k - d ? d : k - d), cost_power);
    }
}

void vector_load_cost(struct vector *vector, const json_t *spec)
{
    const char *type = json_string_value(json_object_get(spec, "type"));
    const json_t *x = json_object_get(spec, "X"), *v = json_object_get(spec, "V");
    cr_assert_not_null(type);
    const double cost_power = vector_number(spec, "p");
    if (strcmp(type, "ring") == 0) {
        const size_t k = (size_t)vector_number(spec, "k");
        allocate_cost(vector, k, k);
        fill_ring(vector, cost_power);
        return;
    }
    cr_assert_str_eq(type, "euclid");
    allocate_cost(vector, json_array_size(x), json_array_size(v));
    for (size_t e = 0; e < vector->n_rows * vector->n_cols; e++) {
        vector->cost[e] = pow(
            euclidean(json_array_get(x, e / vector->n_cols), json_array_get(v, e % vector->n_cols)),
            cost_power);
    }
}

void vector_load(struct vector *vector, const char *name)
{
    char path[512];
    *vector = (struct vector){0};
    (void)snprintf(path, sizeof path, "%s/golden/%s%s.json", DPOT_TEST_DATA,
                   strchr(name, '/') ? "" : "base_measure/", name);
    vector->root = json_load_file(path, 0, NULL);
    cr_assert_not_null(vector->root, "cannot read %s", path);
    vector->reference = json_object_get(vector->root, "reference");
    const json_t *input = json_object_get(vector->root, "input");
    if (json_object_get(input, "cost")) {
        vector->epsilon = vector_number(input, "eps");
        vector_load_cost(vector, json_object_get(input, "cost"));
    }
}

void vector_ring(struct vector *vector, size_t k, double cost_power, double epsilon)
{
    *vector = (struct vector){.epsilon = epsilon};
    allocate_cost(vector, k, k);
    fill_ring(vector, cost_power);
}

void vector_grid(struct vector *vector, size_t side, double cost_power, double epsilon)
{
    const size_t k = side * side;
    *vector = (struct vector){.epsilon = epsilon};
    allocate_cost(vector, k, k);
    for (size_t e = 0; e < k * k; e++) {
        const size_t i = e / k, j = e % k;
        const double dx = (double)(i / side) - (double)(j / side);
        const double dy = (double)(i % side) - (double)(j % side);
        vector->cost[e] = pow(hypot(dx, dy) / (double)(side - 1), cost_power);
    }
}

double random_next(uint64_t *state)
{
    return splitmix_unit(state);
}

void vector_random(struct vector *vector, size_t n_rows, size_t n_cols, double epsilon,
                   uint64_t *state)
{
    *vector = (struct vector){.epsilon = epsilon};
    allocate_cost(vector, n_rows, n_cols);
    for (size_t e = 0; e < n_rows * n_cols; e++) {
        const double x = random_next(state);
        vector->cost[e] = x < 0.1 ? 0 : x < 0.3 ? 0.5 : random_next(state);
    }
}

void vector_release(struct vector *vector)
{
    json_decref(vector->root);
    free(vector->cost);
    *vector = (struct vector){0};
}

void vector_phi(const struct vector *vector, const double *weights, struct phi *phi)
{
    struct dpot_error error = {""};
    const struct phi_config config = {.n_rows = vector->n_rows,
                                      .n_cols = vector->n_cols,
                                      .cost = vector->cost,
                                      .epsilon = vector->epsilon,
                                      .weights = weights};
    cr_assert_eq(phi_init(phi, &config, &error), DPOT_OK, "%s", error.text);
}

double total_of(const double *x, size_t n)
{
    double sum = 0;
    for (size_t i = 0; i < n; i++) {
        sum += x[i];
    }
    return sum;
}

void random_base_measure(uint64_t *state, const struct phi *phi, double *m)
{
    const double x = random_next(state), y = random_next(state);
    const double share = x < 0.15 ? 0 : x > 0.85 ? 1 : y;
    const double total = phi->alpha * pow(phi->beta / phi->alpha, share);
    for (size_t j = 0; j < phi->n_cols; j++) {
        const double z = random_next(state);
        m[j] = z < 0.2 ? 0 : z * z;
    }
    m[(size_t)(random_next(state) * (double)phi->n_cols)] += 0.1;
    const double sum = total_of(m, phi->n_cols);
    for (size_t j = 0; j < phi->n_cols; j++) {
        m[j] *= total / sum;
    }
}

void expect_feasible(const struct phi *phi, const double *m)
{
    const double total = total_of(m, phi->n_cols);
    for (size_t j = 0; j < phi->n_cols; j++) {
        cr_assert(m[j] >= 0 && isfinite(m[j]), "mass %zu is %g", j, m[j]);
    }
    cr_assert(total >= phi->alpha * (1 - 1e-12) && total <= phi->beta * (1 + 1e-12),
              "total mass %.17g is outside [%.17g, %.17g]", total, phi->alpha, phi->beta);
}
