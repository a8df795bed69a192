#include "http/log_fold.h"

#include <stdio.h>
#include <string.h>

static struct log_kind *find(struct log_fold *fold, const char *kind)
{
    for (size_t i = 0; i < fold->n; i++) {
        if (strcmp(fold->kinds[i].text, kind) == 0) {
            return &fold->kinds[i];
        }
    }
    return NULL;
}

static struct log_kind *find_or_add(struct log_fold *fold, const char *kind, int64_t now_ms)
{
    static const char other[] = "event=other";
    struct log_kind *found = find(fold, kind);
    if (!found && fold->n >= LOG_FOLD_KINDS - 1) { /* the last place is for the others */
        kind = other;
        found = find(fold, other);
    }
    if (!found) {
        found = &fold->kinds[fold->n++];
        *found = (struct log_kind){.since_ms = now_ms};
        (void)snprintf(found->text, sizeof found->text, "%s", kind);
    }
    return found;
}

bool log_fold_admit(struct log_fold *fold, const char *kind, int64_t now_ms)
{
    struct log_kind *k = find_or_add(fold, kind, now_ms);
    const bool is_kept = k->n_kept < LOG_FOLD_KEPT;
    k->n_kept += is_kept;
    k->n_folded += !is_kept;
    return is_kept;
}

/* A clock that was set back ends the time, too. */
static bool is_over(const struct log_kind *kind, int64_t now_ms)
{
    return now_ms < kind->since_ms || now_ms - kind->since_ms >= LOG_FOLD_PERIOD_MS;
}

bool log_fold_next(struct log_fold *fold, int64_t now_ms, bool is_last, struct log_kind *over)
{
    for (size_t i = fold->n; i-- > 0;) {
        if (is_last || is_over(&fold->kinds[i], now_ms)) {
            *over = fold->kinds[i];
            fold->kinds[i] = fold->kinds[--fold->n];
            if (over->n_folded > 0) {
                return true;
            }
        }
    }
    return false;
}
