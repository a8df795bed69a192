/* Everything that leaves a device but for what its reports say, as lines of text in the order in
 * which it happens: requests with their times, lengths and public fields, what becomes of its
 * folder, the randomness it asks for, and what its application is told. Two devices that begin
 * with the same folder and have the same clock and random stream must make the same lines,
 * whatever their data.
 *
 * Not told: the bytes of a report in the spool (written over what is there, or when the file is
 * rewritten), and the sealed bytes of a body, which libsodium's own randomness makes. */
#ifndef DPOT_TOOL_AUDIT_WITNESS_H
#define DPOT_TOOL_AUDIT_WITNESS_H

#include "base/buf.h"
#include "base/compiler.h"
#include "base/rng.h"
#include "dpot/dpot.h"
#include "pool/ingest.h"

#define WITNESS_NAMES_MAX 32
#define WITNESS_NAME_SIZE 64
#define WITNESS_DIFFERENCE_SIZE 600
#define WITNESS_CALL "calls " /* begins a line that says what the application does */

struct witness {
    /* Give the addresses of these to a client. */
    struct dpot_transport transport;
    struct dpot_filesystem filesystem;
    struct dpot_clock clock;
    struct dpot_rng_source source;

    /* What is behind them; borrowed. */
    const struct dpot_transport *network;
    const struct dpot_filesystem *folder;
    const struct dpot_rng_source *randomness;
    const struct seal_secret *seal_secret; /* of every report that is sent */

    /* The script. When the next charge is on the disk the clock moves by `work_ms`, once: the time
     * that the data take. Before change number `cut_at` of the folder, counted from now, the process
     * ends (0: never), and nothing works until `is_down` is false again. */
    int64_t now_ms;
    int64_t work_ms;
    size_t cut_at;
    bool is_down;

    struct dpot_buf lines;
    bool is_short;    /* a line was left out for want of memory: nothing is equal to it */
    bool has_charged; /* the ledger was written and not yet synced */
    char names[WITNESS_NAMES_MAX][WITNESS_NAME_SIZE]; /* of files that were made */
    size_t n_names;
};

/* `w` must not move afterwards. */
void witness_init(struct witness *w, const struct dpot_transport *network,
                  const struct dpot_filesystem *folder, const struct dpot_rng_source *randomness,
                  const struct seal_secret *seal_secret);
void witness_release(struct witness *w);

/* Adds a line. */
void witness_note(struct witness *w, const char *format, ...) DPOT_PRINTF(2, 3);
void witness_forget(struct witness *w); /* all lines */
size_t witness_count(const struct witness *w);

/* The files of `from` into another folder. */
DPOT_WARN_UNUSED dpot_status witness_copy_folder(const struct witness *from,
                                                 const struct dpot_filesystem *to);

/* False when both have the same lines; else writes the first that differs, of both, and the call
 * before it. */
bool witness_differs(const struct witness *a, const struct witness *b,
                     char difference[WITNESS_DIFFERENCE_SIZE]);

#endif
