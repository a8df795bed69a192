#include "service.h"

#include "base/clock.h"
#include "http/listen.h"
#include "key_file.h"
#include "keys.h"
#include "pool/check.h"

#include <string.h>

#define DRAIN_MS 10000
#define SIGNED_KEYS_MAX (DPOT_KEYS_BYTES_MAX + 4096)

struct service {
    struct log log;
    struct server_keys keys;
    struct tokens tokens;
    struct store *store;
    struct registry *registry;
    struct tally *tally;
    struct writer *writer;
    struct ingest ingest;
    struct runner *runner;
    char keep_folder[CONFIG_TEXT_SIZE]; /* of the jobs; empty: the store is in memory */
    struct http_app app;
    struct dpot_buf tls_cert, tls_key;
    struct server *server;
};

static dpot_status read_tls(struct service *s, const struct config *config,
                            struct dpot_error *error)
{
    if (config->tls_cert[0] == '\0') {
        return DPOT_OK;
    }
    dpot_buf_init(&s->tls_cert, KEY_FILE_BYTES_MAX + 1, NULL);
    dpot_buf_init(&s->tls_key, KEY_FILE_BYTES_MAX + 1, NULL);
    const dpot_status status = key_file_read(config->tls_cert, 0, &s->tls_cert, error);
    return status == DPOT_OK ? key_file_read(config->tls_key, KEY_FILE_WORLD, &s->tls_key, error)
                             : status;
}

/* Devices see every key that has not expired. */
static dpot_status pick_keys(const struct service *s, struct dpot_keys *keys,
                             struct dpot_error *error)
{
    const int64_t now_ms = s->log.clock->now(s->log.clock->ctx);
    *keys = (struct dpot_keys){.n_seal_keys = 0};
    for (size_t i = 0; i < s->keys.n_seal_secrets; i++) {
        if (now_ms < s->keys.seal_secrets[i].key.not_after_ms) {
            keys->seal_keys[keys->n_seal_keys++] = s->keys.seal_secrets[i].key;
        }
    }
    return keys->n_seal_keys > 0
               ? DPOT_OK
               : dpot_error_set(
                     error, DPOT_ERR_NOT_FOUND,
                     "every seal key has expired: devices could not report; add a new one");
}

static dpot_status sign_keys(struct service *s, struct dpot_error *error)
{
    struct dpot_keys public_keys;
    dpot_buf_init(&s->app.signed_keys, SIGNED_KEYS_MAX, NULL);
    const dpot_status status = pick_keys(s, &public_keys, error);
    return status == DPOT_OK
               ? registry_sign_keys(s->registry, &public_keys, &s->app.signed_keys, error)
               : status;
}

struct records {
    struct revision_record *record; /* (n) */
    size_t n;
    bool is_out_of_memory;
};

static int keep_record(void *ctx, const struct revision_record *record)
{
    struct records *records = ctx;
    void *grown = dpot_resize_array(NULL, records->record, records->n, records->n + 1,
                                    sizeof *records->record);
    records->is_out_of_memory = grown == NULL;
    if (grown) {
        records->record = grown;
        records->record[records->n++] = *record;
    }
    return records->is_out_of_memory;
}

/* Every revision; released with dpot_free_array, also after a failure. */
static dpot_status list_revisions(struct service *s, struct records *records,
                                  struct dpot_error *error)
{
    *records = (struct records){.n = 0};
    const dpot_status status = store_list_revisions(s->store, keep_record, records, error);
    return status == DPOT_OK && records->is_out_of_memory
               ? dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the list of revisions")
               : status;
}

/* Every stored revision must verify under the signing key: a store beside the key of another install, or an
 * altered one, is found at start-up and not by the devices. */
static dpot_status check_revisions(struct service *s, struct dpot_error *error)
{
    struct records records;
    dpot_status status = list_revisions(s, &records, error);
    for (size_t i = 0; status == DPOT_OK && i < records.n; i++) {
        struct registry_revision revision;
        status = registry_get(s->registry, records.record[i].hash, &revision, error);
    }
    dpot_free_array(NULL, records.record, records.n, sizeof *records.record);
    if (status == DPOT_ERR_CORRUPT || status == DPOT_ERR_SIGNATURE) {
        return dpot_error_prefix(
            error, status,
            "a stored campaign does not verify under keys/signing.key: restore the "
            "key or the store that belong together");
    }
    return status;
}

