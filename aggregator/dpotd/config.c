#include "dpotd/config.h"

#include "http/listen.h"
#include "jobs/job.h"
#include "keys/key_file.h"

#include <stdio.h>
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

/* ---- the table ---- */

static const struct json_word levels[] = {{"debug", LOG_LEVEL_DEBUG},
                                          {"info", LOG_LEVEL_INFO},
                                          {"warning", LOG_LEVEL_WARNING},
                                          {"error", LOG_LEVEL_ERROR},
                                          {NULL, 0}};
static const struct json_word readers[] = {{"token", false}, {"open", true}, {NULL, 0}};

static const struct json_field tls_fields[] = {
    FIELD_CHARS("cert", struct config, tls_cert, FIELD_REQUIRED("name a file")),
    FIELD_CHARS("key", struct config, tls_key, FIELD_REQUIRED("name a file")),
    {.key = NULL},
};

static const struct json_field limits_fields[] = {
    FIELD_INTEGER("max_connections", struct config, max_connections, 8, 1000000, .otherwise = 1024),
    FIELD_INTEGER("max_connections_per_ip", struct config, max_connections_per_ip, 0, 1000000,
                  .otherwise = 0),
    FIELD_INTEGER("max_body_bytes", struct config, max_body_bytes, 1024, DPOT_BATCH_BYTES_MAX,
                  .otherwise = DPOT_BATCH_BYTES_MAX),
    FIELD_INTEGER("max_body_memory_bytes", struct config, max_body_memory_bytes, 16 << 20,
                  (int64_t)1 << 40, .otherwise = 256 << 20),
    FIELD_INTEGER("request_timeout_s", struct config, request_timeout_s, 1, 3600, .otherwise = 60),
    FIELD_INTEGER("threads", struct config, threads, 1, 256, .otherwise = 8),
    FIELD_INTEGER("job_threads", struct config, job_threads, 1, 256, .otherwise = 1),
    FIELD_INTEGER("job_memory_bytes", struct config, job_memory_bytes, 64 << 20, (int64_t)1 << 44,
                  .otherwise = (double)JOB_MEMORY_DEFAULT),
    FIELD_INTEGER("job_keep_s", struct config, job_keep_s, 1, 86400, .otherwise = 60),
    {.key = NULL},
};

static const struct json_field commit_fields[] = {
    FIELD_INTEGER("max_reports", struct config, commit_max_reports, 1, 1000000,
                  .otherwise = DPOT_BATCH_REPORTS_MAX),
    FIELD_INTEGER("max_delay_ms", struct config, commit_max_delay_ms, 0, 10000, .otherwise = 0),
    {.key = NULL},
};

const struct json_field config_fields[] = {
    FIELD_CHARS("listen", struct config, listen, FIELD_REQUIRED("give \"HOST:PORT\"")),
    FIELD_SECTION("tls", tls_fields,
                  "give an object with cert and key, or leave it out to serve plain HTTP"),
    FIELD_CHARS("store", struct config, store, FIELD_REQUIRED("give \"sqlite:PATH\"")),
    FIELD_CHARS("keys_dir", struct config, keys_dir, FIELD_REQUIRED("name a folder")),
    FIELD_CHARS("tokens_file", struct config, tokens_file, FIELD_REQUIRED("name a file")),
    FIELD_SECTION("limits", limits_fields, NULL),
    FIELD_SECTION("commit", commit_fields, NULL),
    FIELD_WORD("log", struct config, log, levels, .otherwise = LOG_LEVEL_INFO),
    FIELD_WORD("metrics", struct config, has_open_metrics, readers, .otherwise = false),
    {.key = NULL},
};

/* ---- checks beyond the table ---- */

/* Resolves `file` in place. */
static dpot_status resolve(char file[CONFIG_TEXT_SIZE], const char *path, const char *key,
                           struct dpot_error *error)
{
    char given[CONFIG_TEXT_SIZE];
    if (file[0] == '\0') {
        return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s is empty: name a file", key);
    }
    (void)snprintf(given, sizeof given, "%s", file);
    return config_resolve(file, path, given)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "%s is too long: use a shorter path", key);
}

static dpot_status resolve_store(char url[CONFIG_TEXT_SIZE], const char *path,
                                 struct dpot_error *error)
{
    char file[CONFIG_TEXT_SIZE];
    if (strncmp(url, sqlite_scheme, sizeof sqlite_scheme - 1) != 0) {
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
    (void)snprintf(file, sizeof file, "%s", url + sizeof sqlite_scheme - 1);
    dpot_status status = resolve(file, path, "store", error);
    if (status == DPOT_OK) {
        status = key_file_check_plain(file, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    const int n = snprintf(url, CONFIG_TEXT_SIZE, "%s%s", sqlite_scheme, file);
    return n < CONFIG_TEXT_SIZE
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE, "store is too long: use a shorter path");
}

static dpot_status resolve_paths(struct config *config, bool has_tls, const char *path,
                                 struct dpot_error *error)
{
    dpot_status status = resolve_store(config->store, path, error);
    if (status == DPOT_OK && has_tls) {
        status = resolve(config->tls_cert, path, "tls.cert", error);
    }
    if (status == DPOT_OK && has_tls) {
        status = resolve(config->tls_key, path, "tls.key", error);
    }
    if (status == DPOT_OK) {
        status = resolve(config->keys_dir, path, "keys_dir", error);
    }
    return status == DPOT_OK ? resolve(config->tokens_file, path, "tokens_file", error) : status;
}

static dpot_status read_root(const json_t *root, const char *path, struct config *config,
                             struct dpot_error *error)
{
    dpot_status status = json_read_fields(root, "", config_fields, NULL, config, error);
    if (status == DPOT_OK) {
        status = listen_check(config->listen, error);
    }
    if (status == DPOT_OK) {
        status = resolve_paths(config, json_object_get(root, "tls") != NULL, path, error);
    }
    if (status == DPOT_OK && config->max_connections < config->threads) {
        return dpot_error_set(
            error, DPOT_ERR_RANGE,
            "limits.max_connections is %u and limits.threads %u: allow at least one "
            "connection per thread",
            config->max_connections, config->threads);
    }
    return status;
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
