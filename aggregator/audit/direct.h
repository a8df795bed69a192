/* Reports made by the privatizer alone, many a second: what the client path (tool/audit/path.h) is too
 * slow for. The same code as in a device from the private measure or vector on; no clamp of points,
 * ledger, spool or seal. */
#ifndef DPOT_AUDIT_DIRECT_H
#define DPOT_AUDIT_DIRECT_H

#include "audit/subject.h"
#include "base/rng.h"

/* Fills `n` samples of input 0 or 1, each with an rng of its own from `source` as in a device.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status direct_run(const struct subject *subject, unsigned input,
                                        const struct dpot_rng_source *source, size_t n,
                                        struct audit_sample *samples, struct dpot_error *error);

#endif