static dpot_status open_registry(struct service *s, struct dpot_error *error)
{
    const dpot_status status =
        registry_new(s->store, s->keys.secret_key, s->log.clock, &s->registry, error);
    return status == DPOT_OK ? check_revisions(s, error) : status;
}

/* What a first report would wait for. A pool whose ids cannot be read takes no reports, and is told of
 * again when one comes; the others do. */
static void load_ids(struct service *s)
{
    char quoted[LOG_QUOTED_SIZE];
    struct dpot_error error = {{0}};
    if (store_load_ids(s->store, &error) != DPOT_OK) {
        log_write(&s->log, LOG_LEVEL_ERROR, "store.ids", "reason=%s",
                  log_quote(quoted, error.text));
    }
}

static dpot_status open_writer(struct service *s, const struct config *config,
                               const struct service_hooks *hooks, struct dpot_error *error)
{
    const dpot_status status = tally_new(s->store, &s->tally, error);
    const struct writer_config writer_config = {.store = s->store,
                                                .tally = s->tally,
                                                .max_reports = config->commit_max_reports,
                                                .max_delay_ms = config->commit_max_delay_ms,
                                                .on_committed = hooks->on_committed,
                                                .ctx = hooks->ctx};
    return status == DPOT_OK ? writer_open(&writer_config, &s->writer, error) : status;
}

static void wire_rooms(struct service *s, const struct config *config)
{
    s->ingest = (struct ingest){.store = s->store,
                                .registry = s->registry,
                                .clock = s->log.clock,
                                .seal_secrets = s->keys.seal_secrets,
                                .n_seal_secrets = s->keys.n_seal_secrets,
                                .writer = s->writer,
                                .tally = s->tally};
    s->app.store = s->store;
    s->app.registry = s->registry;
    s->app.ingest = &s->ingest;
    s->app.tokens = &s->tokens;
    s->app.body_max = config->max_body_bytes;
    s->app.started_ms = s->log.clock->now(s->log.clock->ctx);
}

static dpot_status open_rooms(struct service *s, const struct config *config,
                              const struct service_hooks *hooks, struct dpot_error *error)
{
    dpot_status status = server_keys_read(config->keys_dir, &s->keys, error);
    if (status == DPOT_OK) {
        status = tokens_read(config->tokens_file, &s->tokens, error);
    }
    if (status == DPOT_OK) {
        status = read_tls(s, config, error);
    }
    if (status == DPOT_OK) {
        status = store_open_owned(config->store, &s->store, error);
    }
    if (status == DPOT_OK && hooks->on_owned) {
        hooks->on_owned(hooks->ctx);
    }
    if (status == DPOT_OK) {
        status = open_registry(s, error);
    }
    if (status == DPOT_OK) {
        status = sign_keys(s, error);
    }
    if (status == DPOT_OK) {
        load_ids(s);
        status = open_writer(s, config, hooks, error);
    }
    wire_rooms(s, config);
    return status;
}

/* One line when a job begins, ends or waits again, and when the store refuses. */
static void log_job(void *ctx, const struct job_record *record, const struct dpot_error *error)
{
    const struct service *s = ctx;
    char id[2 * JOB_ID_LEN + 1], quoted[LOG_QUOTED_SIZE];
    if (!record) {
        log_write(&s->log, LOG_LEVEL_ERROR, "job.store", "reason=%s",
                  log_quote(quoted, error->text));
        return;
    }
    dpot_hex_encode(id, record->id, sizeof record->id);
    log_write(&s->log, record->state == JOB_FAILED ? LOG_LEVEL_ERROR : LOG_LEVEL_INFO, "job.state",
              "id=%s kind=%s state=%s n_attempts=%u reason=%s", id, record->kind,
              job_state_name(record->state), record->n_attempts,
              log_quote(quoted, record->sentence));
}

