/* The golden vectors as 64-bit words, in records: each starts with its kind, then as listed here.
 * Written by make_vectors.c, checked by golden.c. Arrays are stored element by element, doubles as
 * their bits, hashes as four words with the first byte most significant, 128-bit numbers as two
 * words, the high one first. */
#ifndef DPOT_PORTABILITY_GOLDEN_H
#define DPOT_PORTABILITY_GOLDEN_H

enum golden_kind {
    GOLDEN_EXP_LOWER = 1,   /* E, A */
    GOLDEN_BOUNDS = 2,      /* E, T, n, b[n], L[n], U[n], M[n] */
    GOLDEN_BIG_BOUNDS = 3,  /* E, T, n, rule 0 or 1, SHA-256 of L, of U, of M */
    GOLDEN_REFUSED = 4,     /* E, T, n, b[n] */
    GOLDEN_ROUND = 5,       /* E, T, n, b[n], q[n], W[n] */
    GOLDEN_DRAW = 6,        /* n, W[n], m, then m times: random, index */
    GOLDEN_TRIAL = 7,       /* noise, k, four words, accepted, value, threshold */
    GOLDEN_CERTIFICATE = 8, /* E, delta, mu^2, c, d_max */
    GOLDEN_TABLE = 9,       /* 0 to 2, n, entries[n] (128 bits but for table 2), SHA-256 */
};

#define GOLDEN_KINDS 10

/* Checks all records and prints for each kind how many there are and how many are reproduced.
 * Returns the number of those that are not. */
unsigned golden_check(void);

#endif
