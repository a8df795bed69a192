#include "central/budget.h"

#include <math.h>

const char *adjacency_name(enum adjacency adjacency)
{
    return adjacency == ADJACENCY_REPLACE_ONE  ? "replace-one"
           : adjacency == ADJACENCY_ADD_REMOVE ? "add-remove"
                                               : "replace-pair";
}

/* sqrt(D_(j-1)) */
static double share(size_t j, size_t dim)
{
    const size_t k = j > 0 ? j - 1 : 0;
    return exp2((double)(k - k / dim) / 2);
}

dpot_status budget_init(struct budget *budget, double epsilon, size_t depth, size_t dim,
                        enum adjacency adjacency, struct dpot_error *error)
{
    *budget = (struct budget){.adjacency = adjacency, .depth = depth};
    if (!(epsilon > 0 && epsilon <= BUDGET_EPSILON_MAX)) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "epsilon is %g: choose more than 0 and at most %g", epsilon,
                              BUDGET_EPSILON_MAX);
    }
    const size_t first = adjacency == ADJACENCY_REPLACE_ONE ? 1 : 0;
    uint64_t left =
        (uint64_t)(epsilon * (double)BUDGET_ONE); /* exact: the factor is a power of 2 */
    const double whole = (double)left;
    double sum = 0;
    for (size_t j = first; j <= depth; j++) {
        sum += share(j, dim);
    }
    for (size_t j = first; j <= depth; j++) {
        /* Floating point only proposes a share; `left` ensures that at most epsilon is spent. */
        const uint64_t wanted = (uint64_t)(whole * share(j, dim) / sum);
        budget->level[j] = wanted < left ? wanted : left;
        left -= budget->level[j];
        if (budget->level[j] == 0) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "epsilon is %g, of which level %zu of %zu would get less than "
                                  "2^-40: choose a larger epsilon or a smaller depth",
                                  epsilon, j, depth);
        }
    }
    return DPOT_OK;
}

struct discrete_laplace budget_scale(const struct budget *budget, size_t j)
{
    const uint64_t l1_sensitivity = budget->adjacency == ADJACENCY_REPLACE_ONE ? 2 : 1;
    return (struct discrete_laplace){.t = l1_sensitivity * BUDGET_ONE, .s = budget->level[j]};
}

double budget_spent(const struct budget *budget)
{
    uint64_t sum = 0;
    for (size_t j = 0; j <= budget->depth; j++) {
        sum += budget->level[j];
    }
    return (double)sum / (double)BUDGET_ONE;
}

size_t budget_choose_depth(double epsilon, double n)
{
    const double depth = ceil(log2(epsilon * n));
    return depth >= BUDGET_DEPTH_CHOSEN_MAX ? BUDGET_DEPTH_CHOSEN_MAX
           : depth > 1                      ? (size_t)depth
                                            : 1;
}
