/* Parts of an array, selected by options: "a:b" means positions a to b - 1, counted from 0; a
 * missing end is that of the array. */
#ifndef DPOT_TOOL_SHARED_SLICE_H
#define DPOT_TOOL_SHARED_SLICE_H

#include "tool/shared/command.h"

/* Reads one slice of n positions, [slice[0], slice[1]); without the option it is unchanged. Exit
 * code 2: not a slice. DPOT_ERR_RANGE: empty, or beyond n. */
DPOT_WARN_UNUSED dpot_status slice_read(struct run *run, const char *name, size_t n,
                                        size_t slice[2]);

/* Reads a list "0,4,7:10" of positions and slices, in the order given. *positions (n_positions) is
 * freed with dpot_free_array; NULL without the option. Statuses as slice_read; DPOT_ERR_TOO_LARGE:
 * more than `most` positions; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status slice_read_list(struct run *run, const char *name, size_t n,
                                             size_t most, size_t **positions, size_t *n_positions);

#endif
