#include "dpotd/service_parts.h"

#include "base/clock.h"
#include "http/listen.h"
#include "keys/key_file.h"

#include <stdio.h>
#include <string.h>

#define DRAIN_MS 10000
#define LOG_PATIENCE_MS 1000 /* for the last lines of the log */
#define SIGNED_KEYS_MAX (DPOT_KEYS_BYTES_MAX + 4096)

dpot_status service_read_tls(struct service *s, const struct config *config,
                             struct dpot_error *error)
{
    if (config->tls_cert[0] == '\0') {
        return DPOT_OK;
    }
    dpot_buf_init(&s->tls_cert, KEY_FILE_BYTES_MAX + 1, NULL);
    dpot_buf_init(&s->tls_key, KEY_FILE_BYTES_MAX + 1, NULL);
    dpot_status status = key_file_read(config->tls_cert, 0, &s->tls_cert, error);
    if (status == DPOT_OK) {
        status = key_file_read(config->tls_key, KEY_FILE_WORLD, &s->tls_key, error);
    }
    return status == DPOT_OK ? certificate_read_period(s->tls_cert.data, s->tls_cert.len,
                                                       &s->app.tls_period, error)
                             : status;
}

dpot_status service_check_tls(const struct service *s, struct dpot_error *error)
{
    const struct certificate_period *period = &s->app.tls_period;
    const int64_t now_ms = s->log.clock->now(s->log.clock->ctx);
    const bool is_early = now_ms < period->not_before_ms;
    char time[DPOT_RFC3339_SIZE];
    if (s->tls_cert.len == 0 ||
        (!is_early && period->not_after_ms - now_ms >= SERVICE_EXPIRY_NOTICE_MS)) {
        return DPOT_OK;
    }
    dpot_time_format(is_early ? period->not_before_ms : period->not_after_ms, time);
    if (is_early) {
        return dpot_error_set(error, DPOT_ERR_NOT_OPEN,
                              "the TLS certificate is not valid before %s: no device accepts it "
                              "until then; put one that is valid in its place, or set the clock",
                              time);
    }
    const bool is_over = now_ms >= period->not_after_ms;
    return dpot_error_set(error, is_over ? DPOT_ERR_CLOSED : DPOT_OK,
                          "the TLS certificate %s at %s: %sput a new one in its place and start "
                          "dpotd again",
                          is_over ? "expired" : "expires", time,
                          is_over ? "no device accepts it any more; " : "");
}

/* tokens_read uses plain open(), which would block on a pipe. */
dpot_status service_read_tokens(struct service *s, const struct config *config,
                                struct dpot_error *error)
{
    const dpot_status status = key_file_check_plain(config->tokens_file, error);
    return status == DPOT_OK ? tokens_read(config->tokens_file, &s->tokens, error) : status;
}

dpot_status service_check_keys(const struct service *s, struct dpot_error *error)
{
    return seal_secrets_check(s->keys.seal_secrets, s->keys.n_seal_secrets,
                              s->log.clock->now(s->log.clock->ctx), NULL, error);
}

void service_pick_keys(const struct service *s, struct dpot_keys *keys)
{
    const int64_t now_ms = s->log.clock->now(s->log.clock->ctx);
    *keys = (struct dpot_keys){.n_seal_keys = 0};
    for (size_t i = 0; i < s->keys.n_seal_secrets; i++) {
        if (now_ms < s->keys.seal_secrets[i].key.not_after_ms) {
            keys->seal_keys[keys->n_seal_keys++] = s->keys.seal_secrets[i].key;
        }
    }
}

/* Keys that are not valid yet become so while the server runs; expired ones stay so. */
static dpot_status sign_keys(struct service *s, struct dpot_error *error)
{
    struct dpot_keys public_keys;
    dpot_buf_init(&s->app.signed_keys, SIGNED_KEYS_MAX, NULL);
    const dpot_status status = service_check_keys(s, error);
    if (status != DPOT_OK && status != DPOT_ERR_NOT_OPEN) {
        return status;
    }
    service_pick_keys(s, &public_keys);
    return registry_sign_keys(s->registry, &public_keys, &s->app.signed_keys, error);
}

static int append_record(void *ctx, const struct revision_record *record)
{
    struct service_records *records = ctx;
    void *grown = dpot_resize_array(NULL, records->record, records->n, records->n + 1,
                                    sizeof *records->record);
    records->is_out_of_memory = grown == NULL;
    if (grown) {
        records->record = grown;
        records->record[records->n++] = *record;
    }
    return records->is_out_of_memory;
}

