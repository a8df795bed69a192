/* Checking: does a pool still hold every report that was accepted, and nothing else? For `dpotd doctor`. */
#ifndef DPOT_POOL_CHECK_H
#define DPOT_POOL_CHECK_H

#include "store/store.h"

/* Told now and then how many reports were read. */
typedef void (*pool_progress)(void *ctx, uint64_t n_read);

struct pool_look {
    const struct dpot_campaign *campaign; /* whose reports they have to be; NULL: not known */
    bool checks_ids;                      /* none twice in a round */
    pool_progress progress;               /* NULL: nobody */
    void *ctx;
};

/* Reads every report of a revision. Others may append.
 * DPOT_ERR_CORRUPT with the remedy: a commit that cannot be decoded, a report that is none of the campaign, an
 * id that is there twice, or more or fewer of them than were counted. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status pool_check(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                        const struct pool_look *look, struct dpot_error *error);

#endif
