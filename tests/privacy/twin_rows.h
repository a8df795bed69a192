/* Broken twins of the mechanisms' table rows. A test program that links twin_rows.c uses them in
 * place of the library's laplace.c, gaussian.c and kpm.c: client, server and audit run them
 * unchanged. */
#ifndef DPOT_TESTS_PRIVACY_TWIN_ROWS_H
#define DPOT_TESTS_PRIVACY_TWIN_ROWS_H

enum row_fault {
    ROW_SOUND,            /* as the library's row */
    ROW_RADIUS,           /* check: the sensitivity is the radius */
    ROW_WRAPPING,         /* check: the sum of sensitivities in 64 bits, shifted */
    ROW_HALF_CHARGE,      /* charge: half of epsilon */
    ROW_CLIP_AFTER_NOISE, /* privatize: adds noise to unclipped data, clips afterwards */
    ROW_NAN_SKIPS_CLAMP,  /* privatize: NaN becomes the largest integer */
    ROW_QUARTER_NOISE,    /* privatize: Gaussian noise of a quarter of the scale */
    ROW_MORE_TRUTH,       /* privatize: with probability 1/10 the device's true place */
};

extern enum row_fault row_fault;

#endif
