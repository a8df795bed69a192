/* Publishing, for the registry: a compiled campaign becomes a signed, stored draft, and a revision
 * the next one. */
#ifndef DPOT_CAMPAIGN_PUBLISH_H
#define DPOT_CAMPAIGN_PUBLISH_H

#include "base/clock.h"
#include "store/store.h"
#include "json/json.h"

#define PUBLISH_BYTES_MAX (DPOT_CAMPAIGN_BYTES_MAX + 4096u) /* campaign and envelope */

/* Signs a checked campaign and stores it as a draft; fills the record. DPOT_ERR_TOO_LARGE,
 * DPOT_ERR_EXISTS, DPOT_ERR_IO, ... */
DPOT_WARN_UNUSED dpot_status publish_draft(struct store *store, const struct dpot_clock *clock,
                                           const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                                           const struct dpot_campaign *campaign,
                                           struct revision_record *record,
                                           struct dpot_error *error);

/* Turns `campaign`, a copy of a revision, into the next one: revision + 1, with the values in
 * `change` (registry_revise in registry.h), checked as a whole. On failure it may be changed in
 * part. */
DPOT_WARN_UNUSED dpot_status publish_change(struct store *store, struct dpot_campaign *campaign,
                                            const json_t *change, struct dpot_error *error);

#endif
