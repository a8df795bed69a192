/* Provenance: does a pool belong to the campaign that it is read with?
 *
 * The side file of a pool (json/side_file.h) names the revision and the content (campaign/content.h) that
 * its reports were drawn by. Wherever a command takes both --campaign and a pool it asks here first: the
 * numbers of another campaign would give a wrong answer and no error. */
#ifndef DPOT_TOOL_SHARED_PROVENANCE_H
#define DPOT_TOOL_SHARED_PROVENANCE_H

#include "tool/shared/campaign_file.h"

/* Checks the file beside `path`, which option --`option` names. DPOT_ERR_RANGE, exit code 3, with both
 * names, when
 *   - the content differs (mechanism, its integers, points, metric), or
 *   - a signed campaign is another revision, by its hash.
 * A side file of an older version has no content: what it has is compared, and a warning says what could
 * not be. No side file: nothing can be checked, and a warning says so. *side is a new reference, NULL without one. */
DPOT_WARN_UNUSED dpot_status provenance_check(struct run *run, const struct campaign_file *file,
                                              const char *option, const char *path, json_t **side);

#endif
