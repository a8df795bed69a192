#include "files/array.h"

#include "base/alloc.h"
#include "files/columns.h"
#include "files/csv.h"
#include "files/idx.h"
#include "files/input.h"
#include "files/npy.h"
#include "files/output.h"

#include <math.h>
#include <string.h>
#include <sys/stat.h>

#define NAMES_SHOWN 4 /* in a sentence */
#define NAMES_SHOWN_MAX 200

const struct array_rules array_rules_public = {.entries_log2 = 28, .bytes_log2 = 62};
const struct array_rules array_rules_private = {
    .entries_log2 = 24, .bytes_log2 = 28, .is_private = true};
static const struct array_rules array_rules_curator = {
    .entries_log2 = 28, .bytes_log2 = 62, .is_private = true};

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
    dpot_free_array(NULL, array->names, array->n_cols, sizeof *array->names);
    *array = (struct array){0};
}

void array_wipe(struct array *array)
{
    dpot_free_secret(NULL, array->values, array->n_rows * array->n_cols, sizeof *array->values);
    dpot_free_secret(NULL, array->names, array->n_cols, sizeof *array->names);
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

/* Keeps the columns of the form; a table of numbers alone has no names. */
static dpot_status choose_columns(const struct array_form *form, struct array *array,
                                  struct dpot_error *error)
{
    struct columns_choice choice;
    struct array part = {0};
    if (!form->columns) {
        return DPOT_OK;
    }
    dpot_status status =
        columns_choose(form->columns, &(struct columns_table){.n = array->n_cols}, &choice, error);
    if (status == DPOT_OK) {
        status = array_init(&part, array->n_rows, choice.n, array->is_vector && choice.n == 1);
        status = status == DPOT_OK ? status
                                   : dpot_error_set(error, status, "%zu x %zu entries are too many",
                                                    array->n_rows, choice.n);
    }
    for (size_t i = 0; status == DPOT_OK && i < array->n_rows; i++) {
        for (size_t j = 0; j < choice.n; j++) {
            part.values[i * choice.n + j] = array->values[i * array->n_cols + choice.positions[j]];
        }
    }
    part.source = array->source;
    columns_choice_release(&choice);
    array_wipe(array);
    *array = part;
    return status;
}

static dpot_status read_binary(const struct input *input, const struct array_rules *rules,
                               const struct array_form *form, struct array *array,
                               struct dpot_error *error)
{
    const bool is_idx = idx_has_start(input->start, input->start_len);
    const dpot_status status = is_idx ? idx_read(input->stream, input->room, rules, array, error)
                                      : npy_read(input->stream, input->room, rules, array, error);
    array->source = is_idx ? ARRAY_IDX : ARRAY_NPY;
    return status == DPOT_OK ? choose_columns(form, array, error) : status;
}

static dpot_status read_stream(const struct input *input, const struct array_rules *rules,
                               const struct array_form *form, struct array *array,
                               struct dpot_error *error)
{
    return npy_has_start(input->start, input->start_len) ||
                   idx_has_start(input->start, input->start_len)
               ? read_binary(input, rules, form, array, error)
               : csv_read(input->stream, rules, form, array, error);
}

static dpot_status name_input(const char *path, dpot_status status, struct dpot_error *error)
{
    const bool is_stdin = strcmp(path, "-") == 0;
    return status == DPOT_OK
               ? DPOT_OK
               : dpot_error_prefix(error, status, "%s", is_stdin ? "standard input" : path);
}

/* Columns are chosen by the form or in the path. */
static dpot_status settle_form(const struct input *input, struct array_form *form,
                               struct dpot_error *error)
{
    if (form->columns && input->columns) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "columns are chosen twice, with --columns and after FILE:");
    }
    form->columns = input->columns ? input->columns : form->columns;
    return DPOT_OK;
}

static dpot_status read_path(const char *path, const struct array_form *form, struct array *array,
                             struct dpot_error *error)
{
    const struct array_rules *rules = !form->is_private ? &array_rules_public
                                      : form->is_large  ? &array_rules_curator
                                                        : &array_rules_private;
    struct array_form settled = *form;
    struct input input;
    *array = (struct array){0};
    dpot_status status = input_open(path, rules, &input, error);
    if (status == DPOT_OK) {
        status = settle_form(&input, &settled, error);
        if (status == DPOT_OK) {
            status = read_stream(&input, rules, &settled, array, error);
        }
        status = input_close(&input, status, error);
    }
    if (status != DPOT_OK && array->values) {
        array_wipe(array);
    }
    return name_input(path, status, error);
}

dpot_status array_read_form(const char *path, const struct array_form *form, struct array *array,
                            struct dpot_error *error)
{
    const dpot_status status = read_path(path, form, array, error);
    if (!form->is_private || status != DPOT_ERR_SHAPE || array->n_cols == 0) {
        return status;
    }
    array->n_cols = array->names ? array->n_cols : 0;
    return DPOT_OK; /* rows alone are missing */
}

/* The short forms leave nothing to release after a failure. */
static void forget_names(struct array *array, dpot_status status)
{
    if (status != DPOT_OK) {
        dpot_free_secret(NULL, array->names, array->n_cols, sizeof *array->names);
        array->names = NULL;
    }
}

dpot_status array_read(const char *path, struct array *array, struct dpot_error *error)
{
    const dpot_status status = array_read_form(path, &(struct array_form){0}, array, error);
    forget_names(array, status);
    return status;
}

dpot_status array_read_private(const char *path, struct array *array, struct dpot_error *error)
{
    return array_read_form(path, &(struct array_form){.is_private = true}, array, error);
}

bool array_explain_names(const char *path, const struct array *array, struct dpot_error *sentence)
{
    char names[NAMES_SHOWN_MAX] = "";
    if (array->names_line == 0 || !array->names) {
        return false;
    }
    for (size_t j = 0, len = 0; j < array->n_cols && len < sizeof names; j++) {
        len += (size_t)snprintf(names + len, sizeof names - len, "%s%.40s", j > 0 ? ", " : ": ",
                                j < NAMES_SHOWN ? array->names[j] : "...");
        if (j == NAMES_SHOWN) {
            break;
        }
    }
    (void)dpot_error_set(
        sentence, DPOT_OK, "%s: line %zu has no number and is taken for the names of the columns%s",
        strcmp(path, "-") == 0 ? "standard input" : path, array->names_line, names);
    return true;
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
        struct array rows = *array;
        rows.names = names ? NULL : rows.names;
        csv_write(output.stream, &rows, type);
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
