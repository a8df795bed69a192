#include "proto/wire_refusal.h"

#include "dpot/status.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define NAME_SIZE 16 /* longer names are unknown */

struct reader {
    const char *at, *end;
};

static const struct {
    char name[NAME_SIZE];
    size_t offset, size;
} members[] = {
#define MEMBER(name)                                                                               \
    {                                                                                              \
#name, offsetof(struct dpot_refusal, name), sizeof(((struct dpot_refusal *)NULL)->name)    \
    }
    MEMBER(status),
    MEMBER(batch),
    MEMBER(closed),
    MEMBER(server_time),
#undef MEMBER
};
#define N_MEMBERS (sizeof members / sizeof members[0])

static void skip_blanks(struct reader *r)
{
    while (r->at < r->end &&
           (*r->at == ' ' || *r->at == '\t' || *r->at == '\r' || *r->at == '\n')) {
        r->at++;
    }
}

/* Skips blanks and `sign`; false, at the next sign, if it is another one. */
static bool take(struct reader *r, char sign)
{
    skip_blanks(r);
    const bool is_there = r->at < r->end && *r->at == sign;
    r->at += is_there;
    return is_there;
}

/* Copies a string; "?" if it has escapes or does not fit into `size`, which is 2 at least. */
static bool read_string(struct reader *r, char *text, size_t size)
{
    size_t len = 0;
    bool is_plain = true;
    if (!take(r, '"')) {
        return false;
    }
    const char *begin = r->at;
    for (; r->at < r->end && *r->at != '"'; r->at++, len++) {
        if ((unsigned char)*r->at < 0x20) {
            return false;
        }
        if (*r->at == '\\') {
            is_plain = false;
            r->at++;
            if (r->at == r->end || !memchr("\"\\/bfnrtu", *r->at, 9)) {
                return false;
            }
        }
    }
    if (r->at == r->end) {
        return false;
    }
    r->at++;
    if (!is_plain || len >= size) {
        begin = "?";
        len = 1;
    }
    memcpy(text, begin, len);
    text[len] = '\0';
    return true;
}

/* `seen` has a bit for each member that was read. A name with an escape may be one of them. */
static bool read_member(struct reader *r, struct dpot_refusal *refusal, unsigned *seen)
{
    const char *begin = r->at;
    char name[NAME_SIZE], unknown[2];
    if (!read_string(r, name, sizeof name) || memchr(begin, '\\', (size_t)(r->at - begin)) ||
        !take(r, ':')) {
        return false;
    }
    for (size_t i = 0; i < N_MEMBERS; i++) {
        if (strcmp(name, members[i].name) == 0) {
            const bool is_twice = (*seen & 1u << i) != 0;
            *seen |= 1u << i;
            return !is_twice &&
                   read_string(r, (char *)refusal + members[i].offset, members[i].size);
        }
    }
    return read_string(r, unknown, sizeof unknown);
}

static bool read_object(struct reader *r, struct dpot_refusal *refusal)
{
    unsigned seen = 0;
    bool is_read = take(r, '{') && read_member(r, refusal, &seen);
    while (is_read && take(r, ',')) {
        is_read = read_member(r, refusal, &seen);
    }
    is_read = is_read && take(r, '}');
    skip_blanks(r);
    return is_read && r->at == r->end;
}

bool dpot_wire_refusal_decode(const void *data, size_t len, struct dpot_refusal *refusal)
{
    const char *begin = len > 0 ? data : "";
    struct reader reader = {begin, begin + len};
    memset(refusal, 0, sizeof *refusal);
    const bool is_refusal = read_object(&reader, refusal);
    if (!is_refusal) {
        memset(refusal, 0, sizeof *refusal);
    }
    /* It is shown to people: only the characters of a time. */
    if (refusal->server_time[strspn(refusal->server_time, "0123456789-:TZ")] != '\0') {
        refusal->server_time[0] = '\0';
    }
    return is_refusal;
}

bool dpot_wire_refusal_names(const struct dpot_refusal *refusal, const uint8_t batch[DPOT_HASH_LEN])
{
    uint8_t named[DPOT_HASH_LEN];
    return dpot_hex_decode(refusal->batch, named, sizeof named) == DPOT_OK &&
           memcmp(named, batch, sizeof named) == 0;
}

dpot_status dpot_wire_refusal_encode(dpot_status status, const char *closed,
                                     const uint8_t batch[DPOT_HASH_LEN], struct dpot_buf *out)
{
    char text[256], hex[2 * DPOT_HASH_LEN + 1];
    dpot_hex_encode(hex, batch, DPOT_HASH_LEN);
    const int len = snprintf(text, sizeof text,
                             "{\"error\":\"refused\",\"status\":\"%s\",\"batch\":\"%s\"%s%s%s}",
                             dpot_status_name(status), hex, closed ? ",\"closed\":\"" : "",
                             closed ? closed : "", closed ? "\"" : "");
    return dpot_buf_append(out, text, (size_t)len);
}
