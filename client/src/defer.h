/* How a report that got no final answer is kept: the report, or the whole server, backs off, and
 * one sentence says why. None of these functions can fail. */
#ifndef DPOT_CLIENT_DEFER_H
#define DPOT_CLIENT_DEFER_H

#include "client.h"

/* One call that sends or files: what came of it. */
struct upload {
    dpot_client *client;
    bool is_by_hand;         /* the app carries the requests, keys of enrolling included */
    size_t n_sent;           /* reports that got their final answer */
    dpot_status status;      /* the first failure that kept a report */
    struct dpot_error error; /* of `status` */
};

/* No request was made, or no answer came. client->error has the sentence. Failures of our own disk
 * and memory do not pause the server. `slot` is NULL when the report is gone. */
void dpot_defer_unanswered(struct upload *upload, struct dpot_slot *slot, dpot_status status);

/* A receipt that does not parse, is for another number of reports than were sent, or for another
 * POST (DPOT_ERR_SIGNATURE), counts as no answer: the server's exact set of ids makes the next try
 * a duplicate. */
void dpot_defer_without_receipt(struct upload *upload, struct dpot_slot *slot, dpot_status why);

/* The answer, of whatever status, is not from dpotd. `foreign` is what it is: "a web page". */
void dpot_defer_foreign(struct upload *upload, struct dpot_slot *slot, int http_status,
                        const char *foreign);

/* dpotd's refusal of a POST whose body it did not read, because of the announced length for
 * instance: it names none. */
void dpot_defer_unread(struct upload *upload, struct dpot_slot *slot, int http_status);

/* A refusal that names another POST than was sent. */
void dpot_defer_other_batch(struct upload *upload, struct dpot_slot *slot, int http_status);

/* The round has not opened at the server: only this report waits. */
void dpot_defer_until_open(struct upload *upload, struct dpot_slot *slot);

/* The round is over by the server's clock, `server_time` ("" if not given), and not by ours. */
void dpot_defer_until_over(struct upload *upload, struct dpot_slot *slot, const char *server_time);

/* Refused for now. is_server: the server, not the report, backs off. */
void dpot_defer_refused(struct upload *upload, struct dpot_slot *slot, int http_status,
                        bool is_server);

#endif
