/* One pump, and what it does with a report that is kept: the report, or the whole server, waits, and one sentence
 * says why. For uploader.c; none of these can fail. */
#ifndef DPOT_CLIENT_PUMP_H
#define DPOT_CLIENT_PUMP_H

#include "client.h"

struct pump {
    dpot_client *client;
    int64_t started_ms; /* by the steady clock */
    int64_t seen_ms;    /* by config.clock, at the last look; */
    int64_t stepped_ms; /* how far it has gone forward since the start */
    uint32_t deadline_ms;
    bool has_fetched_keys;
    bool is_out_of_time;           /* an exchange was not begun */
    uint32_t retry_after_s;        /* of the last exchange */
    uint8_t digest[DPOT_HASH_LEN]; /* of the last body that was sent */
    bool is_stopped;               /* no more exchanges in this pump */
    size_t n_sent;
    dpot_status status; /* the first failure, which pump returns */
};

/* No answer. A sentence is there; our own disk and memory are not the server's fault. */
void dpot_pump_keep_unanswered(struct pump *pump, struct dpot_slot *slot, dpot_status status);

/* A receipt that does not parse, is for another number of reports than were sent or for another POST
 * (DPOT_ERR_SIGNATURE), is no answer: the server's exact set of ids makes the next try a duplicate. */
void dpot_pump_keep_without_receipt(struct pump *pump, struct dpot_slot *slot, dpot_status why);

/* What came is no server's of ours ("a web page"), whatever status it has. */
void dpot_pump_keep_strange(struct pump *pump, struct dpot_slot *slot, int http_status,
                            const char *stranger);

/* A refusal of another POST than was sent. */
void dpot_pump_keep_for_another(struct pump *pump, struct dpot_slot *slot, int http_status);

/* The round has not opened at the server: that is about this round, and not about the server. */
void dpot_pump_keep_until_open(struct pump *pump, struct dpot_slot *slot);

/* The round is over by the server's clock, of which `body` may say what it is, and not by ours. */
void dpot_pump_keep_until_over(struct pump *pump, struct dpot_slot *slot,
                               const struct dpot_buf *body);

/* Refused for now; is_server: not the report but the server. */
void dpot_pump_keep_refused(struct pump *pump, struct dpot_slot *slot, int http_status,
                            bool is_server);

#endif
