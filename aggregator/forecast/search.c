#include "forecast/search.h"

#include <math.h>

#define STRIDE 16 /* factor of the first upward steps */

static dpot_status try(const struct search *s, double x, struct forecast *forecast, bool *is_met)
{
    bool is_possible = true;
    const dpot_status status = s->forecast(s->ctx, x, forecast, &is_possible);
    *is_met = status == DPOT_OK && is_possible && forecast->figures[s->figure].mean <= s->target;
    return status;
}

/* Steps up from the start until the target is met: below < target <= *x. */
static dpot_status step_up(const struct search *s, double *below, double *x,
                           struct forecast *forecast, bool *is_reached)
{
    *below = 0;
    *x = s->start;
    dpot_status status = try(s, *x, forecast, is_reached);
    while (status == DPOT_OK && !*is_reached && *x < s->most) {
        *below = *x;
        *x = fmin(*x * STRIDE, s->most);
        status = try(s, *x, forecast, is_reached);
    }
    return status;
}

dpot_status search_least(const struct search *search, double *x, struct forecast *forecast,
                         bool *is_reached)
{
    double below = 0;
    dpot_status status = step_up(search, &below, x, forecast, is_reached);
    while (status == DPOT_OK && *is_reached && *x - below > 1 && *x > below * (1 + search->tol)) {
        struct forecast there;
        bool is_met = false;
        const double between = floor(sqrt(fmax(below, 1) * *x));
        const double middle = fmin(fmax(between, below + 1), *x - 1);
        status = try(search, middle, &there, &is_met);
        if (status == DPOT_OK && is_met) {
            *x = middle;
            *forecast = there;
        } else {
            below = middle;
        }
    }
    return status;
}
