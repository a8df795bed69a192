/* Shared by all index mechanisms: the public integers of a campaign, and the way from a law q in
 * doubles to a report.
 *
 * A mechanism fills index->q with the law that it wants. dpot_index_privatize rounds it to integers
 * W with L <= W <= U and sum W = 2^62 and draws from these (mechanism/sampler.h, Theorem A). So all
 * index mechanisms have the same claim and the same proof: pure (E / 2^32)-LDP for any q, NaN
 * included.
 *
 * Set up before device data are read; rounding and drawing allocate nothing and cannot fail. */
#ifndef DPOT_MECHANISM_INDEX_H
#define DPOT_MECHANISM_INDEX_H

#include "base/rng.h"
#include "model/campaign.h"
#include "model/measure.h"
#include "ot/polytope.h"

/* Fills index->q of the workspace with the law that the mechanism wants for this measure. Total. */
typedef void (*dpot_index_projector)(void *workspace, const struct dpot_measure *own);

/* Must be the FIRST member of the workspace of an index mechanism. */
struct dpot_index {
    dpot_index_projector project;
    const struct dpot_campaign *campaign; /* borrowed */
    const struct dpot_allocator *allocator;
    size_t n_cols;                 /* output points */
    double *q;                     /* (n_cols) filled by the mechanism */
    double *q_lower;               /* (n_cols) L / N */
    double *q_upper;               /* (n_cols) U / N */
    uint64_t *lower;               /* (n_cols) L */
    uint64_t *upper;               /* (n_cols) U */
    uint64_t *fallback;            /* (n_cols) M */
    uint64_t *weights;             /* (n_cols) W */
    struct dpot_polytope polytope; /* q_lower, q_upper */
};

/* Members `check` (feasibility of the polytope) and `charge` (pure epsilon) of struct
 * dpot_mechanism. */
DPOT_WARN_UNUSED dpot_status dpot_index_check(const struct dpot_campaign *campaign,
                                              struct dpot_error *error);
struct dpot_privacy dpot_index_charge(const struct dpot_campaign *campaign);

/* Steps (mechanism.h) of n_max rows of costs and of the work per output that all mechanisms share.
 * The member `steps` of a mechanism that does no more. */
uint64_t dpot_index_steps(const struct dpot_campaign *campaign);

/* Bytes that _init allocates. */
size_t dpot_index_bytes(const struct dpot_campaign *campaign);

/* The campaign is borrowed. DPOT_ERR_MEMORY, or as dpot_index_check; after a failure release is
 * still needed. A zeroed struct may be released. */
DPOT_WARN_UNUSED dpot_status dpot_index_init(struct dpot_index *index, dpot_index_projector project,
                                             const struct dpot_campaign *campaign,
                                             const struct dpot_allocator *allocator,
                                             struct dpot_error *error);
void dpot_index_release(struct dpot_index *index); /* wipes */

/* Replaces the measure in q by its KL projection onto the polytope. Entries that are negative or
 * not finite count as 0; without mass, the result is some law of the polytope. */
void dpot_index_project(struct dpot_index *index);

/* Members `law` (project, then round to weights) and `privatize` (and then draw) of struct
 * dpot_mechanism. Both wipe q. */
void dpot_index_law(void *workspace, const struct dpot_private_measure *private_measure,
                    uint64_t *weights /* (n_cols) */);
void dpot_index_privatize(void *workspace, const struct dpot_private_measure *private_measure,
                          struct dpot_rng *rng, struct dpot_report *report);

/* Saturating sum of byte counts. */
size_t dpot_bytes_add(size_t a, size_t b);

#endif
