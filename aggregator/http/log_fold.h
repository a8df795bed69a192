/* Counts repeated lines of the log, so that strangers do not choose its volume. A table of kinds of
 * bounded size, without a lock. */
#ifndef DPOT_HTTP_LOG_FOLD_H
#define DPOT_HTTP_LOG_FOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define LOG_KIND_SIZE 192
#define LOG_FOLD_KINDS 64
#define LOG_FOLD_KEPT 10                  /* lines of a kind that are written ... */
#define LOG_FOLD_PERIOD_MS INT64_C(60000) /* ... in this time */

struct log_kind {
    char text[LOG_KIND_SIZE];
    int64_t since_ms; /* of its first line */
    unsigned n_kept;
    uint64_t n_folded;
};

/* Zero: empty. */
struct log_fold {
    struct log_kind kinds[LOG_FOLD_KINDS];
    size_t n;
};

/* True: a line of this kind is to be written. False: it was counted. Kinds that find no place in
 * the table count as one, "event=other". */
bool log_fold_admit(struct log_fold *fold, const char *kind, int64_t now_ms);

/* Removes kinds whose time is over, or all; true: `over` is one with folded lines, and there
 * may be more. */
bool log_fold_next(struct log_fold *fold, int64_t now_ms, bool is_last, struct log_kind *over);

#endif
