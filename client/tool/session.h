/* A command's hold on the device's folder: its settings, and a client of libdpot on both. */
#ifndef DPOT_TOOL_SESSION_H
#define DPOT_TOOL_SESSION_H

#include "settings.h"

struct session {
    struct settings settings;
    struct dpot_filesystem *files;
    struct dpot_transport *transport;
    dpot_client *client;
    uint32_t send_delay_ms;  /* of the client */
    bool is_made, was_empty; /* the folder, before this command */
};

/* The folder, made when it is missing (enroll alone does that), or only when it is there; then a client
 * with s->settings. */
DPOT_WARN_UNUSED dpot_status create_folder(struct session *s, struct run *run);
DPOT_WARN_UNUSED dpot_status open_folder(struct session *s, struct run *run);
DPOT_WARN_UNUSED dpot_status open_client(struct session *s, struct run *run);

/* Leaves nothing of a folder that this command has made or found empty, but what another process has charged
 * there. The client is closed. */
void forget_folder(struct session *s, const struct run *run);

/* The folder, its settings, and a client on both. */
DPOT_WARN_UNUSED dpot_status open_session(struct session *s, struct run *run);
void close_client(struct session *s);
void close_session(struct session *s); /* a zeroed session is allowed */

/* The failure of a call of the library, returned. Its sentence (the client's last, or `sentence`; "": the text
 * of the status) is in words for C callers and given in those of the command line. */
dpot_status session_fail(const struct session *s, struct run *run, dpot_status status);
dpot_status session_fail_with(struct run *run, dpot_status status, const char *sentence);

/* {"outcome": ..., "campaign": ...}, or one line. */
void say_outcome(const struct run *run, const struct session *s, const char *outcome,
                 const char *sentence);

#endif
