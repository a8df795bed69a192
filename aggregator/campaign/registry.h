/* Campaign registry: the state machine of revisions, and the keys that sign them.
 *
 *     create -> DRAFT -- open --> OPEN -- close --> CLOSED
 *     Opening a revision closes the campaign's open one. A closed revision never opens again. A draft may
 *     be closed (abandoned). Only OPEN revisions take reports. */
#ifndef DPOT_CAMPAIGN_REGISTRY_H
#define DPOT_CAMPAIGN_REGISTRY_H

#include "campaign/spec.h"
#include "proto/wire_campaign.h"
#include "store/store.h"

struct registry;

/* `store` is borrowed; `secret_key` is copied and wiped on free. */
DPOT_WARN_UNUSED dpot_status registry_new(struct store *store,
                                          const uint8_t secret_key[DPOT_SIGN_SECRET_LEN],
                                          const struct dpot_clock *clock,
                                          struct registry **registry, struct dpot_error *error);
void registry_free(struct registry *registry);

/* Compiles, signs and stores a SPEC as a new campaign's first draft revision. */
DPOT_WARN_UNUSED dpot_status registry_create(struct registry *registry, const json_t *spec,
                                             struct revision_record *record,
                                             struct dpot_error *error);

/* DPOT_ERR_NOT_FOUND, DPOT_ERR_CLOSED (a closed revision never opens again; naming the remedy). */
DPOT_WARN_UNUSED dpot_status registry_open_campaign(struct registry *registry,
                                                    const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                                                    struct revision_record *record,
                                                    struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status registry_close_campaign(struct registry *registry,
                                                     const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                                                     struct revision_record *record,
                                                     struct dpot_error *error);

/* A decoded revision, cached: borrowed from the registry for its life (revisions are immutable). */
struct registry_revision {
    struct revision_record record; /* state as of this call */
    const struct dpot_campaign *campaign;
};
DPOT_WARN_UNUSED dpot_status registry_get(struct registry *registry,
                                          const uint8_t hash[DPOT_HASH_LEN],
                                          struct registry_revision *revision,
                                          struct dpot_error *error);

#endif
