/* Artifacts <-> bytes, with the checks of wire_campaign.h: counts are bounded, unknown versions and
 * fields are refused at every depth, and bytes must be canonical, so that an artifact has one
 * digest. */
#ifndef DPOT_PROTO_WIRE_ARTIFACT_H
#define DPOT_PROTO_WIRE_ARTIFACT_H

#include "base/buf.h"
#include "model/artifact.h"

/* Appends the canonical bytes of an artifact. DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY, or as
 * dpot_artifact_check. */
DPOT_WARN_UNUSED dpot_status dpot_wire_artifact_encode(const struct dpot_artifact *artifact,
                                                       struct dpot_buf *out,
                                                       struct dpot_error *error);

/* Parses (data, len) into `artifact`, to be released; zeroed on failure. DPOT_ERR_MALFORMED,
 * DPOT_ERR_VERSION, DPOT_ERR_RANGE, DPOT_ERR_TOO_LARGE, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_wire_artifact_decode(const void *data, size_t len,
                                                       const struct dpot_allocator *allocator,
                                                       struct dpot_artifact *artifact,
                                                       struct dpot_error *error);

#endif
