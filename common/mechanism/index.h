/* What every index mechanism shares: the public integers of its campaign, and the way from a
 * float law q to a report.
 *
 * A mechanism fills index->q with the law it would like; dpot_index_round and dpot_index_draw turn
 * it into integers W with L <= W <= U and sum W = 2^62 and draw from these (mechanism/sampler.h,
 * Theorem A). So the claim of every index mechanism is the same and is proved in one place: pure
 * (E / 2^32)-LDP whatever is in q, NaN included.
 *
 * Set up before device data are read; rounding and drawing allocate nothing and cannot fail. */
#ifndef DPOT_MECHANISM_INDEX_H
#define DPOT_MECHANISM_INDEX_H

#include "base/rng.h"
#include "model/campaign.h"
#include "model/measure.h"
#include "ot/polytope.h"

/* Fills index->q of the workspace with the law that the mechanism would like for this measure.
 * Total. */
typedef void (*dpot_index_projector)(void *workspace, const struct dpot_measure *own);

/* The FIRST member of the workspace of every index mechanism. */
struct dpot_index {
    dpot_index_projector project;
    const struct dpot_campaign *campaign; /* borrowed */
    const struct dpot_allocator *allocator;
    size_t n_cols;                 /* output points */
    double *q;                     /* (n_cols) for the mechanism to fill */
    double *q_lower;               /* (n_cols) L / N */
    double *q_upper;               /* (n_cols) U / N */
    uint64_t *lower;               /* (n_cols) L */
    uint64_t *upper;               /* (n_cols) U */
    uint64_t *fallback;            /* (n_cols) M */
    uint64_t *weights;             /* (n_cols) W */
    struct dpot_polytope polytope; /* q_lower, q_upper */
};

/* The members `check` and `charge` of an index mechanism: feasibility of the polytope, and pure
 * epsilon. */
DPOT_WARN_UNUSED dpot_status dpot_index_check(const struct dpot_campaign *campaign,
                                              struct dpot_error *error);
struct dpot_privacy dpot_index_charge(const struct dpot_campaign *campaign);

/* Steps (mechanism.h) of n_max rows of costs, and of what is done for each output whatever the
 * mechanism; the member `steps` of one that does no more. */
uint64_t dpot_index_steps(const struct dpot_campaign *campaign);

/* Bytes that _init allocates, and those of a drawn place (mechanism.c). */
size_t dpot_index_bytes(const struct dpot_campaign *campaign);

/* The campaign is borrowed. On failure (DPOT_ERR_MEMORY, or what check says) release is still
 * needed, as for a zeroed struct, which is allowed. */
DPOT_WARN_UNUSED dpot_status dpot_index_init(struct dpot_index *index, dpot_index_projector project,
                                             const struct dpot_campaign *campaign,
                                             const struct dpot_allocator *allocator,
                                             struct dpot_error *error);
void dpot_index_release(struct dpot_index *index); /* wipes */

/* Replaces the measure in q by its KL projection onto the polytope: the law that is nearest to it
 * among those the campaign allows. Entries that are negative or not finite count as 0; without any
 * mass some law of the polytope comes out. */
void dpot_index_project(struct dpot_index *index);

/* Rounds q to the weights W of the law (n_cols), and wipes q. */
void dpot_index_round(struct dpot_index *index, uint64_t *weights /* (n_cols) */);

/* Rounds q, draws one output point, and wipes both. */
uint32_t dpot_index_draw(struct dpot_index *index, struct dpot_rng *rng);

/* The members `law` and `privatize` of an index mechanism: project, then round, then draw. */
void dpot_index_law(void *workspace, const struct dpot_private_measure *private_measure,
                    uint64_t *weights /* (n_cols) */);
void dpot_index_privatize(void *workspace, const struct dpot_private_measure *private_measure,
                          struct dpot_rng *rng, struct dpot_report *report);

/* Saturating sum of byte counts. */
size_t dpot_bytes_add(size_t a, size_t b);

#endif
