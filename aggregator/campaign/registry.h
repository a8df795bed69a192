/* Campaign registry: the state machine of revisions, and the key that signs them.
 *
 *     create, revise -> DRAFT -- open --> OPEN -- close --> CLOSED
 *     Opening a revision closes the campaign's open one. A closed revision never opens again.
 *     A draft may be closed (abandoned): by its number, or while no revision was ever opened or
 *     closed. Only OPEN revisions take reports.
 *
 * Several threads may call one registry.
 *
 * Invariant
 * (R1) Nothing from the store is used before its signature is checked against our own key and its
 *      hash, id, revision and name against the record: an altered store is DPOT_ERR_CORRUPT, never
 *      a campaign. */
#ifndef DPOT_CAMPAIGN_REGISTRY_H
#define DPOT_CAMPAIGN_REGISTRY_H

#include "campaign/spec.h"
#include "proto/wire_campaign.h"
#include "proto/wire_keys.h"
#include "store/store.h"

struct registry;

/* `store` is borrowed; `secret_key` is copied and wiped on free. */
DPOT_WARN_UNUSED dpot_status registry_new(struct store *store,
                                          const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                                          const struct dpot_clock *clock,
                                          struct registry **registry, struct dpot_error *error);
void registry_free(struct registry *registry);

/* The public half of the signing key: what devices pin. Borrowed. */
const uint8_t *registry_pin(const struct registry *registry);

/* Appends a SignedKeys made with the signing key. */
DPOT_WARN_UNUSED dpot_status registry_sign_keys(const struct registry *registry,
                                                const struct dpot_keys *keys, struct dpot_buf *out,
                                                struct dpot_error *error);

/* Compiles, signs and stores a SPEC as a new campaign's first draft revision. */
DPOT_WARN_UNUSED dpot_status registry_create(struct registry *registry, const json_t *spec,
                                             struct revision_record *record,
                                             struct dpot_error *error);

/* Makes the next revision of a campaign, a draft, from its newest one (in any state). Devices that
 * report to it are charged again.
 * change: {"base_measure": [masses]} or {"artifact": digest of a base-measure job of this
 *         campaign}, and optionally "opens" and "closes"; everything else stays.
 * On failure nothing was made: DPOT_ERR_NOT_FOUND (campaign or artifact), DPOT_ERR_MALFORMED,
 * DPOT_ERR_SHAPE, DPOT_ERR_RANGE, DPOT_ERR_INFEASIBLE (naming key, value and remedy),
 * DPOT_ERR_CORRUPT, ... */
DPOT_WARN_UNUSED dpot_status registry_revise(struct registry *registry,
                                             const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                                             const json_t *change, struct revision_record *record,
                                             struct dpot_error *error);

/* Opens the campaign's newest revision when it is a draft; an open revision stays as it is.
 * former: may be NULL; the revision that this closed, with revision 0 when none was.
 * DPOT_ERR_NOT_FOUND, DPOT_ERR_CLOSED (a closed revision never opens again; the sentence names the
 * remedy). */
DPOT_WARN_UNUSED dpot_status registry_open_campaign(struct registry *registry,
                                                    const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                                                    struct revision_record *record,
                                                    struct revision_record *former,
                                                    struct dpot_error *error);

/* Closes the revision with this number, whether it is open or a draft; a closed one stays as it is.
 * number: 0 closes the open revision. If none is open, it returns the newest closed one unchanged,
 *         so that the call can be repeated; a draft beside it stays. If there are only drafts, it
 *         closes the newest.
 * DPOT_ERR_NOT_FOUND as registry_select. */
DPOT_WARN_UNUSED dpot_status registry_close_campaign(struct registry *registry,
                                                     const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                                                     uint32_t number,
                                                     struct revision_record *record,
                                                     struct dpot_error *error);

/* A decoded revision. Revisions are immutable and cached: the pointers are valid for the lifetime
 * of the registry. */
struct registry_revision {
    struct revision_record record; /* as of this call */
    const struct dpot_campaign *campaign;
    const struct dpot_buf *signed_bytes; /* a SignedCampaign as served */
};
DPOT_WARN_UNUSED dpot_status registry_get(struct registry *registry,
                                          const uint8_t hash[DPOT_HASH_LEN],
                                          struct registry_revision *revision,
                                          struct dpot_error *error);

/* The same for the open revision of a campaign, else the newest closed one, else the newest
 * draft. */
DPOT_WARN_UNUSED dpot_status registry_find(struct registry *registry,
                                           const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                                           struct registry_revision *revision,
                                           struct dpot_error *error);

/* The same for the revision with this number, in any state; 0: as registry_find.
 * DPOT_ERR_NOT_FOUND: no such campaign, or no such revision; the sentence lists those that
 * exist. */
DPOT_WARN_UNUSED dpot_status registry_select(struct registry *registry,
                                             const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                                             uint32_t number, struct registry_revision *revision,
                                             struct dpot_error *error);

#endif
