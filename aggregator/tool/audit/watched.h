/* A device under a witness: its folder in memory, its clock, its random stream and its server
 * follow a script. */
#ifndef DPOT_TOOL_AUDIT_WATCHED_H
#define DPOT_TOOL_AUDIT_WATCHED_H

#include "base/error.h"
#include "base/rng_seeded.h"
#include "tool/audit/witness.h"

#define WATCHED_WORK_MS 64 /* the public work time of its campaigns */

/* The data of one submit; which of them counts is the call's to say. */
struct watched_data {
    const double *points;  /* (n, dim), or one vector (dim) */
    const double *weights; /* (n) or NULL */
    size_t n;
    uint32_t dim;
    const double *histogram; /* (size) or NULL; then the above are not looked at */
    size_t size;
    bool is_vector; /* points is one vector, for dpot_client_submit_vector */
};

/* What the server says to a POST. */
struct watched_answer {
    int http_status;                 /* 0: nothing, the network fails */
    enum dpot_report_status receipt; /* of 202 */
};

struct watched {
    struct dpot_client_config config; /* hooks are the witness's */
    bool has_seed;                    /* its campaigns are marked `simulation` */
    struct witness witness;
    struct watched_answer answer;
    dpot_client *client; /* NULL: closed */

    struct dpot_filesystem *folder; /* owned */
    struct dpot_transport network;
    const struct dpot_transport *server; /* of everything but POSTs */
    struct dpot_rng_seeded stream;
    struct dpot_rng_source source; /* the same, a device's to look at without a seed */
};

/* Sets up a new device at `now_ms`. `config` has caps and pin; `server` answers GETs. All
 * borrowed; the struct must not move afterwards. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status watched_init(struct watched *d,
                                          const struct dpot_client_config *config,
                                          const struct dpot_transport *server,
                                          const struct seal_secret *seal_secret, int64_t now_ms);
void watched_release(struct watched *d);

/* From now on its randomness is this stream. */
void watched_seed(struct watched *d, uint64_t seed, uint64_t stream, bool has_seed);

/* A process begins and ends. */
DPOT_WARN_UNUSED dpot_status watched_open(struct watched *d, struct dpot_error *error);
void watched_close(struct watched *d);

/* What the application calls, every answer noted. */
void watched_submit(struct watched *d, const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN],
                    const struct watched_data *data, int64_t work_ms);
void watched_note_submit(struct watched *d, dpot_status status, enum dpot_submit_outcome outcome);
void watched_pump(struct watched *d);
void watched_note_status(struct watched *d, const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN]);
void watched_note_statement(struct watched *d);

/* Pumps whenever something is due, until nothing is. */
void watched_send(struct watched *d);

#endif
