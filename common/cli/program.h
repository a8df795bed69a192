/* Everything of a program but its tables: finds the command, runs it, reports its result, exits. */
#ifndef DPOT_CLI_PROGRAM_H
#define DPOT_CLI_PROGRAM_H

#include "cli/command.h"

/* The body of main(): program_run, and the exit. Closed standard descriptors and SIGPIPE become
 * failed reads and writes. */
_Noreturn void program_main(const struct program *program, int argc, char **argv);

/* Runs the command that the arguments name; returns the exit code. A failure is one sentence on
 * stderr and, with --json, an object {outcome, status, error, exit_code} on stdout. If stdout
 * cannot be written the exit code is 6. */
int program_run(const struct program *program, int argc, char **argv);

/* The command that the first *n_words of the words name; NULL: none. */
const struct command *program_find(const struct program *program, int n, char **words,
                                   int *n_words);

/* "list" for the command "keys list" and the group "keys"; NULL: not in the group. */
const char *command_word_in(const struct command *command, const char *group);

/* The exit code of a status: the program's own mapping, or exit_code_of. */
int program_exit_code(const struct program *program, dpot_status status);

#endif
