/* The list of bodies that a gateway forwards. */
#include "fuzz.h"
#include "http/forward.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    struct dpot_error error = {""};
    struct forward_list list;
    struct forward_item item;
    size_t n = 0;
    if (forward_open(data, len, &list, &n, &error) != DPOT_OK) {
        require(error.text[0] != '\0');
        return 0;
    }
    require(n > 0 && n <= FORWARD_ITEMS_MAX);
    const uint8_t *at = data + 4;
    for (size_t i = 0; i < n; i++) {
        forward_take(&list, &item);
        require(item.id == at && item.body == at + DPOT_CAMPAIGN_ID_LEN + 4);
        require(item.len == dpot_load_u32(at + DPOT_CAMPAIGN_ID_LEN));
        at = item.body + item.len;
    }
    require(at == data + len && list.len == 0);
    return 0;
}
