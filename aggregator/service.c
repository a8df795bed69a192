#include "service.h"

#include "base/clock.h"
#include "http/listen.h"
#include "key_file.h"
#include "keys.h"

#include <string.h>

#define DRAIN_MS 10000
#define SIGNED_KEYS_MAX (DPOT_KEYS_BYTES_MAX + 4096)

struct service {
    struct log log;
    struct server_keys keys;
    struct tokens tokens;
    struct store *store;
    struct registry *registry;
    struct ingest ingest;
    struct runner *runner;
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
static dpot_status sign_keys(struct service *s, int64_t now_ms, struct dpot_error *error)
{
    struct dpot_keys public_keys = {.n_seal_keys = 0};
    dpot_buf_init(&s->app.signed_keys, SIGNED_KEYS_MAX, NULL);
    for (size_t i = 0; i < s->keys.n_seal_secrets; i++) {
        if (now_ms < s->keys.seal_secrets[i].key.not_after_ms) {
            public_keys.seal_keys[public_keys.n_seal_keys++] = s->keys.seal_secrets[i].key;
        }
    }
    if (public_keys.n_seal_keys == 0) {
        return dpot_error_set(
            error, DPOT_ERR_NOT_FOUND,
            "every seal key has expired: devices could not report; add a new one");
    }
    return registry_sign_keys(s->registry, &public_keys, &s->app.signed_keys, error);
}

struct hashes {
    uint8_t (*hash)[DPOT_HASH_LEN]; /* (n) */
    size_t n;
    bool is_out_of_memory;
};

static int keep_hash(void *ctx, const struct revision_record *record)
{
    struct hashes *hashes = ctx;
    void *grown = dpot_resize_array(NULL, hashes->hash, hashes->n, hashes->n + 1, DPOT_HASH_LEN);
    hashes->is_out_of_memory = grown == NULL;
    if (grown) {
        hashes->hash = grown;
        memcpy(hashes->hash[hashes->n++], record->hash, DPOT_HASH_LEN);
    }
    return hashes->is_out_of_memory;
}

/* Every stored revision must verify under the signing key: a store beside the key of another install, or an
 * altered one, is found at start-up and not by the devices. */
static dpot_status check_revisions(struct service *s, struct dpot_error *error)
{
    struct hashes hashes = {0};
    dpot_status status = store_list_revisions(s->store, keep_hash, &hashes, error);
    if (status == DPOT_OK && hashes.is_out_of_memory) {
        status = DPOT_ERR_MEMORY;
    }
    for (size_t i = 0; status == DPOT_OK && i < hashes.n; i++) {
        struct registry_revision revision;
        status = registry_get(s->registry, hashes.hash[i], &revision, error);
    }
    dpot_free_array(NULL, hashes.hash, hashes.n, DPOT_HASH_LEN);
    if (status == DPOT_ERR_CORRUPT || status == DPOT_ERR_SIGNATURE) {
        return dpot_error_prefix(
            error, status,
            "a stored campaign does not verify under keys/signing.key: restore the "
            "key or the store that belong together");
    }
    return status;
}

static dpot_status open_rooms(struct service *s, const struct config *config,
                              const struct service_hooks *hooks, struct dpot_error *error)
{
    const struct dpot_clock *clock = s->log.clock;
    dpot_status status = server_keys_read(config->keys_dir, &s->keys, error);
    if (status == DPOT_OK) {
        status = tokens_read(config->tokens_file, &s->tokens, error);
    }
    if (status == DPOT_OK) {
        status = read_tls(s, config, error);
    }
    if (status == DPOT_OK) {
        status = store_open(config->store, &s->store, error);
    }
    if (status == DPOT_OK) {
        status = registry_new(s->store, s->keys.secret_key, clock, &s->registry, error);
    }
    if (status == DPOT_OK) {
        status = check_revisions(s, error);
    }
    if (status == DPOT_OK) {
        status = sign_keys(s, clock->now(clock->ctx), error);
    }
    s->ingest = (struct ingest){.store = s->store,
                                .registry = s->registry,
                                .clock = clock,
                                .seal_secrets = s->keys.seal_secrets,
                                .n_seal_secrets = s->keys.n_seal_secrets,
                                .on_committed = hooks->on_committed,
                                .ctx = hooks->ctx};
    s->app.store = s->store;
    s->app.registry = s->registry;
    s->app.ingest = &s->ingest;
    s->app.tokens = &s->tokens;
    s->app.body_max = config->max_body_bytes;
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

/* Not for a mere check: a runner begins to work at once. */
static dpot_status open_runner(struct service *s, struct dpot_error *error)
{
    const struct runner_config config = {
        .source = {s->store, s->registry}, .clock = s->log.clock, .on_change = log_job, .ctx = s};
    const dpot_status status = runner_open(&config, &s->runner, error);
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
    const dpot_status status = open_rooms(s, config, hooks, error);
    if (status != DPOT_OK) {
        service_close(s);
        *service = NULL;
    }
    return status;
}

dpot_status service_open(const struct config *config, const char *listen,
                         const struct service_hooks *hooks, struct service **service,
                         struct dpot_error *error)
{
    dpot_status status = new_service(config, hooks, service, error);
    if (status != DPOT_OK) {
        return status;
    }
    status = open_runner(*service, error);
    if (status == DPOT_OK) {
        status = open_server(*service, config, listen, error);
    }
    if (status != DPOT_OK) {
        service_close(*service);
        *service = NULL;
        return status;
    }
    log_write(&(*service)->log, LOG_LEVEL_INFO, "service.open", "url=%s n_seal_keys=%zu",
              service_url(*service), (*service)->keys.n_seal_secrets);
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

dpot_status service_check(const struct config *config, struct dpot_error *error)
{
    const struct service_hooks none = {.clock = NULL};
    struct service *s = NULL;
    dpot_status status = new_service(config, &none, &s, error);
    if (status == DPOT_OK) {
        status = store_check(s->store, error);
        service_close(s);
    }
    return status;
}
