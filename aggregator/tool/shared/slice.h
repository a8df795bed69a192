/* Rows of an array, selected by an option: "a:b" means positions a to b - 1, counted from 0; a
 * missing end is that of the array. */
#ifndef DPOT_TOOL_SHARED_SLICE_H
#define DPOT_TOOL_SHARED_SLICE_H

#include "tool/shared/command.h"

/* Reads one slice of n positions, [slice[0], slice[1]); without the option it is unchanged. Exit
 * code 2: not a slice. DPOT_ERR_RANGE: empty, or beyond n. */
DPOT_WARN_UNUSED dpot_status slice_read(struct run *run, const char *name, size_t n,
                                        size_t slice[2]);

#endif
