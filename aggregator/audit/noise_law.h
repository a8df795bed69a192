/* The law of one draw of integer noise, from the program's own functions: the weight of a value is
 * the number of table units of its cell times the threshold of its trial, as the trial returns it
 * (client/doc/exact-privacy.md, B4). No formula of the law is used. Sums are in doubles. */
#ifndef DPOT_AUDIT_NOISE_LAW_H
#define DPOT_AUDIT_NOISE_LAW_H

#include "base/error.h"
#include "mechanism/noise.h"

#define NOISE_LAW_VALUES_MAX ((size_t)1 << 18) /* larger laws are not enumerated */

/* dpot_noise_try, or a broken version in a test. */
typedef struct dpot_noise_trial noise_trial(enum dpot_noise noise, unsigned k,
                                            const uint8_t bytes[DPOT_NOISE_TRIAL_LEN]);

struct noise_law {
    size_t n_values; /* |noise| < n_values */
    double *weight;  /* (2 n_values - 1) of -(n_values - 1) .. n_values - 1, not normalised */
    double total;
};

/* The number of values of |noise|. */
size_t noise_law_size(enum dpot_noise noise, unsigned k);

/* The weights of +x and -x (x < noise_law_size), on one scale for all x; 0 for values that the
 * trial never returns. For x = 0, `minus` is the weight of -0. */
struct noise_weight {
    double plus, minus;
};
struct noise_weight noise_law_weight(noise_trial *attempt, enum dpot_noise noise, unsigned k,
                                     uint64_t x);

/* Enumerates the law. DPOT_ERR_TOO_LARGE: above the limit. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status noise_law_init(struct noise_law *law, noise_trial *attempt,
                                            enum dpot_noise noise, unsigned k);
void noise_law_release(struct noise_law *law);

#endif
