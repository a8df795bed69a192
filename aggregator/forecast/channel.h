/* The exact law of the report of each member of a population, as its device draws from it
 * (dpot_privatizer_law), divided by 2^62. */
#ifndef DPOT_FORECAST_CHANNEL_H
#define DPOT_FORECAST_CHANNEL_H

#include "forecast/reference.h"
#include "solve/run/control.h"

typedef void (*channel_take)(void *ctx, size_t member, const double *law /* (output size) */);

/* Passes the law of every member to `take`, in order and on the calling thread. The laws are
 * computed on n_threads threads and do not depend on n_threads. With sample_first the law of a
 * member is the mixture of the laws of its points. */
DPOT_WARN_UNUSED dpot_status channel_laws(const struct dpot_campaign *campaign,
                                          const struct reference *reference, size_t n_threads,
                                          const struct solve_control *control, channel_take take,
                                          void *ctx, struct dpot_error *error);

#endif
