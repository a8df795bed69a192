/* Runs the built program in the test's folder (files/folder.h) and stores its output. */
#ifndef DPOT_TESTS_UNIT_AGGREGATOR_TOOL_PROCESS_H
#define DPOT_TESTS_UNIT_AGGREGATOR_TOOL_PROCESS_H

#include <jansson.h>
#include <stddef.h>

#define PROCESS_OUT_MAX 65536

struct process {
    int exit_code; /* 128 + signal for a process that was killed */
    char out[PROCESS_OUT_MAX];
    char err[PROCESS_OUT_MAX];
};

/* `arguments` is one text, split at blanks; standard input is the file "stdin" of the folder, if
 * there is one. */
void process_run(struct process *process, const char *arguments);

/* The same, expecting this exit code; on a failure `sentence` must be in stderr, and stdout empty
 * unless it is JSON. */
void expect_exit(const char *arguments, int exit_code, const char *sentence);

/* Limits the address space of later runs, in bytes; 0: no limit. */
extern size_t process_address_space;

/* Runs with --json, expecting exit code 0 or `exit_code`, and returns the object. New reference. */
json_t *expect_json(const char *arguments, int exit_code);

/* A number of an object. */
double number_of(const json_t *object, const char *key);

/* Writes a text to a file of the folder. */
void write_text(const char *name, const char *text);

#endif