dpot_status service_list_revisions(struct service *s, struct service_records *records,
                                   struct dpot_error *error)
{
    *records = (struct service_records){.n = 0};
    const dpot_status status = store_list_revisions(s->store, append_record, records, error);
    return status == DPOT_OK && records->is_out_of_memory
               ? dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the list of revisions")
               : status;
}

/* Every stored revision must verify under the signing key, so that an altered store, or one of
 * another installation, is detected at start-up and not by devices. */
static dpot_status check_revisions(struct service *s, struct dpot_error *error)
{
    struct service_records records;
    dpot_status status = service_list_revisions(s, &records, error);
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

dpot_status service_open_registry(struct service *s, struct dpot_error *error)
{
    const dpot_status status =
        registry_new(s->store, s->keys.secret_key, s->log.clock, &s->registry, error);
    return status == DPOT_OK ? check_revisions(s, error) : status;
}

static int log_damage(void *ctx, const struct revision_record *record)
{
    const struct service *s = ctx;
    struct dpot_error sentence;
    char quoted[LOG_QUOTED_SIZE], id[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    if (store_is_damaged(s->store, record->hash, &sentence)) {
        dpot_hex_encode(id, record->campaign_id, sizeof record->campaign_id);
        log_write(&s->log, LOG_LEVEL_ERROR, "store.damage", "campaign=%s revision=%u reason=%s", id,
                  record->revision, log_quote(quoted, sentence.text));
    }
    return 0;
}

/* Loads the ids that the first report would need. If those of a pool cannot be read, that pool
 * takes no reports and the server is not ready; other pools are not affected. */
static void load_ids(struct service *s)
{
    char quoted[LOG_QUOTED_SIZE];
    struct dpot_error error = {{0}};
    const dpot_status status = store_load_ids(s->store, &error);
    if (status != DPOT_OK && store_count_damaged(s->store) == 0) { /* else named below */
        log_write(&s->log, LOG_LEVEL_ERROR, "store.ids", "reason=%s",
                  log_quote(quoted, error.text));
    }
    (void)!store_list_revisions(s->store, log_damage, s, NULL);
}

static void log_commit(void *ctx, size_t n_reports)
{
    const struct service *s = ctx;
    log_write(&s->log, LOG_LEVEL_DEBUG, "store.commit", "n_reports=%zu", n_reports);
    if (s->hooks.on_committed) {
        s->hooks.on_committed(s->hooks.ctx, n_reports);
    }
}

/* At level error in both states, so that every log level shows when the store stops and resumes. */
static void log_store_state(void *ctx, dpot_status status, const char *sentence)
{
    struct service *s = ctx;
    char quoted[LOG_QUOTED_SIZE];
    if (status == DPOT_ERR_STATE) {
        (void)dpot_error_set(&s->loss, DPOT_ERR_IO, "%s", sentence);
    }
    log_write(&s->log, LOG_LEVEL_ERROR, "store.files", "state=%s reason=%s",
              status == DPOT_OK ? "ready" : "refused",
              log_quote(quoted, status == DPOT_OK ? "the files are back" : sentence));
}

static void log_commit_failure(void *ctx, const struct dpot_error *error)
{
    const struct service *s = ctx;
    char quoted[LOG_QUOTED_SIZE];
    log_write_folded(&s->log, LOG_LEVEL_ERROR, "store.commit", "", "reason=%s",
                     log_quote(quoted, error->text));
}

static void log_fault(void *ctx, dpot_status status, const char *sentence)
{
    const struct service *s = ctx;
    char quoted[LOG_QUOTED_SIZE];
    log_write(&s->log, status == DPOT_OK ? LOG_LEVEL_INFO : LOG_LEVEL_ERROR, "store.check",
              "reason=%s", log_quote(quoted, sentence));
}

struct opening {
    struct service *s;
    const struct config *config;
};

/* Validates a store with an older schema before the migration stores checksums of its content. */
static dpot_status validate_old_store(void *ctx, const char *path, struct dpot_error *error)
{
    const struct opening *opening = ctx;
    const struct service_check_options options = {.report = log_fault, .ctx = opening->s};
    char quoted[LOG_QUOTED_SIZE];
    log_write(&opening->s->log, LOG_LEVEL_INFO, "store.migrate", "path=%s",
              log_quote(quoted, path));
    return service_check_store(opening->config, opening->config->store, &options,
                               service_no_migration, error);
}

static dpot_status open_store(struct service *s, const struct config *config,
                              struct dpot_error *error)
{
    struct opening opening = {s, config};
    const struct store_validator validator = {validate_old_store, &opening};
    return store_open_owned(config->store, &validator, &s->store, error);
}

static void log_row(void *ctx, const char *sentence)
{
    log_fault(ctx, DPOT_ERR_CORRUPT, sentence);
}

/* Logs invalid rows of jobs and counts. The server continues: reports do not depend on them, and an
 * altered job fails on its own. */
static void check_rows(struct service *s)
{
    struct dpot_error error = {{0}};
    if (store_check_tables(s->store, STORE_SMALL_TABLES, log_row, s, &error) != DPOT_OK) {
        log_row(s, error.text);
    }
}

/* Number of rounds of a revision that have closed by the local clock. */
static uint32_t count_closed_rounds(struct service *s, const struct revision_record *record)
{
    struct registry_revision revision;
    const int64_t now_ms = s->log.clock->now(s->log.clock->ctx);
    uint32_t n = 0;
    if (record->state == REVISION_CLOSED) {
        return UINT32_MAX;
    }
    if (registry_get(s->registry, record->hash, &revision, NULL) == DPOT_OK) {
        while (n < revision.campaign->rounds &&
               now_ms >= dpot_campaign_round_closes(revision.campaign, n)) {
            n++;
        }
    }
    return n;
}

/* Merges one step for the first revision that needs it. A failing merge is logged once. */
static bool merge_reports(void *ctx)
{
    struct service *s = ctx;
    struct service_records records;
    struct dpot_error error = {{0}};
    bool is_done = false;
    dpot_status fault = service_list_revisions(s, &records, &error);
    for (size_t i = 0; i < records.n && !is_done; i++) {
        const struct revision_record *record = &records.record[i];
        const dpot_status status =
            store_merge(s->store, record->hash, count_closed_rounds(s, record), &is_done, &error);
        fault = status != DPOT_OK ? status : fault;
    }
    dpot_free_array(NULL, records.record, records.n, sizeof *records.record);
    if (fault != DPOT_OK && !s->is_merge_logged) {
        log_fault(s, fault, error.text);
    }
    s->is_merge_logged = fault != DPOT_OK;
    return is_done;
}

static dpot_status open_writer(struct service *s, const struct config *config,
                               struct dpot_error *error)
{
    const dpot_status status = tally_new(s->store, &s->tally, error);
    const struct writer_config writer_config = {.store = s->store,
                                                .tally = s->tally,
                                                .max_reports = config->commit_max_reports,
                                                .max_delay_ms = config->commit_max_delay_ms,
                                                .on_committed = log_commit,
                                                .on_failed = log_commit_failure,
                                                .on_idle = merge_reports,
                                                .ctx = s};
    return status == DPOT_OK ? writer_open(&writer_config, &s->writer, error) : status;
}

static void wire_modules(struct service *s, const struct config *config)
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
    s->app.has_open_metrics = config->has_open_metrics;
    s->app.body_max = config->max_body_bytes;
    s->app.started_ms = s->log.clock->now(s->log.clock->ctx);
}

static dpot_status open_modules(struct service *s, const struct config *config,
                                const struct service_hooks *hooks, struct dpot_error *error)
{
    dpot_status status = server_keys_read(config->keys_dir, &s->keys, error);
    if (status == DPOT_OK) {
        status = service_read_tokens(s, config, error);
    }
    if (status == DPOT_OK) {
        status = service_read_tls(s, config, error);
    }
    if (status == DPOT_OK) {
        status = open_store(s, config, error);
    }
    if (status == DPOT_OK) {
        store_watch(s->store, log_store_state, s);
    }
    if (status == DPOT_OK && hooks->on_owned) {
        hooks->on_owned(hooks->ctx);
    }
    if (status == DPOT_OK) {
        status = service_open_registry(s, error);
    }
    if (status == DPOT_OK) {
        status = sign_keys(s, error);
    }
    if (status == DPOT_OK) {
        load_ids(s);
        check_rows(s);
        status = open_writer(s, config, error);
    }
    wire_modules(s, config);
    return status;
}

/* Logs when a job starts, ends or is queued again, and when the store fails. */
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

/* The checkpoint folder of jobs, next to the store: "dpot.db" -> "dpot.db-jobs". */
static dpot_status name_checkpoint_folder(struct service *s, const struct config *config,
                                          struct dpot_error *error)
{
    static const char scheme[] = "sqlite:", memory[] = ":memory:";
    const char *path = config->store + sizeof scheme - 1;
    if (strncmp(config->store, scheme, sizeof scheme - 1) != 0 || strcmp(path, memory) == 0) {
        return DPOT_OK;
    }
    const int len = snprintf(s->checkpoint_folder, sizeof s->checkpoint_folder, "%s-jobs", path);
    return len < CONFIG_TEXT_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "store is too long: use a shorter path");
}

