/* The whole channel of an index mechanism: the exact integer law of the report for some fifty
 * inputs, with every pair of them compared at every outcome. */
#ifndef DPOT_TESTS_PRIVACY_CHANNEL_H
#define DPOT_TESTS_PRIVACY_CHANNEL_H

#include "model/campaign.h"

struct channel {
    size_t n_outputs;
    uint64_t least[64], most[64]; /* over all inputs */
};

/* Computes the channel of a campaign, which must be valid; each law must sum to 2^62. */
void channel_read(const struct dpot_campaign *campaign, struct channel *channel);

/* Fails the test if two inputs differ at an outcome by more than epsilon. */
void expect_private(const struct dpot_campaign *campaign);

#endif
