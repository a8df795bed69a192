/* A whole program but its tables: finds the command, runs it, reports what came of it, and exits. */
#ifndef DPOT_CLI_PROGRAM_H
#define DPOT_CLI_PROGRAM_H

#include "cli/command.h"

/* The body of main: takes care of closed standard descriptors and of signals of writing, runs the
 * program and exits with its code. */
_Noreturn void program_main(const struct program *program, int argc, char **argv);

/* Runs the command that the arguments name; returns the exit code. A failure is one sentence on
 * stderr and, with --json, an object {outcome, status, error, exit_code} on stdout. Standard output that
 * cannot be written is exit code 6. */
int program_run(const struct program *program, int argc, char **argv);

/* The command that the first words name; *n_words is how many do. NULL: none. */
const struct command *program_find(const struct program *program, int n, char **words,
                                   int *n_words);

/* The second word of a command of this group: "list" of "keys list"; NULL: it is none of it. */
const char *command_word_in(const struct command *command, const char *group);

/* The exit code of a status in this program. */
int program_exit_code(const struct program *program, dpot_status status);

#endif
