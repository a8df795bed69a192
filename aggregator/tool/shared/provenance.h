/* Checks that a pool belongs to the campaign it is read with.
 *
 * The side file of a pool (json/side_file.h) names the revision and the content
 * (campaign/content.h) of the campaign of its reports. Every command that takes both --campaign and
 * a pool checks them first: the numbers of another campaign would give a wrong result without an
 * error. */
#ifndef DPOT_TOOL_SHARED_PROVENANCE_H
#define DPOT_TOOL_SHARED_PROVENANCE_H

#include "tool/shared/campaign_file.h"

/* Checks the side file of `path`, the value of --`option`. DPOT_ERR_RANGE (exit code 3): the
 * content differs (mechanism, its integers, points, metric), or a signed campaign has another hash,
 * which is another revision. A side file of an older version has no content: the rest is compared,
 * with a warning. Without a side file nothing is compared, with a warning. *side: a new reference
 * to the side file, NULL if there is none. */
DPOT_WARN_UNUSED dpot_status provenance_check(struct run *run, const struct campaign_file *file,
                                              const char *option, const char *path, json_t **side);

#endif
