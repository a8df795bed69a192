#include "central/permute_and_flip.h"

/* True with probability exp(-epsilon diff / unit). With diff = q unit + r: q events of
 * exp(-epsilon), up to the first failure, and one of exp(-epsilon r / unit). Nothing overflows. */
static bool is_taken(struct exact_draw *draw, uint64_t diff, uint64_t unit, uint64_t epsilon_q20)
{
    for (uint64_t q = diff / unit; q > 0; q--) {
        if (!exact_draw_exp(draw, epsilon_q20, CHOICE_EPSILON_ONE)) {
            return false;
        }
    }
    return exact_draw_exp(draw, epsilon_q20 * (diff % unit), CHOICE_EPSILON_ONE * unit);
}

size_t permute_and_flip(const int64_t *scores, size_t n, int64_t sensitivity, uint64_t epsilon_q20,
                        struct exact_draw *draw, size_t *order)
{
    int64_t least = scores[0];
    for (size_t i = 0; i < n; i++) {
        least = scores[i] < least ? scores[i] : least;
        order[i] = i;
    }
    for (size_t left = n; left > 1; left--) {
        const size_t pick = (size_t)exact_draw_below(draw, left);
        const size_t i = order[pick];
        if (is_taken(draw, (uint64_t)(scores[i] - least), 2 * (uint64_t)sensitivity, epsilon_q20)) {
            return i;
        }
        order[pick] = order[left - 1];
    }
    return order[0]; /* the least score: it is taken whenever it is drawn */
}
