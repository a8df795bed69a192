/* Output arrays of commands. */
#ifndef DPOT_TOOL_SHARED_SAVE_H
#define DPOT_TOOL_SHARED_SAVE_H

#include "files/array.h"
#include "tool/shared/command.h"

/* Writes values (n_rows, n_cols) to `path`; does nothing if `path` is NULL. */
DPOT_WARN_UNUSED dpot_status save_values(struct run *run, const char *path, const double *values,
                                         size_t n_rows, size_t n_cols, bool is_vector);

#endif
