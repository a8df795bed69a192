#include "tool/shared/eta.h"

#include <math.h>

#define SPACING_FIRST_S 0.1

void eta_begin(struct eta *eta, double now)
{
    *eta = (struct eta){.times = {now}, .n = 1, .spacing = SPACING_FIRST_S, .time = now};
}

void eta_join(struct eta *eta)
{
    *eta = (struct eta){.spacing = SPACING_FIRST_S};
}

/* Keeps every second sample: the whole run stays covered. */
static void thin_out(struct eta *eta)
{
    eta->n = (eta->n + 1) / 2;
    for (size_t i = 0; i < eta->n; i++) {
        eta->times[i] = eta->times[2 * i];
        eta->shares[i] = eta->shares[2 * i];
    }
    eta->spacing *= 2;
}

void eta_add(struct eta *eta, double now, double share)
{
    eta->time = now;
    eta->share = share;
    if (eta->n > 0 && now - eta->times[eta->n - 1] < eta->spacing) {
        return;
    }
    if (eta->n == ETA_SAMPLES) {
        thin_out(eta);
    }
    eta->times[eta->n] = now;
    eta->shares[eta->n++] = share;
}

bool eta_left(const struct eta *eta, double now, double *seconds)
{
    if (eta->n == 0) {
        return false;
    }
    const bool is_enough = eta->share >= ETA_SHARE_LEAST ||
                           (eta->share > 0 && now - eta->times[0] >= ETA_SECONDS_LEAST);
    size_t i = eta->n - 1;
    while (i > 0 && eta->shares[i] > eta->share / 2) {
        i--;
    }
    const double done = eta->share - eta->shares[i], passed = eta->time - eta->times[i];
    if (!is_enough || !(done > 0) || !(passed > 0)) {
        return false;
    }
    *seconds = fmax(0, (1 - eta->share) * passed / done - (now - eta->time));
    return true;
}
