#include "store/sqlite_log.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#define FRAME_HEAD 24
#define PAGE_MAX 65536
#define MAGIC UINT32_C(0x377f0682) /* its last bit: words are summed big-endian */

uint32_t sqlite_log_number(const uint8_t *at)
{
    return (uint32_t)at[0] << 24 | (uint32_t)at[1] << 16 | (uint32_t)at[2] << 8 | at[3];
}

static uint32_t little_endian(const uint8_t *at)
{
    return (uint32_t)at[3] << 24 | (uint32_t)at[2] << 16 | (uint32_t)at[1] << 8 | at[0];
}

/* s0 += x[2i] + s1, s1 += x[2i + 1] + s0 */
static void sum(const uint8_t *data, size_t len, bool is_big, uint32_t s[2])
{
    for (size_t i = 0; i + 8 <= len; i += 8) {
        s[0] += (is_big ? sqlite_log_number(data + i) : little_endian(data + i)) + s[1];
        s[1] += (is_big ? sqlite_log_number(data + i + 4) : little_endian(data + i + 4)) + s[0];
    }
}

bool sqlite_log_read_at(int fd, uint8_t *out, size_t len, off_t at)
{
    size_t done = 0;
    while (done < len) {
        const ssize_t n = pread(fd, out + done, len - done, at + (off_t)done);
        if (n == 0 || (n < 0 && errno != EINTR)) {
            return false;
        }
        done += n > 0 ? (size_t)n : 0;
    }
    return true;
}

/* ---- the log ---- */

/* `s` gets the sum that its frames go on from. */
static bool sum_head(const uint8_t head[SQLITE_LOG_HEAD], uint32_t s[2])
{
    const uint32_t magic = sqlite_log_number(head);
    s[0] = s[1] = 0;
    sum(head, SQLITE_LOG_HEAD - 8, magic & 1, s);
    return (magic & ~UINT32_C(1)) == MAGIC && s[0] == sqlite_log_number(head + 24) &&
           s[1] == sqlite_log_number(head + 28);
}

bool sqlite_log_is_head(const uint8_t head[SQLITE_LOG_HEAD])
{
    uint32_t s[2];
    return sum_head(head, s);
}

uint32_t sqlite_log_count(int fd, const uint8_t head[SQLITE_LOG_HEAD], uint32_t n,
                          uint8_t frame[SQLITE_LOG_FRAME_MAX])
{
    uint32_t s[2], i = 0;
    const bool is_big = sqlite_log_number(head) & 1;
    const size_t page_len = sqlite_log_number(head + 8);
    if (page_len < 512 || page_len > PAGE_MAX || !sum_head(head, s)) {
        return 0;
    }
    for (; i < n; i++) {
        const off_t at = SQLITE_LOG_HEAD + (off_t)i * (off_t)(FRAME_HEAD + page_len);
        if (!sqlite_log_read_at(fd, frame, FRAME_HEAD + page_len, at)) {
            break;
        }
        sum(frame, 8, is_big, s);
        sum(frame + FRAME_HEAD, page_len, is_big, s);
        if (memcmp(frame + 8, head + SQLITE_LOG_SALTS, 8) != 0 ||
            s[0] != sqlite_log_number(frame + 16) || s[1] != sqlite_log_number(frame + 20)) {
            break;
        }
    }
    return i;
}

/* ---- its index, whose numbers are as the machine has them ---- */

enum { COPY_LEN = 48, N_FRAMES_AT = 16, SALTS_AT = 32, SUM_AT = 40, N_COPIED_AT = 96 };
#define INDEX_VERSION UINT32_C(3007000)

static uint32_t native(const uint8_t *at)
{
    uint32_t number = 0;
    memcpy(&number, at, sizeof number);
    return number;
}

bool sqlite_log_read_index(const uint8_t head[SQLITE_LOG_INDEX_HEAD],
                           struct sqlite_log_index *index)
{
    const uint32_t one = 1;
    uint8_t first = 0;
    uint32_t s[2] = {0, 0};
    memcpy(&first, &one, 1);
    sum(head, SUM_AT, first == 0, s);
    if (memcmp(head, head + COPY_LEN, COPY_LEN) != 0 || native(head) != INDEX_VERSION ||
        s[0] != native(head + SUM_AT) || s[1] != native(head + SUM_AT + 4)) {
        return false;
    }
    index->n_frames = native(head + N_FRAMES_AT);
    index->n_copied = native(head + N_COPIED_AT);
    memcpy(index->salts, head + SALTS_AT, sizeof index->salts);
    return true;
}
