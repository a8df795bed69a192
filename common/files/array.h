/* Reads and writes arrays: .npy, CSV, and (reading only) .npz, IDX and what gzip packed. The one
 * reader of all programs.
 *
 * Arrays are row-major doubles; a 1-D array has n_cols == 1 and is_vector. The path "-" is stdin, or
 * CSV on stdout. Limits are checked before memory is allocated. */
#ifndef DPOT_FILES_ARRAY_H
#define DPOT_FILES_ARRAY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_ENTRIES_MAX ((size_t)1 << 28) /* 2 GiB of doubles */
#define ARRAY_COLUMNS_MAX ((size_t)1 << 20)
#define ARRAY_WIDTH_UNKNOWN SIZE_MAX

struct array {
    size_t n_rows;
    size_t n_cols;
    bool is_vector;
    double *values; /* (n_rows, n_cols) owned */
    bool is_idx;    /* read from an IDX file */
};

enum array_type { ARRAY_F8 = 1, ARRAY_U4 = 2 };

/* Limits of a reader, for an analyst's arrays and for the private data of a device. */
struct array_rules {
    unsigned entries_log2; /* at most 2^entries_log2 entries */
    unsigned bytes_log2;   /* at most 2^bytes_log2 bytes of input */
    bool is_private;       /* see array_read_private */
};
extern const struct array_rules array_rules_public, array_rules_private;

/* Whether a path ends in these characters: ".npy". */
bool path_ends_in(const char *path, const char *end);

/* Zeroed entries. DPOT_ERR_SHAPE: none, or more than ARRAY_ENTRIES_MAX; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status array_init(struct array *array, size_t n_rows, size_t n_cols,
                                        bool is_vector);
void array_release(struct array *array);
void array_wipe(struct array *array); /* the same, for private data */

/* Reads a file, stdin or a pipe. The content tells what it is, not the name: .npy (files/npy.h), .npz
 * (files/npz.h; "FILE.npz:NAME" chooses one of several arrays), IDX (files/idx.h), else CSV
 * (files/csv.h; one column is 1-D); each also packed with gzip. NaN and infinities are read. The error names
 * path and place. *array is zeroed on failure, except as DPOT_ERR_SHAPE says.
 *   DPOT_ERR_RANGE      a decimal beyond the range of doubles, an integer above 2^53
 *   DPOT_ERR_SHAPE      no rows: n_cols is the width that the file states, or ARRAY_WIDTH_UNKNOWN;
 *                       another shape that is not supported: n_cols is 0
 *   DPOT_ERR_IO, DPOT_ERR_MALFORMED, DPOT_ERR_VERSION, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY */
DPOT_WARN_UNUSED dpot_status array_read(const char *path, struct array *array,
                                        struct dpot_error *error);

/* The same for the private data of a device: at most 2^24 entries and 2^28 bytes.
 * No error shows a value, and none depends on one, so that a refusal reveals only the form of the
 * file: decimals beyond doubles become infinite, large integers are rounded. A file without rows is
 * an array without rows (n_cols 0, values NULL), but a CSV header without rows is refused. Buffers
 * are wiped, except those of the C library and of zlib. Release with array_wipe. */
DPOT_WARN_UNUSED dpot_status array_read_private(const char *path, struct array *array,
                                                struct dpot_error *error);

#define ARRAY_NAME_MAX 128 /* bytes of a column name, with the NUL; longer names are cut */

/* Reads up to `n_max` column names from the first line of a CSV. *n is 0 if that line is a row of
 * numbers, and for other formats, stdin and pipes. Names are the bytes of the file. Errors as
 * array_read. */
DPOT_WARN_UNUSED dpot_status array_read_names(const char *path, size_t n_max,
                                              char names[][ARRAY_NAME_MAX], size_t *n,
                                              struct dpot_error *error);

/* Whether array_write has a format for `path`: "-", a name that ends in .npy or .csv, or an
 * existing path that is not a regular file (/dev/null, a pipe), which gets CSV. */
bool array_can_write(const char *path);

/* Writes a file, by its extension; the type is that of a .npy, and ARRAY_U4 means integers in a
 * CSV. The file appears whole or not at all (files/output.h). DPOT_ERR_ARGUMENT unless
 * array_can_write; DPOT_ERR_RANGE: an entry is no u4. */
DPOT_WARN_UNUSED dpot_status array_write(const char *path, const struct array *array,
                                         enum array_type type, struct dpot_error *error);

/* The same for doubles with column names "a,b,c", which become the first line of a CSV; a .npy has
 * no names. */
DPOT_WARN_UNUSED dpot_status array_write_named(const char *path, const struct array *array,
                                               const char *names, struct dpot_error *error);

#endif
