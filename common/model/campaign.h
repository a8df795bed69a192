/* Campaign revisions: what a device is asked for, as one immutable, signed, public description.
 *
 *   campaign   a 16-byte id that never changes
 *   revision   one immutable signed byte string of a campaign; the BLAKE2b-256 of those bytes is
 *              the campaign hash
 *   round r    of 0..rounds-1: the public time window [opens + r L, opens + (r+1) L),
 *              L = floor((closes - opens) / rounds); the last one ends at `closes`. Per round a
 *              device has one charge and one report, and the server one set of report ids. */
#ifndef DPOT_MODEL_CAMPAIGN_H
#define DPOT_MODEL_CAMPAIGN_H

#include "base/crypto.h"
#include "model/domain.h"
#include "model/privacy.h"
#include "model/report.h"
#include "model/vector.h"

#define DPOT_CAMPAIGN_ID_LEN 16
#define DPOT_CAMPAIGN_NAME_MAX 64          /* bytes, without the NUL; [a-z0-9-] */
#define DPOT_CAMPAIGN_BYTES_MAX (8u << 20) /* signed bytes */
#define DPOT_GROUPS_MAX 256
#define DPOT_ROUNDS_MAX 100000
#define DPOT_N_MAX_MAX 10000
#define DPOT_EXACT_N_MAX_MAX 64 /* n_max with the exact solver, and on a sphere */
#define DPOT_PASSES_MAX 4096
#define DPOT_PASSES_DEFAULT 64
#define DPOT_ITERATIONS_MAX 10000
#define DPOT_SPHERE_WORK_MAX ((uint64_t)1 << 28) /* n_max * directions * dim */
#define DPOT_LAPLACE_SCALE_LOG2_MIN 1
#define DPOT_LAPLACE_SCALE_LOG2_MAX 40
#define DPOT_GAUSSIAN_SCALE_LOG2_MIN 2
#define DPOT_GAUSSIAN_SCALE_LOG2_MAX 24
#define DPOT_PRIVATIZE_BYTES_MAX (256u << 20) /* working memory on a device */

/* Published numbers (campaign.proto). */
enum dpot_mechanism_id {
    DPOT_MECHANISM_WPM = 1,
    DPOT_MECHANISM_KPM = 2,
    DPOT_MECHANISM_EXPONENTIAL = 3,
    DPOT_MECHANISM_LAPLACE = 4,
    DPOT_MECHANISM_GAUSSIAN = 5,
};

/* How wpm projects. Published numbers (campaign.proto). */
enum dpot_solver_id {
    DPOT_SOLVER_ENTROPIC = 0, /* Sinkhorn sweeps with lambda (ot/projection.h) */
    DPOT_SOLVER_EXACT = 1,    /* unregularized (ot/few_projection.h) */
};

/* The base measure as integers, which alone define the LDP polytope (client/doc/exact-privacy.md,
 * A1). */
struct dpot_base_measure {
    uint32_t size;       /* kv = number of output points */
    uint32_t *mass_code; /* (size) b_j >= 1; owned */
    uint64_t total;      /* T = alpha * total mass in units of 2^-62, 1..2^62 */
};

/* The noise of a vector mechanism, of scale 2^scale_log2 grid units (Laplace t, Gaussian sigma).
 * Epsilon and delta of a Gaussian campaign are those of its certificate row
 * (mechanism/gauss_certificate.h); without a row it has a zCDP charge only. */
struct dpot_noise_parameters {
    uint32_t scale_log2;      /* k; laplace 1..40, gaussian 2..24 */
    uint32_t certificate_row; /* gaussian: from 1, or 0 for none; laplace: 0 */
};

struct dpot_campaign {
    uint8_t id[DPOT_CAMPAIGN_ID_LEN];
    uint32_t revision; /* 1, 2, ... */
    char name[DPOT_CAMPAIGN_NAME_MAX + 1];

