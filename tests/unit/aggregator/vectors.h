/* Handmade vector campaigns and vector reports, without SPEC and mechanism. */
#ifndef DPOT_TESTS_AGGREGATOR_VECTORS_H
#define DPOT_TESTS_AGGREGATOR_VECTORS_H

#include "store/store.h"

/* A Laplace campaign over the box [-5, 5]^dim in grid units of 0.25, k = 3, inside the window of
 * fixture_spec, min_pool 3. Its arrays are borrowed: do not release it. */
struct dpot_campaign vectors_laplace(uint32_t dim);

#define VECTORS_DCT_DIM 3
#define VECTORS_DCT_DATA_DIM 8

/* A Gaussian campaign over the l2 ball of radius 100 in the coefficients 0, 1 and 4 of an image of
 * 2 x 4, grid units of 0.5, k = 4. Its arrays are borrowed too. */
struct dpot_campaign vectors_gaussian(void);

/* Report number n: the id of fixture_report(n), and `dim` values made of n, each within +-limit, in
 * `values`, where they are borrowed. */
struct dpot_report vectors_report(uint32_t n, uint32_t dim, int64_t limit, int64_t *values);

/* Encodes, signs, adds and opens the campaign; fills the record. Fails the test when it cannot. */
void vectors_open(struct store *store, const struct dpot_campaign *campaign,
                  const uint8_t secret_key[DPOT_SIGN_SECRET_LEN], struct revision_record *record);

/* Appends to round `round` of a revision; fails the test unless every report is accepted. */
void vectors_append(struct store *store, const uint8_t hash[DPOT_HASH_LEN], uint32_t round,
                    const struct dpot_report *reports, size_t n);

#endif
