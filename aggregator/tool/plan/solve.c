/* dpot plan --target-error: the smallest n, or the smallest epsilon, that reaches a target. */
#include "tool/plan/plan.h"

#include "campaign/spec.h"
#include "forecast/search.h"

#include <math.h>

#define N_START 64
#define N_TOL_DRAWN 0.01   /* relative, if the mean comes from draws */
#define EPSILON_STEPS 1000 /* epsilon is found in thousandths */

/* The full forecast at the solution, with the same draws as the search. */
static dpot_status forecast_all(struct plan *plan, const struct dpot_campaign *campaign, double n)
{
    plan->config.wanted = FIGURES_ALL;
    plan->config.is_mean_enough = false;
    const dpot_status status = plan_open_outlook(plan, campaign);
    return status == DPOT_OK ? plan_forecast(plan, n, &plan->forecast) : status;
}

/* ---- n ---- */

static dpot_status forecast_n(void *ctx, double n, struct forecast *forecast, bool *is_possible)
{
    struct plan *plan = ctx;
    *is_possible = true;
    return plan_forecast(plan, n, forecast);
}

static dpot_status solve_n(struct plan *plan)
{
    double n = 0;
    bool is_reached = false;
    const bool has_formula = plan->target_figure == FIGURE_HISTOGRAM;
    const double bias = plan->outlook->bias[plan->target_figure];
    const char *key = plan_figure_key(plan->target_figure);
    const struct search search = {.forecast = forecast_n,
                                  .ctx = plan,
                                  .figure = plan->target_figure,
                                  .target = plan->target,
                                  .start = N_START,
                                  .most = PLAN_N_MAX,
                                  .tol = has_formula ? 0 : N_TOL_DRAWN};
    if (!(plan->target > bias)) {
        return RUN_USAGE(plan->run,
                         "--target-error %g is out of reach: %s stays above its bias of %.6g "
                         "however many report; ask for more than that, or --vary epsilon",
                         plan->target, key, bias);
    }
    dpot_status status = search_least(&search, &n, &plan->forecast, &is_reached);
    if (status == DPOT_OK && !is_reached) {
        status = RUN_USAGE(plan->run,
                           "--target-error %g is out of reach: with %.0f report%s %s is still %.6g "
                           "(its bias is %.6g)",
                           plan->target, n, DPOT_S(n), key,
                           plan->forecast.figures[plan->target_figure].mean, bias);
    }
    return status == DPOT_OK ? forecast_all(plan, &plan->file.campaign, n) : status;
}

/* ---- epsilon ---- */

/* Compiles the SPEC with another epsilon. */
static dpot_status compile_at(struct plan *plan, double epsilon)
{
    static const uint8_t no_id[DPOT_CAMPAIGN_ID_LEN];
    json_t *mechanism = json_object_get(plan->spec, "mechanism");
    outlook_free(plan->outlook);
    plan->outlook = NULL;
    dpot_campaign_release(&plan->adjusted);
    if (json_object_set_new(mechanism, "epsilon", json_real(epsilon)) != 0) {
        return DPOT_ERR_MEMORY;
    }
    return spec_compile(plan->spec, no_id, 1, &plan->adjusted, &plan->run->error);
}

static dpot_status forecast_epsilon(void *ctx, double x, struct forecast *forecast,
                                    bool *is_possible)
{
    struct plan *plan = ctx;
    dpot_status status = compile_at(plan, x / EPSILON_STEPS);
    *is_possible = status == DPOT_OK;
    if (status == DPOT_ERR_MEMORY) {
        return status;
    }
    if (!*is_possible) { /* such as a base measure that needs a larger epsilon */
        return DPOT_OK;
    }
    status = plan_open_outlook(plan, &plan->adjusted);
    return status == DPOT_OK ? plan_forecast(plan, (double)plan->n, forecast) : status;
}

static dpot_status refuse_epsilon(struct plan *plan, const struct forecast *last)
{
    const char *key = plan_figure_key(plan->target_figure);
    if (!plan->outlook) {
        return dpot_error_prefix(&plan->run->error, DPOT_ERR_INFEASIBLE,
                                 "no campaign at epsilon %d", DPOT_EPSILON_CEILING);
    }
    return RUN_USAGE(plan->run,
                     "--target-error %g is out of reach: at epsilon %d, the most that devices "
                     "accept, %s with %llu report%s is still %.6g (of which the bias is %.6g)",
                     plan->target, DPOT_EPSILON_CEILING, key, (unsigned long long)plan->n,
                     DPOT_S(plan->n), last->figures[plan->target_figure].mean,
                     last->figures[plan->target_figure].bias);
}

static dpot_status solve_epsilon(struct plan *plan)
{
    double x = 0;
    bool is_reached = false;
    const double most = (double)DPOT_EPSILON_CEILING * EPSILON_STEPS;
    const struct search search = {.forecast = forecast_epsilon,
                                  .ctx = plan,
                                  .figure = plan->target_figure,
                                  .target = plan->target,
                                  .start = most,
                                  .most = most};
    dpot_status status = search_least(&search, &x, &plan->forecast, &is_reached);
    if (status == DPOT_OK && !is_reached) {
        return refuse_epsilon(plan, &plan->forecast);
    }
    plan->run->error.text[0] = '\0'; /* of campaigns that did not compile */
    /* The last campaign tried need not be the solution. */
    if (status == DPOT_OK) {
        plan->spec_epsilon = x / EPSILON_STEPS;
        status = compile_at(plan, plan->spec_epsilon);
    }
    return status == DPOT_OK ? forecast_all(plan, &plan->adjusted, (double)plan->n) : status;
}

dpot_status plan_solve(struct plan *plan)
{
    plan->config.n_draws = plan->outlook->n_draws;
    return plan->is_epsilon_wanted ? solve_epsilon(plan) : solve_n(plan);
}
