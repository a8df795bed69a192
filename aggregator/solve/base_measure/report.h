/* The cost of a base measure, from any source, for users that it was not fitted to.
 *
 *     cost       mean of P(mu_u, m) over the users, with its standard error
 *     uniform    the same under the best uniform measure, and the share of users who prefer it
 *     constant   the same for one public constant answer, which needs no report
 *     worst case max_i phi_i(m), of a user at any single point, for both measures
 *
 * The uniform measure and the constant answer are chosen on the users to whom the measure was
 * fitted (NULL: on the users of the report). Costs are W_p^p, exact. */
#ifndef DPOT_SOLVE_BASE_MEASURE_REPORT_H
#define DPOT_SOLVE_BASE_MEASURE_REPORT_H

#include "solve/base_measure/users.h"
#include "solve/run/team.h"

struct base_measure_cost_summary {
    double cost, cost_error;
    double percentile_95;
};

struct base_measure_report {
    size_t n;
    struct base_measure_cost_summary made, uniform, constant;
    double share_worse; /* weight of the users who pay more than under uniform, beyond rounding */
    size_t constant_point;
    double uniform_mass;
    double worst_case, uniform_worst_case;
};

/* `uniform_mass`: total mass of the uniform measure to compare with; 0: search for the best.
 * `fitted` may be NULL. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status base_measure_report_make(const struct base_measure_users *users,
                                                      const struct base_measure_users *fitted,
                                                      const double *m /* (n_cols) */,
                                                      double uniform_mass, struct team *team,
                                                      struct base_measure_report *report);

#endif
