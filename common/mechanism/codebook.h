/* The directions that a report of a sphere campaign can name: a codebook of its own for every
 * report, which both sides compute from the report's id. Nothing of it is sent or stored.
 *
 *   key  = BLAKE2b-256("dpot.directions.v1" NUL || campaign id || revision || dim || report id),
 *          numbers as 4 bytes, little-endian
 *   direction j of 0 .. size - 1: the ChaCha20 stream of (key, nonce j) in pairs of 4-byte numbers
 *          (a, b), little-endian; with u = (a + 1/2) / 2^32 and an angle of b quarter turns and
 *          turns,
 *              (sqrt(-2 log u) cos, sqrt(-2 log u) sin)
 *          are two normal numbers (Box and Muller 1958); `dim` of these, divided by their length.
 *
 * So the directions are independent and uniform on the sphere as far as ChaCha20 is random (and to
 * 2^-31 of a turn), each can be made alone, and how many there are plays no part. Logarithm, sine
 * and cosine are polynomials here and all else is IEEE 754 arithmetic with one rounding each, so
 * that every processor gets the same bits.
 *
 * Why this is private: the id is drawn before device data are read and does not depend on them.
 * Given the id, the codebook is a public list of points like any other, and the index is drawn as
 * in every index mechanism (mechanism/sampler.h, Theorem A); see mechanism/sphere.c. Directions
 * that were not uniform would cost utility, not privacy. */
#ifndef DPOT_MECHANISM_CODEBOOK_H
#define DPOT_MECHANISM_CODEBOOK_H

#include "base/crypto.h"
#include "model/campaign.h"

struct dpot_codebook {
    uint8_t key[DPOT_STREAM_KEY_LEN];
    uint32_t dim;
};

/* Of the report with this id in a checked sphere campaign. Nothing to release. */
void dpot_codebook_init(struct dpot_codebook *codebook, const struct dpot_campaign *campaign,
                        const uint8_t report_id[DPOT_REPORT_ID_LEN]);

/* Direction `index`, a unit vector. Total; the work is the same for all. */
void dpot_codebook_direction(const struct dpot_codebook *codebook, uint32_t index,
                             double *out /* (dim) */);

#endif
