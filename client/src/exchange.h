/* The exchange that is under way: one request to the server and its answer, between two holds of
 * the folder's lock. Nothing of it is on disk but the mark of sending.h. */
#ifndef DPOT_CLIENT_EXCHANGE_H
#define DPOT_CLIENT_EXCHANGE_H

#include "base/buf.h"
#include "http.h"
#include "storage/ledger.h"

#define DPOT_SENDING_MARK_LEN 16

enum exchange_kind {
    EXCHANGE_NONE,
    EXCHANGE_REPORT, /* POST of one sealed report */
    EXCHANGE_KEYS,   /* GET of the seal keys */
};

struct exchange {
    enum exchange_kind kind;
    struct dpot_key key;                 /* of the report that is sent, or that needs the keys */
    uint8_t digest[DPOT_HASH_LEN];       /* of the body */
    uint8_t mark[DPOT_SENDING_MARK_LEN]; /* that stands for it in "sending" */
    struct dpot_buf url;                 /* ends in a NUL */
    struct dpot_buf body;                /* empty for a GET */
    uint32_t timeout_ms;
    int64_t until_ms; /* by config.clock: no answer later than this is waited for */

    bool is_answered;    /* the rest is set, and waits for the lock to be filed */
    dpot_status failure; /* DPOT_OK: an answer came; else why not */
    struct dpot_http_answer answer;
    struct dpot_buf received; /* its body */
    int64_t answered_ms;      /* when, by config.clock: waits count from here */

    /* Over exchanges. */
    bool needs_keys;       /* the server has refused the stored key as expired */
    bool has_fetched_keys; /* in this pump, or since nothing was due */
};

#endif
