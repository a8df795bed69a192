/* Mechanisms: from a private measure, or a private vector, to a report.
 *
 * A privatizer is created for one campaign BEFORE device data are read, and allocates everything.
 * Its run cannot fail, and its work is public and fixed. */
#ifndef DPOT_MECHANISM_MECHANISM_H
#define DPOT_MECHANISM_MECHANISM_H

#include "base/rng.h"
#include "model/campaign.h"
#include "model/measure.h"
#include "model/private_points.h"

struct dpot_privatizer;

/* One mechanism, one file; mechanism.c has the table. */
struct dpot_mechanism {
    enum dpot_mechanism_id id;

    /* Public conditions besides dpot_campaign_check: feasibility, noise. */
    dpot_status (*check)(const struct dpot_campaign *campaign, struct dpot_error *error);

    /* The charge of one report. */
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

    /* Spheres, else NULL: sets the vectors (n_max, dim) that the rows of the measure refer to,
         * and the directions of this report id. Called before privatize and law. Total. */
    void (*load_directions)(void *workspace, const double *points,
                            const uint8_t report_id[DPOT_REPORT_ID_LEN]);

    /* Vector mechanisms (privatize and law are NULL): fills report->values[0..dim-1]. Total;
         * reads all dpot_vector_data_dim values and wipes what it derives from them. */
    void (*privatize_vector)(void *workspace, const struct dpot_private_vector *private_vector,
                             struct dpot_rng *rng, struct dpot_report *report);
};

/* The rows of the table; use dpot_mechanism_of. */
extern const struct dpot_mechanism dpot_mechanism_wpm;
extern const struct dpot_mechanism dpot_mechanism_sphere; /* wpm of a campaign on a sphere */
extern const struct dpot_mechanism dpot_mechanism_kpm;
extern const struct dpot_mechanism dpot_mechanism_exponential;
extern const struct dpot_mechanism dpot_mechanism_laplace;
extern const struct dpot_mechanism dpot_mechanism_gaussian;

/* The mechanism with this id; NULL: not in this build. */
const struct dpot_mechanism *dpot_mechanism_get(enum dpot_mechanism_id id);

/* The mechanism of a campaign: by its id, but dpot_mechanism_sphere for wpm on a sphere. NULL as
 * above. */
const struct dpot_mechanism *dpot_mechanism_of(const struct dpot_campaign *campaign);

/* The whole public validation of a campaign: dpot_campaign_check, the privatizer's memory against
 * DPOT_PRIVATIZE_BYTES_MAX, and its own check. DPOT_ERR_VERSION: a mechanism that is not in this
 * build. */
DPOT_WARN_UNUSED dpot_status dpot_mechanism_check_campaign(const struct dpot_campaign *campaign,
                                                           struct dpot_error *error);

/* The charge of one report of a checked campaign. Epsilon and delta of a Gaussian campaign without
 * a certificate row are UINT64_MAX, above every cap. */
struct dpot_privacy dpot_mechanism_charge(const struct dpot_campaign *campaign);

/* The number of steps of one privatize of a checked campaign: a function of the campaign alone, the
 * same for all data. A step is about the work of reading a cost: load, subtract, compare. It counts
 * rows of costs (4 + dim steps per cost), the projection (sweeps or passes), rounding and drawing
 * per output, and for a vector its transform and noise. The time of a step depends on the machine,
 * less on the mechanism: measure it with a privatizer of a copy of the campaign with fewer passes
 * or iterations. */
uint64_t dpot_mechanism_steps(const struct dpot_campaign *campaign);

/* The public range of coordinate j of a report of a checked vector campaign, grid units: a decoder
 * refuses other values. */
void dpot_mechanism_value_range(const struct dpot_campaign *campaign, uint32_t j, int64_t *lo,
                                int64_t *hi);

/* The bytes that _new allocates for a campaign whose mechanism is in this build; SIZE_MAX on
 * overflow. */
size_t dpot_privatizer_bytes(const struct dpot_campaign *campaign);

/* Allocates everything. The campaign is borrowed, must outlive the privatizer and must have passed
 * dpot_mechanism_check_campaign. DPOT_ERR_MEMORY, or as the mechanism's check. */
DPOT_WARN_UNUSED dpot_status dpot_privatizer_new(const struct dpot_campaign *campaign,
                                                 const struct dpot_allocator *allocator,
                                                 struct dpot_privatizer **privatizer,
                                                 struct dpot_error *error);

/* Privatises; cannot fail. Sets report->index only; the caller sets id, group and test before. With
 * `sample_first`, one of the device's points is drawn first, in integers and from the same rng. */
void dpot_privatizer_run(struct dpot_privatizer *privatizer,
                         const struct dpot_private_measure *private_measure, struct dpot_rng *rng,
                         struct dpot_report *report);

/* The same on a sphere, with the directions of report->id. `points` has the campaign's n_max and
 * dim. */
void dpot_privatizer_run_points(struct dpot_privatizer *privatizer,
                                const struct dpot_private_points *points, struct dpot_rng *rng,
                                struct dpot_report *report);

/* The same for vector mechanisms. Sets n_values and report->values, which must have room for dim
 * numbers. */
void dpot_privatizer_run_vector(struct dpot_privatizer *privatizer,
                                const struct dpot_private_vector *private_vector,
                                struct dpot_rng *rng, struct dpot_report *report);
void dpot_privatizer_free(struct dpot_privatizer *privatizer); /* wipes */

/* For simulation and estimation: the exact law W / 2^62 of the report for a measure, without
 * drawing. weights is (output size). With `sample_first` it is the law given the point that was
 * drawn: call it with a measure of one point. (The report for a measure then has the mixture of
 * these laws.) */
void dpot_privatizer_law(struct dpot_privatizer *privatizer,
                         const struct dpot_private_measure *private_measure, uint64_t *weights);

/* The same on a sphere, given the report id. */
void dpot_privatizer_law_points(struct dpot_privatizer *privatizer,
                                const struct dpot_private_points *points,
                                const uint8_t report_id[DPOT_REPORT_ID_LEN], uint64_t *weights);

#endif
