/* Reports made by the privatizer alone, for sample sizes that are too large for the client path
 * (tool/audit). The code is that of a device from the private measure or vector on; clamping
 * of points, ledger, spool and sealing are left out. */
#ifndef DPOT_AUDIT_DIRECT_H
#define DPOT_AUDIT_DIRECT_H

#include "audit/subject.h"
#include "base/rng.h"

/* Fills n samples of input 0 or 1. Each report has its own rng from `source`, as in a device.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status direct_run(const struct subject *subject, unsigned input,
                                        const struct dpot_rng_source *source, size_t n,
                                        struct audit_sample *samples, struct dpot_error *error);

#endif
