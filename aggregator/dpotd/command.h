/* The commands of dpotd: one row of the table in main.c each, one file for each group. */
#ifndef DPOT_DPOTD_COMMAND_H
#define DPOT_DPOTD_COMMAND_H

#include "base/error.h"

#include <stdbool.h>

enum exit_code {
    EXIT_DONE = 0,
    EXIT_INTERNAL = 1,
    EXIT_USAGE = 2,
    EXIT_BAD_DATA = 3,
    EXIT_ENVIRONMENT = 6,
};

/* What the command line said. */
struct options {
    const char *dir, *listen, *config, *ready_file, *to, *from, *days;
    bool is_json, is_quick;
    bool wants_help;
};

/* A command runs with its options checked by name only, and returns an exit code. */
struct command {
    const char *name; /* one word or two */
    const char *help;
    const char *const *options; /* NULL-terminated */
    int (*run)(const struct options *options);
};

extern const struct command command_init, command_serve, command_doctor;      /* a file each */
extern const struct command command_backup, command_restore, command_migrate; /* command_store.c */
extern const struct command command_keys_list, command_keys_add, command_keys_prune;

/* What a status exits with. */
int command_exit_code(dpot_status status);

/* Tells a failure on standard error; its exit code. */
int command_fail(dpot_status status, const struct dpot_error *error);
int command_fail_usage(const char *sentence, const char *value);

/* Everything that was printed for programs must have arrived; the exit code. */
int command_finish(void);

#endif
