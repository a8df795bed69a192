/* dpotd.json, the configuration of dpotd. doc/dpotd.8 describes every key.
 *
 * Unknown keys are refused by name; relative paths are relative to the folder of the file. */
#ifndef DPOT_DPOTD_CONFIG_H
#define DPOT_DPOTD_CONFIG_H

#include "http/log.h"
#include "http/server.h"
#include "json/fields.h"

#include <stdint.h>

#define CONFIG_TEXT_SIZE 4096

struct config {
    char listen[CONFIG_TEXT_SIZE];
    char tls_cert[CONFIG_TEXT_SIZE]; /* path; empty: no TLS */
    char tls_key[CONFIG_TEXT_SIZE];
    char store[CONFIG_TEXT_SIZE]; /* URL, its path resolved */
    char keys_dir[CONFIG_TEXT_SIZE];
    char tokens_file[CONFIG_TEXT_SIZE];

    unsigned max_connections;
    unsigned max_connections_per_ip;
    size_t max_body_bytes;
    size_t max_body_memory_bytes;
    unsigned request_timeout_s;
    unsigned threads;

    /* Of the running job. */
    unsigned job_threads;
    uint64_t job_memory_bytes; /* most memory of a job */
    unsigned job_keep_s;       /* between two checkpoints */

    /* Of the writer, which joins batches into commits (pool/writer.h). */
    unsigned commit_max_reports;
    unsigned commit_max_delay_ms;

    enum log_level log;
    bool has_open_metrics; /* /metrics needs no token */
};

/* The table of keys. */
extern const struct json_field config_fields[];

/* DPOT_ERR_IO (no such file), DPOT_ERR_MALFORMED, DPOT_ERR_RANGE; the sentence names file, key and
 * remedy. */
DPOT_WARN_UNUSED dpot_status config_read(const char *path, struct config *config,
                                         struct dpot_error *error);

/* Writes a new file (mode 0600) with this address and defaults. DPOT_ERR_EXISTS, DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status config_write_new(const char *path, const char *listen,
                                              struct dpot_error *error);

/* Resolves `file` relative to the folder of `path`; false when the result is too long. */
bool config_resolve(char out[CONFIG_TEXT_SIZE], const char *path, const char *file);

#endif
