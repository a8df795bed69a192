/* dpot/hooks.h - the hooks an embedder can supply: memory, time, randomness, files,
 * network, a counter.
 *
 * Each hook is a struct of function pointers with a `ctx` that is passed back to them. The handle
 * borrows the struct: it must outlive the handle. Hooks are called on the thread that called dpot,
 * and dpot holds no lock of its own then. `struct_size` is sizeof of your struct. Every function
 * that is not marked optional must be present, and members that the library does not know must be
 * 0: dpot_client_open refuses both by name.
 *
 * Ready-made: the C library's heap, the system clock, POSIX files (dpot_filesystem_posix_new),
 * libcurl (dpot_transport_curl_new). */
#ifndef DPOT_HOOKS_H
#define DPOT_HOOKS_H

#include "dpot/status.h"

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Memory, in one function:
 *   resize(ctx, NULL, 0, n)    allocates n bytes
 *   resize(ctx, p, old, n)     grows or shrinks, keeping the content
 *   resize(ctx, p, old, 0)     frees and returns NULL
 * On failure it returns NULL and leaves the old block alone. Thread-safe if handles that share it
 * are used by several threads. */
struct dpot_allocator {
    void *(*resize)(void *ctx, void *pointer, size_t old_size, size_t new_size);
    void *ctx;
};

/* Time: now() returns milliseconds since 1970-01-01T00:00:00Z. It may jump either way: device time
 * is max(now(), latest time in the ledger). monotonic() returns milliseconds since any moment; it
 * never goes back or jumps: work times and deadlines are measured by it. NULL, or beyond
 * struct_size: the system's; required in a libdpot built without POSIX. */
struct dpot_clock {
    size_t struct_size;
    void *ctx;
    int64_t (*now)(void *ctx);
    int64_t (*monotonic)(void *ctx);
};

/* Randomness, for a libdpot built without POSIX (DPOT_WITH_POSIX=OFF); elsewhere it is the
 * operating system's, and dpot_random_set returns STATE.
 *
 * THE WHOLE GUARANTEE RESTS ON IT: noise, ids and seals are drawn from `fill`, and whoever can
 * predict it reads the data. It must be a cryptographic generator (a DRBG on ChaCha20 or AES-CTR,
 * for instance) that was seeded with at least 32 bytes of a hardware source of entropy since this
 * start of the chip. Never rand(), the time, a serial number, or the noise of an ADC as it comes.
 * Nothing replaces it when it is missing.
 *
 * fill() writes len bytes whole, or returns a status other than DPOT_OK. After a failure, or 16
 * bytes that repeat those before them, nothing is reported until dpot_random_set is called
 * again. */
typedef dpot_status dpot_random_fill(void *ctx, void *out, size_t len);

/* Sets it, once, before dpot_client_open. `ctx` is borrowed for good.
 *   RANDOM  it failed, or 512 bytes of it are plainly not random (false alarms: below 2^-64) */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_random_set(dpot_random_fill *fill, void *ctx);

/* Network: one HTTP exchange. */
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

/* content_type and reason exist only when struct_size includes them. */
struct dpot_http_response {
    size_t struct_size;
    int status;             /* 200, 404, ... */
    uint32_t retry_after_s; /* Retry-After, in seconds or converted from a date; 0 without one */
    char content_type[64];  /* Content-Type, cut to fit; "" without one */
    char reason[160];       /* DPOT_ERR_NETWORK: why, for people; "" if not known */
};

/* perform() sends the request and fills the response.
 *   DPOT_OK             an HTTP status was received, whatever it is
 *   DPOT_ERR_NETWORK    none was (name, connection, TLS, time-out)
 *   DPOT_ERR_TOO_LARGE  the response body exceeds body_max
 * It passes the body to `on_body` in pieces; a status other than DPOT_OK from on_body ends the
 * exchange with that status. Redirects are not followed. */
struct dpot_transport {
    size_t struct_size;
    void *ctx;
    dpot_status (*perform)(void *ctx, const struct dpot_http_request *request,
                           struct dpot_http_response *response);
};

/* Files of one private folder. Names are plain ("ledger", "spool", "ledger.new"), never paths.
 * Functions return DPOT_OK, DPOT_ERR_NO_SPACE (the disk or a quota is full, if known), DPOT_ERR_IO,
 * or what is said beside them. dpot relies on this durability:
 *   - after sync() the bytes of that file survive a power cut, after sync_directory() the names do;
 *   - rename() is atomic;
 *   - write_at() within an existing file changes only those bytes;
 *   - such a write_at(), rename(), remove() and truncate() to less need no space. */
struct dpot_filesystem {
    size_t struct_size;
    void *ctx;

    /* Opens for reading and writing. A missing file: an empty one if `create`, else
     * DPOT_ERR_NOT_FOUND. */
    dpot_status (*open)(void *ctx, const char *name, int create, void **file);
    void (*close)(void *ctx, void *file);
    dpot_status (*size)(void *ctx, void *file, uint64_t *size);

    /* Read or write exactly len bytes; a short read is DPOT_ERR_IO. */
    dpot_status (*read_at)(void *ctx, void *file, uint64_t offset, void *data, size_t len);
    dpot_status (*write_at)(void *ctx, void *file, uint64_t offset, const void *data, size_t len);
    dpot_status (*truncate)(void *ctx, void *file, uint64_t size);
    dpot_status (*sync)(void *ctx, void *file);
    dpot_status (*sync_directory)(void *ctx);
    dpot_status (*rename)(void *ctx, const char *from, const char *to);
    dpot_status (*remove)(void *ctx, const char *name); /* DPOT_ERR_NOT_FOUND for a missing one */

    /* One exclusive lock on the folder, across processes and across handles of this process.
     * DPOT_ERR_BUSY at once when it is held. It ends with the process. */
    dpot_status (*lock)(void *ctx);
    void (*unlock)(void *ctx);

    /* Optional (NULL, or beyond struct_size): why the last function above that returned DPOT_ERR_IO
     * failed, for error messages: "Permission denied (\"ledger\")"; "" if not known. Borrowed until
     * the next call. */
    const char *(*explain)(void *ctx);
};

/* A hardware counter that never decreases (optional; both functions or neither). With one,
 * restoring an old copy of the ledger is detected and the budget counts as spent. Once a report was
 * charged under a counter, the folder cannot be opened without it. */
struct dpot_counter {
    size_t struct_size;
    void *ctx;
    dpot_status (*read)(void *ctx, uint64_t *value);
    dpot_status (*advance)(void *ctx); /* adds 1; durable when it returns */
};

/* POSIX files in the folder `path`, created with mode 0700 if missing. Free with _free. On failure
 * *filesystem is NULL. DPOT_ERR_IO: not a folder, or not writable; errno says which. */
DPOT_API DPOT_WARN_UNUSED dpot_status
dpot_filesystem_posix_new(const char *path, struct dpot_filesystem **filesystem);
DPOT_API void dpot_filesystem_posix_free(struct dpot_filesystem *filesystem);

/* libcurl. `ca_file`: a PEM bundle; NULL: the system's. Connecting takes at most 10 s and an
 * exchange at most its timeout_ms, also when the server stalls. Keeps one connection alive between
 * calls; not thread-safe. An app that uses libcurl itself calls curl_global_init first.
 * Missing in a libdpot that was built with DPOT_WITH_CURL=OFF. */
DPOT_API DPOT_WARN_UNUSED dpot_status dpot_transport_curl_new(const char *ca_file,
                                                              struct dpot_transport **transport);
DPOT_API void dpot_transport_curl_free(struct dpot_transport *transport);

#ifdef __cplusplus
}
#endif

#endif