/* The runner starts to work at once, so the store must be owned (T6). */
static dpot_status open_runner(struct service *s, const struct config *config,
                               struct dpot_error *error)
{
    dpot_status status = name_checkpoint_folder(s, config, error);
    if (status != DPOT_OK) {
        return status;
    }
    const struct runner_config runner_config = {
        .source = {s->store, s->registry},
        .clock = s->log.clock,
        .limits = {.n_threads = config->job_threads, .memory_max = config->job_memory_bytes},
        .checkpoint_folder = s->checkpoint_folder[0] != '\0' ? s->checkpoint_folder : NULL,
        .checkpoint_every_ms = (int64_t)config->job_keep_s * 1000,
        .on_change = log_job,
        .ctx = s,
    };
    status = runner_open(&runner_config, &s->runner, error);
    s->app.runner = s->runner;
    return status;
}

dpot_status service_open_server(struct service *s, const struct config *config, const char *listen,
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

dpot_status service_new(const struct config *config, const struct service_hooks *hooks,
                        struct service **service, struct dpot_error *error)
{
    struct service *s = dpot_alloc_array(NULL, 1, sizeof *s);
    *service = s;
    if (!s) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory");
    }
    s->hooks = *hooks;
    s->log = (struct log){.level = config->log,
                          .clock = hooks->clock ? hooks->clock : dpot_clock_system()};
    return DPOT_OK;
}

