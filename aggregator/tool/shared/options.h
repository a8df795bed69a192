/* Options of a run: parsing the command line, and reading values with their ranges checked.
 *
 * Every reader leaves *out alone when the option was not given and returns DPOT_OK; a value that is
 * wrong is DPOT_ERR_ARGUMENT (exit code 2) with a sentence that names option, value and remedy. */
#ifndef DPOT_TOOL_SHARED_OPTIONS_H
#define DPOT_TOOL_SHARED_OPTIONS_H

#include "tool/shared/command.h"

/* Fills run->values and run->operands from the arguments after the command's name. "--name value"
 * and "--name=value", of which only the second takes a value that begins with two dashes; nothing may be given twice. *wants_help: --help was there, all else is moot. */
DPOT_WARN_UNUSED dpot_status options_parse(struct run *run, int argc, char **argv,
                                           bool *wants_help);

/* The text of an option, NULL when it was not given; for a flag "" when it was. */
const char *option_text(const struct run *run, const char *name);
bool option_is_given(const struct run *run, const char *name);

/* Whether the command has such an option at all. */
bool option_is_known(const struct run *run, const char *name);

/* As option_text, but a missing option is refused; `what` completes the sentence: "give <what>". */
DPOT_WARN_UNUSED dpot_status option_require(struct run *run, const char *name, const char *what,
                                            const char **out);

/* A finite number in (0, most]; subnormal ones, below 2.2e-308, are refused too. */
DPOT_WARN_UNUSED dpot_status option_positive(struct run *run, const char *name, double most,
                                             double *out);

/* A finite number in [min, max]. */
DPOT_WARN_UNUSED dpot_status option_number(struct run *run, const char *name, double min,
                                           double max, double *out);
DPOT_WARN_UNUSED dpot_status option_integer(struct run *run, const char *name, uint64_t min,
                                            uint64_t max, uint64_t *out);

/* Exactly one of two alternatives must be given. */
DPOT_WARN_UNUSED dpot_status option_either(struct run *run, const char *a, const char *b);

/* Refuses `other` beside `name`, because `why`. */
DPOT_WARN_UNUSED dpot_status option_excludes(struct run *run, const char *name, const char *other,
                                             const char *why);

/* Path of an output: refuses "-" with --json and a second "-", and a path that is also an input or
 * another output of the run (tool/shared/conflict.h). *out is NULL when not given. Every output comes through
 * here, before any file is read. */
DPOT_WARN_UNUSED dpot_status option_output(struct run *run, const char *name, const char **out);

/* The same for an array, whose name says the format (array_can_write). */
DPOT_WARN_UNUSED dpot_status option_array_output(struct run *run, const char *name,
                                                 const char **out);

#endif
