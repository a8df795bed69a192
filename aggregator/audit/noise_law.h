/* The law of one draw of integer noise as the program makes it: the weight of a value is the number of
 * table units of its cell times the threshold of its trial, as the trial itself answers (B4 of
 * exact-privacy). Nothing here knows a formula for the law; sums are in doubles. */
#ifndef DPOT_AUDIT_NOISE_LAW_H
#define DPOT_AUDIT_NOISE_LAW_H

#include "base/error.h"
#include "mechanism/noise.h"

#define NOISE_LAW_VALUES_MAX ((size_t)1 << 18) /* above, a law is not enumerated */

/* dpot_noise_try, or a broken one of a test. */
typedef struct dpot_noise_trial noise_trial(enum dpot_noise noise, unsigned k,
                                            const uint8_t bytes[DPOT_NOISE_TRIAL_LEN]);

struct noise_law {
    size_t n_values; /* |noise| < n_values */
    double *weight;  /* (2 n_values - 1) of -(n_values - 1) .. n_values - 1, not normalised */
    double total;
};

/* How many values of |noise| there are. */
size_t noise_law_size(enum dpot_noise noise, unsigned k);

/* The weight of +x and of -x (x < noise_law_size), by the same scale for all x; 0 for a value that the
 * trial does not give. `minus` of 0 is that of -0. */
struct noise_weight {
    double plus, minus;
};
struct noise_weight noise_law_weight(noise_trial *attempt, enum dpot_noise noise, unsigned k,
                                     uint64_t x);

/* All of them; DPOT_ERR_TOO_LARGE above the limit, DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status noise_law_init(struct noise_law *law, noise_trial *attempt,
                                            enum dpot_noise noise, unsigned k);
void noise_law_release(struct noise_law *law);

#endif
