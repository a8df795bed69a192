/* The sums of a ledger: what was charged, to which campaigns and when, and how reports ended.
 *
 * They replace the charges that have ended when the ledger is folded (ledger_fold.h), so their size
 * has a bound whatever the number of reports: an entry for each campaign, at most
 * DPOT_LEDGER_SPANS_MAX spans of time.
 *
 * Spans are for sums over a window whose length the app gives anew at each opening. A span holds
 * the charges from its first to its last; a window counts it wholly as long as it reaches its last,
 * so it never counts too little. When there are too many, the two neighbours whose union is the
 * shortest for its age become one: for charges at equal distances a window counts at most those of
 * an eighth of its length too many. */
#ifndef DPOT_CLIENT_STORAGE_LEDGER_SUMS_H
#define DPOT_CLIENT_STORAGE_LEDGER_SUMS_H

#include "base/alloc.h"
#include "model/campaign.h"

#include <stdbool.h>

#define DPOT_LEDGER_SPANS_MAX 192
#define DPOT_LEDGER_CAMPAIGNS_MAX 64 /* of new ones: a folder of an older release may have more */

/* Identifies a report: one charge, one report and one end per key. */
struct dpot_key {
    uint8_t campaign_hash[DPOT_HASH_LEN];
    uint32_t round;
};
bool dpot_key_equal(const struct dpot_key *a, const struct dpot_key *b);

/* How a key ended; the number is the status byte of a DONE record and never changes. 1..8 are the
 * server's answers, numbered as enum dpot_report_status. */
enum dpot_done {
    DPOT_DONE_NOT_YET = 0,
    DPOT_DONE_DROPPED_CLOSED = 16,    /* 409 */
    DPOT_DONE_DROPPED_AGE = 17,       /* 30 days after the round closed */
    DPOT_DONE_DROPPED_MALFORMED = 18, /* 400, 413 */
    DPOT_DONE_DROPPED_LOST = 19,      /* spool slot lost, or not filled before the round closed */
    DPOT_DONE_DROPPED_WITHDRAWN = 20, /* the user withdrew consent */
    DPOT_DONE_DROPPED_SPOOL = 21,     /* the spool was full: made room for a newer report */
    DPOT_DONE_END = 22
};

struct dpot_charge {
    struct dpot_key key;
    uint32_t revision; /* of the campaign; 0: unknown, a record of an older release */
    uint8_t signer[DPOT_SIGN_PUBLIC_LEN];
    uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN];
    struct dpot_privacy cost;
    int64_t time_ms;     /* device time */
    int64_t horizon_ms;  /* when its work counts as done, by the clock; 0: of an older release */
    uint32_t n_readings; /* of the data, at most: 1 for the CHARGE, 1 for each RESUME */
    uint8_t done;        /* DPOT_DONE_NOT_YET, or how it ended */
};

/* An answer of the server (409 included) that ended a report. */
struct dpot_answer {
    uint8_t done;    /* DPOT_DONE_NOT_YET: none */
    uint32_t round;  /* of the report */
    int64_t done_ms; /* when, by the clock at that time */
};

/* One campaign of one signer. */
struct dpot_ledger_campaign {
    uint8_t signer[DPOT_SIGN_PUBLIC_LEN];
    uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN];
    struct dpot_privacy spent;
    uint32_t revision;         /* the largest number charged; 0: only records of older releases */
    struct dpot_key newest;    /* the last charge */
    uint8_t newest_done;       /* how it ended */
    struct dpot_answer answer; /* the last one to a report of that revision */
};

struct dpot_ledger_span {
    int64_t first_ms; /* device time of its first charge, */
    int64_t last_ms;  /* and of its last */
    struct dpot_privacy spent;
};

struct dpot_ledger_sums {
    const struct dpot_allocator *allocator;
    struct dpot_privacy spent;
    uint64_t n_ended[DPOT_DONE_END];        /* charges by enum dpot_done; [0]: open ones */
    struct dpot_ledger_campaign *campaigns; /* (n_campaigns of cap_campaigns) owned */
    size_t n_campaigns;
    size_t cap_campaigns;
    struct dpot_ledger_span *spans; /* (n_spans of cap_spans) in the order of time; owned */
    size_t n_spans;
    size_t cap_spans;
};

void dpot_sums_init(struct dpot_ledger_sums *sums, const struct dpot_allocator *allocator);
void dpot_sums_release(struct dpot_ledger_sums *sums);
void dpot_sums_clear(struct dpot_ledger_sums *sums); /* keeps the memory */

/* Allocates memory for one more campaign and span, so that what follows cannot run out. */
DPOT_WARN_UNUSED dpot_status dpot_sums_reserve(struct dpot_ledger_sums *sums);

/* Adds a charge. Times of charges do not decrease. */
void dpot_sums_charge(struct dpot_ledger_sums *sums, const struct dpot_charge *charge);

/* Records how an open charge ended. */
void dpot_sums_finish(struct dpot_ledger_sums *sums, const struct dpot_charge *charge, uint8_t done,
                      int64_t done_ms);

/* NULL: nothing was charged to it. */
const struct dpot_ledger_campaign *dpot_sums_find(const struct dpot_ledger_sums *sums,
                                                  const uint8_t signer[DPOT_SIGN_PUBLIC_LEN],
                                                  const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN]);

/* What was charged to it: 0 if nothing. */
struct dpot_privacy dpot_sums_spent_on(const struct dpot_ledger_sums *sums,
                                       const uint8_t signer[DPOT_SIGN_PUBLIC_LEN],
                                       const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN]);

/* The campaign whose last charge was to this revision; NULL: none. */
const struct dpot_ledger_campaign *
dpot_sums_find_revision(const struct dpot_ledger_sums *sums,
                        const uint8_t campaign_hash[DPOT_HASH_LEN]);

/* What was charged after `after_ms`, and maybe somewhat before (see above). */
struct dpot_privacy dpot_sums_spent_after(const struct dpot_ledger_sums *sums, int64_t after_ms);

#endif
