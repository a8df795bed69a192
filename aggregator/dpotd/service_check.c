/* Read-only checks of everything a service needs. */
#include "base/clock.h"
#include "dpotd/service_parts.h"
#include "http/listen.h"
#include "jobs/check.h"
#include "keys/key_file.h"
#include "pool/check.h"

#include <string.h>

struct check {
    struct service *s;
    const struct config *config;
    const struct service_check_options *options;
    const struct revision_record *record; /* whose pool is being read */
    bool is_old;                          /* its schema predates checksums of commits */
};

static void report(const struct check *check, dpot_status status, const char *sentence)
{
    check->options->report(check->options->ctx, status, sentence);
}

/* Reports the message if status is a fault, and clears it. Returns whether there was none. */
static bool expect_ok(const struct check *check, dpot_status status, struct dpot_error *error)
{
    if (status != DPOT_OK) {
        report(check, status, error->text[0] ? error->text : dpot_status_text(status));
    }
    error->text[0] = '\0';
    return status == DPOT_OK;
}

/* Opens a server on a free local port for a moment: only this shows that certificate and key are
 * valid and match. */
static dpot_status try_tls(const struct check *check, struct dpot_error *error)
{
    const dpot_status status = service_read_tls(check->s, check->config, error);
    if (status != DPOT_OK || check->config->tls_cert[0] == '\0') {
        return status;
    }
    const dpot_status opened = service_open_server(check->s, check->config, "127.0.0.1:0", error);
    server_close(check->s->server, 0);
    check->s->server = NULL;
    return opened;
}

/* A certificate that cannot be served was reported by try_tls. */
static void check_tls(const struct check *check, struct dpot_error *fault)
{
    if (!expect_ok(check, try_tls(check, fault), fault)) {
        return;
    }
    const dpot_status status = service_check_tls(check->s, fault);
    if (fault->text[0]) {
        report(check, status, fault->text);
        fault->text[0] = '\0';
    }
}

static int report_damage(void *ctx, const uint8_t digest[DPOT_HASH_LEN],
                         const struct job_record *job, bool is_missing)
{
    const struct check *check = ctx;
    char name[2 * DPOT_HASH_LEN + 1], id[2 * JOB_ID_LEN + 1] = "";
    struct dpot_error error;
    dpot_hex_encode(name, digest, DPOT_HASH_LEN);
    if (job) {
        dpot_hex_encode(id, job->id, sizeof job->id);
        (void)dpot_error_set(&error, DPOT_ERR_CORRUPT,
                             "artifact %s of %s job %s is %s: start that job again with its "
                             "campaign and parameters (dpot job show), which %s it when the "
                             "result is the same, or restore the store from a backup",
                             name, job->kind, id, is_missing ? "missing" : "damaged",
                             is_missing ? "makes" : "repairs");
    } else {
        (void)dpot_error_set(&error, DPOT_ERR_CORRUPT,
                             "artifact %s is damaged and no job names it: restore the store from a "
                             "backup if you need it",
                             name);
    }
    report(check, DPOT_ERR_CORRUPT, error.text);
    return 0;
}

static void report_table_fault(void *ctx, const char *sentence)
{
    report(ctx, DPOT_ERR_CORRUPT, sentence);
}

static void report_job(void *ctx, dpot_status status, const char *sentence)
{
    report(ctx, status, sentence);
}

static void pass_progress(void *ctx, uint64_t n_read)
{
    const struct check *check = ctx;
    if (check->options->progress) {
        check->options->progress(check->options->ctx, check->record, n_read);
    }
}

/* The reports of a revision that does not verify, which was reported, are only counted and
 * decoded. */
