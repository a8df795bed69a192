/* The time that a run still needs, from the shares of its work done so far.
 *
 * The rate is that of the last half of the work done: a slow start has done little, so that it is
 * soon left out. Until enough is known there is no estimate, rather than a wild one. */
#ifndef DPOT_TOOL_SHARED_ETA_H
#define DPOT_TOOL_SHARED_ETA_H

#include <stdbool.h>
#include <stddef.h>

#define ETA_SAMPLES 32
#define ETA_SHARE_LEAST 0.02 /* of the work, below which there is no estimate ... */
#define ETA_SECONDS_LEAST 10 /* ... before this time */

struct eta {
    double times[ETA_SAMPLES], shares[ETA_SAMPLES]; /* rising, the start first */
    size_t n;                                       /* 0: the first share is to come */
    double spacing;                                 /* seconds between two samples, at least */
    double time, share;                             /* the newest */
};

void eta_begin(struct eta *eta, double now);

/* The same for work that others began: the first share reported is where the estimate begins. */
void eta_join(struct eta *eta);

/* Reports the share done, 0 to 1. */
void eta_add(struct eta *eta, double now, double share);

/* false: not known yet. *seconds is at least 0. */
bool eta_left(const struct eta *eta, double now, double *seconds);

#endif
