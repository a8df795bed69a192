/* Where a generator comes from, as notes of its model: what the job in dpotd and `dpot generator train`
 * both write, so that the same pool, settings and version give the same bytes wherever they were trained.
 *
 *     program, mechanism, scale, epsilon, delta     the noise, and what a report of it was charged
 *     campaign_hash, revision                       whose pool it is
 *     pool_count, pool_checksum                     which reports of it (training.h)
 *     transform, settings, steps_done               what was done with them
 *
 * Nothing here differs between two runs of the same training. What is not known is left out. */
#ifndef DPOT_GENERATOR_PROVENANCE_H
#define DPOT_GENERATOR_PROVENANCE_H

#include "generator/model.h"
#include "generator/training.h"

struct provenance {
    const struct training_input *input; /* program, noise, scale, n, settings */
    const struct training *training;    /* the pool's checksum */
    enum dpot_transform_id transform;
    const char *campaign_hash; /* hex; "" or NULL: not known */
    uint64_t revision;         /* its number; 0: not known */
    double epsilon, delta;     /* of one report; NAN: not known */
    uint64_t steps_done;
};

/* Adds all of it. DPOT_ERR_MEMORY, or what generator_model_note says. */
DPOT_WARN_UNUSED dpot_status provenance_note(const struct provenance *provenance,
                                             struct generator_model *model,
                                             struct dpot_error *error);

#endif
