/* One pump, and how it keeps a report: the report, or the whole server, backs off, and one sentence
 * says why. For uploader.c; none of these functions can fail. */
#ifndef DPOT_CLIENT_PUMP_H
#define DPOT_CLIENT_PUMP_H

#include "client.h"

struct pump {
    dpot_client *client;
    int64_t started_ms;  /* by the steady clock */
    int64_t clock_ms;    /* config.clock when it was last read */
    int64_t advanced_ms; /* how far config.clock has gone forward since the start */
    uint32_t deadline_ms;
    bool has_fetched_keys;
    bool is_out_of_time;           /* an exchange was not begun */
    uint32_t retry_after_s;        /* of the last exchange */
    uint8_t digest[DPOT_HASH_LEN]; /* of the last body that was sent */
    bool is_stopped;               /* no more exchanges in this pump */
    size_t n_sent;
    dpot_status status;      /* the first failure, which pump returns */
    struct dpot_error error; /* of `status` */
};

/* No answer. client->error has the sentence. Failures of our own disk and memory do not pause the
 * server. */
void dpot_pump_defer_unanswered(struct pump *pump, struct dpot_slot *slot, dpot_status status);

/* A receipt that does not parse, is for another number of reports than were sent, or for another
 * POST (DPOT_ERR_SIGNATURE), counts as no answer: the server's exact set of ids makes the next try
 * a duplicate. */
void dpot_pump_defer_without_receipt(struct pump *pump, struct dpot_slot *slot, dpot_status why);

/* The answer, of whatever status, is not from dpotd. `foreign` is what it is: "a web page". */
void dpot_pump_defer_foreign(struct pump *pump, struct dpot_slot *slot, int http_status,
                             const char *foreign);

/* A refusal that names another POST than was sent. */
void dpot_pump_defer_other_batch(struct pump *pump, struct dpot_slot *slot, int http_status);

/* The round has not opened at the server: only this report waits. */
void dpot_pump_defer_until_open(struct pump *pump, struct dpot_slot *slot);

/* The round is over by the server's clock, which `body` may name, and not by ours. */
void dpot_pump_defer_until_over(struct pump *pump, struct dpot_slot *slot,
                                const struct dpot_buf *body);

/* Refused for now. is_server: the server, not the report, backs off. */
void dpot_pump_defer_refused(struct pump *pump, struct dpot_slot *slot, int http_status,
                             bool is_server);

#endif
