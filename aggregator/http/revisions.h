/* Lists of a campaign's revisions in answers of the admin API. A pool that nobody names is not
 * found, so each answer about one revision also lists the others that hold reports.
 *
 * The lists stand first in their answer and count "reports": a reader that searches the text for
 * "accepted" or "state" finds those of the revision it asked about. */
#ifndef DPOT_HTTP_REVISIONS_H
#define DPOT_HTTP_REVISIONS_H

#include "http/api.h"

/* What was found damaged in the reports of a revision, as a sentence; null: nothing. New
 * reference. */
json_t *revisions_damage(const struct http_app *app, const uint8_t hash[DPOT_HASH_LEN]);

/* All revisions, the newest first: [{"revision", "hash", "state", "reports", "damage", "opens",
 * "closes"}].
 * The times of a revision whose signed bytes were altered are null. *list is a new reference, NULL
 * on failure. */
DPOT_WARN_UNUSED dpot_status revisions_list(const struct http_app *app,
                                            const uint8_t id[DPOT_CAMPAIGN_ID_LEN], json_t **list,
                                            struct dpot_error *error);

/* The revisions that hold reports, without number `except` and without times. Empty on failure,
 * because a hint is no reason to refuse the answer. New reference; NULL when memory is out. */
json_t *revisions_others(const struct http_app *app, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                         uint32_t except);

/* Appends "; revision 1 (closed) holds 1000 reports" and so on, while there is space, to a refusal
 * about the pool of one revision (its number, or 0 as for registry_select). */
void revisions_add_hint(const struct http_app *app, const uint8_t id[DPOT_CAMPAIGN_ID_LEN],
                        uint32_t number, struct dpot_error *error);

#endif
