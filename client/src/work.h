/* The public work time W of a campaign on this install: how long the work on one of its reports
 * counts as lasting, whatever the data.
 *
 * The steps of a report follow from the signed campaign (dpot_mechanism_steps). Their time is
 * measured once, when the campaign is enrolled: verifying it, allocating, and a run without data.
 * The file "work-<32 hex digits>" keeps it. W is the first power of two that is at least twice that
 * time plus DPOT_WORK_DISK_MS, for the writes to the disk; at least DPOT_WORK_MIN_MS. */
#ifndef DPOT_CLIENT_WORK_H
#define DPOT_CLIENT_WORK_H

#include "client.h"

#define DPOT_WORK_MIN_MS 64
#define DPOT_WORK_DISK_MS 60

struct dpot_work {
    uint64_t steps;
    uint64_t bytes;       /* of memory while a report is made */
    uint64_t measured_us; /* of the steps, on this install; 0: W was given (simulation.h) */
    uint32_t work_ms;     /* W */
    uint32_t extra_ms;    /* that measuring took just now, rounded up to a power of two; else 0 */
};

/* The work of a revision: from its file, or measured now when the file is missing or about another
 * revision. `load_us` is the time that verifying its bytes took. DPOT_ERR_TOO_LARGE: above a cap of
 * the config; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_work_find(dpot_client *client,
                                            const struct dpot_signed_campaign *revision,
                                            uint64_t load_us, struct dpot_work *work);

/* The same without measuring. False, and times of 0: the file is missing or about another
 * revision. */
bool dpot_work_load(const dpot_client *client, const struct dpot_signed_campaign *revision,
                    struct dpot_work *work);

#endif
