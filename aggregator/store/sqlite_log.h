/* The files of a write-ahead log, as SQLite writes them: the log and its index.
 * https://sqlite.org/walformat.html */
#ifndef DPOT_STORE_SQLITE_LOG_H
#define DPOT_STORE_SQLITE_LOG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#define SQLITE_LOG_HEAD 32                /* bytes of the log before its first frame */
#define SQLITE_LOG_FRAME_MAX (24 + 65536) /* bytes of a frame: its head and a page */
#define SQLITE_LOG_SALTS 16       /* where 8 bytes that this log has from its beginning are */
#define SQLITE_LOG_INDEX_HEAD 136 /* bytes of the index that are looked at */

/* Numbers of the log and of a database are big-endian. */
uint32_t sqlite_log_number(const uint8_t *at);

/* False when the file is shorter, or cannot be read. */
bool sqlite_log_read_at(int fd, uint8_t *out, size_t len, off_t at);

/* Whether these are the first bytes of a log. */
bool sqlite_log_is_head(const uint8_t head[SQLITE_LOG_HEAD]);

/* How many of the first `n` frames of the log with this head are what SQLite wrote, up to the first that is
 * not. `frame` is room for one. */
uint32_t sqlite_log_count(int fd, const uint8_t head[SQLITE_LOG_HEAD], uint32_t n,
                          uint8_t frame[SQLITE_LOG_FRAME_MAX]);

/* What the index says of its log. */
struct sqlite_log_index {
    uint32_t n_frames; /* up to the last commit */
    uint32_t n_copied; /* of these, that are in the database as well */
    uint8_t salts[8];
};

/* False: it is none, or is being written at the moment. */
bool sqlite_log_read_index(const uint8_t head[SQLITE_LOG_INDEX_HEAD],
                           struct sqlite_log_index *index);

#endif
