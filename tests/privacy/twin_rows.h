/* Broken twins of the mechanisms' table rows. A test program that links twin_rows.c has them in place of
 * the library's laplace.c, gaussian.c and kpm.c: client, server and audit run them without knowing. */
#ifndef DPOT_TESTS_PRIVACY_TWIN_ROWS_H
#define DPOT_TESTS_PRIVACY_TWIN_ROWS_H

enum row_fault {
    ROW_SOUND,            /* does what the library's row does */
    ROW_RADIUS,           /* check: sensitivity is the radius */
    ROW_WRAPPING,         /* check: the sum of sensitivities in 64 bits, shifted */
    ROW_HALF_CHARGE,      /* charge: half of epsilon */
    ROW_CLIP_AFTER_NOISE, /* privatize: noise on what was not clipped, clipped afterwards */
    ROW_NAN_SKIPS_CLAMP,  /* privatize: a number that is none becomes the largest integer */
    ROW_QUARTER_NOISE,    /* privatize: Gaussian noise of a quarter of the scale */
    ROW_MORE_TRUTH,       /* privatize: with probability 1/10 the device's own place */
};

extern enum row_fault row_fault;

#endif
