/* Options of dpot that name outputs; all others are read by cli/options.h. Every output comes through
 * here, before any file is read. */
#ifndef DPOT_TOOL_SHARED_OPTIONS_H
#define DPOT_TOOL_SHARED_OPTIONS_H

#include "cli/options.h"
#include "tool/shared/command.h"

/* Path of an output; *out is NULL when it was not given. Refused: "-" with --json, a second "-", a path
 * that is an input or another output of the run (tool/shared/conflict.h). */
DPOT_WARN_UNUSED dpot_status option_output(struct run *run, const char *name, const char **out);

/* The same for an array, whose name says the format (array_can_write). */
DPOT_WARN_UNUSED dpot_status option_array_output(struct run *run, const char *name,
                                                 const char **out);

#endif
