/* SPECs, with and without files: read, compiled, described and encoded. */
#include "base/crypto.h"
#include "campaign/spec.h"
#include "fuzz.h"
#include "input_file.h"
#include "proto/wire_campaign.h"
#include "json/json.h"

/* Devices accept a compiled campaign: its bytes decode. */
static void check_campaign(const struct dpot_campaign *campaign)
{
    struct dpot_campaign again;
    struct dpot_buf bytes;
    uint8_t hash[DPOT_HASH_LEN] = {0};
    json_t *described = spec_describe(campaign, hash, 1);
    require(described != NULL);
    json_decref(described);
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    if (dpot_wire_campaign_encode(campaign, &bytes) == DPOT_OK) {
        require(dpot_wire_campaign_decode(bytes.data, bytes.len, NULL, &again, NULL) == DPOT_OK);
        dpot_campaign_release(&again);
    }
    dpot_buf_release(&bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static const uint8_t points[] = "0,0\n1,0\n0,1\n";
    const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {1};
    struct dpot_campaign campaign;
    struct dpot_error error = {""};
    json_t *spec = NULL;
    const char *path = input_file("points.csv", points, sizeof points - 1);
    require(path != NULL);
    if (json_parse(data, len, &spec, &error) != DPOT_OK) {
        require(error.text[0] != '\0' && !spec);
        return 0;
    }
    any_status(spec_inline(spec, input_path(""), NULL));
    if (spec_compile(spec, id, 1, &campaign, &error) == DPOT_OK) {
        check_campaign(&campaign);
    } else {
        require(error.text[0] != '\0');
    }
    dpot_campaign_release(&campaign);
    json_decref(spec);
    return 0;
}
