/* A campaign given to a command: a SPEC.json, a signed file as served, or an ID with --server. */
#ifndef DPOT_TOOL_SHARED_CAMPAIGN_FILE_H
#define DPOT_TOOL_SHARED_CAMPAIGN_FILE_H

#include "base/buf.h"
#include "model/campaign.h"
#include "tool/shared/command.h"

struct campaign_file {
    struct dpot_campaign campaign; /* validated; owned */
    bool is_signed;                /* false for a SPEC: its id is 0, and no server has its hash */
    bool is_remote;                /* it came from a server */
    uint8_t hash[DPOT_HASH_LEN];
    uint8_t signer[DPOT_SIGN_PUBLIC_LEN]; /* if is_signed */
    struct dpot_buf signed_bytes;         /* if is_signed: as served */
};

/* Loads the campaign that `text` names: an ID when it is 32 hex digits and --server is given,
 * otherwise a file (a SPEC when its first byte is '{'). An ID is the revision that devices get, or
 * that of --revision, which needs the admin token. A signed campaign must verify under --pin if
 * given, otherwise under the signer it names. Messages name the file. */
DPOT_WARN_UNUSED dpot_status campaign_file_load(struct run *run, const char *text,
                                                struct campaign_file *file);
void campaign_file_release(struct campaign_file *file);

/* Refuses, with DPOT_ERR_SHAPE (exit code 3), a campaign whose reports are vectors or stand for
 * vectors (a sphere): for commands on points and base measures. */
DPOT_WARN_UNUSED dpot_status campaign_file_require_index(struct run *run,
                                                         const struct campaign_file *file);

#define CAMPAIGN_LABEL_SIZE 128

/* A label for progress: "devices (wpm, epsilon 2, revision 1)"; a SPEC has no revision. */
void campaign_file_label(const struct campaign_file *file, const char *what,
                         char out[CAMPAIGN_LABEL_SIZE]);

/* Writes the folder of a path, "." if it has none, cut to `cap` bytes. */
void campaign_file_folder(const char *path, char *out, size_t cap);

/* The hash of the canonical bytes: that of the campaign once it is signed. */
DPOT_WARN_UNUSED dpot_status campaign_file_hash(const struct dpot_campaign *campaign,
                                                uint8_t hash[DPOT_HASH_LEN],
                                                struct dpot_error *error);

#define CAMPAIGN_PIN_OPTION                                                                        \
    {                                                                                              \
        "pin", "KEY", "the signing key to trust, 64 hex digits"                                    \
    }

#endif