static void check_pool(struct check *check, const struct revision_record *record)
{
    struct service *s = check->s;
    struct registry_revision revision;
    struct dpot_error error = {{0}};
    char id[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    check->record = record;
    const bool is_known =
        s->registry && registry_get(s->registry, record->hash, &revision, &error) == DPOT_OK;
    error.text[0] = '\0';
    const struct pool_check_options look = {.campaign = is_known ? revision.campaign : NULL,
                                            .checks_ids = check->is_old,
                                            .progress = pass_progress,
                                            .ctx = check};
    const dpot_status status = pool_check(s->store, record->hash, &look, &error);
    if (status != DPOT_OK) {
        dpot_hex_encode(id, record->campaign_id, sizeof record->campaign_id);
        (void)expect_ok(check,
                        dpot_error_prefix(&error, status, "the pool of revision %u of campaign %s",
                                          record->revision, id),
                        &error);
    }
}

static void check_pools(struct check *check)
{
    struct service_records records;
    struct dpot_error error = {{0}};
    if (expect_ok(check, service_list_revisions(check->s, &records, &error), &error)) {
        for (size_t i = 0; i < records.n; i++) {
            check_pool(check, &records.record[i]);
        }
    }
    dpot_free_array(NULL, records.record, records.n, sizeof *records.record);
}

/* Reports the store's counts, for comparison with other counts. */
static void check_counts(const struct check *check)
{
    struct dpot_error error = {{0}};
    struct pool_count count;
    uint64_t n_dropped[DROP_REASONS], n_rejected = 0, n_all_dropped = 0;
    if (!expect_ok(check, store_count_all(check->s->store, &count, n_dropped, &error), &error)) {
        return;
    }
    for (size_t i = 0; i < DPOT_REPORT_STATUS_END; i++) {
        n_rejected += count.n_rejected[i];
    }
    for (size_t i = 0; i < DROP_REASONS; i++) {
        n_all_dropped += n_dropped[i];
    }
    (void)dpot_error_set(
        &error, DPOT_OK, "reports: %llu accepted, %llu duplicate, %llu rejected, %llu dropped",
        (unsigned long long)count.n_accepted, (unsigned long long)count.n_duplicate,
        (unsigned long long)n_rejected, (unsigned long long)n_all_dropped);
    report(check, DPOT_OK, error.text);
}

/* For a copy or a migration an older schema is not a fault. */
static dpot_status open_store(struct check *check, struct dpot_error *error)
{
    struct service *s = check->s;
    int found = 0, current = 0;
    const dpot_status status = check->options->is_store_only
                                   ? store_open_old(check->config->store, &s->store, error)
                                   : store_open_existing(check->config->store, &s->store, error);
    if (status == DPOT_OK) {
        store_get_schema(s->store, &found, &current);
        check->is_old = found < current;
    }
    return status;
}

/* A missing store is not a fault: that is the state after `dpotd init`. */
static void check_store(struct check *check, bool has_keys)
{
    struct service *s = check->s;
    struct dpot_error error = {{0}};
    const dpot_status status = open_store(check, &error);
    if (status == DPOT_ERR_NOT_FOUND) {
        report(check, DPOT_OK, error.text);
        return;
    }
    if (!expect_ok(check, status, &error)) {
        return;
    }
    if (!check->options->is_store_only) {
        (void)expect_ok(check, store_try_write(s->store, &error), &error);
    }
    if (!check->options->is_quick) {
        (void)expect_ok(check, store_check_structure(s->store, &error), &error);
    }
    if (has_keys) {
        (void)expect_ok(check, service_open_registry(s, &error), &error);
    }
    (void)expect_ok(check,
                    store_check_tables(
                        s->store, check->options->is_quick ? STORE_TABLES_AND_COUNTS : STORE_TABLES,
                        report_table_fault, check, &error),
                    &error);
    (void)expect_ok(check, store_check_artifacts(s->store, report_damage, check, &error), &error);
    (void)expect_ok(check, jobs_check(s->store, report_job, check, &error), &error);
    if (!check->options->is_quick) {
        check_pools(check);
    }
    if (!check->options->is_store_only) {
        check_counts(check);
    }
}

/* A fault when no seal key is valid now; a note when the last one will expire soon, since then no
 * device can report. */
static void check_keys(const struct check *check, struct dpot_error *fault)
{
    const int64_t now_ms = check->s->log.clock->now(check->s->log.clock->ctx);
    struct dpot_keys keys;
    char time[DPOT_RFC3339_SIZE];
    int64_t last_ms = 0;
    if (!expect_ok(check, service_check_keys(check->s, fault), fault)) {
        return;
    }
    service_pick_keys(check->s, &keys);
    for (size_t i = 0; i < keys.n_seal_keys; i++) {
        last_ms =
            keys.seal_keys[i].not_after_ms > last_ms ? keys.seal_keys[i].not_after_ms : last_ms;
    }
    if (last_ms - now_ms < SERVICE_EXPIRY_NOTICE_MS) {
        dpot_time_format(last_ms, time);
        (void)dpot_error_set(fault, DPOT_OK,
                             "the last seal key expires at %s: add one with dpotd keys add", time);
        report(check, DPOT_OK, fault->text);
        fault->text[0] = '\0';
    }
}

static void report_unfinished(void *ctx, const char *path)
{
    struct dpot_error note;
    (void)dpot_error_set(
        &note, DPOT_OK,
        "%s was left by an interrupted command and holds an unused secret: dpotd keys prune "
        "removes it",
        path);
    report(ctx, DPOT_OK, note.text);
}

static const char no_token[] =
    "%s holds no token, so nobody can administer this server: add a line with a name, a space and "
    "the BLAKE2b-256 of a token in hex (printf %%s \"$TOKEN\" | b2sum -l 256)";

/* A fault if others can write the file, since they could administer the server; a note if they can
 * only read the hashes. */
static void check_tokens_mode(const struct check *check, const char *path, struct dpot_error *fault)
{
    struct stat info;
    if (stat(path, &info) != 0 || (info.st_mode & KEY_FILE_OTHERS) == 0) {
        return;
    }
    const bool is_writable = info.st_mode & (S_IWGRP | S_IWOTH);
    (void)dpot_error_set(fault, DPOT_ERR_DENIED, "%s can be %s by others (mode %03o): chmod 600 it",
                         path, is_writable ? "written" : "read", (unsigned)(info.st_mode & 0777));
    report(check, is_writable ? DPOT_ERR_DENIED : DPOT_OK, fault->text);
    fault->text[0] = '\0';
}

static void check_tokens(const struct check *check, struct dpot_error *fault)
{
    const char *path = check->config->tokens_file;
    dpot_status status = service_read_tokens(check->s, check->config, fault);
    if (status == DPOT_OK && check->s->tokens.n == 0) {
        status = dpot_error_set(fault, DPOT_ERR_MALFORMED, no_token, path);
    }
    (void)expect_ok(check, status, fault);
    check_tokens_mode(check, path, fault);
}

/* Checks everything except the store. */
static void check_surroundings(struct check *check, struct dpot_error *fault)
{
    const struct config *config = check->config;
    (void)expect_ok(check,
                    server_keys_find_unfinished(config->keys_dir, report_unfinished, check, fault),
                    fault);
    check_tokens(check, fault);
    check_tls(check, fault);
    (void)expect_ok(check, listen_check_host(config->listen, fault), fault);
}

/* With is_store_only, unreadable keys are only a note. */
static bool read_keys(const struct check *check, struct dpot_error *fault)
{
    struct dpot_error note;
    const dpot_status status = server_keys_read(check->config->keys_dir, &check->s->keys, fault);
    if (status == DPOT_OK || !check->options->is_store_only) {
        return expect_ok(check, status, fault);
    }
    (void)dpot_error_set(&note, DPOT_OK, "the signatures of campaigns are not checked: %s",
                         fault->text[0] ? fault->text : dpot_status_text(status));
    report(check, DPOT_OK, note.text);
    fault->text[0] = '\0';
    return false;
}

dpot_status service_check(const struct config *config, const struct service_check_options *options,
                          struct dpot_error *error)
{
    const struct service_hooks none = {.clock = NULL};
    struct dpot_error fault = {{0}};
    struct check check = {.config = config, .options = options};
    const dpot_status status = service_new(config, &none, &check.s, error);
    if (status != DPOT_OK) {
        return status;
    }
    const bool has_keys = read_keys(&check, &fault);
    if (has_keys && !options->is_store_only) {
        check_keys(&check, &fault);
    }
    if (!options->is_store_only) {
        check_surroundings(&check, &fault);
    }
    check_store(&check, has_keys);
    service_close(check.s);
    return DPOT_OK;
}

/* ---- the store alone ---- */

/* Forwards faults and stores one: the first fault of the store, or until there is one, the first
 * reason why the check could not be completed. */
struct relay {
    const struct service_check_options *options;
    dpot_status status;
    struct dpot_error fault; /* its message */
};

/* Disk, memory or another process: not a fault of the store. */
static bool is_external(dpot_status status)
{
    return status == DPOT_ERR_IO || status == DPOT_ERR_MEMORY || status == DPOT_ERR_BUSY;
}

static void relay_fault(void *ctx, dpot_status status, const char *sentence)
{
    struct relay *relay = ctx;
    const bool is_worse = is_external(relay->status) && !is_external(status);
    if (status != DPOT_OK && (relay->status == DPOT_OK || is_worse)) {
        relay->status = dpot_error_set(&relay->fault, status, "%s", sentence);
    }
    relay->options->report(relay->options->ctx, status, sentence);
}

static void relay_progress(void *ctx, const struct revision_record *record, uint64_t n_read)
{
    const struct relay *relay = ctx;
    if (relay->options->progress) {
        relay->options->progress(relay->options->ctx, record, n_read);
    }
}

const char service_no_migration[] =
    "the store has faults and an older schema, and was not changed: a migration would store "
    "checksums of damaged data. Restore it from a backup (dpotd restore)";

dpot_status service_check_store(const struct config *config, const char *url,
                                const struct service_check_options *options, const char *remedy,
                                struct dpot_error *error)
{
    struct config changed = *config;
    struct relay relay = {.options = options, .status = DPOT_OK};
    const struct service_check_options own = {.report = relay_fault,
                                              .progress = relay_progress,
                                              .ctx = &relay,
                                              .is_quick = options->is_quick,
                                              .is_store_only = true};
    memcpy(changed.store, url, strlen(url) + 1);
    const dpot_status status = service_check(&changed, &own, error);
    if (status != DPOT_OK || relay.status == DPOT_OK) {
        return status;
    }
    return is_external(relay.status)
               ? dpot_error_set(error, relay.status,
                                "the check could not be completed and found no fault: correct this "
                                "and try again: %s",
                                relay.fault.text)
               : dpot_error_set(error, relay.status, "%s", remedy);
}
