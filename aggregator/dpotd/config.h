/* dpotd.json: where to listen, where to store, which keys, how much at most.
 *
 * Unknown keys are refused by name; relative paths are relative to the file's folder. Every key is
 * described in doc/dpotd.8. */
#ifndef DPOT_DPOTD_CONFIG_H
#define DPOT_DPOTD_CONFIG_H

#include "http/log.h"
#include "http/server.h"

#include <stdint.h>

#define CONFIG_TEXT_SIZE 4096

struct config {
    char listen[CONFIG_TEXT_SIZE];
    char tls_cert[CONFIG_TEXT_SIZE]; /* path; empty: no TLS of our own */
    char tls_key[CONFIG_TEXT_SIZE];
    char store[CONFIG_TEXT_SIZE]; /* URL with its path resolved */
    char keys_dir[CONFIG_TEXT_SIZE];
    char tokens_file[CONFIG_TEXT_SIZE];

    unsigned max_connections;
    unsigned max_connections_per_ip;
    size_t max_body_bytes;
    size_t max_body_memory_bytes;
    unsigned request_timeout_s;
    unsigned threads;

    /* Of jobs, one of which runs at a time. */
    unsigned job_threads;
    uint64_t job_memory_bytes; /* of kinds that could take more */
    unsigned job_keep_s;       /* between two writes of what a long job keeps */

    /* Of the writer that joins batches (pool/writer.h). */
    unsigned commit_max_reports;
    unsigned commit_max_delay_ms;

    enum log_level log;
    bool has_open_metrics; /* without a token */
};

/* DPOT_ERR_IO (no such file), DPOT_ERR_MALFORMED, DPOT_ERR_RANGE, with the file, the key and the
 * remedy. */
DPOT_WARN_UNUSED dpot_status config_read(const char *path, struct config *config,
                                         struct dpot_error *error);

/* Writes a new file (mode 0600) with defaults and these values. DPOT_ERR_EXISTS, DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status config_write_new(const char *path, const char *listen,
                                              struct dpot_error *error);

/* `file` as seen from the folder of `path`; false when it is too long. */
bool config_resolve(char out[CONFIG_TEXT_SIZE], const char *path, const char *file);

#endif
