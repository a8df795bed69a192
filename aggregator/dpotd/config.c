#include "dpotd/config.h"

#include "http/listen.h"
#include "jobs/job.h"
#include "keys/key_file.h"
#include "json/json.h"

#include <stdlib.h>
#include <string.h>

static const char sqlite_scheme[] = "sqlite:";
static const char sqlite_memory[] = "sqlite::memory:";

bool config_resolve(char out[CONFIG_TEXT_SIZE], const char *path, const char *file)
{
    const char *slash = strrchr(path, '/');
    const int folder_len = file[0] == '/' || !slash ? 0 : (int)(slash - path) + 1;
    const int n = snprintf(out, CONFIG_TEXT_SIZE, "%.*s%s", folder_len, path, file);
    return n >= 0 && n < CONFIG_TEXT_SIZE;
}

static dpot_status require(dpot_status status, const char *key, struct dpot_error *error)
{
    return status == DPOT_ERR_NOT_FOUND
               ? dpot_error_set(error, DPOT_ERR_MALFORMED, "%s is missing: add it", key)
               : status;
}

static dpot_status optional(dpot_status status)
{
    return status == DPOT_ERR_NOT_FOUND ? DPOT_OK : status;
}

static dpot_status resolve(char out[CONFIG_TEXT_SIZE], const char *path, const char *key,
                           const char *file, struct dpot_error *error)
{
    if (file[0] == '\0') {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s is empty: name a file", key);
    }
    return config_resolve(out, path, file)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "%s is too long: use a shorter path", key);
}

static dpot_status read_path(const json_t *root, const char *path, const char *key,
                             char out[CONFIG_TEXT_SIZE], struct dpot_error *error)
{
    const char *file = NULL;
    const dpot_status status = require(json_get_string(root, "", key, &file, error), key, error);
    return status == DPOT_OK ? resolve(out, path, key, file, error) : status;
}

static dpot_status read_listen(const json_t *root, struct config *config, struct dpot_error *error)
{
    const char *listen = NULL;
    dpot_status status =
        require(json_get_string(root, "", "listen", &listen, error), "listen", error);
    if (status == DPOT_OK) {
        status = listen_check(listen, error);
    }
    if (status == DPOT_OK) {
        (void)snprintf(config->listen, sizeof config->listen, "%s", listen);
    }
    return status;
}

static dpot_status read_store(const json_t *root, const char *path, struct config *config,
                              struct dpot_error *error)
{
    const size_t scheme_len = sizeof sqlite_scheme - 1;
    const char *url = NULL;
    const dpot_status status =
        require(json_get_string(root, "", "store", &url, error), "store", error);
    if (status != DPOT_OK) {
        return status;
    }
    if (strncmp(url, sqlite_scheme, scheme_len) != 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "store is \"%.80s\": this build knows sqlite:PATH", url);
    }
    if (strcmp(url, sqlite_memory) == 0) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "store is \"%s\", which forgets every report it has acknowledged when "
            "dpotd stops: name a file, such as sqlite:dpot.db",
            sqlite_memory);
    }
    char file[CONFIG_TEXT_SIZE];
    dpot_status resolved = resolve(file, path, "store", url + scheme_len, error);
    if (resolved == DPOT_OK) {
        resolved = key_file_check_plain(file, error);
    }
    if (resolved != DPOT_OK) {
        return resolved;
    }
    const int n = snprintf(config->store, sizeof config->store, "%s%s", sqlite_scheme, file);
    return n < CONFIG_TEXT_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "store is too long: use a shorter path");
}

static dpot_status read_tls(const json_t *root, const char *path, struct config *config,
                            struct dpot_error *error)
{
    static const char *const known[] = {"cert", "key", NULL};
    const json_t *tls = json_object_get(root, "tls");
    const char *cert = NULL, *key = NULL;
    if (!tls) {
        return DPOT_OK;
    }
    if (json_is_null(tls)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "tls is null, which says neither: name cert and key, or leave it out "
                              "to serve plain HTTP");
    }
    dpot_status status = json_check_keys(tls, "tls", known, error);
    if (status == DPOT_OK) {
        status = require(json_get_string(tls, "tls", "cert", &cert, error), "tls.cert", error);
    }
    if (status == DPOT_OK) {
        status = require(json_get_string(tls, "tls", "key", &key, error), "tls.key", error);
    }
    if (status == DPOT_OK) {
        status = resolve(config->tls_cert, path, "tls.cert", cert, error);
    }
    return status == DPOT_OK ? resolve(config->tls_key, path, "tls.key", key, error) : status;
}

#define NUMBERS_MAX 12 /* of a section */

/* One row per number: its key, range and place. */
struct number_row {
    const char *key;
    int64_t min, max, value;
};

static dpot_status read_numbers(const json_t *root, const char *section, struct number_row *rows,
                                size_t n, struct dpot_error *error)
{
    const char *known[NUMBERS_MAX + 1] = {NULL};
    const json_t *object = json_object_get(root, section);
    if (!object) {
        return DPOT_OK;
    }
    for (size_t i = 0; i < n; i++) {
        known[i] = rows[i].key;
    }
    dpot_status status = json_check_keys(object, section, known, error);
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        status = optional(json_get_integer(object, section, rows[i].key, rows[i].min, rows[i].max,
                                           &rows[i].value, error));
    }
    return status;
}

