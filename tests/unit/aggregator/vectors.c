#include "unit/aggregator/vectors.h"

#include "proto/wire_campaign.h"
#include "unit/aggregator/fixture.h"

#include <criterion/criterion.h>
#include <stdlib.h>
#include <string.h>

static struct dpot_campaign frame(const char *name, enum dpot_mechanism_id mechanism)
{
    struct dpot_campaign campaign = {
        .revision = 1,
        .metric = {.id = DPOT_METRIC_EUCLIDEAN},
        .cost_power = 1,
        .mechanism = mechanism,
        .rounds = 1,
        .opens_ms = INT64_C(1767225600000),
        .closes_ms = INT64_C(1798761600000),
        .min_pool = 3,
    };
    (void)snprintf(campaign.name, sizeof campaign.name, "%s", name);
    memset(campaign.id, 0x5a, sizeof campaign.id);
    campaign.id[0] = (uint8_t)mechanism;
    return campaign;
}

struct dpot_campaign vectors_laplace(uint32_t dim)
{
    static int64_t lo[] = {-5}, hi[] = {5};
    struct dpot_campaign campaign = frame("noise", DPOT_MECHANISM_LAPLACE);
    campaign.epsilon_q32 = ((uint64_t)10 * dim << 32) / 8 + 1; /* D1 = 10 dim, t = 2^3 */
    campaign.vector = (struct dpot_vector_domain){.set = DPOT_VECTOR_BOX,
                                                  .dim = dim,
                                                  .n_sides = 1,
                                                  .lo = lo,
                                                  .hi = hi,
                                                  .grid_step = 0.25,
                                                  .inverse_step = 4};
    campaign.noise.scale_log2 = 3;
    campaign.simulation = true;
    return campaign;
}

struct dpot_campaign vectors_gaussian(void)
{
    static uint32_t keep[] = {0, 1, 4};
    struct dpot_campaign campaign = frame("images", DPOT_MECHANISM_GAUSSIAN);
    campaign.vector = (struct dpot_vector_domain){
        .set = DPOT_VECTOR_L2_BALL,
        .dim = VECTORS_DCT_DIM,
        .radius = 100,
        .grid_step = 0.5,
        .inverse_step = 2,
        .transform = {DPOT_TRANSFORM_DCT, 2, 4, VECTORS_DCT_DIM, keep},
    };
    campaign.noise.scale_log2 = 6;
    return campaign;
}

struct dpot_report vectors_report(uint32_t n, uint32_t dim, int64_t limit, int64_t *values)
{
    struct dpot_report report = fixture_report(n);
    report.index = 0;
    report.n_values = dim;
    report.values = values;
    for (uint32_t j = 0; j < dim; j++) {
        const int64_t spread = (int64_t)n * 7919 + (int64_t)j * 104729;
        values[j] = spread % (2 * limit + 1) - limit;
    }
    return report;
}

void vectors_open(struct store *store, const struct dpot_campaign *campaign,
                  const uint8_t secret_key[DPOT_SIGN_SECRET_LEN], struct revision_record *record)
{
    struct dpot_buf bytes, signed_bytes;
    struct dpot_error error = {{0}};
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    dpot_buf_init(&signed_bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    cr_assert_eq(dpot_campaign_check(campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(dpot_wire_campaign_encode(campaign, &bytes), DPOT_OK);
    cr_assert_eq(dpot_wire_campaign_sign(bytes.data, bytes.len, secret_key, &signed_bytes, &error),
                 DPOT_OK, "%s", error.text);
    *record = (struct revision_record){
        .revision = campaign->revision, .state = REVISION_OPEN, .created_ms = FIXTURE_NOW_MS};
    memcpy(record->campaign_id, campaign->id, sizeof record->campaign_id);
    memcpy(record->name, campaign->name, sizeof record->name);
    dpot_hash(record->hash, bytes.data, bytes.len);
    cr_assert_eq(store_add_revision(store, record, signed_bytes.data, signed_bytes.len, &error),
                 DPOT_OK, "%s", error.text);
    cr_assert_eq(store_set_state(store, record->hash, REVISION_OPEN, &error), DPOT_OK, "%s",
                 error.text);
    dpot_buf_release(&signed_bytes);
    dpot_buf_release(&bytes);
}

void vectors_append(struct store *store, const uint8_t hash[DPOT_HASH_LEN], uint32_t round,
                    const struct dpot_report *reports, size_t n)
{
    struct dpot_error error = {{0}};
    uint8_t *is_refused = calloc(n, 1);
    enum dpot_report_status *statuses = calloc(n, sizeof *statuses);
    cr_assert(is_refused && statuses);
    struct store_append append = {.round = round,
                                  .n_reports = n,
                                  .reports = reports,
                                  .is_refused = is_refused,
                                  .statuses = statuses};
    memcpy(append.hash, hash, sizeof append.hash);
    cr_assert_eq(store_append_reports(store, &append, &error), DPOT_OK, "%s", error.text);
    for (size_t i = 0; i < n; i++) {
        cr_assert_eq(statuses[i], DPOT_REPORT_ACCEPTED);
    }
    free(statuses);
    free(is_refused);
}
