/* The folder of the device as a command uses it: its settings and a client of libdpot. */
#ifndef DPOT_TOOL_SESSION_H
#define DPOT_TOOL_SESSION_H

#include "settings.h"

struct session {
    struct settings settings;
    struct dpot_filesystem *files;
    struct dpot_transport *transport;
    dpot_client *client;
    uint32_t send_delay_ms;  /* of the client */
    bool is_made, was_empty; /* this command made the folder; found it empty */
};

/* Opens the folder that --dir names: create_folder makes it if it is missing (only for enroll),
 * open_folder requires it. open_client opens a client with s->settings. */
DPOT_WARN_UNUSED dpot_status create_folder(struct session *s, struct run *run);
DPOT_WARN_UNUSED dpot_status open_folder(struct session *s, struct run *run);
DPOT_WARN_UNUSED dpot_status open_client(struct session *s, struct run *run);

/* Removes all files of a folder that this command made or found empty, unless another process has
 * charged its ledger. Closes the client. */
void forget_folder(struct session *s, const struct run *run);

/* open_folder, settings_read and open_client. */
DPOT_WARN_UNUSED dpot_status open_session(struct session *s, struct run *run);
void close_client(struct session *s);
void close_session(struct session *s); /* a zeroed session is allowed */

/* Sets run->error for a failed call of the library and returns `status`. The sentence (the client's
 * last error, or `sentence`; "": the text of the status) is rewritten from the terms of the C API
 * to those of the command line. */
dpot_status session_fail(const struct session *s, struct run *run, dpot_status status);
dpot_status session_fail_with(struct run *run, dpot_status status, const char *sentence);

/* Prints {"outcome", "campaign"} with --json, else one line. */
void print_outcome(const struct run *run, const struct session *s, const char *outcome,
                   const char *sentence);

#endif
