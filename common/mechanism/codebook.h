/* The directions that a report of a sphere campaign can name. Every report has its own codebook,
 * which both sides compute from the report's id; it is never sent or stored.
 *
 *   key  = BLAKE2b-256("dpot.directions.v1" NUL || campaign id || revision || dim || report id),
 *          numbers as 4 bytes, little-endian
 *   direction j of 0 .. size - 1: the ChaCha20 stream of (key, nonce j), as pairs (a, b) of 4-byte
 *          numbers, little-endian. With u = (a + 1/2) / 2^32 and the angle of b (its top 2 bits are
 *          the quarter turn, the others the place in it),
 *              (sqrt(-2 log u) cos, sqrt(-2 log u) sin)
 *          are two normal numbers (Box and Muller 1958); `dim` of these, divided by their length.
 *
 * So directions are independent and uniform on the sphere as far as ChaCha20 is random (and to
 * 2^-31 of a turn); each can be computed alone and does not depend on `size`. Logarithm, sine and
 * cosine are polynomials here, and everything else is IEEE 754 arithmetic with one rounding each:
 * every processor gets the same bits.
 *
 * The codebook does not affect privacy: the id is drawn before device data are read, and given the
 * id the directions are a public list (mechanism/sphere.c). Directions that were not uniform would
 * cost utility only. */
#ifndef DPOT_MECHANISM_CODEBOOK_H
#define DPOT_MECHANISM_CODEBOOK_H

#include "base/crypto.h"
#include "model/campaign.h"

struct dpot_codebook {
    uint8_t key[DPOT_STREAM_KEY_LEN];
    uint32_t dim;
};

/* For the report with this id in a checked sphere campaign. Nothing to release. */
void dpot_codebook_init(struct dpot_codebook *codebook, const struct dpot_campaign *campaign,
                        const uint8_t report_id[DPOT_REPORT_ID_LEN]);

/* Direction `index`, a unit vector. Total, with the same work for all. */
void dpot_codebook_direction(const struct dpot_codebook *codebook, uint32_t index,
                             double *out /* (dim) */);

#endif
