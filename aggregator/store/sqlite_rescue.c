/* What was done to the files of a store while it was owned, when it is closed.
 *
 * The process may still have what the disk has no more: a file without a name lives while it is open, and
 * pages of a damaged log or database may be in the memory of the connection that wrote them. So that
 * connection makes a copy; the copy is read whole before anybody is told to use it; and what stays on disk
 * is marked, because it lacks reports that were acknowledged: whoever went on with it would count them
 * again. */
#include "store/sqlite_store.h"

static const char no_copy[] = "-";

static const char n_altered[] =
    "SELECT count(*) FROM block WHERE dpot_commit_sum(hash, round, 0, format, n_reports, reports)"
    " IS NOT sum OR (typeof(round), typeof(format), typeof(n_reports))"
    " <> ('integer', 'integer', 'integer')";

static dpot_status check_blocks(const struct sqlite_store *s, struct database *reader,
                                struct dpot_error *error)
{
    const int64_t n_known = s->n_found + (int64_t)s->n_added;
    int64_t n_reports = 0, n = 0;
    dpot_status status = database_ask(reader, "SELECT ifnull(sum(n_reports), 0) FROM block",
                                      &n_reports, NULL, 0, error);
    if (status == DPOT_OK) {
        status = database_ask(reader, n_altered, &n, NULL, 0, error);
    }
    if (status == DPOT_OK && n != 0) {
        status = dpot_error_set(error, DPOT_ERR_CORRUPT, "%lld block%s not what was written",
                                (long long)n, n == 1 ? " is" : "s are");
    }
    if (status == DPOT_OK && n_reports < n_known) {
        status = dpot_error_set(error, DPOT_ERR_CORRUPT, "it has %lld reports of %lld",
                                (long long)n_reports, (long long)n_known);
    }
    return status;
}

/* Whether the copy is whole, and has every report that this process knew. */
static dpot_status check_copy(const struct sqlite_store *s, const char *path,
                              struct dpot_error *error)
{
    struct store *copy = NULL;
    dpot_status status = store_sqlite.open(path, STORE_EXISTING, NULL, &copy, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = store_sqlite.check_structure(copy, error);
    if (status == DPOT_OK) {
        struct database *reader = sqlite_store_lock_reader(copy);
        status = check_blocks(s, reader, error);
        sqlite_store_unlock_reader(reader);
    }
    store_close(copy);
    return status;
}

static void tell(const struct sqlite_store *s, const struct dpot_error *error)
{
    if (s->watch) {
        s->watch(s->watch_ctx, DPOT_ERR_STATE, error->text);
    }
}

static void say_saved(const struct sqlite_store *s, const char *copy, dpot_status status,
                      const struct dpot_error *fault)
{
    struct dpot_error error;
    if (status == DPOT_OK) {
        (void)dpot_error_set(&error, DPOT_ERR_STATE,
                             "everything the store held is in %s now: put it back with dpotd "
                             "restore --from",
                             copy);
    } else {
        (void)dpot_error_set(&error, DPOT_ERR_STATE,
                             "what could still be read of the store is in %s now, and it has a "
                             "fault (%s): prefer a backup",
                             copy, fault->text);
    }
    tell(s, &error);
}

static void save(struct sqlite_store *s, bool is_damaged)
{
    char copy[STORE_PATH_SIZE];
    struct dpot_error error = {{0}}, ignored;
    dpot_status status = sqlite_store_save_written(s, "rescued", copy, sizeof copy, &error);
    const bool is_saved = status == DPOT_OK;
    if (is_damaged &&
        sqlite_lock_mark_damage(is_saved ? copy : no_copy, &s->lock, &ignored) != DPOT_OK) {
        tell(s, &ignored);
    }
    if (is_saved) {
        status = check_copy(s, copy, &error);
        say_saved(s, copy, status, &error);
    } else {
        (void)dpot_error_prefix(&error, DPOT_ERR_STATE,
                                "saving the store that was removed or damaged failed, restore a "
                                "backup");
        tell(s, &error);
    }
}

void sqlite_store_note_damage(struct sqlite_store *s)
{
    struct dpot_error error;
    if (s->lock.file >= 0 && sqlite_lock_mark_damage(no_copy, &s->lock, &error) != DPOT_OK) {
        tell(s, &error);
    }
}

void sqlite_store_rescue(struct sqlite_store *s)
{
    if (s->lock.database < 0 || database_check_all(s->database, NULL) == DPOT_OK) {
        return;
    }
    const bool is_damaged = database_is_damaged(s->database);
    const bool is_gone = !database_has_name(s->database) && sqlite_lock_is_nameless(&s->lock);
    if (is_damaged || is_gone) {
        save(s, is_damaged);
    }
}
