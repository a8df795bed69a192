/* Private selection of the candidate with the least score.
 *
 * Claim. If no score changes by more than `sensitivity` between neighbours, permute_and_flip is
 * epsilon-DP. Candidates are visited in random order, and one with score s is taken with
 * probability exp(-epsilon (s - s_min) / (2 sensitivity)), the least with probability 1 (McKenna
 * and Sheldon 2020). Its expected error is never larger than that of the exponential mechanism.
 * Scores, sensitivity and epsilon are integers, and every draw is exact. */
#ifndef DPOT_CENTRAL_PERMUTE_AND_FLIP_H
#define DPOT_CENTRAL_PERMUTE_AND_FLIP_H

#include "central/exact_draw.h"

#define CHOICE_EPSILON_ONE ((uint64_t)1 << 20)         /* epsilon 1 */
#define CHOICE_SENSITIVITY_MAX ((int64_t)1 << 27)      /* >= 1 */
#define CHOICE_SCORE_MAX ((int64_t)1 << 61)            /* bound on |score| */
#define CHOICE_EPSILON_MAX (1024 * CHOICE_EPSILON_ONE) /* >= 1 */

/* The index of the selected candidate. order (n) is scratch. */
size_t permute_and_flip(const int64_t *scores /* (n) */, size_t n, int64_t sensitivity,
                        uint64_t epsilon_q20, struct exact_draw *draw, size_t *order /* (n) */);

#endif
