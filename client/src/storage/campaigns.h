/* The campaigns this device takes part in, and the server's seal keys, stored as the signed bytes
 * that were verified.
 *
 * File "campaign-<32 hex digits>" holds the SignedCampaign of the newest revision seen, file "keys"
 * the SignedKeys. They are verified against the pin again at every use: nothing on disk is trusted.
 * Both are replaced whole.
 *
 * A revision is stored only if every public condition holds (signature, canonical bytes, ranges,
 * feasibility, memory, epsilon under the ceiling, no simulation on a real device), and never in
 * place of a newer one. */
#ifndef DPOT_CLIENT_STORAGE_CAMPAIGNS_H
#define DPOT_CLIENT_STORAGE_CAMPAIGNS_H

#include "proto/wire_campaign.h"
#include "proto/wire_keys.h"

#define DPOT_KEYS_NAME "keys"
#define DPOT_SIGNED_BYTES_MAX (DPOT_CAMPAIGN_BYTES_MAX + 1024) /* with key id and signature */
#define DPOT_SIGNED_KEYS_BYTES_MAX (DPOT_KEYS_BYTES_MAX + 1024)

/* Whose signature is trusted and what is accepted. */
struct dpot_campaigns {
    const struct dpot_filesystem *filesystem;
    const struct dpot_allocator *allocator;
    uint8_t pin[DPOT_SIGN_PUBLIC_LEN];
    bool allow_simulation;
    bool is_zcdp;                       /* the install adds up rho: campaigns may have no epsilon */
    uint64_t epsilon_ceiling_q32;       /* for one report */
    uint8_t (*expected)[DPOT_HASH_LEN]; /* (n_expected) of dpot_client_expect; client's */
    size_t n_expected;                  /* 0: whatever the pin has signed */
};

/* Verifies a SignedCampaign (data, len) and every public condition. `out` is zeroed on failure;
 * otherwise release it. DPOT_ERR_SIGNATURE, DPOT_ERR_MALFORMED, DPOT_ERR_VERSION, DPOT_ERR_RANGE,
 * DPOT_ERR_INFEASIBLE, DPOT_ERR_TOO_LARGE, DPOT_ERR_EPSILON, DPOT_ERR_SIMULATION,
 * DPOT_ERR_UNEXPECTED, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_campaigns_verify(const struct dpot_campaigns *campaigns,
                                                   const void *data, size_t len,
                                                   struct dpot_signed_campaign *out,
                                                   struct dpot_error *error);

/* Prefixes the sentence about refused bytes with what they are. Returns `status`. */
dpot_status dpot_campaigns_prefix_error(const char *what, dpot_status status,
                                        struct dpot_error *error);

/* Stores verified bytes durably. Under the folder's lock. DPOT_OK also when these bytes are stored
 * already. DPOT_ERR_EXISTS: a newer revision, or another one of the same number, is stored;
 * DPOT_ERR_IO. */
DPOT_WARN_UNUSED dpot_status dpot_campaigns_store(const struct dpot_campaigns *campaigns,
                                                  const struct dpot_signed_campaign *revision,
                                                  const void *data, size_t len,
                                                  struct dpot_error *error);

/* Loads and verifies the stored revision. DPOT_ERR_NOT_FOUND, or as dpot_campaigns_verify. */
DPOT_WARN_UNUSED dpot_status dpot_campaigns_load(const struct dpot_campaigns *campaigns,
                                                 const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                                                 struct dpot_signed_campaign *out,
                                                 struct dpot_error *error);

/* Verifies seal keys against the pin and stores them; loads and verifies them. */
DPOT_WARN_UNUSED dpot_status dpot_campaigns_store_keys(const struct dpot_campaigns *campaigns,
                                                       const void *data, size_t len,
                                                       struct dpot_error *error);
DPOT_WARN_UNUSED dpot_status dpot_campaigns_load_keys(const struct dpot_campaigns *campaigns,
                                                      struct dpot_keys *keys,
                                                      struct dpot_error *error);

#endif
