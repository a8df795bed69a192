/* Where the log goes: a bounded buffer and one thread that writes it to a descriptor.
 *
 * Invariants
 * (L1) Putting a line never waits for the descriptor: a pipe that nobody reads, a stopped terminal
 *      or a slow disk delay the thread alone. A line for which there is no room is lost.
 * (L2) Lost lines are counted, also those whose writing failed (a full disk, a closed pipe), and a
 *      line event=log.lost tells their number at their place, as soon as lines get through again.
 * (L3) Closing takes bounded time. A thread that does not return from a write is left behind.
 *
 * The descriptor keeps its flags: other processes may share them (O_NONBLOCK). The thread waits by
 * poll() and writes at most what a pipe takes at once. Thread-safe. */
#ifndef DPOT_HTTP_LOG_SINK_H
#define DPOT_HTTP_LOG_SINK_H

#include "dpot/hooks.h"
#include "dpot/status.h"
#include "http/log_fold.h"

struct log_sink;

struct log_counts {
    uint64_t n_lost, n_folded; /* lines */
};

/* fd: borrowed. Starts the thread. DPOT_ERR_MEMORY: no memory or no thread. */
dpot_status log_sink_open(int fd, const struct dpot_clock *clock, struct log_sink **sink);

/* Appends whole lines, each with its newline. */
void log_sink_put(struct log_sink *sink, const char *lines, size_t len);

/* False: a line of this kind is not to be written, it was counted (log_fold.h). */
bool log_sink_admit(struct log_sink *sink, const char *kind);

/* Zeros for NULL. */
struct log_counts log_sink_get_counts(struct log_sink *sink);

/* Waits until what was put is written, for up to patience_ms. For one thread at a time. */
void log_sink_flush(struct log_sink *sink, int64_t patience_ms);

/* Writes what is left, for up to patience_ms, and ends. NULL is allowed. */
void log_sink_close(struct log_sink *sink, int64_t patience_ms);

#endif
