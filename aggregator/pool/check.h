/* Checking: does a pool still hold every report that was accepted, and nothing else? For `dpotd doctor`. */
#ifndef DPOT_POOL_CHECK_H
#define DPOT_POOL_CHECK_H

#include "store/store.h"

/* Told now and then how many reports were read. */
typedef void (*pool_progress)(void *ctx, uint64_t n_read);

/* Reads every report of a revision; they are judged too unless `campaign` is NULL. One commit is in memory
 * at a time, and others may append. DPOT_ERR_CORRUPT with the remedy: a commit that cannot be decoded, a
 * report that is none of the campaign, or more or fewer of them than were counted. `progress` may be NULL. */
DPOT_WARN_UNUSED dpot_status pool_check(struct store *store, const uint8_t hash[DPOT_HASH_LEN],
                                        const struct dpot_campaign *campaign,
                                        pool_progress progress, void *ctx,
                                        struct dpot_error *error);

#endif
