/* A Campaign message, and a SignedCampaign: what opens must encode to the bytes that it came from.
 */
#include "base/rng_seeded.h"
#include "fuzz.h"
#include "mechanism/mechanism.h"
#include "proto/wire_campaign.h"

#include <math.h>
#include <string.h>

#define DIM_MAX 64

/* An accepted vector campaign releases integers within its public range, whatever the data are. */
static void check_release(const struct dpot_campaign *campaign)
{
    const uint32_t dim = campaign->vector.dim, data_dim = dpot_vector_data_dim(&campaign->vector);
    struct dpot_rng_seeded seeded;
    struct dpot_rng rng;
    struct dpot_privatizer *privatizer = NULL;
    struct dpot_private_vector data = {0};
    if (!dpot_mechanism_is_vector(campaign->mechanism) || dim > DIM_MAX || data_dim > DIM_MAX) {
        return;
    }
    int64_t values[DIM_MAX];
    struct dpot_report report = {.values = values};
    require(dpot_privatizer_new(campaign, NULL, &privatizer, NULL) == DPOT_OK);
    require(dpot_private_vector_init(&data, data_dim, NULL) == DPOT_OK);
    for (uint32_t j = 0; j < data_dim; j++) {
        data.values[j] = j % 3 == 0 ? NAN : j % 3 == 1 ? INFINITY : -1e300;
    }
    dpot_rng_seeded_init(&seeded, 1, 0);
    dpot_rng_init(&rng, &seeded.source);
    dpot_privatizer_run_vector(privatizer, &data, &rng, &report);
    for (uint32_t j = 0; j < dim; j++) {
        int64_t lo = 0, hi = 0;
        dpot_mechanism_value_range(campaign, j, &lo, &hi);
        require(values[j] >= lo && values[j] <= hi);
    }
    dpot_rng_release(&rng);
    dpot_private_vector_release(&data);
    dpot_privatizer_free(privatizer);
}

static void check_decode(const uint8_t *data, size_t len)
{
    struct dpot_campaign campaign;
    struct dpot_error error = {""};
    struct dpot_buf again;
    dpot_buf_init(&again, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    if (dpot_wire_campaign_decode(data, len, NULL, &campaign, &error) == DPOT_OK) {
        require(dpot_wire_campaign_encode(&campaign, &again) == DPOT_OK);
        require(again.len == len && memcmp(again.data, data, len) == 0);
        if (dpot_mechanism_check_campaign(&campaign, &error) == DPOT_OK) {
            check_release(&campaign);
        }
    } else {
        require(error.text[0] != '\0');
    }
    dpot_campaign_release(&campaign);
    dpot_buf_release(&again);
}

static void check_without_memory(const uint8_t *data, size_t len)
{
    struct test_allocator heap;
    struct dpot_campaign campaign;
    make_failing_allocator(&heap, len);
    any_status(dpot_wire_campaign_decode(data, len, &heap.allocator, &campaign, NULL));
    dpot_campaign_release(&campaign);
    require(heap.bytes == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct dpot_signed_campaign opened;
    require(dpot_init() == DPOT_OK);
    check_decode(data, len);
    check_without_memory(data, len);
    any_status(dpot_wire_campaign_open(data, len, NULL, NULL, &opened, NULL));
    dpot_signed_campaign_release(&opened);
    return 0;
}