/* What jobs keep lies beside the store: "dpot.db" -> "dpot.db-jobs". */
static dpot_status name_keep_folder(struct service *s, const struct config *config,
                                    struct dpot_error *error)
{
    static const char scheme[] = "sqlite:", memory[] = ":memory:";
    const char *path = config->store + sizeof scheme - 1;
    if (strncmp(config->store, scheme, sizeof scheme - 1) != 0 || strcmp(path, memory) == 0) {
        return DPOT_OK;
    }
    const int len = snprintf(s->keep_folder, sizeof s->keep_folder, "%s-jobs", path);
    return len < CONFIG_TEXT_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "store is too long: use a shorter path");
}

/* A runner begins to work at once: the store is ours (T6). */
static dpot_status open_runner(struct service *s, const struct config *config,
                               struct dpot_error *error)
{
    dpot_status status = name_keep_folder(s, config, error);
    if (status != DPOT_OK) {
        return status;
    }
    const struct runner_config runner_config = {
        .source = {s->store, s->registry},
        .clock = s->log.clock,
        .limits = {.n_threads = config->job_threads, .memory_max = config->job_memory_bytes},
        .keep_folder = s->keep_folder[0] != '\0' ? s->keep_folder : NULL,
        .keep_every_ms = (int64_t)config->job_keep_s * 1000,
        .on_change = log_job,
        .ctx = s,
    };
    status = runner_open(&runner_config, &s->runner, error);
    s->app.runner = s->runner;
    return status;
}

static dpot_status open_server(struct service *s, const struct config *config, const char *listen,
                               struct dpot_error *error)
{
    const struct server_config server_config = {
        .listen = listen ? listen : config->listen,
        .tls_cert = (const char *)s->tls_cert.data,
        .tls_key = (const char *)s->tls_key.data,
        .threads = config->threads,
        .max_connections = config->max_connections,
        .max_connections_per_ip = config->max_connections_per_ip,
        .request_timeout_s = config->request_timeout_s,
        .max_body_memory = config->max_body_memory_bytes,
        .app = &s->app,
        .log = &s->log,
    };
    return server_open(&server_config, &s->server, error);
}

static dpot_status new_service(const struct config *config, const struct service_hooks *hooks,
                               struct service **service, struct dpot_error *error)
{
    struct service *s = dpot_alloc_array(NULL, 1, sizeof *s);
    *service = s;
    if (!s) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
    }
    s->log = (struct log){.level = config->log,
                          .stream = hooks->log_stream ? hooks->log_stream : stderr,
                          .clock = hooks->clock ? hooks->clock : dpot_clock_system()};
    return DPOT_OK;
}

static void log_open(const struct service *s)
{
    struct store_weight weight;
    store_weigh(s->store, &weight);
    log_write(&s->log, LOG_LEVEL_INFO, "service.open", "url=%s n_seal_keys=%zu n_ids=%llu",
              service_url(s), s->keys.n_seal_secrets, (unsigned long long)weight.n_ids);
}

dpot_status service_open(const struct config *config, const char *listen,
                         const struct service_hooks *hooks, struct service **service,
                         struct dpot_error *error)
{
    dpot_status status = new_service(config, hooks, service, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = open_rooms(*service, config, hooks, error);
    if (status == DPOT_OK) {
        status = open_runner(*service, config, error);
    }
    if (status == DPOT_OK) {
        status = open_server(*service, config, listen, error);
    }
    if (status != DPOT_OK) {
        service_close(*service);
        *service = NULL;
        return status;
    }
    log_open(*service);
    return DPOT_OK;
}

const char *service_url(const struct service *service)
{
    return server_url(service->server);
}

const uint8_t *service_pin(const struct service *service)
{
    return registry_pin(service->registry);
}

void service_close(struct service *service)
{
    if (!service) {
        return;
    }
    const struct log log = service->log;
    char url[LISTEN_URL_SIZE] = "";
    if (service->server) {
        (void)snprintf(url, sizeof url, "%s", server_url(service->server));
    }
    server_close(service->server, DRAIN_MS);
    runner_close(service->runner);
    writer_close(service->writer);
    tally_free(service->tally);
    dpot_buf_release(&service->app.signed_keys);
    registry_free(service->registry);
    store_close(service->store);
    dpot_buf_release(&service->tls_cert);
    dpot_buf_release_secret(&service->tls_key);
    server_keys_wipe(&service->keys);
    dpot_free_array(NULL, service, 1, sizeof *service);
    if (url[0] != '\0') {
        log_write(&log, LOG_LEVEL_INFO, "service.close", "url=%s", url);
    }
}

/* ---- looking only ---- */

struct check {
    struct service *s;
    const struct config *config;
    const struct service_look *look;
    const struct revision_record *record; /* whose pool is being read */
};

static void tell(const struct check *check, dpot_status status, const char *sentence)
{
    check->look->tell(check->look->ctx, status, sentence);
}

/* Tells a fault; the sentence is used up. */
static bool judge(const struct check *check, dpot_status status, struct dpot_error *error)
{
    if (status != DPOT_OK) {
        tell(check, status, error->text[0] ? error->text : dpot_status_text(status));
    }
    error->text[0] = '\0';
    return status == DPOT_OK;
}

/* Whether certificate and key are that, and belong together, is known when a server has taken them:
 * one on a free port of this machine, for a moment. */
static dpot_status try_tls(const struct check *check, struct dpot_error *error)
{
    const dpot_status status = read_tls(check->s, check->config, error);
    if (status != DPOT_OK || check->config->tls_cert[0] == '\0') {
        return status;
    }
    const dpot_status opened = open_server(check->s, check->config, "127.0.0.1:0", error);
    server_close(check->s->server, 0);
    check->s->server = NULL;
    return opened;
}

static int tell_damage(void *ctx, const uint8_t digest[DPOT_HASH_LEN], const struct job_record *job,
                       bool is_missing)
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
    tell(check, DPOT_ERR_CORRUPT, error.text);
    return 0;
}

