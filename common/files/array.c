#include "files/array.h"

#include "base/alloc.h"
#include "files/csv.h"
#include "files/idx.h"
#include "files/npy.h"
#include "files/output.h"

#include <errno.h>
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

/* Called before opening: opening a pipe without a writer would block. */
static dpot_status check_kind(const char *path, struct dpot_error *error)
{
    struct stat info;
    if (stat(path, &info) != 0) {
        return DPOT_OK; /* fopen reports why */
    }
    if (S_ISDIR(info.st_mode)) {
        return dpot_error_set(error, DPOT_ERR_IO, "it is a folder: give a .npy or .csv file");
    }
    if ((is_npy(path) || idx_has_name(path)) && !S_ISREG(info.st_mode)) {
        return dpot_error_set(error, DPOT_ERR_IO, "it is not a regular file: use CSV for pipes");
    }
    return DPOT_OK;
}

static dpot_status read_binary(const char *path, FILE *stream, const struct array_rules *rules,
                               struct array *array, struct dpot_error *error)
{
    struct stat info;
    if (fstat(fileno(stream), &info) != 0) {
        return dpot_error_set(error, DPOT_ERR_IO, "reading failed: %s", strerror(errno));
    }
    const uint64_t size = (uint64_t)info.st_size;
    if (size > (uint64_t)1 << rules->bytes_log2) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "the file is larger than 2^%u bytes",
                              rules->bytes_log2);
    }
    return is_npy(path) ? npy_read(stream, size, rules, array, error)
                        : idx_read(stream, size, idx_is_compressed(path), rules, array, error);
}

/* A device without data may give an empty file of any name. */
static bool is_empty(FILE *stream)
{
    struct stat info;
    return fstat(fileno(stream), &info) == 0 && S_ISREG(info.st_mode) && info.st_size == 0;
}

static dpot_status read_path(const char *path, const struct array_form *form, struct array *array,
                             struct dpot_error *error)
{
    const struct array_rules *rules = !form->is_private ? &array_rules_public
                                      : form->is_large  ? &array_rules_curator
                                                        : &array_rules_private;
    *array = (struct array){0};
    if (strcmp(path, "-") == 0) {
        const dpot_status status = csv_read(stdin, rules, form, array, error);
        return status == DPOT_OK ? status : dpot_error_prefix(error, status, "standard input");
    }
    dpot_status status = check_kind(path, error);
    if (status != DPOT_OK) {
        return dpot_error_prefix(error, status, "%s", path);
    }
    FILE *stream = fopen(path, "rb");
    if (!stream) {
        return dpot_error_set(error, DPOT_ERR_IO, "reading %s failed: %s", path, strerror(errno));
    }
    const bool is_binary = is_npy(path) || idx_has_name(path);
    status = is_binary && !(rules->is_private && is_empty(stream))
                 ? read_binary(path, stream, rules, array, error)
                 : csv_read(stream, rules, form, array, error);
    (void)fclose(stream);
    return status == DPOT_OK ? status : dpot_error_prefix(error, status, "%s", path);
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

bool array_explain_names(const char *path, const struct array_form *form, const struct array *array,
                         struct dpot_error *sentence)
{
    char names[NAMES_SHOWN_MAX] = "";
    if (array->names_line == 0 || !array->names) {
        return false;
    }
    for (size_t j = 0, len = 0; j < array->n_cols && len < sizeof names && !form->is_private; j++) {
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
