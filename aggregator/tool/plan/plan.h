/* Parts of dpot plan: options and forecast (plan.c), --reference (reference.c), the result
 * (result.c), --target-error (solve.c). */
#ifndef DPOT_TOOL_PLAN_PLAN_H
#define DPOT_TOOL_PLAN_PLAN_H

#include "forecast/outlook.h"
#include "tool/shared/campaign_file.h"

#define PLAN_N_MAX 1e12

struct plan {
    struct run *run;
    const char *campaign_text, *out_path;
    struct campaign_file file;
    json_t *spec;                  /* --vary epsilon: the SPEC */
    struct dpot_campaign adjusted; /* --vary epsilon: the campaign at another epsilon */
    struct reference reference;
    struct outlook_config config;
    struct outlook *outlook;

    uint64_t n; /* 0: not given */
    bool is_inverse, is_epsilon_wanted;
    double target;
    double spec_epsilon; /* --vary epsilon: the solution */
    enum figure_id target_figure;
    struct forecast forecast;
};

/* Reads --reference. With `needs_devices` it must name devices; the population is the first n_first
 * of them (0: all), with equal shares. DPOT_ERR_SHAPE: fewer devices, or none. Zeroed on
 * failure. */
DPOT_WARN_UNUSED dpot_status reference_load(struct run *run, const struct dpot_campaign *campaign,
                                            bool needs_devices, uint64_t n_first,
                                            struct reference *reference);
/* The campaign of the forecast. */
const struct dpot_campaign *plan_campaign(const struct plan *plan);

/* The key of a figure in the result: "histogram_l1", "w1", ... */
const char *plan_figure_key(enum figure_id figure);

/* Fills the result of the run. */
void plan_put_result(const struct plan *plan);

/* Replaces plan->outlook by that of `campaign`; forecasts it for n reports. Both show progress. */
DPOT_WARN_UNUSED dpot_status plan_open_outlook(struct plan *plan,
                                               const struct dpot_campaign *campaign);
DPOT_WARN_UNUSED dpot_status plan_forecast(struct plan *plan, double n, struct forecast *forecast);

/* Solves for n or epsilon; sets plan->forecast. A usage error names the lowest error. */
DPOT_WARN_UNUSED dpot_status plan_solve(struct plan *plan);

#endif
