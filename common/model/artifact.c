#include "model/artifact.h"

#include <math.h>
#include <string.h>

void dpot_artifact_release(struct dpot_artifact *artifact)
{
    dpot_free_array(artifact->allocator, artifact->values, artifact->n_values,
                    sizeof *artifact->values);
    dpot_free_array(artifact->allocator, artifact->counts, artifact->n_counts,
                    sizeof *artifact->counts);
    dpot_free_array(artifact->allocator, artifact->model, artifact->n_model, 1);
    memset(artifact, 0, sizeof *artifact); /* an assignment may make a copy on the stack */
}

dpot_status dpot_artifact_add_number(struct dpot_artifact *artifact, const char *name, double value)
{
    const size_t len = strlen(name);
    if (len > DPOT_ARTIFACT_NAME_MAX || artifact->n_numbers == DPOT_ARTIFACT_NUMBERS_MAX) {
        return DPOT_ERR_TOO_LARGE;
    }
    struct dpot_artifact_number *number = &artifact->numbers[artifact->n_numbers++];
    memcpy(number->name, name, len + 1);
    number->value = value;
    return DPOT_OK;
}

dpot_status dpot_artifact_find_number(const struct dpot_artifact *artifact, const char *name,
                                      double *value)
{
    for (size_t i = 0; i < artifact->n_numbers; i++) {
        if (strcmp(artifact->numbers[i].name, name) == 0) {
            *value = artifact->numbers[i].value;
            return DPOT_OK;
        }
    }
    return DPOT_ERR_NOT_FOUND;
}

/* A word of [a-z0-9_-], with a NUL inside its array. */
static dpot_status check_word(const char *what, const char word[DPOT_ARTIFACT_NAME_MAX + 1],
                              struct dpot_error *error)
{
    if (word[0] == '\0' || !memchr(word, '\0', DPOT_ARTIFACT_NAME_MAX + 1)) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s of the artifact must have 1 to %d bytes",
                              what, DPOT_ARTIFACT_NAME_MAX);
    }
    if (word[strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789_-")] != '\0') {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "%s of the artifact must be made of a-z, 0-9, _ and -", what);
    }
    return DPOT_OK;
}

static dpot_status check_text(const char *what, const char *text, size_t cap,
                              struct dpot_error *error)
{
    const char *end = memchr(text, '\0', cap);
    for (const char *c = text; end && c < end; c++) {
        if (*c < ' ' || *c > '~') {
            end = NULL;
        }
    }
    return end ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE,
                                "%s of the artifact must be at most %zu bytes of printable ASCII",
                                what, cap - 1);
}

static dpot_status check_numbers(const struct dpot_artifact *artifact, struct dpot_error *error)
{
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < artifact->n_numbers; i++) {
        const struct dpot_artifact_number *number = &artifact->numbers[i];
        status = check_word("the name of a number", number->name, error);
        if (status == DPOT_OK && !isfinite(number->value)) {
            status = dpot_error_set(error, DPOT_ERR_RANGE,
                                    "number %s of the artifact is %g: it must be finite",
                                    number->name, number->value);
        }
    }
    return status;
}

static dpot_status check_arrays(const struct dpot_artifact *artifact, struct dpot_error *error)
{
    if (artifact->n_values > DPOT_ARTIFACT_VALUES_MAX ||
        artifact->n_counts > DPOT_ARTIFACT_VALUES_MAX ||
        artifact->n_numbers > DPOT_ARTIFACT_NUMBERS_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the artifact has %zu values, %zu counts and %zu numbers: at most "
                              "%u, %u and %d",
                              artifact->n_values, artifact->n_counts, artifact->n_numbers,
                              DPOT_ARTIFACT_VALUES_MAX, DPOT_ARTIFACT_VALUES_MAX,
                              DPOT_ARTIFACT_NUMBERS_MAX);
    }
    if (artifact->n_model > DPOT_ARTIFACT_MODEL_MAX) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                              "the artifact's model has %zu bytes: at most %u", artifact->n_model,
                              DPOT_ARTIFACT_MODEL_MAX);
    }
    for (size_t i = 0; i < artifact->n_values; i++) {
        if (!isfinite(artifact->values[i])) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "value %zu of the artifact is %g: it must be finite", i,
                                  artifact->values[i]);
        }
    }
    return DPOT_OK;
}

dpot_status dpot_artifact_check(const struct dpot_artifact *artifact, struct dpot_error *error)
{
    dpot_status status = check_word("the kind", artifact->kind, error);
    if (status == DPOT_OK) {
        status = check_text("the program version", artifact->program_version,
                            sizeof artifact->program_version, error);
    }
    if (status == DPOT_OK) {
        status =
            check_text("the parameters", artifact->parameters, sizeof artifact->parameters, error);
    }
    if (status == DPOT_OK) {
        status = check_arrays(artifact, error);
    }
    return status == DPOT_OK ? check_numbers(artifact, error) : status;
}
