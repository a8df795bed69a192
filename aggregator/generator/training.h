/* One training run, from reports to a network; used by the job in dpotd and by `dpot generator
 * train`.
 *
 * The noise determines the cost (solve/learn/cloud.h): l1 / b for Laplace, squared distance / (2
 * sigma^2) for Gaussian. That is the exact negative log density of what devices release, up to a
 * term of the report alone (mechanism/noise_density.h), including the ends of the output clamp. */
#ifndef DPOT_GENERATOR_TRAINING_H
#define DPOT_GENERATOR_TRAINING_H

#include "base/crypto.h"
#include "generator/atoms.h"
#include "generator/settings.h"
#include "generator/transform.h"

struct training_input {
    const double *reports; /* (n, dim) coefficients; used by training_init only */
    size_t n, dim;         /* of reports */
    enum dpot_noise noise;
    double scale; /* b or sigma of one coordinate, in data units */
    const struct dpot_vector_domain
        *vector;     /* its transform; NULL: reports are data. Used by training_init only */
    bool is_bounded; /* restrict generated points to (lo, hi) */
    double lo, hi;
    struct settings settings;
    const char *program; /* name and version, for the fingerprint */
    struct team *team;   /* borrowed until training_release */
};

struct training {
    struct atoms atoms;
    struct transform_matrix transform;
    struct generator_train *train;
    size_t dim;                           /* of generated points */
    uint8_t fingerprint[DPOT_HASH_LEN];   /* hash of everything that determines the result */
    uint8_t pool_checksum[DPOT_HASH_LEN]; /* of the reports as float64, little-endian, row by row */
};

/* Prepares the run. The struct must not be moved afterwards.
 * DPOT_ERR_SHAPE, DPOT_ERR_RANGE, DPOT_ERR_MEMORY, with a message; *training is zeroed. */
DPOT_WARN_UNUSED dpot_status training_init(struct training *training,
                                           const struct training_input *input,
                                           struct dpot_error *error);
void training_release(struct training *training);

/* Upper bound on the bytes that a run holds, known before any allocation: reports in both forms,
 * network and optimizer, the transport of a step. DPOT_ERR_RANGE: invalid architecture. */
DPOT_WARN_UNUSED dpot_status training_memory(const struct training_input *input, uint64_t *n_bytes,
                                             struct dpot_error *error);

/* Parameters and state of the network, 4 bytes each in its file. DPOT_ERR_RANGE: as
 * training_memory. */
DPOT_WARN_UNUSED dpot_status training_network_size(const struct training_input *input,
                                                   size_t *n_values, struct dpot_error *error);

/* Bounds generated points to the range that devices clip to, for a campaign without transform: the
 * widest range of `n` sides, in data units. This improves the result (half circle, Gaussian: W2 .25
 * instead of .37). Does nothing if a range is already set. */
void training_bound(struct training_input *input, const double *lo, const double *hi, size_t n);

/* The training curve as rows of numbers, and the names of the columns. */
#define TRAINING_CURVE_COLUMNS 5
#define TRAINING_CURVE_NAMES "step,loss,gap,residual,learning_rate"
void training_curve(const struct generator_progress *progress, double *rows /* (n_looks, 5) */);

#endif
