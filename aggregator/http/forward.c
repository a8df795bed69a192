#include "http/forward.h"

#include <string.h>

#define ITEM_HEAD_LEN (DPOT_CAMPAIGN_ID_LEN + 4)

static const char magic[4] = {'D', 'P', 'F', '1'};

/* False when the list ends inside an item. */
static bool take(struct forward_list *list, struct forward_item *item)
{
    if (list->len < ITEM_HEAD_LEN) {
        return false;
    }
    *item = (struct forward_item){.id = list->data,
                                  .body = list->data + ITEM_HEAD_LEN,
                                  .len = dpot_load_u32(list->data + DPOT_CAMPAIGN_ID_LEN)};
    if (item->len > list->len - ITEM_HEAD_LEN) {
        return false;
    }
    list->data += ITEM_HEAD_LEN + item->len;
    list->len -= ITEM_HEAD_LEN + item->len;
    return true;
}

void forward_take(struct forward_list *list, struct forward_item *item)
{
    *item = (struct forward_item){.id = NULL};
    (void)take(list, item);
}

/* The number of items of a list of this form. */
static dpot_status count_items(struct forward_list list, size_t *n, struct dpot_error *error)
{
    struct forward_item item;
    for (*n = 0; list.len > 0; (*n)++) {
        if (*n == FORWARD_ITEMS_MAX) {
            return dpot_error_set(error, DPOT_ERR_TOO_LARGE,
                                  "the list has more than %d bodies: send less at a time",
                                  FORWARD_ITEMS_MAX);
        }
        if (!take(&list, &item)) {
            return dpot_error_set(error, DPOT_ERR_MALFORMED,
                                  "the list ends inside body %zu, counted from 1: compare the "
                                  "lengths with the bodies",
                                  *n + 1);
        }
    }
    return *n > 0 ? DPOT_OK
                  : dpot_error_set(error, DPOT_ERR_MALFORMED, "the list has no body: send some");
}

dpot_status forward_open(const void *data, size_t len, struct forward_list *list, size_t *n,
                         struct dpot_error *error)
{
    *n = 0;
    if (len < sizeof magic || memcmp(data, magic, sizeof magic) != 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "the list does not begin with DPF1: see wire.md");
    }
    *list = (struct forward_list){.data = (const uint8_t *)data + sizeof magic,
                                  .len = len - sizeof magic};
    return count_items(*list, n, error);
}

dpot_status forward_begin(struct dpot_buf *out)
{
    return dpot_buf_append(out, magic, sizeof magic);
}

dpot_status forward_append(struct dpot_buf *out, const struct http_response *answer)
{
    const size_t type_len = strlen(answer->content_type);
    /* Two numbers of two bytes, the lower one first. */
    const uint32_t numbers = (uint32_t)answer->status | (uint32_t)type_len << 16;
    dpot_status status = dpot_buf_append_u32(out, numbers);
    if (status == DPOT_OK) {
        status = dpot_buf_append_u32(out, answer->retry_after_s);
    }
    if (status == DPOT_OK) {
        status = dpot_buf_append_u32(out, (uint32_t)answer->body.len);
    }
    if (status == DPOT_OK) {
        status = dpot_buf_append(out, answer->content_type, type_len);
    }
    return status == DPOT_OK ? dpot_buf_append(out, answer->body.data, answer->body.len) : status;
}
