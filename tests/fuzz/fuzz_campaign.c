/* A Campaign message, and a SignedCampaign: what opens must encode to the very bytes it came from.
 */
#include "fuzz.h"
#include "mechanism/mechanism.h"
#include "proto/wire_campaign.h"

#include <string.h>

static void check_decode(const uint8_t *data, size_t len)
{
    struct dpot_campaign campaign;
    struct dpot_error error = {""};
    struct dpot_buf again;
    dpot_buf_init(&again, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    if (dpot_wire_campaign_decode(data, len, NULL, &campaign, &error) == DPOT_OK) {
        require(dpot_wire_campaign_encode(&campaign, &again) == DPOT_OK);
        require(again.len == len && memcmp(again.data, data, len) == 0);
        any_status(dpot_mechanism_check_campaign(&campaign, &error));
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
