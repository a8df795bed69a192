/* Parses the command line of a run and reads the values of its options.
 *
 * Every reader returns DPOT_OK and leaves *out unchanged when the option was not given. A wrong
 * value is DPOT_ERR_ARGUMENT (exit code 2) with a sentence that names option, value and remedy. */
#ifndef DPOT_CLI_OPTIONS_H
#define DPOT_CLI_OPTIONS_H

#include "cli/command.h"

/* --json, --quiet and --help, which every command of every program has. */
extern const struct option options_of_all[];

/* Fills `run` from the arguments after the command's name: "--name value" or "--name=value" (values
 * that begin with two dashes need the second form); "--" ends the options. DPOT_ERR_ARGUMENT: an
 * option is unknown, given twice, has no value, or is required and missing; too many operands, or
 * too few. *wants_help: --help or -h was given; nothing else is checked then. */
DPOT_WARN_UNUSED dpot_status options_parse(struct run *run, int argc, char **argv,
                                           bool *wants_help);

/* The value of an option, "" for a flag; NULL: not given. */
const char *option_text(const struct run *run, const char *name);
bool option_is_given(const struct run *run, const char *name);

/* The name as the user gave it: a former spelling, otherwise `name`. */
const char *option_spelling(const struct run *run, const char *name);

/* Whether the tables have the option. */
bool option_is_known(const struct run *run, const char *name);

/* As option_text, but refuses a missing option: "option --NAME is missing: give WHAT". */
DPOT_WARN_UNUSED dpot_status option_require(struct run *run, const char *name, const char *what,
                                            const char **out);

/* A finite number in (0, most]; subnormal numbers (below 2.2e-308) are refused. */
DPOT_WARN_UNUSED dpot_status option_positive(struct run *run, const char *name, double most,
                                             double *out);

/* A finite number, an integer, in [min, max]. */
DPOT_WARN_UNUSED dpot_status option_number(struct run *run, const char *name, double min,
                                           double max, double *out);
DPOT_WARN_UNUSED dpot_status option_integer(struct run *run, const char *name, uint64_t min,
                                            uint64_t max, uint64_t *out);

/* Exactly one of two options must be given. */
DPOT_WARN_UNUSED dpot_status option_either(struct run *run, const char *a, const char *b);

/* Refuses `other` beside `name`, because `why`. */
DPOT_WARN_UNUSED dpot_status option_excludes(struct run *run, const char *name, const char *other,
                                             const char *why);

#endif
