/* Mechanisms: from a private measure, or a private vector, to a report.
 *
 * A privatizer is made for one campaign BEFORE device data are read and allocates everything. Its
 * run cannot fail and takes public, fixed work. */
#ifndef DPOT_MECHANISM_MECHANISM_H
#define DPOT_MECHANISM_MECHANISM_H

#include "base/rng.h"
#include "model/campaign.h"
#include "model/measure.h"
#include "model/private_points.h"

struct dpot_privatizer;

/* One mechanism, one file; `mechanism.c` lists them. */
struct dpot_mechanism {
    enum dpot_mechanism_id id;

    /* Public conditions beyond dpot_campaign_check (feasibility of the polytope). */
    dpot_status (*check)(const struct dpot_campaign *campaign, struct dpot_error *error);

    /* What one report of this campaign is charged. */
    struct dpot_privacy (*charge)(const struct dpot_campaign *campaign);

    /* See dpot_mechanism_steps. */
    uint64_t (*steps)(const struct dpot_campaign *campaign);

    size_t (*workspace_bytes)(const struct dpot_campaign *campaign);
    dpot_status (*workspace_new)(const struct dpot_campaign *campaign,
                                 const struct dpot_allocator *allocator, void **workspace,
                                 struct dpot_error *error);
    void (*workspace_free)(void *workspace);

    /* Index mechanisms: fills report->index from the private measure and the rng. Total. */
    void (*privatize)(void *workspace, const struct dpot_private_measure *private_measure,
                      struct dpot_rng *rng, struct dpot_report *report);

    /* Index mechanisms: the law W / 2^62 that privatize draws from. Total. */
    void (*law)(void *workspace, const struct dpot_private_measure *private_measure,
                uint64_t *weights /* (output size) */);

    /* Spheres, else NULL: takes the vectors (n_max, dim) that the rows of the measure number, and
     * the id that names the report's directions. Before privatize and law. Total. */
    void (*load_directions)(void *workspace, const double *points,
                            const uint8_t report_id[DPOT_REPORT_ID_LEN]);

    /* Vector mechanisms (privatize and law are NULL): fills report->values[0..dim-1]. Total; reads
     * every one of dpot_vector_data_dim values and wipes what it makes of them. */
    void (*privatize_vector)(void *workspace, const struct dpot_private_vector *private_vector,
                             struct dpot_rng *rng, struct dpot_report *report);
};

/* The table's rows; use dpot_mechanism_get. */
extern const struct dpot_mechanism dpot_mechanism_wpm;
extern const struct dpot_mechanism dpot_mechanism_sphere; /* wpm of a campaign on a sphere */
extern const struct dpot_mechanism dpot_mechanism_kpm;
extern const struct dpot_mechanism dpot_mechanism_exponential;
extern const struct dpot_mechanism dpot_mechanism_laplace;
extern const struct dpot_mechanism dpot_mechanism_gaussian;

/* The mechanism with this id, NULL for one this build does not have. */
const struct dpot_mechanism *dpot_mechanism_get(enum dpot_mechanism_id id);

/* The mechanism of a campaign: by its id, and dpot_mechanism_sphere for wpm on a sphere. NULL as
 * above. */
const struct dpot_mechanism *dpot_mechanism_of(const struct dpot_campaign *campaign);

/* dpot_campaign_check, then the mechanism's memory against DPOT_PRIVATIZE_BYTES_MAX, then its own
 * check: the whole public validation of a campaign before x. DPOT_ERR_VERSION for a mechanism that
 * this build does not have. */
DPOT_WARN_UNUSED dpot_status dpot_mechanism_check_campaign(const struct dpot_campaign *campaign,
                                                           struct dpot_error *error);

/* What one report of a checked campaign costs. Parts that a mechanism cannot have are UINT64_MAX,
 * more than any cap: epsilon and delta of a Gaussian campaign without a certificate row. */
struct dpot_privacy dpot_mechanism_charge(const struct dpot_campaign *campaign);

/* How many steps one privatize of a checked campaign takes: a function of the campaign alone, the
 * same for all data. A step is about the work of a look at a cost: load, subtract, compare. Counted
 * are the rows of costs, 4 steps and one for each coordinate a cost; the projection, sweeps or
 * passes; what is done for each output to round and draw; of a vector its transform and noise. What
 * a step takes depends on the machine, and less so on the mechanism: measure it on a privatizer of
 * a copy of the campaign, with as few passes or iterations as there is time for. */
uint64_t dpot_mechanism_steps(const struct dpot_campaign *campaign);

/* Bounds of the values that a report of a checked vector campaign can hold in coordinate j, grid
 * units: public, so that a decoder can refuse others. */
void dpot_mechanism_value_range(const struct dpot_campaign *campaign, uint32_t j, int64_t *lo,
                                int64_t *hi);

/* Allocates everything. The campaign is borrowed and must outlive the privatizer; it must have
 * passed dpot_mechanism_check_campaign. DPOT_ERR_MEMORY, or what check says. */
DPOT_WARN_UNUSED dpot_status dpot_privatizer_new(const struct dpot_campaign *campaign,
                                                 const struct dpot_allocator *allocator,
                                                 struct dpot_privatizer **privatizer,
                                                 struct dpot_error *error);

/* Privatises; cannot fail. Sets report->index only; the caller sets id, group and test before. With
 * `sample_first` one own place is drawn first (in integers, from the same rng) and reported as a
 * point. */
void dpot_privatizer_run(struct dpot_privatizer *privatizer,
                         const struct dpot_private_measure *private_measure, struct dpot_rng *rng,
                         struct dpot_report *report);

/* The same on a sphere: the vectors of `points`, which has the campaign's n_max and dim, and the
 * directions of report->id. */
void dpot_privatizer_run_points(struct dpot_privatizer *privatizer,
                                const struct dpot_private_points *points, struct dpot_rng *rng,
                                struct dpot_report *report);

/* The same for campaigns of a vector mechanism. report->values must have room for the campaign's
 * dim numbers; sets these and n_values. */
void dpot_privatizer_run_vector(struct dpot_privatizer *privatizer,
                                const struct dpot_private_vector *private_vector,
                                struct dpot_rng *rng, struct dpot_report *report);
void dpot_privatizer_free(struct dpot_privatizer *privatizer); /* wipes */

/* For the aggregator and tools: the exact law W / 2^62 of the report of a device whose measure is
 * `private_measure`, without drawing. weights is (output size). Simulation and estimation only.
 * In a campaign with `sample_first` it is the law given the place that was drawn: ask with a
 * measure of one point. (The report of a measure then has the mixture of these laws, which in
 * general is no multiple of 2^-62.) */
void dpot_privatizer_law(struct dpot_privatizer *privatizer,
                         const struct dpot_private_measure *private_measure, uint64_t *weights);

/* The same on a sphere, given the report's id. */
void dpot_privatizer_law_points(struct dpot_privatizer *privatizer,
                                const struct dpot_private_points *points,
                                const uint8_t report_id[DPOT_REPORT_ID_LEN], uint64_t *weights);

#endif
