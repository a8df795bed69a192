#include "campaign/content.h"

#include "proto/wire_campaign.h"

#include <string.h>

static const char prefix[] = "dpot.content.v1"; /* with its NUL */

/* A copy that borrows everything, to be encoded. Fields that do not change the law of a report get
 * a fixed value. */
static struct dpot_campaign strip(const struct dpot_campaign *campaign)
{
    struct dpot_campaign bare = *campaign;
    memset(bare.id, 0, sizeof bare.id);
    memset(bare.name, 0, sizeof bare.name);
    bare.revision = 1;
    bare.rounds = 1;
    bare.opens_ms = bare.closes_ms = 0;
    bare.min_pool = 0;
    bare.n_groups = 0;
    bare.groups = NULL;
    bare.simulation = false;
    bare.loss_counts = false;
    bare.output_is_domain =
        bare.output_is_domain || (!dpot_mechanism_is_vector(bare.mechanism) &&
                                  dpot_domain_equal(&bare.domain, &bare.output));
    return bare;
}

dpot_status content_digest(const struct dpot_campaign *campaign, uint8_t digest[DPOT_HASH_LEN],
                           struct dpot_error *error)
{
    struct dpot_buf bytes;
    struct dpot_hasher hasher;
    const struct dpot_campaign bare = strip(campaign);
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    const dpot_status status = dpot_wire_campaign_encode(&bare, &bytes);
    if (status == DPOT_OK) {
        dpot_hasher_init(&hasher);
        dpot_hasher_add(&hasher, prefix, sizeof prefix);
        dpot_hasher_add(&hasher, bytes.data, bytes.len);
        dpot_hasher_end(&hasher, digest);
    }
    dpot_buf_release(&bytes);
    return status == DPOT_OK ? status
                             : dpot_error_set(error, status, "the campaign cannot be encoded: %s",
                                              dpot_status_text(status));
}
