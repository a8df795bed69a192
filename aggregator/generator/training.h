/* One training run, from reports to a network: what the job in dpotd and `dpot generator train` share.
 *
 * The noise decides the cost (solve/learn/cloud.h): Laplace b: l1 over b, Gaussian sigma: squared distance over
 * 2 sigma^2, which is the exact density of what devices release up to a term of the report alone
 * (mechanism/noise_density.h), ends of the output clamp included. */
#ifndef DPOT_GENERATOR_TRAINING_H
#define DPOT_GENERATOR_TRAINING_H

#include "base/crypto.h"
#include "generator/atoms.h"
#include "generator/settings.h"
#include "generator/transform.h"

struct training_input {
    const double *reports; /* (n, dim) coefficients; needed by training_init only */
    size_t n, dim;         /* of reports */
    enum dpot_noise noise;
    double scale; /* b, sigma of one coordinate, data units */
    const struct dpot_vector_domain
        *vector;     /* its transform; NULL: reports are data. For _init only */
    bool is_bounded; /* keep generated points in (lo, hi) */
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
    uint8_t fingerprint[DPOT_HASH_LEN];   /* of everything that the result is a function of */
    uint8_t pool_checksum[DPOT_HASH_LEN]; /* of the reports as float64, little-endian, row by row */
};

/* Do not copy the struct afterwards. DPOT_ERR_SHAPE, DPOT_ERR_RANGE, DPOT_ERR_MEMORY with a sentence;
 * zeroed then. */
DPOT_WARN_UNUSED dpot_status training_init(struct training *training,
                                           const struct training_input *input,
                                           struct dpot_error *error);
void training_release(struct training *training);

/* Bytes that a run holds at most, from above and before anything is allocated: the reports as they come
 * and as they are seen, network and optimizer, the transport of a step. DPOT_ERR_RANGE: an architecture
 * that cannot be. */
DPOT_WARN_UNUSED dpot_status training_memory(const struct training_input *input, uint64_t *n_bytes,
                                             struct dpot_error *error);

/* Parameters and state of the network: 4 bytes each in its file. DPOT_ERR_RANGE. */
DPOT_WARN_UNUSED dpot_status training_network_size(const struct training_input *input,
                                                   size_t *n_values, struct dpot_error *error);

/* Generated points of a campaign without transform stay in the range that devices clip to: `n` sides, in
 * data units, of which the widest range is taken. Knowing it sharpens the result (half circle, Gaussian: W2
 * .25 instead of .37). A range that is set already is left alone. */
void training_bound(struct training_input *input, const double *lo, const double *hi, size_t n);

/* The curve as rows of numbers, with their names. */
#define TRAINING_CURVE_COLUMNS 5
#define TRAINING_CURVE_NAMES "step,loss,gap,residual,learning_rate"
void training_curve(const struct generator_progress *progress, double *rows /* (n_looks, 5) */);

#endif
