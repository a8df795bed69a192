/* The law of one draw of noise as the program makes it, in exact integers: the weight of a value is
 * the number of table units of its cell times the threshold of its trial, both as dpot_noise_try
 * answers them. Nothing here knows a formula for the law. */
#ifndef DPOT_TESTS_PRIVACY_NOISE_WEIGHTS_H
#define DPOT_TESTS_PRIVACY_NOISE_WEIGHTS_H

#include "mechanism/noise.h"
#include "privacy/wide.h"

struct noise_weights {
    size_t n_values;     /* |noise| < n_values */
    struct wide *weight; /* (n_values): of +x, and of -x for x > 0 */
    struct wide total;
};

/* Asserts on the way that a trial gives the value of its cell and bits, that 0 exists once and that
 * both signs of others have the same threshold. For the caller to free. */
struct noise_weights noise_weights_new(enum dpot_noise noise, unsigned k);
void noise_weights_free(struct noise_weights *weights);

/* -> the law in doubles, x = -(n_values - 1) .. n_values - 1; for the caller to free. */
double *noise_weights_to_doubles(const struct noise_weights *weights);

#endif
