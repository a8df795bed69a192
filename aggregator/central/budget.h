/* The split of epsilon over the levels of a hierarchical partition.
 *
 * A record lies in one cell of each level, so the vector of counts of a level has l1 sensitivity 2
 * if a record is replaced and 1 if one is added or removed. With noise of scale 2 / epsilon_j or
 * 1 / epsilon_j, all levels together are (sum of epsilon_j)-DP. The sum is at most epsilon exactly,
 * because each epsilon_j is an integer number of units of 2^-40.
 *
 *     epsilon_j ~ sqrt(D_(j-1)),   D_j = 2^(j - floor(j / dim)),   D_(-1) = 1
 *
 * minimises the error in W1: level j has 2^j cells of side 2^-floor(j / dim) (He, Vershynin and Zhu
 * 2023). */
#ifndef DPOT_CENTRAL_BUDGET_H
#define DPOT_CENTRAL_BUDGET_H

#include "base/error.h"
#include "central/discrete_laplace.h"

#define BUDGET_DEPTH_MAX 48
#define BUDGET_ONE ((uint64_t)1 << 40) /* epsilon 1 */
#define BUDGET_EPSILON_MAX 1024.0 /* for experiments; values that protect people are far smaller */

/* The neighbouring relation. */
enum adjacency {
    ADJACENCY_REPLACE_ONE = 1, /* one record differs; the number of records is public */
    ADJACENCY_ADD_REMOVE,      /* one record more or less; the number of records is private */
    ADJACENCY_REPLACE_PAIR,    /* one record differs in each of two files; both sizes are public */
};

/* "replace-one", "add-remove" or "replace-pair". */
const char *adjacency_name(enum adjacency adjacency);

struct budget {
    enum adjacency adjacency;
    size_t depth;
    /* epsilon_j in units of 2^-40, j = 0 .. depth. Level 0 is the root: 0 under replace-one, where
     * its count is public. */
    uint64_t level[BUDGET_DEPTH_MAX + 1];
};

/* Splits epsilon over levels 0 .. depth.
 * depth: 1 .. BUDGET_DEPTH_MAX. dim: at least 1. adjacency: not replace-pair.
 * DPOT_ERR_RANGE: epsilon is not in (0, BUDGET_EPSILON_MAX], or a level would get less than one
 * unit. */
DPOT_WARN_UNUSED dpot_status budget_init(struct budget *budget, double epsilon, size_t depth,
                                         size_t dim, enum adjacency adjacency,
                                         struct dpot_error *error);

/* The noise scale of level j, whose budget must not be 0. */
struct discrete_laplace budget_scale(const struct budget *budget, size_t j);

/* Sum of epsilon_j over all levels. */
double budget_spent(const struct budget *budget);

/* Depth at which n records have cells about as fine as the noise allows: ceil(log2(epsilon n)), in
 * 1 .. BUDGET_DEPTH_CHOSEN_MAX. n must be public. */
#define BUDGET_DEPTH_CHOSEN_MAX 24
size_t budget_choose_depth(double epsilon, double n);

#endif
