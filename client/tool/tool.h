/* What the files of dpot-device share: exit codes, options, and how a failure is told. */
#ifndef DPOT_TOOL_TOOL_H
#define DPOT_TOOL_TOOL_H

#include "dpot/dpot.h"

#include <stdbool.h>

/* Published: scripts depend on them. */
enum exit_code {
    EXIT_DONE = 0,
    EXIT_INTERNAL = 1,
    EXIT_USAGE = 2,
    EXIT_INPUT = 3,     /* bad input data */
    EXIT_PRIVACY = 4,   /* refused for privacy */
    EXIT_IO = 6,        /* disk or network */
    EXIT_NOT_READY = 7, /* reports are pending; the campaign is not open (yet, any more) */
};

/* The command line. Texts are borrowed from argv; NULL: not given. */
struct options {
    const char *server;
    const char *campaign;
    const char *pin;
    const char *dir;
    const char *campaign_cap;
    const char *window_cap;
    const char *window_seconds;
    const char *lifetime_cap;
    const char *delta_cap;
    const char *accountant;
    const char *ca_file;
    const char *group;
    const char *spool_max;
    const char *points;
    const char *histogram;
    const char *vector;
    const char *wait;
    bool weighted;
    bool json;
    bool quiet;
    bool help;
};

/* A command's failure: one sentence, and the status behind it when there is one. */
struct failure {
    char text[512];
    dpot_status status;
    bool is_told; /* the command has written its JSON object itself */
};

/* Writes the sentence; returns `code`, so that a refusal is one line. */
enum exit_code fail(struct failure *failure, enum exit_code code, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 3, 4)))
#endif
    ;

/* The exit code that stands for a failed call of the library. */
enum exit_code exit_code_of(dpot_status status);

/* Exactly one whole, finite number; false otherwise. */
bool parse_number(const char *text, double *value);
bool parse_count(const char *text, uint64_t *value);

enum exit_code run_withdraw(const struct options *options, struct failure *failure);
enum exit_code run_grant(const struct options *options, struct failure *failure);
enum exit_code run_enroll(const struct options *options, struct failure *failure);
enum exit_code run_report(const struct options *options, struct failure *failure);
enum exit_code run_flush(const struct options *options, struct failure *failure);
enum exit_code run_status(const struct options *options, struct failure *failure);

#endif
