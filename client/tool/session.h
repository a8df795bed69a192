/* A command's hold on the device's folder: its settings, and a client of libdpot on both. */
#ifndef DPOT_TOOL_SESSION_H
#define DPOT_TOOL_SESSION_H

#include "settings.h"
#include "tool.h"

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
enum exit_code create_folder(struct session *s, const struct options *options,
                             struct failure *failure);
enum exit_code open_folder(struct session *s, const struct options *options,
                           struct failure *failure);
enum exit_code open_client(struct session *s, struct failure *failure);

/* Leaves nothing of a folder that this command has made or found empty, but what another process has charged
 * there. The client is closed. */
void forget_folder(struct session *s, const struct options *options);

/* The folder, its settings, and a client on both. */
enum exit_code open_session(struct session *s, const struct options *options,
                            struct failure *failure);
void close_client(struct session *s);
void close_session(struct session *s); /* a zeroed session is allowed */

/* The failure of a call of the library; `sentence` is in words for C callers and told in those of the
 * command line. "": the text of the status. */
enum exit_code fail_status(struct failure *failure, dpot_status status, const char *sentence);

/* {"outcome": ..., "campaign": ...}, or one line. */
void say_outcome(const struct options *options, const struct session *s, const char *outcome,
                 const char *sentence);

#endif
