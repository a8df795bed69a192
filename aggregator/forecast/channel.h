/* What the members of a population report: the exact law of each, as its device would draw from it
 * (dpot_privatizer_law), divided by 2^62. */
#ifndef DPOT_FORECAST_CHANNEL_H
#define DPOT_FORECAST_CHANNEL_H

#include "forecast/reference.h"
#include "solve/run/control.h"

typedef void (*channel_take)(void *ctx, size_t member, const double *law /* (output size) */);

/* Gives the law of every member to `take`, in order and on the calling thread; the laws are found on
 * n_threads threads, and do not depend on how many there are. A campaign with sample_first has the
 * mixture of the laws of the member's points. */
DPOT_WARN_UNUSED dpot_status channel_laws(const struct dpot_campaign *campaign,
                                          const struct reference *reference, size_t n_threads,
                                          const struct solve_control *control, channel_take take,
                                          void *ctx, struct dpot_error *error);

#endif
