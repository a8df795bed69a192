#include "caps.h"

#include <math.h>

static const struct dpot_privacy no_limit = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

static dpot_status read_positive(double cap, const char *name, uint64_t *cap_q32,
                                 struct dpot_error *error)
{
    if (dpot_epsilon_from_double(cap, cap_q32) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_CAP_UNSET,
                              "config.%s is %.6g: set a cap above 0 and below 2^31 (caps have no "
                              "default)",
                              name, cap);
    }
    return DPOT_OK;
}

static dpot_status read_delta(double cap, const char *name, uint64_t *cap_q64,
                              struct dpot_error *error)
{
    if (dpot_delta_from_double(cap, cap_q64) != DPOT_OK) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "config.%s is %.6g: choose 0 (no delta at all) to below 1", name,
                              cap);
    }
    return DPOT_OK;
}

/* One row per cap: where each accountant finds its own in the config. */
struct row {
    struct dpot_privacy *cap;
    const char *epsilon_name, *delta_name, *rho_name;
    double epsilon, delta, rho;
};

static dpot_status read_basic(const struct row *row, struct dpot_error *error)
{
    if (row->rho != 0) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "config.%s is %.6g: it goes with config.accountant = "
                              "DPOT_ACCOUNTANT_ZCDP only",
                              row->rho_name, row->rho);
    }
    *row->cap = no_limit;
    const dpot_status status =
        read_positive(row->epsilon, row->epsilon_name, &row->cap->epsilon_q32, error);
    return status == DPOT_OK ? read_delta(row->delta, row->delta_name, &row->cap->delta_q64, error)
                             : status;
}

static dpot_status read_zcdp(const struct row *row, struct dpot_error *error)
{
    if (row->epsilon != 0 || row->delta != 0) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "config.%s is %.6g: epsilon and delta caps go with "
                              "DPOT_ACCOUNTANT_BASIC; with zCDP set %s",
                              row->epsilon != 0 ? row->epsilon_name : row->delta_name,
                              row->epsilon != 0 ? row->epsilon : row->delta, row->rho_name);
    }
    *row->cap = no_limit;
    return read_positive(row->rho, row->rho_name, &row->cap->rho_q32, error);
}

dpot_status dpot_caps_init(struct dpot_caps *caps, const struct dpot_client_config *config,
                           struct dpot_error *error)
{
    const struct row rows[] = {
        {&caps->campaign, "campaign_epsilon_cap", "campaign_delta_cap", "campaign_rho_cap",
         config->campaign_epsilon_cap, config->campaign_delta_cap, config->campaign_rho_cap},
        {&caps->window, "window_epsilon_cap", "window_delta_cap", "window_rho_cap",
         config->window_epsilon_cap, config->window_delta_cap, config->window_rho_cap},
        {&caps->lifetime, "lifetime_epsilon_cap", "lifetime_delta_cap", "lifetime_rho_cap",
         config->lifetime_epsilon_cap, config->lifetime_delta_cap, config->lifetime_rho_cap},
    };
    const bool is_zcdp = config->accountant == DPOT_ACCOUNTANT_ZCDP;
    if (!is_zcdp && config->accountant != DPOT_ACCOUNTANT_BASIC) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "config.accountant is %u: choose DPOT_ACCOUNTANT_BASIC or "
                              "DPOT_ACCOUNTANT_ZCDP",
                              (unsigned)config->accountant);
    }
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        const dpot_status status =
            is_zcdp ? read_zcdp(&rows[i], error) : read_basic(&rows[i], error);
        if (status != DPOT_OK) {
            return status;
        }
    }
    if (config->window_seconds == 0) {
        return dpot_error_set(error, DPOT_ERR_CAP_UNSET,
                              "config.window_seconds is 0: set the length of the window that the "
                              "window caps are for");
    }
    return DPOT_OK;
}

void dpot_caps_limit(struct dpot_caps *caps, uint64_t ceiling_q32)
{
    uint64_t *epsilon_q32 = &caps->campaign.epsilon_q32;
    const bool is_limited = *epsilon_q32 != UINT64_MAX;
    *epsilon_q32 = is_limited && *epsilon_q32 > ceiling_q32 ? ceiling_q32 : *epsilon_q32;
}

static dpot_status refuse_epsilon(struct dpot_privacy cap, struct dpot_privacy spent,
                                  struct dpot_privacy cost, const char *name,
                                  struct dpot_error *error)
{
    return dpot_error_set(error, DPOT_ERR_BUDGET,
                          "this report costs epsilon %.6g and %.6g is spent: together above the %s "
                          "cap of %.6g; nothing was charged",
                          dpot_epsilon_to_double(cost.epsilon_q32),
                          dpot_epsilon_to_double(spent.epsilon_q32), name,
                          dpot_epsilon_to_double(cap.epsilon_q32));
}

dpot_status dpot_cap_check(struct dpot_privacy cap, struct dpot_privacy spent,
                           struct dpot_privacy cost, const char *name, struct dpot_error *error)
{
    const struct dpot_privacy sum = dpot_privacy_add(spent, cost);
    if (dpot_privacy_within(sum, cap)) {
        return DPOT_OK;
    }
    if (sum.epsilon_q32 > cap.epsilon_q32) {
        return refuse_epsilon(cap, spent, cost, name, error);
    }
    if (sum.delta_q64 > cap.delta_q64) {
        return dpot_error_set(error, DPOT_ERR_BUDGET,
                              "this report costs delta %.3g and %.3g is spent: together above the "
                              "%s delta cap of %.3g; nothing was charged",
                              dpot_delta_to_double(cost.delta_q64),
                              dpot_delta_to_double(spent.delta_q64), name,
                              dpot_delta_to_double(cap.delta_q64));
    }
    return dpot_error_set(error, DPOT_ERR_BUDGET,
                          "this report costs rho %.6g and %.6g is spent: together above the %s rho "
                          "cap of %.6g; nothing was charged",
                          dpot_epsilon_to_double(cost.rho_q32),
                          dpot_epsilon_to_double(spent.rho_q32), name,
                          dpot_epsilon_to_double(cap.rho_q32));
}
