/* Checks that a pool holds every report that was accepted, and nothing else. For `dpotd doctor`. */
#ifndef DPOT_POOL_CHECK_H
#define DPOT_POOL_CHECK_H

#include "store/store.h"

/* Called now and then with the number of reports read so far. */
typedef void (*pool_progress)(void *ctx, uint64_t n_read);

struct pool_check_options {
    const struct dpot_campaign *campaign; /* of the reports; NULL: unknown */
    bool checks_ids;                      /* no id twice in a round */
    pool_progress progress;               /* may be NULL */
    void *ctx;
};

/* Reads all reports of a revision; others may append meanwhile. DPOT_ERR_CORRUPT: a commit cannot
 * be decoded, a report is not of the campaign, an id occurs twice, or there are more or fewer
 * reports than were counted; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status pool_check(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                        const struct pool_check_options *options,
                                        struct dpot_error *error);

#endif
