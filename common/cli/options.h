/* Options of a run: the command line is parsed, then each value is read with its range checked.
 *
 * Every reader leaves *out alone and returns DPOT_OK when the option was not given. A wrong value is
 * DPOT_ERR_ARGUMENT (exit code 2) with a sentence that names option, value and remedy. */
#ifndef DPOT_CLI_OPTIONS_H
#define DPOT_CLI_OPTIONS_H

#include "cli/command.h"

/* --json, --quiet and --help, which every command of every program has. */
extern const struct option options_of_all[];

/* Fills `run` from the arguments after the command's name: "--name value" or "--name=value", the
 * second also for values that begin with two dashes; "--" ends the options. Refused: options that are
 * not in the tables, values and the command's own flags given twice, missing required options.
 * *wants_help: --help or -h is among them; nothing else was checked. */
DPOT_WARN_UNUSED dpot_status options_parse(struct run *run, int argc, char **argv,
                                           bool *wants_help);

/* The value of an option; NULL: not given. "" for a flag. */
const char *option_text(const struct run *run, const char *name);
bool option_is_given(const struct run *run, const char *name);

/* Whether the command has such an option at all. */
bool option_is_known(const struct run *run, const char *name);

/* As option_text; a missing option is refused: "option --NAME is missing: give WHAT". */
DPOT_WARN_UNUSED dpot_status option_require(struct run *run, const char *name, const char *what,
                                            const char **out);

/* A finite number in (0, most]; subnormal ones, below 2.2e-308, are refused. */
DPOT_WARN_UNUSED dpot_status option_positive(struct run *run, const char *name, double most,
                                             double *out);

/* A finite number in [min, max]. */
DPOT_WARN_UNUSED dpot_status option_number(struct run *run, const char *name, double min,
                                           double max, double *out);
DPOT_WARN_UNUSED dpot_status option_integer(struct run *run, const char *name, uint64_t min,
                                            uint64_t max, uint64_t *out);

/* Exactly one of two must be given. */
DPOT_WARN_UNUSED dpot_status option_either(struct run *run, const char *a, const char *b);

/* Refuses `other` beside `name`, because `why`. */
DPOT_WARN_UNUSED dpot_status option_excludes(struct run *run, const char *name, const char *other,
                                             const char *why);

#endif
