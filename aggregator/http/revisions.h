/* The revisions of a campaign, as the admin API tells them: a pool that nobody names is not found, so every
 * answer about one revision says which other ones hold reports.
 *
 * Such lists stand first in their answer and count "reports": a reader that looks for "accepted" or "state"
 * in the text, not in the object, finds that of the revision it asked about. */
#ifndef DPOT_HTTP_REVISIONS_H
#define DPOT_HTTP_REVISIONS_H

#include "http/api.h"

/* Every revision of the campaign, the newest first: [{"revision", "hash", "state", "reports", "opens",
 * "closes"}]. The times of one whose signed bytes were altered are null: it does not hide the others.
 * *list is a new reference, NULL on failure. */
DPOT_WARN_UNUSED dpot_status revisions_list(const struct http_app *app,
                                            const uint8_t id[DPOT_CAMPAIGN_ID_LEN], json_t **list,
                                            struct dpot_error *error);

/* Those other than number `except` that hold reports, without the times. Empty on failure too: it is a
 * hint beside an answer, and no reason to refuse it. New reference; NULL when memory is out. */
json_t *revisions_others(const struct http_app *app, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                         uint32_t except);

/* Adds "; revision 1 (closed) holds 1000 reports" to a refusal about the pool of one revision (its
 * number, or 0 as for registry_select), while there is room. */
void revisions_add_hint(const struct http_app *app, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                        uint32_t number, struct dpot_error *error);

#endif
