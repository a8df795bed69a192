/* What the parts of solve/base_measure/base_measure.h share: the search for users (base_measure/expected.c), and the proof of whatever
 * was found (base_measure.c). */
#ifndef DPOT_SOLVE_BASE_MEASURE_FINDER_H
#define DPOT_SOLVE_BASE_MEASURE_FINDER_H

#include "solve/base_measure/base_measure.h"

struct base_measure_finder {
    const struct base_measure_problem *problem;
    const struct solve_control *control;
    struct base_measure_answer *answer;
    struct dpot_error *error;
};

/* Of a measure and a dual point that are there, and of what the users pay on average: F and the bound on all costs, and
 * whether the gap between them is that of the outcome. Fails as base_measure_find. */
DPOT_WARN_UNUSED dpot_status base_measure_certify(struct base_measure_finder *f, double expected);

/* The answer for the problem's users, certified. Fails likewise. */
DPOT_WARN_UNUSED dpot_status base_measure_find_expected_case(struct base_measure_finder *f);

#endif
