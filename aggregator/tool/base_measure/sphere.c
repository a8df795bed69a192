/* dpot base-measure --sphere: the optimum on S^d in closed form (account/sphere.h; 002, Proposition
 * H.1). */
#include "account/sphere.h"
#include "tool/base_measure/job.h"
#include "tool/shared/options.h"

#include <math.h>

#define POWER_MAX 64
#define EPSILON_MAX 40

static dpot_status read_options(struct run *run, struct sphere *sphere, double *epsilon)
{
    static const char *const others[] = {"cost",      "x",           "v",      "metric",
                                         "ring-size", "campaign",    "method", "weights",
                                         "users",     "given",       "out",    "trajectory-out",
                                         "verify",    "max-seconds", "gap",    "max-iterations"};
    const char *text = NULL;
    uint64_t dim = 0;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof others / sizeof others[0]; i++) {
        status = option_excludes(run, "sphere", others[i], "the sphere has a closed form");
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "sphere", 1, SPHERE_DIM_MAX, &dim);
    }
    if (status == DPOT_OK) {
        status = option_require(run, "epsilon", "the privacy parameter", &text);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "epsilon", EPSILON_MAX, epsilon);
    }
    sphere->dim = (double)dim;
    sphere->power = 1;
    return status == DPOT_OK ? option_number(run, "power", 1, POWER_MAX, &sphere->power) : status;
}

dpot_status base_measure_job_sphere(struct run *run)
{
    struct sphere sphere;
    struct sphere_optimum optimum;
    double epsilon = 0;
    dpot_status status = read_options(run, &sphere, &epsilon);
    if (status == DPOT_OK) {
        status = sphere_solve(&sphere, epsilon, &optimum, &run->error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    run_put_text(run, "outcome", "closed_form");
    run_put_text(run, "method", "sphere");
    run_put_number(run, "objective", optimum.cost);
    run_put_number(run, "worst_case", pow(optimum.cost, 1 / sphere.power));
    run_put_number(run, "lower_bound", optimum.cost);
    run_put_number(run, "relative_gap", 0);
    run_put_number(run, "total_mass", optimum.total_mass);
    run_put_number(run, "threshold", optimum.threshold);
    run_put_number(run, "cap", optimum.cap);
    run_put_number(run, "contraction", optimum.contraction);
    run_put_number(run, "mean_cost", optimum.mean_cost);
    run_put_number(run, "epsilon", epsilon);
    run_put_number(run, "power", sphere.power);
    run_put_integer(run, "dim", (uint64_t)sphere.dim);
    run_put_integer(run, "coordinates", (uint64_t)sphere.dim + 1);
    return DPOT_OK;
}
