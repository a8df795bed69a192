/* The inverse of a forecast: the least integer at which an error meets a target. */
#ifndef DPOT_FORECAST_SEARCH_H
#define DPOT_FORECAST_SEARCH_H

#include "forecast/forecast.h"

#include "base/error.h"

struct search {
    /* The forecast at x. *is_possible: whether such a campaign exists; if not, x counts as too
     * small. */
    dpot_status (*forecast)(void *ctx, double x, struct forecast *forecast, bool *is_possible);
    void *ctx;
    enum figure_id figure; /* its mean decreases with x */
    double target;
    double start, most; /* 1 <= start <= most */
    double tol;         /* relative to x; 0: exact */
};

/* Sets *x to the least number up to tol whose error is not above the target, and *forecast at *x.
 * If even `most` does not meet it, *is_reached is false and *forecast is that of `most`. */
DPOT_WARN_UNUSED dpot_status search_least(const struct search *search, double *x,
                                          struct forecast *forecast, bool *is_reached);

#endif
