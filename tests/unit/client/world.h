/* Fixture for tests of the device: an aggregator with keys, a campaign and the reports it received,
 * and a device's folder, clock and network. */
#ifndef DPOT_TESTS_CLIENT_WORLD_H
#define DPOT_TESTS_CLIENT_WORLD_H

#include "dpot/dpot.h"
#include "model/campaign.h"
#include "proto/wire_campaign.h"
#include "proto/wire_keys.h"
#include "support/clock.h"
#include "support/filesystem.h"
#include "support/transport.h"

#define DAY_MS ((int64_t)86400 * 1000)
#define OPENS_MS ((int64_t)1700000000 * 1000)
#define RING_SIZE 8
#define SEND_DELAY_MS 2000
#define WORK_MS 64 /* the work time of its campaigns, whatever the machine */
#define DUE_MS (4 * WORK_MS + SEND_DELAY_MS) /* after four submits in a row all reports are due */
#define PUMP_MS 60000 /* of real time too: longer than any pump on any machine */

/* What the aggregator publishes. Made once, shared by many worlds. */
struct authority {
    uint8_t pin[DPOT_SIGN_PUBLIC_LEN];
    uint8_t sign_secret[DPOT_SIGN_SECRET_LEN];
    struct dpot_keys keys;
    uint8_t seal_secrets[2][DPOT_SEAL_SECRET_LEN];
    struct dpot_buf signed_keys;
    struct dpot_campaign campaign;
    struct dpot_buf signed_campaign;
    uint8_t hash[DPOT_HASH_LEN];
};

/* A valid campaign over a ring of RING_SIZE points: epsilon 1, `rounds` rounds of one day each from
 * OPENS_MS on. Two seal keys: the second takes over from the first when `seal_secrets` [0] is
 * withdrawn. */
void authority_init(struct authority *a, uint32_t rounds);
void authority_release(struct authority *a);

/* Makes it a campaign of vectors of VECTOR_DIM numbers and signs again: epsilon 1 of Laplace noise
 * in an l1 ball, or of Gaussian noise in an l2 ball (delta 1e-5: the device needs delta caps). */
#define VECTOR_DIM 70
void authority_ask_for_vectors(struct authority *a, enum dpot_mechanism_id mechanism);

/* Changes rounds and epsilon and signs again. */
void authority_extend(struct authority *a, uint32_t rounds, uint64_t epsilon_q32);

/* Signs a->campaign again after a change, or a->keys. */
void authority_sign(struct authority *a);
void authority_sign_keys(struct authority *a);

/* Signs any campaign with the authority's key into `out` (initialised here). */
void authority_sign_campaign(const struct authority *a, const struct dpot_campaign *campaign,
                             struct dpot_buf *out);

/* One report that reached the server. */
struct received {
    uint8_t campaign_hash[DPOT_HASH_LEN];
    uint32_t round;
    struct dpot_report report;          /* without its values */
    uint8_t values_hash[DPOT_HASH_LEN]; /* of these */
    bool has_losses;                    /* of its batch */
    size_t body_len;                    /* of its POST */
};
#define RECEIVED_MAX 512

struct world {
    const struct authority *authority;
    struct test_filesystem files;
    struct test_clock clock;
    struct test_transport network;
    struct dpot_client_config config;
    struct received received[RECEIVED_MAX];
    size_t n_received;
    size_t n_uncharged;     /* reports that came without a charge on the disk */
    bool withdraws_key;     /* the first seal key is answered with 410 */
    bool serves_second_key; /* /v1/keys lists only the second */
    bool is_old_server;     /* its receipts do not name their POST */
    bool is_closed;         /* the campaign: its bytes come with 409 */
};

/* An empty folder, the clock inside the first round, caps far away (100). */
void world_init(struct world *w, const struct authority *a, uint64_t seed);
void world_release(struct world *w);

/* The aggregator; ctx is the world. For servers that do more. */
void world_server(void *ctx, const struct dpot_http_request *request, struct test_answer *answer);

/* Opens a client on the world; fails the test if that fails. */
dpot_client *world_open(struct world *w);

/* Opens one, enrolls it in the authority's campaign. */
dpot_client *world_enroll(struct world *w);

/* Submits one place, or one vector, as the campaign wants; returns the status. */
dpot_status world_submit(struct world *w, dpot_client *client, enum dpot_submit_outcome *outcome);

/* Advances the clock to the sending time and pumps. */
dpot_status world_pump(struct world *w, dpot_client *client, struct dpot_pump_result *result);

/* The same, carrying the requests by hand; stops at the first failure. */
dpot_status world_carry(struct world *w, dpot_client *client);

struct dpot_client_status world_status(dpot_client *client);

/* The conservation law. */
void assert_conserved(const struct dpot_client_status *status);

/* Submits, and the machine stops when the charge is durable and the report is not; closes the
 * client. */
void world_stop_before_report(struct world *w, dpot_client *client, enum test_loss loss);

/* A hardware counter, which restoring a folder does not turn back. Its address is kept. */
struct hardware {
    struct dpot_counter counter; /* for config.counter */
    uint64_t value;
};
void hardware_init(struct hardware *hardware);

/* The number of keys with two different reports. */
size_t world_count_contradictions(const struct world *w);

#endif
