/* The entries of a binary array: numbers of one type, one after the other. */
#ifndef DPOT_FILES_ENTRIES_H
#define DPOT_FILES_ENTRIES_H

#include "files/array.h"

#include <stdint.h>
#include <stdio.h>

enum entry_kind { ENTRY_BOOL = 1, ENTRY_UNSIGNED = 2, ENTRY_SIGNED = 3, ENTRY_FLOAT = 4 };

/* Floats have 2, 4 or 8 bytes (IEEE 754), integers 1, 2, 4 or 8, booleans 1. */
struct entry_type {
    enum entry_kind kind;
    unsigned size; /* bytes */
    bool is_big_endian;
};

struct entries {
    struct entry_type type;
    size_t n_rows, n_cols; /* their product is at most what the rules of the reader allow */
    bool is_vector;
    bool is_fortran; /* columns one after the other */
    uint64_t room;   /* bytes that the stream may still have at most; UINT64_MAX: unknown */
};

/* Reads the entries and expects the end of the stream after them. Memory is allocated at once if
 * `room` is what the entries need, else as they come, so that a header alone costs nothing.
 * DPOT_ERR_MALFORMED: `room` is too small, or there are fewer or more bytes. DPOT_ERR_RANGE: an
 * integer beyond 2^53; in private data it is rounded. DPOT_ERR_MEMORY, DPOT_ERR_IO. *array must be
 * zeroed and remains so on failure. */
DPOT_WARN_UNUSED dpot_status entries_read(FILE *stream, const struct entries *entries,
                                          bool is_private, struct array *array,
                                          struct dpot_error *error);

#endif
