/* Pages made of the tables of a program: --help, and what completion in a shell offers. */
#ifndef DPOT_CLI_HELP_H
#define DPOT_CLI_HELP_H

#include "cli/command.h"

#include <stdio.h>

/* The page of a program and of a command. */
void help_print_program(FILE *stream, const struct program *program);
void help_print_command(FILE *stream, const struct program *program, const struct command *command);

/* Prints the commands of a group, such as "campaign"; returns how many there are. */
size_t help_print_group(FILE *stream, const struct program *program, const char *group);

/* Prints what may follow these words of a command line, one word a line; nothing where a value is due.
 * share/bash-completion/completions/ asks for it: "PROGRAM completion WORD...". */
void help_print_completion(FILE *stream, const struct program *program, int n_words, char **words);

#endif
