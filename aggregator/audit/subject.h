/* What is audited: small campaigns of every mechanism, each with two inputs that are as far apart as
 * its claim allows, and how an observer tells their reports apart. */
#ifndef DPOT_AUDIT_SUBJECT_H
#define DPOT_AUDIT_SUBJECT_H

#include "audit/events.h"
#include "model/campaign.h"

#define SUBJECT_DIM_MAX 128 /* numbers of an input */
#define SUBJECT_ROUNDS 20   /* of every campaign: what a device's caps allow at epsilon 1 */
#define SUBJECT_ROUND_MS ((int64_t)3600 * 1000)

struct subject {
    const char *name;              /* "wpm", "laplace-l1-ball", ... */
    struct dpot_campaign campaign; /* owned; its id is set */
    bool has_seed;                 /* then the campaign is marked `simulation` */
    uint32_t group;                /* label of its devices; 0 without groups */
    uint32_t cost; /* a report takes about this many times the work of a small campaign's */
    struct dpot_privacy claim; /* what a device is charged for one report */

    /* Device data: one place each (index mechanisms, the domain's coordinates), or a vector. */
    uint32_t dim;
    double input[2][SUBJECT_DIM_MAX];

    /* Vector mechanisms: what an honest device makes of the inputs before it adds noise, grid units. */
    int64_t clipped[2][SUBJECT_DIM_MAX];
};

/* Names, in the order of reports; NULL ends the list. */
extern const char *const subject_names[];

/* True for the name itself and for a mechanism whose name begins it: "laplace" matches "laplace-box". */
bool subject_matches(const char *name, const char *wanted);

/* The subject with this name, one of the list. With `has_seed` its campaign takes TEST reports. Release
 * it also after a failure. DPOT_ERR_NOT_FOUND, DPOT_ERR_MEMORY, or what its own making says. */
DPOT_WARN_UNUSED dpot_status subject_init(struct subject *subject, const char *name, bool has_seed,
                                          struct dpot_error *error);
void subject_release(struct subject *subject);

/* Outcomes of a report, 0 for vectors: n_outcomes of the samples. */
uint32_t subject_outcomes(const struct subject *subject);

/* The numbers of a sample: the index; on a sphere whether the report names the nearest of its directions to
 * input 0 (2) and to input 1 (1), all that its likelihood depends on; or the log of how much likelier the vector is under input 0 by the
 * law that is claimed, and its first coordinate. The trace is 0. */
struct audit_sample subject_observe(const struct subject *subject,
                                    const struct dpot_report *report);

#endif
