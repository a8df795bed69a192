/* Internal to solve/base_measure/base_measure.h: the search for users (base_measure/expected.c) and
 * the certificate of any answer (base_measure.c). */
#ifndef DPOT_SOLVE_BASE_MEASURE_FINDER_H
#define DPOT_SOLVE_BASE_MEASURE_FINDER_H

#include "solve/base_measure/base_measure.h"

struct base_measure_finder {
    const struct base_measure_problem *problem;
    const struct solve_control *control;
    struct base_measure_answer *answer;
    struct dpot_error *error;
};

/* Given the measure and dual point in the answer and the users' mean cost, computes F and the bound
 * on the original costs, and sets the outcome by their gap. Statuses of base_measure_find. */
DPOT_WARN_UNUSED dpot_status base_measure_certify(struct base_measure_finder *f, double expected);

/* Finds and certifies the answer for the problem's users. Statuses of base_measure_find. */
DPOT_WARN_UNUSED dpot_status base_measure_find_expected_case(struct base_measure_finder *f);

#endif
