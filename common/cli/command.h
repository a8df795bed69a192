/* The tables of a command line (program, commands, options) and the state of one run.
 *
 * A command is one function. It returns a status, with the sentence of a failure in run->error.
 * program.h finds it, options.h parses its options, and program.h reports its result or failure:
 * --help, --json and --quiet are the same for all commands of all programs.
 *
 * Order in every command: options, input files, the work, output files. Whatever can be refused is
 * refused before the work begins. */
#ifndef DPOT_CLI_COMMAND_H
#define DPOT_CLI_COMMAND_H

#include "base/error.h"
#include "cli/exit_code.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OPTIONS_MAX 48 /* of one command, with the general ones */
#define OPERANDS_MAX 256

struct option {
    const char *name;  /* without the dashes; NULL ends a list */
    const char *value; /* placeholder in --help, with the set or the range of the values
                          (cli/values.h); NULL: a flag. "F...": one file or more, the second and
                          further ones become operands */
    const char *help;  /* one line */
};

/* A former spelling of an option. It is taken as before, and shown nowhere. */
struct option_alias {
    const char *command; /* NULL: every command that has the option; NULL and old NULL: the end */
    const char *old, *name;
};

/* A heading of --help, before the command where its section begins. */
struct section {
    const char *title; /* NULL ends a list */
    const struct command *first;
};

struct run;

struct command {
    const char *name;             /* "ot", "campaign create" */
    const char *operands;         /* "SPEC.json"; NULL: none */
    size_t n_operands;            /* at least */
    size_t max_operands;          /* at most; 0: n_operands */
    const char *summary;          /* one line */
    const char *details;          /* the rest of --help */
    const char *example;          /* command lines */
    const struct option *options; /* NULL: the general ones only */
    size_t n_required;            /* the first so many options must be given */
    dpot_status (*run)(struct run *run);
};

struct program {
    const char *name, *version;
    const char *summary; /* what --help begins with */
    const char *example;
    const struct command *const *commands; /* ends with NULL */
    const struct section *sections;        /* NULL: none */
    const struct option *options; /* of every command, with --json, --quiet, --help; NULL: none */
    const struct option_alias *aliases; /* NULL: none */

    /* Optional: called before a command runs, and after it, also after a failure of either. */
    dpot_status (*begin)(struct run *run);
    void (*end)(struct run *run);
    /* Optional: prints run->result after a success; returns 0, or the exit code of a failure. */
    int (*print)(const struct run *run);
    /* Optional: exit_code_of, for a program that has fewer codes. */
    int (*exit_code)(dpot_status status);
    unsigned exit_codes; /* what --help lists: bit n for exit code n */
};

struct run {
    const struct program *program;
    const struct command *command;
    const char *values[OPTIONS_MAX];    /* in the order of the tables; NULL: not given */
    const char *spellings[OPTIONS_MAX]; /* the former one, where that was given; else NULL */
    const char *operands[OPERANDS_MAX];
    size_t n_operands;

    bool is_json, is_quiet;
    bool has_seed; /* --seed and --threads, where the program has them */
    uint64_t seed;
    bool has_threads;
    size_t n_threads; /* at least 1; default: all cores */

    bool reads_stdin;   /* an input is "-" */
    bool writes_stdout; /* an output is "-": results go to stderr */
    bool has_printed;   /* the command has printed its JSON object itself, also of a failure */
    bool is_stopped;    /* a solver stopped before its tolerance: exit code 5 */
    int forced_exit;    /* exit code, whatever the status; 0: that of the status */
    const char *done;   /* reported when stdout fails: "the campaign is stored all the same" */
    void *result;       /* owned by begin and end of the program */
    struct dpot_error error;
};

/* Fails with this exit code: `return RUN_FAIL(run, EXIT_CODE_NOT_READY, DPOT_ERR_STATE, "...");` */
#define RUN_FAIL(run, code, ...)                                                                   \
    ((run)->forced_exit = (code), dpot_error_set(&(run)->error, __VA_ARGS__))

/* A wrong command line: DPOT_ERR_ARGUMENT, exit code 2. */
#define RUN_USAGE(run, ...) RUN_FAIL(run, EXIT_CODE_USAGE, DPOT_ERR_ARGUMENT, __VA_ARGS__)

/* Prints "PROGRAM COMMAND: warning: ..." on stderr. */
void run_warn(const struct run *run, const char *format, ...) DPOT_PRINTF(2, 3);

#endif
