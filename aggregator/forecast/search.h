/* The inverse of a prediction: the least whole number at which an error has come down to a target. */
#ifndef DPOT_FORECAST_SEARCH_H
#define DPOT_FORECAST_SEARCH_H

#include "forecast/forecast.h"

#include "base/error.h"

struct search {
    /* The forecast at x. *is_possible: whether there is such a campaign at all; where there is none x
     * counts as too small. */
    dpot_status (*forecast)(void *ctx, double x, struct forecast *forecast, bool *is_possible);
    void *ctx;
    enum figure_id figure; /* its mean falls with x */
    double target;
    double start, most; /* 1 <= start <= most */
    double tol;         /* relative, of x; 0: to the last unit */
};

/* Sets *x and *forecast (at x). *is_reached false: not even at `most`, where *forecast then is. x is
 * the least up to tol, and the error at x is not above the target. */
DPOT_WARN_UNUSED dpot_status search_least(const struct search *search, double *x,
                                          struct forecast *forecast, bool *is_reached);

#endif
