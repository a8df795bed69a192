#include "pool/describe.h"

#include "campaign/content.h"
#include "campaign/spec_sphere.h"
#include "campaign/spec_vector.h"
#include "mechanism/mechanism.h"
#include "pool/decode.h"

#include <math.h>

#define SIDES_MAX 4096 /* of a box that is described in full */

/* "malformed": 3, ... by the names of statuses without "rejected_". */
static json_t *describe_rejected(const struct pool_count *count)
{
    static const char prefix[] = "rejected_";
    json_t *rejected = json_object();
    for (int i = DPOT_REPORT_REJECTED_MALFORMED; i < DPOT_REPORT_STATUS_END; i++) {
        const char *name = dpot_report_status_name((enum dpot_report_status)i);
        (void)json_object_set_new(rejected, name + sizeof prefix - 1,
                                  json_integer((json_int_t)count->n_rejected[i]));
    }
    return rejected;
}

static json_t *describe_transform(const struct dpot_transform *transform)
{
    if (transform->id == DPOT_TRANSFORM_NONE) {
        return json_pack("{s:s}", "type", "none");
    }
    json_t *keep = json_array();
    for (uint32_t i = 0; i < transform->n_keep; i++) {
        (void)json_array_append_new(keep, json_integer((json_int_t)transform->keep[i]));
    }
    return json_pack("{s:s,s:[I,I],s:o}", "type", "dct", "shape", (json_int_t)transform->rows,
                     (json_int_t)transform->cols, "keep", keep);
}

void describe_charge(const struct dpot_campaign *campaign, double *epsilon, double *delta)
{
    const struct dpot_privacy charge = dpot_mechanism_charge(campaign);
    *epsilon = charge.epsilon_q32 == UINT64_MAX ? NAN : dpot_epsilon_to_double(charge.epsilon_q32);
    *delta = charge.delta_q64 == UINT64_MAX ? NAN : dpot_delta_to_double(charge.delta_q64);
}

static json_t *describe_groups(const struct dpot_campaign *campaign)
{
    json_t *list = json_array();
    for (uint32_t i = 0; i < campaign->n_groups; i++) {
        (void)json_array_append_new(list, json_string(campaign->groups[i]));
    }
    return list;
}

static dpot_status add_vector(json_t *pool, const struct dpot_campaign *campaign)
{
    const struct dpot_vector_domain *domain = &campaign->vector;
    double epsilon = NAN, delta = NAN;
    describe_charge(campaign, &epsilon, &delta);
    json_t *vector =
        json_pack("{s:o,s:o,s:o,s:o,s:I,s:I,s:o,s:o}", "epsilon", json_number(epsilon), "delta",
                  json_number(delta), "scale", json_number(decode_scale(campaign)), "grid_step",
                  json_number(domain->grid_step), "dim", (json_int_t)domain->dim, "data_dim",
                  (json_int_t)dpot_vector_data_dim(domain), "transform",
                  describe_transform(&domain->transform), "domain",
                  spec_describe_vector(campaign, domain->n_sides <= SIDES_MAX));
    const bool is_done = vector && json_object_update(pool, vector) == 0;
    json_decref(vector);
    return is_done ? DPOT_OK : DPOT_ERR_MEMORY;
}

static dpot_status add_sphere(json_t *pool, const struct dpot_campaign *campaign)
{
    const json_int_t dim = campaign->domain.dim;
    struct spec_sphere measured;
    spec_measure_sphere(campaign, &measured);
    json_t *sphere =
        json_pack("{s:o,s:o,s:o,s:I,s:I,s:I,s:{s:s},s:{s:s,s:I}}", "epsilon",
                  json_number(dpot_epsilon_to_double(campaign->epsilon_q32)), "delta",
                  json_number(0), "contraction", json_number(measured.channel.contraction),
                  "directions", (json_int_t)campaign->output.size, "dim", dim, "data_dim", dim,
                  "transform", "type", "none", "domain", "type", "sphere", "dim", dim);
    const bool is_done = sphere && json_object_update(pool, sphere) == 0;
    json_decref(sphere);
    return is_done ? DPOT_OK : DPOT_ERR_MEMORY;
}

json_t *describe_pool(const struct dpot_campaign *campaign, const uint8_t hash[DPOT_HASH_LEN],
                      const struct pool_count *count)
{
    char hex[2 * DPOT_HASH_LEN + 1], digest_hex[2 * DPOT_HASH_LEN + 1];
    uint8_t digest[DPOT_HASH_LEN];
    if (content_digest(campaign, digest, NULL) != DPOT_OK) {
        return NULL;
    }
    dpot_hex_encode(hex, hash, DPOT_HASH_LEN);
    dpot_hex_encode(digest_hex, digest, sizeof digest);
    json_t *pool = json_pack(
        "{s:I,s:s,s:s,s:s,s:n,s:I,s:I,s:I,s:o,s:I,s:b}", "revision", (json_int_t)campaign->revision,
        "campaign_hash", hex, "content_digest", digest_hex, "mechanism",
        dpot_mechanism_name(campaign->mechanism), "scale", "n", (json_int_t)count->n_accepted,
        "accepted", (json_int_t)count->n_accepted, "duplicate", (json_int_t)count->n_duplicate,
        "rejected", describe_rejected(count), "min_pool", (json_int_t)campaign->min_pool,
        "is_ready", count->n_accepted >= campaign->min_pool);
    if (pool && campaign->n_groups > 0) {
        (void)json_object_set_new(pool, "groups", describe_groups(campaign));
    }
    dpot_status status = DPOT_OK;
    if (pool && dpot_mechanism_is_vector(campaign->mechanism)) {
        status = add_vector(pool, campaign);
    } else if (pool && dpot_campaign_is_sphere(campaign)) {
        status = add_sphere(pool, campaign);
    }
    if (status != DPOT_OK) {
        json_decref(pool);
        return NULL;
    }
    return pool;
}
