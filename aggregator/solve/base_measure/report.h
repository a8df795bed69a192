/* What a base measure, however it was made, means for users it was not made for.
 *
 *     cost       mean of P(mu_u, m) over them, with the standard error of that mean
 *     uniform    the same under the best uniform measure, and the share of users who would be better off with it
 *     constant   the same for one public answer to everyone, which needs no report at all
 *     worst case max_i phi_i(m), of a user at any single point, for both measures
 *
 * The uniform measure and the constant answer are chosen on the users for whom the measure was fitted (NULL: on those
 * of the report themselves). Costs are W_p^p, exact. */
#ifndef DPOT_SOLVE_BASE_MEASURE_REPORT_H
#define DPOT_SOLVE_BASE_MEASURE_REPORT_H

#include "solve/base_measure/users.h"
#include "solve/run/team.h"

struct base_measure_yardstick {
    double cost, cost_error;
    double percentile_95;
};

struct base_measure_report {
    size_t n;
    struct base_measure_yardstick made, uniform, constant;
    double
        share_worse; /* of the weight: users who pay more than under uniform, by more than rounding */
    size_t constant_point;
    double uniform_mass;
    double worst_case, uniform_worst_case;
};

/* `uniform_mass` is the total mass of the uniform measure to compare with; 0: it is looked for. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status base_measure_report_make(const struct base_measure_users *users,
                                                      const struct base_measure_users *fitted,
                                                      const double *m /* (n_cols) */,
                                                      double uniform_mass, struct team *team,
                                                      struct base_measure_report *report);

#endif
