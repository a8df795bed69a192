/* The public work time of a campaign on this install: how long the work on one of its reports counts as
 * lasting, whatever the data were.
 *
 * The steps of a report follow from the signed campaign (dpot_mechanism_steps). How long they take is
 * measured once, when the campaign is enrolled - verifying it, allocating, and a run without data - and kept in
 * the file "work-<32 hex digits>" beside it. The work time is the next power of two from twice that on, plus
 * DPOT_WORK_DISK_MS for the writes to the disk; at least DPOT_WORK_MIN_MS. */
#ifndef DPOT_CLIENT_WORK_H
#define DPOT_CLIENT_WORK_H

#include "client.h"

#define DPOT_WORK_MIN_MS 64
#define DPOT_WORK_DISK_MS 60

struct dpot_work {
    uint64_t steps;
    uint64_t bytes;       /* of memory while a report is made */
    uint64_t measured_us; /* of the steps, on this install; 0: it was given (simulation.h) */
    uint32_t work_ms;     /* W */
    uint32_t extra_ms;    /* that measuring took just now, rounded up to a power of two; else 0 */
};

/* The work time of a revision: the file's, or measured now when the file is about another one or gone.
 * `load_us` is what verifying its bytes took. Holds it against the caps of the config. DPOT_ERR_TOO_LARGE:
 * above one of them; DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status dpot_work_find(dpot_client *client,
                                            const struct dpot_signed_campaign *revision,
                                            uint64_t load_us, struct dpot_work *work);

/* What the file says, without measuring: false, and times of 0, when it is about another revision or gone. */
bool dpot_work_load(const dpot_client *client, const struct dpot_signed_campaign *revision,
                    struct dpot_work *work);

#endif