static dpot_status open_log(struct service *s, struct dpot_error *error)
{
    const int fd = fileno(s->hooks.log_stream ? s->hooks.log_stream : stderr);
    if (log_sink_open(fd, s->log.clock, &s->log.sink) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_MEMORY,
                              "the thread that writes the log did not start: " DPOT_MORE_THREADS);
    }
    return DPOT_OK;
}

/* A certificate or keys that are not valid now do not prevent the start; the log shows why devices
 * fail. */
static void log_validity(const struct service *s, const char *event, dpot_status status,
                         const struct dpot_error *error)
{
    char quoted[LOG_QUOTED_SIZE];
    if (error->text[0]) {
        log_write(&s->log, status == DPOT_OK ? LOG_LEVEL_WARNING : LOG_LEVEL_ERROR, event,
                  "reason=%s", log_quote(quoted, error->text));
    }
}

static void log_validities(const struct service *s)
{
    struct dpot_error keys = {{0}}, certificate = {{0}};
    log_validity(s, "keys.seal", service_check_keys(s, &keys), &keys);
    log_validity(s, "tls.certificate", service_check_tls(s, &certificate), &certificate);
}

static void log_open(const struct service *s)
{
    struct store_id_usage usage;
    if (s->hooks.notes) {
        log_sink_put(s->log.sink, s->hooks.notes, strlen(s->hooks.notes));
    }
    store_get_id_usage(s->store, &usage);
    log_write(&s->log, LOG_LEVEL_INFO, "service.open", "url=%s n_seal_keys=%zu n_ids=%llu",
              service_url(s), s->keys.n_seal_secrets, (unsigned long long)usage.n_ids);
    log_validities(s);
}

dpot_status service_open(const struct config *config, const char *listen,
                         const struct service_hooks *hooks, struct service **service,
                         struct dpot_error *error)
{
    dpot_status status = service_new(config, hooks, service, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = open_log(*service, error);
    if (status == DPOT_OK) {
        status = open_modules(*service, config, hooks, error);
    }
    if (status == DPOT_OK) {
        status = open_runner(*service, config, error);
    }
    if (status == DPOT_OK) {
        status = service_open_server(*service, config, listen, error);
    }
    if (status != DPOT_OK) {
        service_close(*service);
        *service = NULL;
        return status;
    }
    log_open(*service);
    return DPOT_OK;
}

void service_print(const struct service *service, const char *line)
{
    log_sink_put(service->log.sink, line, strlen(line));
    log_sink_flush(service->log.sink, LOG_PATIENCE_MS);
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
    (void)service_stop(service, NULL);
}

dpot_status service_stop(struct service *service, struct dpot_error *error)
{
    if (!service) {
        return DPOT_OK;
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
    const struct dpot_error loss = service->loss;
    dpot_buf_release(&service->tls_cert);
    dpot_buf_release_secret(&service->tls_key);
    server_keys_wipe(&service->keys);
    dpot_free_array(NULL, service, 1, sizeof *service);
    if (url[0] != '\0') {
        log_write(&log, LOG_LEVEL_INFO, "service.close", "url=%s", url);
    }
    log_sink_close(log.sink, LOG_PATIENCE_MS);
    return loss.text[0] != '\0' ? dpot_error_set(error, DPOT_ERR_IO, "%s", loss.text) : DPOT_OK;
}
