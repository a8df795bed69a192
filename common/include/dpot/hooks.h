/* dpot/hooks.h - the seams an embedder can fill: memory, time, files, network, secrets.
 *
 * Each hook is a struct of function pointers with a `ctx` that is handed back. All are borrowed by
 * the handle that is given them and must outlive it. A hook is called on the thread that called
 * dpot, never under a lock of its own making. struct_size is sizeof of yours, and every function that is not called
 * optional must be there: dpot_client_open refuses the others by name. Ready ones: the C library's heap, the system clock,
 * POSIX files (dpot_filesystem_posix_new), libcurl (dpot_transport_curl_new). */
#ifndef DPOT_HOOKS_H
#define DPOT_HOOKS_H

#include "dpot/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory. resize(ctx, NULL, 0, n) allocates n bytes; resize(ctx, p, old, n) grows or shrinks,
 * keeping the content; resize(ctx, p, old, 0) frees and returns NULL. It returns NULL on failure
 * and then leaves the old block alone. It must be callable from every thread that uses a handle
 * holding it. */
struct dpot_allocator {
    void *(*resize)(void *ctx, void *pointer, size_t old_size, size_t new_size);
    void *ctx;
};

/* Time: now() returns milliseconds since 1970-01-01T00:00:00Z. It may jump either way: dpot takes
 * device time as max(now(), latest time in the ledger). */
struct dpot_clock {
    size_t struct_size;
    void *ctx;
    int64_t (*now)(void *ctx);
};

/* Network: one bounded HTTP exchange.
 *
 * perform() sends the request and fills the response. It returns DPOT_OK whenever an HTTP status
 * was received, whatever the status; DPOT_ERR_NETWORK when none was (name, connection, TLS,
 * time-out); DPOT_ERR_TOO_LARGE when the body exceeds `body_max`. `on_body` takes the body in
 * pieces; a status it returns other than DPOT_OK ends the exchange with that status. Redirects are
 * not followed. */
struct dpot_http_request {
    size_t struct_size;
    const char *method;        /* "GET" or "POST" */
    const char *url;           /* absolute, http:// or https:// */
    const char *content_type;  /* NULL without a body */
    const char *authorization; /* value of the Authorization header, or NULL */
    const void *body;
    size_t body_len;
    uint32_t timeout_ms; /* whole exchange, connecting included; at least 1 */
    size_t body_max;     /* longest response body accepted, bytes */
    dpot_status (*on_body)(void *sink, const void *data, size_t len);
    void *sink;
};

struct dpot_http_response {
    size_t struct_size;
    int status; /* 200, 404, ... */
    uint32_t
        retry_after_s; /* of the Retry-After header (seconds, or a date from now on); 0 without one */
    char
        content_type[64]; /* of the Content-Type header, cut to fit; "" without one. Only there when
                              struct_size says so */
    char reason
        [160]; /* with DPOT_ERR_NETWORK: why, for a person to read ("its certificate is not trusted"); "" where
                         no more is known. Only there when struct_size says so */
};

struct dpot_transport {
    size_t struct_size;
    void *ctx;
    dpot_status (*perform)(void *ctx, const struct dpot_http_request *request,
                           struct dpot_http_response *response);
};

/* Files of one private folder. Names are plain ("ledger", "spool", "ledger.new"), never paths. All
 * functions return DPOT_OK, DPOT_ERR_NO_SPACE (the disk or a quota is full; DPOT_ERR_IO where that
 * is not known), DPOT_ERR_IO, or what is said beside them. The durability dpot relies on: after sync() the bytes of that file, and after sync_directory() the names in the folder,
 * survive a power cut; rename() is atomic; write_at() within an existing file changes only those
 * bytes, and needs no space; nor do rename(), remove() and truncate() to less. */
struct dpot_filesystem {
    size_t struct_size;
    void *ctx;

    /* Opens for reading and writing; creates an empty file if `create`, otherwise
     * DPOT_ERR_NOT_FOUND for a missing one. */
    dpot_status (*open)(void *ctx, const char *name, int create, void **file);
    void (*close)(void *ctx, void *file);
    dpot_status (*size)(void *ctx, void *file, uint64_t *size);

    /* Reads or writes exactly len bytes; a short read is DPOT_ERR_IO. */
    dpot_status (*read_at)(void *ctx, void *file, uint64_t offset, void *data, size_t len);
    dpot_status (*write_at)(void *ctx, void *file, uint64_t offset, const void *data, size_t len);
    dpot_status (*truncate)(void *ctx, void *file, uint64_t size);
    dpot_status (*sync)(void *ctx, void *file);
    dpot_status (*sync_directory)(void *ctx);
    dpot_status (*rename)(void *ctx, const char *from, const char *to);
    dpot_status (*remove)(void *ctx, const char *name); /* DPOT_ERR_NOT_FOUND for a missing one */

    /* One exclusive lock on the folder, over processes and over handles in this process.
     * DPOT_ERR_BUSY at once when somebody else holds it. It dies with the process. */
    dpot_status (*lock)(void *ctx);
    void (*unlock)(void *ctx);

    /* Optional, for the sentences of failures (NULL, or struct_size ends before it: there is none): why the
     * last of the functions above that returned DPOT_ERR_IO did, for instance
     * "Permission denied (\"ledger\")"; "" when that is not known. Borrowed until the next call. */
    const char *(*explain)(void *ctx);
};

/* A hardware counter that only goes up (optional; both functions or neither: none). With one,
 * restoring an old copy of the ledger is detected and counts as an exhausted budget. It is for the
 * life of the folder: once a report was charged under it, opening without it is refused. */
struct dpot_counter {
    size_t struct_size;
    void *ctx;
    dpot_status (*read)(void *ctx, uint64_t *value);
    dpot_status (*advance)(void *ctx); /* durable when it returns; value + 1 */
};

/* POSIX files in `path` (created with mode 0700 when missing). *filesystem is freed by its _free;
 * NULL on failure. DPOT_ERR_IO: not a folder, or not writable by us; errno says which. */
DPOT_API DPOT_WARN_UNUSED dpot_status
dpot_filesystem_posix_new(const char *path, struct dpot_filesystem **filesystem);
DPOT_API void dpot_filesystem_posix_free(struct dpot_filesystem *filesystem);

/* libcurl. Connecting takes at most 10 s, an exchange at most its timeout_ms, also from servers that never
 * answer or send a byte now and then. Keeps one connection alive between calls; not for use by two threads at once. `ca_file`
 * is a PEM bundle, NULL for the system's. The caller owns curl_global_init when it calls it first.
 */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_transport_curl_new(const char *ca_file,
                                                              struct dpot_transport **transport);
DPOT_API void dpot_transport_curl_free(struct dpot_transport *transport);

#ifdef __cplusplus
}
#endif

#endif