static dpot_status read_limits(const json_t *root, struct config *config, struct dpot_error *error)
{
    struct number_row rows[] = {
        {"max_connections", 8, 1000000, 1024},
        {"max_connections_per_ip", 0, 1000000, 0},
        {"max_body_bytes", 1024, DPOT_BATCH_BYTES_MAX, DPOT_BATCH_BYTES_MAX},
        {"max_body_memory_bytes", 16 << 20, (int64_t)1 << 40, 256 << 20},
        {"request_timeout_s", 1, 3600, 60},
        {"threads", 1, 256, 8},
        {"job_threads", 1, 256, 1},
        {"job_memory_bytes", 64 << 20, (int64_t)1 << 44, JOB_MEMORY_DEFAULT},
        {"job_keep_s", 1, 86400, 60},
    };
    const dpot_status status =
        read_numbers(root, "limits", rows, sizeof rows / sizeof rows[0], error);
    config->max_connections = (unsigned)rows[0].value;
    config->max_connections_per_ip = (unsigned)rows[1].value;
    config->max_body_bytes = (size_t)rows[2].value;
    config->max_body_memory_bytes = (size_t)rows[3].value;
    config->request_timeout_s = (unsigned)rows[4].value;
    config->threads = (unsigned)rows[5].value;
    config->job_threads = (unsigned)rows[6].value;
    config->job_memory_bytes = (uint64_t)rows[7].value;
    config->job_keep_s = (unsigned)rows[8].value;
    if (status == DPOT_OK && config->max_connections < config->threads) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "limits.max_connections is %u and limits.threads %u: allow at least one "
            "connection per thread",
            config->max_connections, config->threads);
    }
    return status;
}

static dpot_status read_commit(const json_t *root, struct config *config, struct dpot_error *error)
{
    struct number_row rows[] = {
        {"max_reports", 1, 1000000, DPOT_BATCH_REPORTS_MAX},
        {"max_delay_ms", 0, 10000, 0},
    };
    const dpot_status status =
        read_numbers(root, "commit", rows, sizeof rows / sizeof rows[0], error);
    config->commit_max_reports = (unsigned)rows[0].value;
    config->commit_max_delay_ms = (unsigned)rows[1].value;
    return status;
}

static dpot_status read_log(const json_t *root, struct config *config, struct dpot_error *error)
{
    const char *name = "info";
    const dpot_status status = optional(json_get_string(root, "", "log", &name, error));
    if (status == DPOT_OK && log_level_find(name, &config->log) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "log is \"%.40s\": choose debug, info, warning or error", name);
    }
    return status;
}

static dpot_status read_metrics(const json_t *root, struct config *config, struct dpot_error *error)
{
    const char *who = "token";
    const dpot_status status = optional(json_get_string(root, "", "metrics", &who, error));
    config->has_open_metrics = strcmp(who, "open") == 0;
    return status == DPOT_OK && !config->has_open_metrics && strcmp(who, "token") != 0
               ? dpot_error_set(error, DPOT_ERR_RANGE, "metrics is \"%.40s\": choose token or open",
                                who)
               : status;
}

static dpot_status read_root(const json_t *root, const char *path, struct config *config,
                             struct dpot_error *error)
{
    static const char *const known[] = {"listen", "tls",    "store", "keys_dir", "tokens_file",
                                        "limits", "commit", "log",   "metrics",  NULL};
    dpot_status status = json_check_keys(root, "", known, error);
    if (status == DPOT_OK) {
        status = read_listen(root, config, error);
    }
    if (status == DPOT_OK) {
        status = read_tls(root, path, config, error);
    }
    if (status == DPOT_OK) {
        status = read_store(root, path, config, error);
    }
    if (status == DPOT_OK) {
        status = read_path(root, path, "keys_dir", config->keys_dir, error);
    }
    if (status == DPOT_OK) {
        status = read_path(root, path, "tokens_file", config->tokens_file, error);
    }
    if (status == DPOT_OK) {
        status = read_limits(root, config, error);
    }
    if (status == DPOT_OK) {
        status = read_commit(root, config, error);
    }
    if (status == DPOT_OK) {
        status = read_metrics(root, config, error);
    }
    return status == DPOT_OK ? read_log(root, config, error) : status;
}

dpot_status config_read(const char *path, struct config *config, struct dpot_error *error)
{
    json_t *root = NULL;
    *config = (struct config){.log = LOG_LEVEL_INFO};
    dpot_status status = key_file_check_plain(path, error);
    if (status == DPOT_OK) {
        status = json_read(path, &root, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    status = read_root(root, path, config, error);
    json_decref(root);
    return status == DPOT_OK ? status : dpot_error_prefix(error, status, "%s", path);
}

dpot_status config_write_new(const char *path, const char *listen, struct dpot_error *error)
{
    json_t *root = json_pack("{s:s,s:s,s:s,s:s,s:s}", "listen", listen, "store", "sqlite:dpot.db",
                             "keys_dir", "keys", "tokens_file", "tokens", "log", "info");
    char *text = root ? json_dumps(root, JSON_INDENT(2) | JSON_PRESERVE_ORDER) : NULL;
    const dpot_status status = text ? key_file_write_new(path, text, error) : DPOT_ERR_MEMORY;
    free(text);
    json_decref(root);
    return status;
}
