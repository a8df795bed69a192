/* Reads and writes arrays: .npy, CSV, and (reading only) .npz, IDX and what gzip packed. The one
 * reader of all programs.
 *
 * Arrays are row-major doubles; a 1-D array has n_cols == 1 and is_vector. The path "-" is stdin,
 * or CSV on stdout. Limits are checked before memory is allocated. */
#ifndef DPOT_FILES_ARRAY_H
#define DPOT_FILES_ARRAY_H

#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ARRAY_ENTRIES_MAX ((size_t)1 << 28) /* 2 GiB of doubles */
#define ARRAY_COLUMNS_MAX ((size_t)1 << 20)
#define ARRAY_WIDTH_UNKNOWN SIZE_MAX

#define ARRAY_NAME_MAX 128 /* bytes of a column name, with the NUL; longer names are cut */

enum array_source { ARRAY_TEXT, ARRAY_NPY /* also of a .npz */, ARRAY_IDX };

struct array {
    size_t n_rows;
    size_t n_cols;
    bool is_vector;
    double *values;                /* (n_rows, n_cols) owned */
    char (*names)[ARRAY_NAME_MAX]; /* (n_cols) of the columns, owned; NULL: none */
    size_t names_line;             /* taken for names although nobody declared it, from 1; else 0 */
    enum array_source source;      /* what it was read from */
};

enum array_type { ARRAY_F8 = 1, ARRAY_U4 = 2 };

/* Limits of a reader, for an analyst's arrays and for the private data of a device. */
struct array_rules {
    unsigned entries_log2; /* at most 2^entries_log2 entries */
    unsigned bytes_log2;   /* at most 2^bytes_log2 bytes of input */
    bool is_private;       /* see array_read_private */
};
extern const struct array_rules array_rules_public, array_rules_private;

enum array_header {
    ARRAY_HEADER_AUTO = 0, /* public: the first line decides, files/csv.h; private: as _NO */
    ARRAY_HEADER_YES = 1,  /* the first line holds the names of the columns, whatever they are */
    ARRAY_HEADER_NO = 2,   /* it is a row, unless columns are chosen by names */
};

/* What the user says of a file. Zeroed: all columns, a header by the first line, public data. */
struct array_form {
    const char *columns;      /* which, in which order: files/columns.h; NULL: all */
    enum array_header header; /* of text; other formats have none */
    bool is_private;          /* see array_read_private */
    bool is_large;            /* private data of a curator: the limits are those of public data */
};

/* Whether a path ends in these characters: ".npy". */
bool path_ends_in(const char *path, const char *end);

/* Zeroed entries. DPOT_ERR_SHAPE: none, or more than ARRAY_ENTRIES_MAX; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status array_init(struct array *array, size_t n_rows, size_t n_cols,
                                        bool is_vector);
void array_release(struct array *array);
void array_wipe(struct array *array); /* the same, for private data */

/* Reads a file, stdin or a pipe. The content tells what it is, not the name: .npy (files/npy.h),
 * .npz (files/npz.h), IDX (files/idx.h), else CSV (files/csv.h; one column is 1-D); each also
 * packed with gzip. "FILE:CHOICE" chooses columns, or of a .npz an array (files/input.h). NaN and
 * infinities are read. The error names path and place. *array is zeroed on failure, except as
 * DPOT_ERR_SHAPE says.
 *   DPOT_ERR_RANGE      a decimal beyond the range of doubles, an integer above 2^53
 *   DPOT_ERR_SHAPE      no rows: n_cols is the width that the file states, or ARRAY_WIDTH_UNKNOWN;
 *                       another shape that is not supported: n_cols is 0
 *   DPOT_ERR_IO, DPOT_ERR_MALFORMED, DPOT_ERR_VERSION, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY */
DPOT_WARN_UNUSED dpot_status array_read(const char *path, struct array *array,
                                        struct dpot_error *error);

/* The same for the private data of a device: at most 2^24 entries and 2^28 bytes.
 * No error shows a value, and none depends on one, so that a refusal reveals only the form of the
 * file (files/csv.h): what is no number is NaN, decimals beyond doubles become infinite, large
 * integers are rounded. A file without rows is an array without rows (values NULL, n_cols that of a
 * header, else 0). Buffers are wiped, except those of the C library and of zlib. Release with
 * array_wipe. */
DPOT_WARN_UNUSED dpot_status array_read_private(const char *path, struct array *array,
                                                struct dpot_error *error);

/* Both, for the columns and the header that `form` says. DPOT_ERR_ARGUMENT: columns that the
 * file does not have. After DPOT_ERR_SHAPE for rows alone array->names may be set: release them. */
DPOT_WARN_UNUSED dpot_status array_read_form(const char *path, const struct array_form *form,
                                             struct array *array, struct dpot_error *error);

/* Writes a sentence on the line that was taken for names, "F: line 1 is taken for the names of the
 * columns: x, y", for a program to print on stderr. False: no line was, as in private data, or it
 * was declared. */
bool array_explain_names(const char *path, const struct array *array, struct dpot_error *sentence);

/* Whether array_write has a format for `path`: "-", a name that ends in .npy or .csv, or an
 * existing path that is not a regular file (/dev/null, a pipe), which gets CSV. */
bool array_can_write(const char *path);

/* Writes a file, by its extension; the type is that of a .npy, and ARRAY_U4 means integers in a
 * CSV, which begins with array->names if there are some. The file appears whole or not at all
 * (files/output.h). DPOT_ERR_ARGUMENT unless array_can_write; DPOT_ERR_RANGE: an entry is no u4. */
DPOT_WARN_UNUSED dpot_status array_write(const char *path, const struct array *array,
                                         enum array_type type, struct dpot_error *error);

/* The same for doubles with other column names, "a,b,c"; a .npy has no names. */
DPOT_WARN_UNUSED dpot_status array_write_named(const char *path, const struct array *array,
                                               const char *names, struct dpot_error *error);

#endif
