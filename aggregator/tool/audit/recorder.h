/* Records everything that leaves a device, except what its reports say, as lines of text in the
 * order of events: requests with their times, lengths and public fields, operations on its folder,
 * the randomness it asks for, and the answers to its application. Two devices that begin with the
 * same folder, clock and random stream must leave the same lines, whatever their data.
 *
 * Not recorded: the bytes of a report in the spool (written over an empty slot, or when the file is
 * rewritten), and the sealed bytes of a body, which libsodium's own randomness makes. */
#ifndef DPOT_TOOL_AUDIT_RECORDER_H
#define DPOT_TOOL_AUDIT_RECORDER_H

#include "base/buf.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "dpot/dpot.h"
#include "pool/ingest.h"

#define RECORDER_NAMES_MAX 32
#define RECORDER_NAME_SIZE 64
#define RECORDER_DIFFERENCE_SIZE 600
#define RECORDER_CALL "calls " /* begins a line about a call of the application */

struct recorder {
    /* Pass the addresses of these to a client. */
    struct dpot_transport transport;
    struct dpot_filesystem filesystem;
    struct dpot_clock clock;
    struct dpot_rng_source source;

    /* What is behind them; borrowed. */
    const struct dpot_transport *network;
    const struct dpot_filesystem *folder;
    const struct dpot_rng_source *randomness;
    const struct seal_secret *seal_secret; /* opens the reports that are sent */

    /* The script. */
    int64_t now_ms;
    int64_t
        work_ms; /* added to now_ms once, when the next charge is durable: the time of the work */
    size_t
        cut_at; /* the process ends before this change of the folder, counted from now; 0: never */
    bool is_down; /* the process has ended: every operation fails until this is cleared */

    struct dpot_buf lines;
    bool is_short;    /* a line was lost, memory is out: compares as different from everything */
    bool has_charged; /* the ledger was written and not yet synced */
    char names[RECORDER_NAMES_MAX][RECORDER_NAME_SIZE]; /* of files that were made */
    size_t n_names;
};

/* `w` must not move afterwards. */
void recorder_init(struct recorder *w, const struct dpot_transport *network,
                   const struct dpot_filesystem *folder, const struct dpot_rng_source *randomness,
                   const struct seal_secret *seal_secret);
void recorder_release(struct recorder *w);

/* Appends a line. */
void recorder_note(struct recorder *w, const char *format, ...) DPOT_PRINTF(2, 3);

void recorder_forget(struct recorder *w); /* drops all lines */
size_t recorder_count(const struct recorder *w);

/* Copies the files of the recorded folder to another folder. */
DPOT_WARN_UNUSED dpot_status recorder_copy_folder(const struct recorder *from,
                                                  const struct dpot_filesystem *to);

/* Returns false when both have the same lines. Otherwise writes the last common call and the first
 * line that differs, of both. */
bool recorder_differs(const struct recorder *a, const struct recorder *b,
                      char difference[RECORDER_DIFFERENCE_SIZE]);

#endif
