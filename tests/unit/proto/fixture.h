/* Campaigns, keys and batches to encode, and an allocator that records its peak. */
#ifndef DPOT_TESTS_UNIT_PROTO_FIXTURE_H
#define DPOT_TESTS_UNIT_PROTO_FIXTURE_H

#include "base/buf.h"
#include "model/campaign.h"
#include "proto/wire_keys.h"
#include "proto/wire_report.h"

/* Starts libsodium: `.init` of every suite here. */
void start_proto_suite(void);

/* A 2 x 3 grid with reports on the same cells; no groups. All fields have different values. */
void make_grid_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator);

/* Five points of two coordinates, three different output points, two groups. */
void make_points_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator);

/* A ring of 400: base measure of 400 codes, simulation, sample_first. */
void make_ring_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator);

/* A sphere of 7 coordinates and 90 directions. */
void make_sphere_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator);

/* The grid campaign as KPM, and the points campaign as the exponential mechanism. */
void make_kpm_campaign(struct dpot_campaign *campaign, const struct dpot_allocator *allocator);
void make_exponential_campaign(struct dpot_campaign *campaign,
                               const struct dpot_allocator *allocator);

/* Fails the test if any field differs; doubles are compared bit by bit. */
void expect_same_campaign(const struct dpot_campaign *a, const struct dpot_campaign *b);

/* An Ed25519 key pair, the same in every run. */
struct signer {
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN];
    uint8_t secret_key[DPOT_SIGN_SECRET_LEN];
};
void make_signer(struct signer *signer);

/* A seal key valid in [not_before_ms, not_after_ms), with its secret half. */
void make_seal_key(struct dpot_seal_key *seal_key, uint8_t secret_key[DPOT_SEAL_SECRET_LEN],
                   int64_t not_before_ms, int64_t not_after_ms);

/* A batch of n reports with different contents; release it. */
void make_batch(struct dpot_batch *batch, size_t n, const struct dpot_allocator *allocator);

/* A heap that counts the bytes held now and at most. */
struct peak_allocator {
    struct dpot_allocator allocator;
    size_t held;
    size_t peak;
};
void peak_allocator_init(struct peak_allocator *peak);

#endif
