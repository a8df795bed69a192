#include "campaign/spec.h"
#include "campaign/sweeps.h"
#include "files/array.h"
#include "json/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PATH_CAP 4096
#define MASS_STEPS 4294967295.0 /* largest mass that a campaign encodes over the smallest */

/* `file` as seen from `folder`. */
static dpot_status join_path(char out[PATH_CAP], const char *folder, const char *file,
                             struct dpot_error *error)
{
    const bool is_alone = file[0] == '/' || !folder || folder[0] == '\0' || strcmp(file, "-") == 0;
    const int n = is_alone ? snprintf(out, PATH_CAP, "%s", file)
                           : snprintf(out, PATH_CAP, "%s/%s", folder, file);
    return n < 0 || n >= PATH_CAP
               ? dpot_error_set(error, DPOT_ERR_RANGE, "the path %.40s... is too long", file)
               : DPOT_OK;
}

static dpot_status read_file(const char *key, const char *folder, const char *file,
                             struct array *array, struct dpot_error *error)
{
    char path[PATH_CAP];
    dpot_status status = join_path(path, folder, file, error);
    if (status == DPOT_OK) {
        status = array_read(path, array, error);
    }
    return status == DPOT_OK ? status : dpot_error_prefix(error, status, "%s", key);
}

static dpot_status refuse_content(const char *key, struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_RANGE, "%s holds a number that is not finite: correct it",
                          key);
}

static dpot_status inline_points(json_t *spec, const char *key, const char *folder,
                                 struct dpot_error *error)
{
    json_t *object = json_object_get(spec, key);
    const char *file = json_string_value(json_object_get(object, "file"));
    char name[32];
    if (!file) {
        return DPOT_OK; /* nothing to read; spec_compile validates the rest */
    }
    (void)snprintf(name, sizeof name, "%s.file", key);
    if (json_object_get(object, "points")) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "%s and %s.points are both given: remove one", name, key);
    }
    struct array array = {0};
    const dpot_status status = read_file(name, folder, file, &array, error);
    if (status != DPOT_OK) {
        return status;
    }
    json_t *rows = json_rows(array.values, array.n_rows, array.n_cols);
    array_release(&array);
    if (!rows) {
        return refuse_content(name, error);
    }
    (void)json_object_del(object, "file");
    return json_object_set_new(object, "points", rows) == 0 ? DPOT_OK : DPOT_ERR_MEMORY;
}

size_t spec_raise_masses(double *masses, size_t n)
{
    double largest = 0, before = 0, after = 0;
    size_t n_raised = 0;
    for (size_t j = 0; j < n; j++) {
        if (!(masses[j] >= 0 && isfinite(masses[j]))) {
            return 0;
        }
        largest = fmax(largest, masses[j]);
        before += masses[j];
    }
    const double least = largest / MASS_STEPS;
    for (size_t j = 0; j < n; j++) {
        n_raised += masses[j] < least / 2;
        masses[j] = fmax(masses[j], least);
        after += masses[j];
    }
    for (size_t j = 0; n_raised > 0 && j < n; j++) {
        masses[j] *= before / after;
    }
    return n_raised;
}

static dpot_status inline_base_measure(json_t *spec, const char *folder, struct dpot_error *error)
{
    static const char key[] = "mechanism.base_measure";
    json_t *mechanism = json_object_get(spec, "mechanism");
    const char *file = json_string_value(json_object_get(mechanism, "base_measure"));
    if (!file || strcmp(file, "uniform") == 0 || strncmp(file, "uniform:", 8) == 0 ||
        strcmp(file, "ball") == 0 || strncmp(file, "ball:", 5) == 0) {
        return DPOT_OK;
    }
    struct array array = {0};
    const dpot_status status = read_file(key, folder, file, &array, error);
    if (status != DPOT_OK) {
        return status;
    }
    if (array.n_cols != 1) {
        const size_t n_cols = array.n_cols;
        array_release(&array);
        return dpot_error_set(error, DPOT_ERR_SHAPE,
                              "%s: %s has %zu columns: give one mass per output point", key, file,
                              n_cols);
    }
    (void)spec_raise_masses(array.values, array.n_rows);
    json_t *masses = json_numbers(array.values, array.n_rows);
    array_release(&array);
    if (!masses) {
        return refuse_content(key, error);
    }
    return json_object_set_new(mechanism, "base_measure", masses) == 0 ? DPOT_OK : DPOT_ERR_MEMORY;
}

/* The error of {"error": E}, or the default of "auto"; 0 for everything else. */
static dpot_status read_wanted_error(const json_t *given, double *wanted, struct dpot_error *error)
{
    static const struct json_field fields[] = {
        {.key = "error",
         .kind = JSON_KIND_NUMBER,
         .number = {1e-9, 2},
         FIELD_REQUIRED(
             "give an error such as 0.001, or a number of sweeps in place of the object")},
        {.key = NULL},
    };
    const char *text = json_string_value(given);
    *wanted = text && strcmp(text, "auto") == 0 ? SWEEPS_ERROR : 0;
    return json_is_object(given)
               ? json_read_fields(given, "mechanism.iterations", fields, NULL, wanted, error)
               : DPOT_OK; /* spec_compile refuses other values */
}

/* Sweeps are measured once the rest of the SPEC compiles. */
static dpot_status inline_sweeps(json_t *spec, struct dpot_error *error)
{
    static const uint8_t no_id[DPOT_CAMPAIGN_ID_LEN];
    json_t *mechanism = json_object_get(spec, "mechanism");
    struct dpot_campaign campaign;
    double wanted = 0;
    uint32_t iterations = 0;
    dpot_status status =
        read_wanted_error(json_object_get(mechanism, "iterations"), &wanted, error);
    if (status != DPOT_OK || !(wanted > 0)) {
        return status;
    }
    if (json_object_set_new(mechanism, "iterations", json_integer(1)) != 0) {
        return DPOT_ERR_MEMORY;
    }
    status = spec_compile(spec, no_id, 1, &campaign, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = sweeps_measure(&campaign, wanted, &iterations, error);
    dpot_campaign_release(&campaign);
    if (status != DPOT_OK) {
        return dpot_error_prefix(error, status, "mechanism.iterations");
    }
    return json_object_set_new(mechanism, "iterations", json_integer((json_int_t)iterations)) == 0
               ? DPOT_OK
               : DPOT_ERR_MEMORY;
}

dpot_status spec_inline(json_t *spec, const char *folder, struct dpot_error *error)
{
    dpot_status status = inline_points(spec, "domain", folder, error);
    if (status == DPOT_OK) {
        status = inline_points(spec, "output", folder, error);
    }
    if (status == DPOT_OK) {
        status = inline_base_measure(spec, folder, error);
    }
    return status == DPOT_OK ? inline_sweeps(spec, error) : status;
}
