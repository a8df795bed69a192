#include "files/array.h"

#include "base/alloc.h"
#include "files/csv.h"
#include "files/idx.h"
#include "files/input.h"
#include "files/npy.h"
#include "files/output.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

const struct array_rules array_rules_public = {.entries_log2 = 28, .bytes_log2 = 62};
const struct array_rules array_rules_private = {
    .entries_log2 = 24, .bytes_log2 = 28, .is_private = true};

dpot_status array_init(struct array *array, size_t n_rows, size_t n_cols, bool is_vector)
{
    *array = (struct array){0};
    if (n_rows == 0 || n_cols == 0 || n_rows > ARRAY_ENTRIES_MAX / n_cols) {
        return DPOT_ERR_SHAPE;
    }
    double *values = dpot_alloc_array(NULL, n_rows * n_cols, sizeof *values);
    if (!values) {
        return DPOT_ERR_MEMORY;
    }
    *array = (struct array){
        .n_rows = n_rows, .n_cols = n_cols, .is_vector = is_vector, .values = values};
    return DPOT_OK;
}

void array_release(struct array *array)
{
    dpot_free_array(NULL, array->values, array->n_rows * array->n_cols, sizeof *array->values);
    *array = (struct array){0};
}

void array_wipe(struct array *array)
{
    dpot_free_secret(NULL, array->values, array->n_rows * array->n_cols, sizeof *array->values);
    *array = (struct array){0};
}

bool path_ends_in(const char *path, const char *end)
{
    const size_t len = strlen(path), end_len = strlen(end);
    return len >= end_len && strcmp(path + len - end_len, end) == 0;
}

static bool is_npy(const char *path)
{
    return path_ends_in(path, ".npy");
}

bool array_can_write(const char *path)
{
    struct stat info;
    return strcmp(path, "-") == 0 || is_npy(path) || path_ends_in(path, ".csv") ||
           (stat(path, &info) == 0 && !S_ISREG(info.st_mode));
}

static bool is_binary(const struct input *input)
{
    return npy_has_start(input->start, input->start_len) ||
           idx_has_start(input->start, input->start_len);
}

static dpot_status read_stream(const struct input *input, const struct array_rules *rules,
                               struct array *array, struct dpot_error *error)
{
    if (npy_has_start(input->start, input->start_len)) {
        return npy_read(input->stream, input->room, rules, array, error);
    }
    if (idx_has_start(input->start, input->start_len)) {
        const dpot_status status = idx_read(input->stream, input->room, rules, array, error);
        array->is_idx = status == DPOT_OK;
        return status;
    }
    return csv_read(input->stream, rules, array, error);
}

static dpot_status name_input(const char *path, dpot_status status, struct dpot_error *error)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    return status == DPOT_OK
               ? DPOT_OK
               : dpot_error_prefix(error, status, "%s", is_stdin ? "standard input" : path);
}

static dpot_status read_path(const char *path, const struct array_rules *rules, struct array *array,
                             struct dpot_error *error)
{
    struct input input;
    *array = (struct array){0};
    dpot_status status = input_open(path, rules, &input, error);
    if (status == DPOT_OK) {
        status = input_close(&input, read_stream(&input, rules, array, error), error);
    }
    if (status != DPOT_OK && array->values) {
        array_wipe(array);
    }
    return name_input(path, status, error);
}

dpot_status array_read_names(const char *path, size_t n_max, char names[][ARRAY_NAME_MAX],
                             size_t *n, struct dpot_error *error)
{
    struct input input;
    struct stat info;
    *n = 0;
    if (strcmp(path, "-") == 0 || (stat(path, &info) == 0 && !S_ISREG(info.st_mode))) {
        return DPOT_OK; /* a pipe has been read: opening it again would block */
    }
    dpot_status status = input_open(path, &array_rules_public, &input, error);
    if (status == DPOT_OK) {
        status = is_binary(&input) ? DPOT_OK : csv_read_names(input.stream, n_max, names, n, error);
        status = input_close(&input, status, error);
    }
    return name_input(path, status, error);
}

dpot_status array_read(const char *path, struct array *array, struct dpot_error *error)
{
    return read_path(path, &array_rules_public, array, error);
}

dpot_status array_read_private(const char *path, struct array *array, struct dpot_error *error)
{
    const dpot_status status = read_path(path, &array_rules_private, array, error);
    const bool lacks_rows_alone = status == DPOT_ERR_SHAPE && array->n_cols > 0;
    array->n_cols = array->values ? array->n_cols : 0;
    return lacks_rows_alone ? DPOT_OK : status;
}

/* Called before the file is opened: every entry must be exact in the type. */
static dpot_status check_entries(const struct array *array, enum array_type type,
                                 struct dpot_error *error)
{
    for (size_t i = 0; type == ARRAY_U4 && i < array->n_rows * array->n_cols; i++) {
        const double value = array->values[i];
        if (!(value >= 0 && value <= 4294967295.0 && value == floor(value))) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "entry %zu is %g: a u4 array holds integers of 0 to 2^32 - 1", i,
                                  value);
        }
    }
    return DPOT_OK;
}

static dpot_status write_as(const char *path, const struct array *array, enum array_type type,
                            const char *names, struct dpot_error *error)
{
    struct output output;
    if (!array_can_write(path)) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "%s is no name for an array: let it end in .npy or .csv", path);
    }
    dpot_status status = check_entries(array, type, error);
    if (status == DPOT_OK) {
        status = output_open(path, &output, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (is_npy(path)) {
        npy_write(output.stream, array, type);
    } else {
        if (names) {
            (void)fprintf(output.stream, "%s\n", names); /* output_commit checks ferror */
        }
        csv_write(output.stream, array, type);
    }
    return output_commit(&output, error);
}

dpot_status array_write(const char *path, const struct array *array, enum array_type type,
                        struct dpot_error *error)
{
    return write_as(path, array, type, NULL, error);
}

dpot_status array_write_named(const char *path, const struct array *array, const char *names,
                              struct dpot_error *error)
{
    return write_as(path, array, ARRAY_F8, names, error);
}
