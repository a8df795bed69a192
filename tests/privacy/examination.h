/* What `dpot audit` does with one subject, for tests: with fixed seeds, chosen sample counts, and
 * broken parts. */
#ifndef DPOT_TESTS_PRIVACY_EXAMINATION_H
#define DPOT_TESTS_PRIVACY_EXAMINATION_H

#include "tool/audit/verdict.h"

#define EXAMINATION_ERROR                                                                          \
    1e-6 /* of each bound: seeds are fixed, so false alarms can only occur when a seed is chosen */

/* The subject of this name, with its campaign marked `simulation`; fails the test if it cannot be
 * made. */
void examine_open(struct subject *subject, const char *name);

/* Samples reports of both inputs by the client path (n_path) and by the privatizer (n_direct); 0:
 * none. `seams` may be NULL. */
void examine_samples(const struct subject *subject, const struct client_path_seams *seams,
                     size_t n_path, size_t n_direct, struct verdict *verdict);

/* Compares two lives that differ in their data only. */
void examine_silence(struct verdict *verdict, const struct client_path_seams *seams);

/* All that `dpot audit` does: samples, exact numbers, two runs. */
void examine(const struct subject *subject, const struct client_path_seams *seams, size_t n_path,
             size_t n_direct, struct verdict *verdict);

#endif
