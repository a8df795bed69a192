/* The commands of dpotd (cli/command.h), one file for each group. */
#ifndef DPOT_DPOTD_COMMAND_H
#define DPOT_DPOTD_COMMAND_H

#include "cli/command.h"
#include "dpotd/config.h"
#include "dpotd/service.h"
#include "json/json.h"

extern const struct command command_init, command_serve, command_doctor;      /* a file each */
extern const struct command command_backup, command_restore, command_migrate; /* command_store.c */
extern const struct command command_keys_list, command_keys_add, command_keys_prune;

/* Reads the file that --config names. */
DPOT_WARN_UNUSED dpot_status command_read_config(struct run *run, struct config *config);

/* Prints the object, which it takes, and a newline. */
void command_print_json(json_t *body);

/* Prints the result of a command: with --json the object, which it takes, else the text. */
void command_answer(const struct run *run, json_t *body, const char *format, ...) DPOT_PRINTF(3, 4);

/* Reports on stderr, once a second, how far the store has been read. Hook `progress` of
 * struct service_check_options; its ctx must begin with this struct. */
struct command_progress {
    const struct run *run;
    int64_t reported_ms;
};
struct command_progress command_progress_begin(const struct run *run);
void command_progress_report(void *ctx, const struct revision_record *record, uint64_t n_read);

#endif
