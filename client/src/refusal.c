#include "refusal.h"

#include "base/utf8.h"

#include <string.h>

/* Where the first `word` from `at` on ends in the body; SIZE_MAX: none. */
static size_t find(const struct dpot_buf *body, size_t at, const char *word)
{
    const size_t len = strlen(word);
    for (; at + len <= body->len; at++) {
        if (memcmp(body->data + at, word, len) == 0) {
            return at + len;
        }
    }
    return SIZE_MAX;
}

static size_t skip_blanks(const struct dpot_buf *body, size_t at)
{
    while (at < body->len && (body->data[at] == ' ' || body->data[at] == '\t' ||
                              body->data[at] == '\r' || body->data[at] == '\n')) {
        at++;
    }
    return at;
}

/* Copies the text of the member `name` (given with its quotes). False: there is none. A value that
 * is not a string, or does not fit into `cap`, reads as "". No string in the object can look like a
 * member: quotes in it are escaped. */
static bool read_member(const struct dpot_buf *body, const char *name, char *text, size_t cap)
{
    text[0] = '\0';
    for (size_t at = find(body, 0, name); at != SIZE_MAX; at = find(body, at, name)) {
        at = skip_blanks(body, at);
        if (at == body->len || body->data[at] != ':') {
            continue;
        }
        at = skip_blanks(body, at + 1);
        if (at == body->len || body->data[at] != '"') {
            return true;
        }
        const size_t begin = at + 1, end = find(body, begin, "\"");
        if (end != SIZE_MAX && end - begin <= cap) {
            memcpy(text, body->data + begin, end - 1 - begin);
            text[end - 1 - begin] = '\0';
        }
        return true;
    }
    return false;
}

bool dpot_refusal_is_not_open(const struct dpot_buf *body)
{
    return find(body, 0, "DPOT_ERR_NOT_OPEN") != SIZE_MAX;
}

bool dpot_refusal_is_for_other_batch(const struct dpot_buf *body,
                                     const uint8_t batch[DPOT_HASH_LEN])
{
    char text[2 * DPOT_HASH_LEN + 1];
    uint8_t named_batch[DPOT_HASH_LEN];
    if (!read_member(body, "\"batch\"", text, sizeof text)) {
        return false;
    }
    return dpot_hex_decode(text, named_batch, sizeof named_batch) != DPOT_OK ||
           memcmp(named_batch, batch, sizeof named_batch) != 0;
}

bool dpot_refusal_is_round_over(const struct dpot_buf *body, char now[DPOT_RFC3339_SIZE])
{
    char closed[8];
    now[0] = '\0';
    if (!read_member(body, "\"closed\"", closed, sizeof closed) || strcmp(closed, "round") != 0) {
        return false;
    }
    /* It is shown to people: only the characters of a time. */
    if (read_member(body, "\"server_time\"", now, DPOT_RFC3339_SIZE) &&
        strspn(now, "0123456789-:TZ") != strlen(now)) {
        now[0] = '\0';
    }
    return true;
}

bool dpot_refusal_is_head(const struct dpot_buf *body)
{
    static const char start[] = {'H', 'T', 'T', 'P', '/'};
    return body->len >= sizeof start && memcmp(body->data, start, sizeof start) == 0;
}

bool dpot_refusal_is_text(const struct dpot_buf *body)
{
    static const uint8_t byte_order_mark[] = {0xef, 0xbb, 0xbf};
    if (body->len >= sizeof byte_order_mark &&
        memcmp(body->data, byte_order_mark, sizeof byte_order_mark) == 0) {
        return false;
    }
    size_t at = 0, len = 1;
    while (at < body->len && len > 0) {
        const uint8_t *next = body->data + at;
        len = *next == '\0' ? 0 : dpot_utf8_decode(next, body->len - at, NULL);
        at += len;
    }
    return at == body->len;
}
