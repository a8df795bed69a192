/* Arrays from and to files: .npy, .csv and (to read only) IDX through one door, for all programs.
 *
 * A 1-D array has n_cols == 1 and is_vector; everything is held as row-major doubles. Reading "-" is CSV
 * on stdin, writing "-" CSV on stdout. Limits are checked before memory is taken. */
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
};

enum array_type { ARRAY_F8 = 1, ARRAY_U4 = 2 };

/* What a reader allows: an analyst's arrays, and a device's private data. */
struct array_rules {
    unsigned entries_log2; /* at most 2^entries_log2 entries, */
    unsigned bytes_log2;   /* and at most 2^bytes_log2 bytes of input */
    bool is_private;       /* as array_read_private says */
};
extern const struct array_rules array_rules_public, array_rules_private;

DPOT_WARN_UNUSED dpot_status array_init(struct array *array, size_t n_rows, size_t n_cols,
                                        bool is_vector);
void array_release(struct array *array);
void array_wipe(struct array *array); /* the same, for private data */

/* By extension: .npy (format 1.0-3.0, little-endian f4 f8 i4 i8 u4 u8, C order, 1-D or 2-D), .idx
 * and -ubyte, also with .gz (files/idx.h: MNIST as it is published; images become rows), anything
 * else CSV (files/csv.h). A one-column CSV is 1-D. NaN and infinity are read; callers refuse them where
 * they must. Integers above 2^53 and decimals beyond the range of doubles are refused. A file without
 * rows is refused: if nothing but rows is missing, n_cols is how wide they would be, or
 * ARRAY_WIDTH_UNKNOWN; after any other failure 0.
 * DPOT_ERR_IO, DPOT_ERR_MALFORMED, DPOT_ERR_SHAPE, DPOT_ERR_TOO_LARGE, with path and place. */
DPOT_WARN_UNUSED dpot_status array_read(const char *path, struct array *array,
                                        struct dpot_error *error);

/* The same for private data of a device, at most 2^24 entries and 2^28 bytes. No sentence shows a value.
 * No value is refused, so that a refusal tells nothing but the form of the file: what is beyond doubles
 * is infinite, large integers are rounded. An empty file is an array without rows (values NULL); a header without
 * rows is refused. Buffers are wiped, but for those of the C library and zlib; release with array_wipe. */
DPOT_WARN_UNUSED dpot_status array_read_private(const char *path, struct array *array,
                                                struct dpot_error *error);

/* Whether array_write knows what belongs into `path`: "-", a name that ends in .npy or .csv, or
 * something that is there already and is no regular file (/dev/null, a pipe), which gets CSV. */
bool array_can_write(const char *path);

/* By extension; .npy is written with `type`, CSV with 17 significant digits (ARRAY_U4: integers). The file
 * appears whole or not at all (temporary file, fsync, rename). DPOT_ERR_ARGUMENT unless
 * array_can_write. */
DPOT_WARN_UNUSED dpot_status array_write(const char *path, const struct array *array,
                                         enum array_type type, struct dpot_error *error);

/* The same of a table (ARRAY_F8) whose columns have names: "a,b,c", the first line of a CSV. A .npy has
 * no place for them. */
DPOT_WARN_UNUSED dpot_status array_write_named(const char *path, const struct array *array,
                                               const char *names, struct dpot_error *error);

#endif
