/* The origin of a generator as notes of its model. The job in dpotd and `dpot generator train`
 * write the same notes, so the same pool, settings and version give the same bytes.
 *
 *     program, mechanism, scale, epsilon, delta     the noise, and what a report was charged
 *     campaign_hash, revision                       the campaign of the pool
 *     pool_count, pool_checksum                     the reports used (training.h)
 *     transform, settings, steps_done               the training
 *
 * All notes are reproducible. Unknown values are left out. */
#ifndef DPOT_GENERATOR_PROVENANCE_H
#define DPOT_GENERATOR_PROVENANCE_H

#include "generator/model.h"
#include "generator/training.h"

struct provenance {
    const struct training_input *input; /* program, noise, scale, n, settings */
    const struct training *training;    /* the pool's checksum */
    enum dpot_transform_id transform;
    const char *campaign_hash; /* hex; "" or NULL: unknown */
    uint64_t revision;         /* its number; 0: unknown */
    double epsilon, delta;     /* of one report; NAN: unknown */
    uint64_t steps_done;
};

/* Adds all notes. DPOT_ERR_MEMORY, or the status of generator_model_note. */
DPOT_WARN_UNUSED dpot_status provenance_note(const struct provenance *provenance,
                                             struct generator_model *model,
                                             struct dpot_error *error);

#endif
