/* A draft: everything that a submit allocates before it reads data, and the step that reads and
 * privatises them. The same step without data measures the work of a campaign (work.h). */
#ifndef DPOT_CLIENT_DRAFT_H
#define DPOT_CLIENT_DRAFT_H

#include "base/rng.h"
#include "mechanism/mechanism.h"
#include "model/nearest.h"
#include "shape.h"

struct dpot_draft {
    const struct dpot_campaign *campaign;   /* borrowed */
    const struct dpot_allocator *allocator; /* borrowed */
    struct dpot_privatizer *privatizer;
    struct dpot_private_measure private_measure; /* index mechanisms */
    struct dpot_nearest nearest;
    double *histogram; /* (histogram_size), the domain's size; scratch */
    size_t histogram_size;
    struct dpot_private_points private_points; /* spheres */
    struct dpot_private_vector private_vector; /* vector mechanisms */
    int64_t *values;                           /* (n_values) of the report */
    uint32_t n_values;                         /* the campaign's dim, 0 for index mechanisms */
    uint64_t uniform;          /* random, set by the caller: chooses places (model/places.h) */
    struct dpot_rng *rng;      /* initialised by the caller; too large for a stack */
    struct dpot_report report; /* the caller sets id, group and test */
};

/* Bytes that _init allocates; SIZE_MAX on overflow. */
size_t dpot_draft_bytes(const struct dpot_campaign *campaign);

/* Allocates everything for one report of a validated campaign. DPOT_ERR_MEMORY, or the failure of
 * the mechanism's check; release is needed after a failure too. */
DPOT_WARN_UNUSED dpot_status dpot_draft_init(struct dpot_draft *draft,
                                             const struct dpot_campaign *campaign,
                                             const struct dpot_allocator *allocator,
                                             struct dpot_error *error);

/* Reads the data and privatises them into draft->report. Cannot fail; takes dpot_mechanism_steps
 * steps whatever the data. Data without a pointer count as none: the public default. */
void dpot_draft_make(struct dpot_draft *draft, const struct dpot_device_data *data);

/* Wipes and frees; a zeroed struct is allowed. */
void dpot_draft_release(struct dpot_draft *draft);

#endif
