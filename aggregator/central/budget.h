/* How a hierarchical partition spends epsilon on its levels.
 *
 * A record lies in one cell of each level, so that the vector of counts of a level has l1 sensitivity 2
 * when a record is replaced and 1 when one is added or removed. With noise of scale 2 / epsilon_j or
 * 1 / epsilon_j the levels together are (sum of epsilon_j)-DP, and that sum is at most epsilon: exactly,
 * because every epsilon_j is an integer of units of 2^-40.
 *
 *     epsilon_j ~ sqrt(D_(j-1)),   D_j = 2^(j - floor(j / dim)),   D_(-1) = 1
 *
 * is the split with the least error in W1: 2^j cells of sides 2^-floor(j / dim) (He, Vershynin and Zhu
 * 2023). */
#ifndef DPOT_CENTRAL_BUDGET_H
#define DPOT_CENTRAL_BUDGET_H

#include "base/error.h"
#include "central/discrete_laplace.h"

#define BUDGET_DEPTH_MAX 48
#define BUDGET_ONE ((uint64_t)1 << 40) /* epsilon 1 */
#define BUDGET_EPSILON_MAX 1024.0      /* for experiments; what protects people is far below */

/* Which files are neighbours. */
enum adjacency {
    ADJACENCY_REPLACE_ONE = 1, /* one record differs; the number of records is public */
    ADJACENCY_ADD_REMOVE,      /* one record more or less; the number is private */
    ADJACENCY_REPLACE_PAIR, /* of two files, one record of each differs; their numbers are public */
};

/* "replace-one", "add-remove", "replace-pair". */
const char *adjacency_name(enum adjacency adjacency);

struct budget {
    enum adjacency adjacency;
    size_t depth;
    uint64_t
        level[BUDGET_DEPTH_MAX + 1]; /* epsilon_j in units of 2^-40, j = 0 .. depth. Level 0, the
                                             root, is 0 under replace-one: its count is public */
};

/* depth 1 .. BUDGET_DEPTH_MAX, dim >= 1, of one file: no pairs. DPOT_ERR_RANGE: epsilon is not in (0, BUDGET_EPSILON_MAX], or
 * so small that a level would get less than one unit. */
DPOT_WARN_UNUSED dpot_status budget_init(struct budget *budget, double epsilon, size_t depth,
                                         size_t dim, enum adjacency adjacency,
                                         struct dpot_error *error);

/* The scale of the noise of level j, whose budget must not be 0. */
struct discrete_laplace budget_scale(const struct budget *budget, size_t j);

/* The sum of all levels. */
double budget_spent(const struct budget *budget);

/* The depth at which the cells of n records are about as fine as the noise allows:
 * ceil(log2(epsilon n)), at least 1 and at most BUDGET_DEPTH_CHOSEN_MAX. For a public n. */
#define BUDGET_DEPTH_CHOSEN_MAX 24
size_t budget_choose_depth(double epsilon, double n);

#endif
