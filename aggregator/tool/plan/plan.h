/* What the files of `dpot plan` share: one run of it. */
#ifndef DPOT_TOOL_PLAN_PLAN_H
#define DPOT_TOOL_PLAN_PLAN_H

#include "forecast/outlook.h"
#include "tool/shared/campaign_file.h"

#define PLAN_N_MAX 1e12

struct plan {
    struct run *run;
    const char *campaign_text, *out_path;
    struct campaign_file file;
    json_t *spec;                  /* inverse for epsilon: what the campaign is compiled from */
    struct dpot_campaign adjusted; /* the campaign at another epsilon */
    struct reference reference;
    struct outlook_config config;
    struct outlook *outlook;

    uint64_t n; /* 0: not given */
    bool is_inverse, is_epsilon_wanted;
    double target;
    double spec_epsilon; /* inverse for epsilon: what the SPEC must say */
    enum figure_id target_figure;
    struct forecast forecast;
};

/* Reads --reference. With `needs_devices` it must tell devices; the population is the first n_first of
 * them (0: all), each with the same share: DPOT_ERR_SHAPE when there are fewer, or none. Otherwise as
 * the sentences say; zeroed on failure. */
DPOT_WARN_UNUSED dpot_status reference_load(struct run *run, const struct dpot_campaign *campaign,
                                            bool needs_devices, uint64_t n_first,
                                            struct reference *reference);
/* The campaign that the forecast is of. */
const struct dpot_campaign *plan_campaign(const struct plan *plan);

/* The name of a figure in the result: "histogram_l1", "w1", ... */
const char *plan_figure_key(enum figure_id figure);

/* Fills the result of the run. */
void plan_put_result(const struct plan *plan);

/* The outlook of `campaign` in place of plan->outlook, and its forecast for n reports; both show their
 * progress. */
DPOT_WARN_UNUSED dpot_status plan_open_outlook(struct plan *plan,
                                               const struct dpot_campaign *campaign);
DPOT_WARN_UNUSED dpot_status plan_forecast(struct plan *plan, double n, struct forecast *forecast);

/* Solves for n or for epsilon; sets plan->forecast. Usage errors name the floor. */
DPOT_WARN_UNUSED dpot_status plan_solve(struct plan *plan);

#endif
