/* External merge sort of the rows of a round by id.
 *
 * Rows are added until they fill `memory_max`; then they are sorted and written as one run to an
 * unlinked file in /tmp. At the end the runs are merged. A round that fits into memory needs no
 * file. */
#ifndef DPOT_STORE_ID_SORTER_H
#define DPOT_STORE_ID_SORTER_H

#include "base/buf.h"
#include "base/error.h"
#include "store/id_order.h"
#include "store/packed.h"

#include <stdio.h>

#define ID_SORTER_MEMORY ((size_t)64 << 20)

struct id_run {
    struct id_place head; /* its next row; `at` is the offset in the file */
    size_t end;
};

struct id_sorter {
    size_t memory_max;
    struct dpot_buf rows; /* each preceded by its dim and width */
    struct id_place *places;
    size_t n_places, n_places_max; /* of rows in memory */
    FILE *file;                    /* NULL: everything fits into memory */
    size_t file_len;
    const uint8_t *mapped; /* the file while it is read */
    struct id_run *runs;   /* a heap by head while the file is read */
    size_t n_runs, n_runs_max;
    size_t n_rows, n_read;
    size_t n_touched; /* bytes of the file read since its pages were released */
    uint32_t dim;     /* of the last block */
    unsigned width;   /* largest of all blocks */
};

void id_sorter_init(struct id_sorter *sorter, size_t memory_max);
void id_sorter_release(struct id_sorter *sorter);

/* Adds the rows of a block. DPOT_ERR_MEMORY; DPOT_ERR_IO: /tmp is full. */
DPOT_WARN_UNUSED dpot_status id_sorter_add(struct id_sorter *sorter,
                                           const struct packed_block *block,
                                           struct dpot_error *error);

/* Called after the last block. Status as above. */
DPOT_WARN_UNUSED dpot_status id_sorter_end(struct id_sorter *sorter, struct dpot_error *error);

/* A layout that fits every row if all have one dim. */
struct packed_layout id_sorter_layout(const struct id_sorter *sorter);

/* The next row, as a block of one report that is valid as long as the sorter. False: no more. */
bool id_sorter_next(struct id_sorter *sorter, struct packed_block *row);

#endif