static void pass_progress(void *ctx, uint64_t n_read)
{
    const struct check *check = ctx;
    if (check->look->progress) {
        check->look->progress(check->look->ctx, check->record, n_read);
    }
}

/* A revision that cannot be trusted was told already: its reports are counted and decoded only. */
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
    const dpot_status status = pool_check(
        s->store, record->hash, is_known ? revision.campaign : NULL, pass_progress, check, &error);
    if (status != DPOT_OK) {
        dpot_hex_encode(id, record->campaign_id, sizeof record->campaign_id);
        (void)judge(check,
                    dpot_error_prefix(&error, status, "the pool of revision %u of campaign %s",
                                      record->revision, id),
                    &error);
    }
}

static void check_pools(struct check *check)
{
    struct records records;
    struct dpot_error error = {{0}};
    if (judge(check, list_revisions(check->s, &records, &error), &error)) {
        for (size_t i = 0; i < records.n; i++) {
            check_pool(check, &records.record[i]);
        }
    }
    dpot_free_array(NULL, records.record, records.n, sizeof *records.record);
}

/* A store that is not there yet is as it should be after `dpotd init`. */
static void check_store(struct check *check, bool has_keys)
{
    struct service *s = check->s;
    struct dpot_error error = {{0}};
    const dpot_status status = store_open_existing(check->config->store, &s->store, &error);
    if (status == DPOT_ERR_NOT_FOUND) {
        tell(check, DPOT_OK, error.text);
        return;
    }
    if (!judge(check, status, &error)) {
        return;
    }
    (void)judge(check, store_try_write(s->store, &error), &error);
    if (has_keys) {
        (void)judge(check, open_registry(s, &error), &error);
    }
    (void)judge(check, store_check_artifacts(s->store, tell_damage, check, &error), &error);
    if (!check->look->is_quick) {
        check_pools(check);
    }
}

dpot_status service_check(const struct config *config, const struct service_look *look,
                          struct dpot_error *error)
{
    const struct service_hooks none = {.clock = NULL};
    struct dpot_error fault = {{0}};
    struct check check = {.config = config, .look = look};
    const dpot_status status = new_service(config, &none, &check.s, error);
    if (status != DPOT_OK) {
        return status;
    }
    struct dpot_keys public_keys;
    const bool has_keys =
        judge(&check, server_keys_read(config->keys_dir, &check.s->keys, &fault), &fault);
    if (has_keys) {
        (void)judge(&check, pick_keys(check.s, &public_keys, &fault), &fault);
    }
    (void)judge(&check, tokens_read(config->tokens_file, &check.s->tokens, &fault), &fault);
    (void)judge(&check, try_tls(&check, &fault), &fault);
    (void)judge(&check, listen_check_host(config->listen, &fault), &fault);
    check_store(&check, has_keys);
    service_close(check.s);
    return DPOT_OK;
}
