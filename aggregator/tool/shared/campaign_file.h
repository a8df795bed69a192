/* Campaigns as the commands take them: a SPEC.json, a signed file as served, or an ID at a server. */
#ifndef DPOT_TOOL_SHARED_CAMPAIGN_FILE_H
#define DPOT_TOOL_SHARED_CAMPAIGN_FILE_H

#include "base/buf.h"
#include "model/campaign.h"
#include "tool/shared/command.h"

struct campaign_file {
    struct dpot_campaign campaign; /* checked; release it with the rest */
    bool is_signed;                /* otherwise a SPEC: id 0, and a hash nobody serves */
    bool is_remote;                /* it came from a server */
    uint8_t hash[DPOT_HASH_LEN];
    uint8_t signer[DPOT_SIGN_PUBLIC_LEN]; /* signed ones */
    struct dpot_buf signed_bytes;         /* signed ones: as served */
};

/* Loads what `text` names: an ID when it is 32 hex digits and --server is given, otherwise a file,
 * told apart by its first byte ('{': SPEC). Of an ID it is the revision that devices get, or, when the
 * command has that option, the one of --revision, for which the server wants the admin token. A signed campaign must verify under --pin when the
 * command has that option and it is given; otherwise under the signer it names. Sentences name the
 * file. */
DPOT_WARN_UNUSED dpot_status campaign_file_load(struct run *run, const char *text,
                                                struct campaign_file *file);
void campaign_file_release(struct campaign_file *file);

/* DPOT_ERR_SHAPE, exit code 3, for a campaign whose reports are vectors, or stand for some (a sphere): the commands that work on
 * points and base measures say so in one way. */
DPOT_WARN_UNUSED dpot_status campaign_file_require_index(struct run *run,
                                                         const struct campaign_file *file);

#define CAMPAIGN_LABEL_SIZE 128

/* For a line of progress: "devices (wpm, epsilon 2, revision 1)"; a SPEC has no revision yet. */
void campaign_file_label(const struct campaign_file *file, const char *what,
                         char out[CAMPAIGN_LABEL_SIZE]);

/* The folder of a path, "." without one, cut to `cap`. */
void campaign_file_folder(const char *path, char *out, size_t cap);

/* The hash that a campaign has once it is signed: of its canonical bytes. */
DPOT_WARN_UNUSED dpot_status campaign_file_hash(const struct dpot_campaign *campaign,
                                                uint8_t hash[DPOT_HASH_LEN],
                                                struct dpot_error *error);

#define CAMPAIGN_PIN_OPTION                                                                        \
    {                                                                                              \
        "pin", "KEY", "the signing key to trust, 64 hex digits"                                    \
    }

#endif
