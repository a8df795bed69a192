/* Publishing: from a decoded campaign to a signed, stored draft, and from one revision to the next.
 * For the registry, which decides when. */
#ifndef DPOT_CAMPAIGN_PUBLISH_H
#define DPOT_CAMPAIGN_PUBLISH_H

#include "base/clock.h"
#include "store/store.h"
#include "json/json.h"

#define PUBLISH_BYTES_MAX (DPOT_CAMPAIGN_BYTES_MAX + 4096u) /* content and envelope */

/* Signs a checked campaign and stores it as a draft; fills the record. DPOT_ERR_TOO_LARGE,
 * DPOT_ERR_EXISTS, DPOT_ERR_IO, ... */
DPOT_WARN_UNUSED dpot_status publish_draft(struct store *store, const struct dpot_clock *clock,
                                           const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                                           const struct dpot_campaign *campaign,
                                           struct revision_record *record,
                                           struct dpot_error *error);

/* Makes `campaign`, a copy of a revision, into the next one: revision + 1, and what `change` says
 * (registry_revise in registry.h). It is checked as a whole; on failure it may be changed in part. */
DPOT_WARN_UNUSED dpot_status publish_change(struct store *store, struct dpot_campaign *campaign,
                                            const json_t *change, struct dpot_error *error);

#endif
