/* Options that name output files, and what several commands check alike; cli/options.h reads all
 * options. Every output is checked here before any file is read. */
#ifndef DPOT_TOOL_SHARED_OPTIONS_H
#define DPOT_TOOL_SHARED_OPTIONS_H

#include "cli/options.h"
#include "tool/shared/command.h"

/* The path of an output; *out is NULL if it was not given. DPOT_ERR_ARGUMENT: "-" with --json, a
 * second "-", or a path that is an input or another output of the run (tool/shared/conflict.h). */
DPOT_WARN_UNUSED dpot_status option_output(struct run *run, const char *name, const char **out);

/* As option_output, but refuses a missing option as option_require does. */
DPOT_WARN_UNUSED dpot_status option_require_output(struct run *run, const char *name,
                                                   const char *what, const char **out);

/* The same two for an array; its name must have a format (array_can_write). */
DPOT_WARN_UNUSED dpot_status option_array_output(struct run *run, const char *name,
                                                 const char **out);
DPOT_WARN_UNUSED dpot_status option_require_array_output(struct run *run, const char *name,
                                                         const char *what, const char **out);

/* Refuses a tolerance that float32 sweeps cannot reach however many they are. */
DPOT_WARN_UNUSED dpot_status option_check_float32(struct run *run, const char *name, double tol);

#endif
