/* A command of `dpot`: its row in the table, and the state of one run of it.
 *
 * A command is one function that returns a status; the sentence of a failure is in run->error. The
 * caller (tool.c) parses the options before and prints the result after, so that every command has
 * --help, --json, --quiet, --seed and --threads in the same way.
 *
 * Order in every command: options, then input files, then the work, then output files. Whatever can
 * be refused is refused before the work begins. */
#ifndef DPOT_TOOL_SHARED_COMMAND_H
#define DPOT_TOOL_SHARED_COMMAND_H

#include "base/error.h"
#include "json/json.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Exit codes: a contract (aggregator/doc/dpot.1). */
enum exit_code {
    EXIT_CODE_DONE = 0,
    EXIT_CODE_INTERNAL = 1,
    EXIT_CODE_USAGE = 2,
    EXIT_CODE_DATA = 3,
    EXIT_CODE_PRIVACY = 4,
    EXIT_CODE_STOPPED = 5,   /* a solver stopped before its tolerance; output is written */
    EXIT_CODE_IO = 6,        /* files, network */
    EXIT_CODE_NOT_READY = 7, /* pool below its minimum, campaign in another state */
};

#define OPTIONS_MAX 48 /* of one command, with the general ones */
#define OPERANDS_MAX 256

struct option {
    const char *name;  /* without the dashes; NULL ends a list */
    const char *value; /* what stands for the value in --help; NULL for a flag. It begins with F or
                          SPEC when the value names a file: outputs are compared with these.
                          "F...": one or more files, of which all but the first become operands */
    const char *help;
};

struct run;

struct command {
    const char *name;     /* "ot", "campaign create" */
    const char *operands; /* "SPEC.json"; NULL for none */
    size_t n_operands;    /* at least */
    size_t max_operands;  /* at most; 0: n_operands, no more */
    const char *summary;  /* one line */
    const char *details;  /* the rest of --help */
    const char *example;
    const struct option *options;
    dpot_status (*run)(struct run *run);
};

/* One run. */
struct run {
    const struct command *command;
    const char *values[OPTIONS_MAX]; /* by the number of the option; NULL: not given */
    const char *operands[OPERANDS_MAX];
    size_t n_operands;

    bool is_json;
    bool is_quiet;
    bool has_seed;
    uint64_t seed;
    size_t n_threads; /* >= 1 */
    bool has_threads; /* the user said so */

    bool reads_stdin;   /* an input is "-" */
    bool writes_stdout; /* an output is "-": the table goes to stderr */
    bool is_stopped;    /* the solver stopped before its tolerance */
    int forced_exit;    /* exit code when the status does not tell it; 0: none. With DPOT_OK the
                           result is printed all the same */
    json_t *result;     /* object: what --json prints */
    struct dpot_error error;
};

/* The general options, which every command has. */
extern const struct option general_options[];

/* The exit code that stands for a status. */
int exit_code_of(dpot_status status);

/* Fails with an exit code that the status alone does not tell. */
#define RUN_FAIL(run, code, ...)                                                                   \
    ((run)->forced_exit = (code), dpot_error_set(&(run)->error, __VA_ARGS__))

/* A wrong command line: DPOT_ERR_ARGUMENT, exit code 2. */
#define RUN_USAGE(run, ...) RUN_FAIL(run, EXIT_CODE_USAGE, DPOT_ERR_ARGUMENT, __VA_ARGS__)

/* Prints "dpot: warning: ..." on stderr. */
void run_warn(const struct run *run, const char *format, ...) DPOT_PRINTF(2, 3);

/* Adds to the result; a failed allocation is found when the result is printed. */
void run_put(struct run *run, const char *key, json_t *value);
void run_put_number(struct run *run, const char *key, double value);
void run_put_integer(struct run *run, const char *key, uint64_t value);
void run_put_text(struct run *run, const char *key, const char *value);

#endif
