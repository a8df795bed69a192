#include "solve/barycenter/parts.h"

#include "base/alloc.h"
#include "solve/run/draw.h"

#include <math.h>
#include <string.h>

#define JITTER 1e-2 /* of the spread: entropic plans never separate equal points */

/* Random numbers of one start, from its own stream. */
struct drawing {
    uint64_t seed, stream, next;
};

/* In [0, 1). */
static double draw(struct drawing *d)
{
    return ldexp((double)(draw_bits(d->seed, d->stream, d->next++) >> 11), -53);
}

/* Draws a point with probability proportional to w_i a_l (times `far`, unless NULL). Never one with
 * probability 0, even if rounding leaves a remainder. */
static const double *draw_point(const struct barycenter_state *s, const double *far, double total,
                                struct drawing *d)
{
    double rest = draw(d) * total;
    const double *chosen = NULL;
    for (size_t i = 0, at = 0; i < s->n_groups; i++) {
        const struct barycenter_group *group = &s->groups[i];
        for (size_t l = 0; l < group->n; l++, at++) {
            const double share = group->weight * group->mass[l] * (far ? far[at] : 1.0);
            if (share > 0.0) {
                chosen = group->points + l * s->dim;
                rest -= share;
            }
            if (rest < 0.0) {
                return chosen;
            }
        }
    }
    return chosen;
}

/* far = min(far, |y - x|^2) over all points of all groups; returns sum w_i a_l far. */
static double update_far(const struct barycenter_state *s, const double *x, double *far)
{
    double total = 0.0;
    for (size_t i = 0, at = 0; i < s->n_groups; i++) {
        const struct barycenter_group *group = &s->groups[i];
        for (size_t l = 0; l < group->n; l++, at++) {
            double square = 0.0;
            for (size_t c = 0; c < s->dim; c++) {
                const double diff = group->points[l * s->dim + c] - x[c];
                square += diff * diff;
            }
            far[at] = square < far[at] ? square : far[at];
            total += group->weight * group->mass[l] * far[at];
        }
    }
    return total;
}

/* Points of the data, each drawn with probability proportional to its squared distance from those
 * drawn before (k-means++, Arthur and Vassilvitskii 2007). When all distances are 0, points are
 * drawn again and shifted slightly. */
static void spread_points(struct barycenter_state *s, double *far, size_t n_far, struct drawing *d)
{
    double total = 0.0;
    for (size_t k = 0; k < n_far; k++) {
        far[k] = HUGE_VAL;
    }
    for (size_t j = 0; j < s->m; j++) {
        double *x = s->x + j * s->dim;
        const bool is_new = j > 0 && total > 0.0;
        memcpy(x, draw_point(s, is_new ? far : NULL, is_new ? total : 1.0, d), s->dim * sizeof *x);
        for (size_t c = 0; j > 0 && !is_new && c < s->dim; c++) {
            x[c] += JITTER * s->spread * (draw(d) - 0.5);
        }
        total = update_far(s, x, far);
    }
}

dpot_status barycenter_start(struct barycenter_state *s, size_t number, struct dpot_error *error)
{
    struct drawing d = {s->options->seed, number, 0};
    for (size_t j = 0; j < s->m; j++) {
        s->b[j] = 1.0 / (double)s->m;
    }
    barycenter_forget_plans(s, true);
    if (s->options->init && number == 0) {
        for (size_t k = 0; k < s->m * s->dim; k++) {
            s->x[k] = s->options->init[k] - s->centre[k % s->dim];
        }
        return DPOT_OK;
    }
    size_t n_far = 0;
    for (size_t i = 0; i < s->n_groups; i++) {
        n_far += s->groups[i].n;
    }
    double *far = dpot_alloc_array(NULL, n_far, sizeof *far);
    if (!far) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "no memory for %zu distances", n_far);
    }
    spread_points(s, far, n_far, &d);
    dpot_free_array(NULL, far, n_far, sizeof *far);
    return DPOT_OK;
}
