/* Audit subjects: small campaigns of every mechanism, each with two inputs as far apart as its
 * claim allows, and the statistics by which an observer distinguishes their reports. */
#ifndef DPOT_AUDIT_SUBJECT_H
#define DPOT_AUDIT_SUBJECT_H

#include "audit/events.h"
#include "model/campaign.h"

#define SUBJECT_DIM_MAX 128 /* coordinates of an input */
/* of every campaign: the most that the device's caps allow at epsilon 1 */
#define SUBJECT_ROUNDS 20
#define SUBJECT_ROUND_MS ((int64_t)3600 * 1000)

struct subject {
    const char *name;              /* "wpm", "laplace-l1-ball", ... */
    struct dpot_campaign campaign; /* owned; its id is set */
    bool has_seed;                 /* then the campaign is marked `simulation` */
    uint32_t group;                /* group label of its devices; 0 without groups */
    uint32_t cost;                 /* work per report, relative to a small campaign */
    struct dpot_privacy claim;     /* what a device charges for one report */

    /* Device data: one point each (index mechanisms, in the domain's coordinates), or a vector. */
    uint32_t dim;
    double input[2][SUBJECT_DIM_MAX];

    /* Vector mechanisms: the integers that an honest device adds noise to, in grid units. */
    int64_t clipped[2][SUBJECT_DIM_MAX];
};

/* Names in the order of reports; NULL-terminated. */
extern const char *const subject_names[];

/* Whether wanted is the name or the mechanism that it begins with: "laplace" matches
 * "laplace-box". */
bool subject_matches(const char *name, const char *wanted);

/* Creates the subject with this name, one of the list. With has_seed its campaign takes TEST
 * reports. Release it also after a failure. DPOT_ERR_NOT_FOUND, DPOT_ERR_MEMORY, or the error of
 * its campaign. */
DPOT_WARN_UNUSED dpot_status subject_init(struct subject *subject, const char *name, bool has_seed,
                                          struct dpot_error *error);
void subject_release(struct subject *subject);

/* n_outcomes of its samples; 0 for vectors. */
uint32_t subject_outcomes(const struct subject *subject);

/* The numbers of a sample. Index mechanisms: the index. Sphere: 2 if the report names the nearest
 * of its directions to input 0, plus 1 if it names the nearest to input 1; the likelihood depends
 * on nothing else. Vectors: the log likelihood ratio of input 0 to input 1 under the claimed law,
 * and the first coordinate. The trace is 0. */
struct audit_sample subject_observe(const struct subject *subject,
                                    const struct dpot_report *report);

#endif
