/* Parts of an array by position, as options give them: "a:b" are positions a to b - 1, counted from 0;
 * an end left out is that of the array. */
#ifndef DPOT_TOOL_SHARED_SLICE_H
#define DPOT_TOOL_SHARED_SLICE_H

#include "tool/shared/command.h"

/* One slice of n positions, [slice[0], slice[1]); slice is left alone without the option. Exit code 2
 * for a text that is none, DPOT_ERR_RANGE when it is empty or goes beyond n. */
DPOT_WARN_UNUSED dpot_status slice_read(struct run *run, const char *name, size_t n,
                                        size_t slice[2]);

/* A list "0,4,7:10" of positions and slices, in the order given. *positions is (n_positions), to be
 * freed with dpot_free_array, and NULL without the option. Statuses as slice_read; DPOT_ERR_TOO_LARGE
 * for more than `most` positions, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status slice_read_list(struct run *run, const char *name, size_t n,
                                             size_t most, size_t **positions, size_t *n_positions);

#endif