    struct dpot_domain domain; /* where device data live; zeroed for vector mechanisms */
    bool output_is_domain;     /* SPEC "output": "same"; then `output` is a copy of domain */
    struct dpot_domain output; /* the points that a report can name */
    struct dpot_metric metric; /* vector mechanisms: for results only; neither ring nor haversine */
    double cost_power;         /* p >= 1 */

    enum dpot_mechanism_id mechanism;
    uint64_t epsilon_q32;                  /* E; gaussian: 0 (see noise.certificate_row) */
    enum dpot_solver_id solver;            /* wpm; else 0 */
    double lambda;                         /* wpm, entropic: regularization, cost units; else 0 */
    uint32_t iterations;                   /* wpm, entropic: Sinkhorn iterations; else 0 */
    uint32_t passes;                       /* wpm, exact: 0 for the default; else 0 */
    double sensitivity;                    /* exponential: of its utility, cost units; else 0 */
    uint32_t n_max;                        /* index: rows that a device processes; else 0 */
    bool sample_first;                     /* the device first draws one of its own points */
    struct dpot_base_measure base_measure; /* index mechanisms; else zeroed */
    struct dpot_vector_domain vector;      /* vector mechanisms; else zeroed */
    struct dpot_noise_parameters noise;    /* vector mechanisms; else zeroed */

    uint32_t rounds;
    int64_t opens_ms;  /* whole seconds */
    int64_t closes_ms; /* whole seconds */
    uint64_t min_pool;
    uint32_t n_groups;
    char (*groups)[DPOT_CAMPAIGN_NAME_MAX + 1]; /* (n_groups) labels; owned */
    bool simulation;  /* TEST reports are accepted here only; devices refuse it */
    bool loss_counts; /* old revisions only: batches carry three zero bytes (`losses`) */

    const struct dpot_allocator *allocator;
};

/* Frees the content; a zeroed struct is allowed. */
void dpot_campaign_release(struct dpot_campaign *campaign);

/* Checks ranges, sizes and metric: all conditions that depend neither on the device, its caps or
 * the time, nor on the mechanism (mechanism/mechanism.h: feasibility, noise). The error names the
 * field and its value. */
DPOT_WARN_UNUSED dpot_status dpot_campaign_check(const struct dpot_campaign *campaign,
                                                 struct dpot_error *error);

/* The round that is open at `time_ms`. DPOT_ERR_NOT_OPEN: before the first; DPOT_ERR_CLOSED: after
 * the last. */
DPOT_WARN_UNUSED dpot_status dpot_campaign_round(const struct dpot_campaign *campaign,
                                                 int64_t time_ms, uint32_t *round);

/* When round `round` < rounds opens and closes (exclusive). */
int64_t dpot_campaign_round_opens(const struct dpot_campaign *campaign, uint32_t round);
int64_t dpot_campaign_round_closes(const struct dpot_campaign *campaign, uint32_t round);

/* Passes of the exact solver, n_max (n_max + outputs) steps each (ot/few_projection.h). A field of
 * 0 means DPOT_PASSES_DEFAULT, so that revisions older than the field keep their bytes. */
uint32_t dpot_campaign_passes(const struct dpot_campaign *campaign);

/* Whether device data are unit vectors and a report names a direction of its own codebook
 * (mechanism/codebook.h). Then there is no list of domain or output points. */
bool dpot_campaign_is_sphere(const struct dpot_campaign *campaign);

/* Whether reports are vectors (laplace, gaussian); otherwise they name an output point. */
bool dpot_mechanism_is_vector(enum dpot_mechanism_id id);

/* "wpm", ...; NULL for an unknown id. DPOT_ERR_NOT_FOUND for an unknown name. */
const char *dpot_mechanism_name(enum dpot_mechanism_id id);
DPOT_WARN_UNUSED dpot_status dpot_mechanism_find(const char *name, enum dpot_mechanism_id *id);

/* "entropic", "exact"; NULL for an unknown id. */
const char *dpot_solver_name(enum dpot_solver_id id);

#endif
