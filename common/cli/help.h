/* --help and shell completion, from the tables of a program. */
#ifndef DPOT_CLI_HELP_H
#define DPOT_CLI_HELP_H

#include "cli/command.h"

#include <stdio.h>

/* "PROGRAM --help" and "PROGRAM COMMAND --help". */
void help_print_program(FILE *stream, const struct program *program);
void help_print_command(FILE *stream, const struct program *program, const struct command *command);

/* Prints the commands of a group such as "campaign"; returns their number. */
size_t help_print_group(FILE *stream, const struct program *program, const char *group);

/* "PROGRAM completion WORD...", for completion.bash: prints what may follow these words of a
 * command line, one a line; nothing where the value of an option comes next. */
void help_print_completion(FILE *stream, const struct program *program, int n_words, char **words);

#endif
