/* What the placeholder of an option (struct option, `value`) says about its values. One text serves
 * --help, the check of the command line, its refusals and completion.
 *
 *     "F", "FILE|ID", "SPEC"      a file name (F and SPEC at the start)
 *     "DIR"                       a folder
 *     "wpm|kpm|exponential"       one of these words: alternatives in lower case are literal
 *     "N 1..3650", "N 0.."        an integer in this range; without an end: up to 2^64 - 1
 *     "E (0,20]", "L (0,inf)"     a finite number in this interval
 *     anything else               a text that the command itself reads */
#ifndef DPOT_CLI_VALUES_H
#define DPOT_CLI_VALUES_H

#include "cli/command.h"

#include <stdio.h>

#define VALUES_TEXT_SIZE 160 /* bytes of any text written here, with the NUL */

bool values_are_files(const char *value);
bool values_are_folders(const char *value);

/* "N" of "N 1..3650": what --help and refusals show. */
void values_name(const char *value, char out[VALUES_TEXT_SIZE]);

/* The range in words: "from 1 to 3650", "above 0, at most 20"; "" when there is none. */
void values_range(const char *value, char out[VALUES_TEXT_SIZE]);

/* Whether there are words to choose from, and nothing else. */
bool values_are_words(const char *value);

/* The next literal word, up to a "|" or a blank: *at starts at `value`; returns its length, 0 after
 * the last, with *at on the word. Continue with *at += length. */
size_t values_next_word(const char **at);

/* DPOT_ERR_ARGUMENT: `text` is out of the range, or none of the words. */
DPOT_WARN_UNUSED dpot_status values_check(struct run *run, const struct option *option,
                                          const char *text);

#endif
