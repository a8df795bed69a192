#include "forecast/outlook.h"

#include "base/alloc.h"

dpot_status outlook_new(const struct dpot_campaign *campaign, const struct reference *reference,
                        const struct outlook_config *config, struct outlook **outlook,
                        struct dpot_error *error)
{
    const bool is_vector = dpot_mechanism_is_vector(campaign->mechanism);
    const struct outlook_class *class = dpot_campaign_is_sphere(campaign) ? &outlook_sphere
                                        : is_vector                       ? &outlook_vector
                                                                          : &outlook_index;
    struct outlook *o = dpot_alloc_array(NULL, 1, class->size);
    *outlook = NULL;
    if (!o) {
        return DPOT_ERR_MEMORY;
    }
    *o = (struct outlook){.class = class, .error = error, .campaign = campaign, .config = *config};
    const dpot_status status = class->open(o, reference);
    if (status != DPOT_OK) {
        outlook_free(o);
        return status;
    }
    *outlook = o;
    return DPOT_OK;
}

void outlook_free(struct outlook *outlook)
{
    if (outlook) {
        const size_t size = outlook->class->size;
        outlook->class->close(outlook);
        dpot_free_array(NULL, outlook, 1, size);
    }
}

dpot_status outlook_forecast(struct outlook *outlook, double n, struct forecast *forecast)
{
    *forecast = (struct forecast){.n = n};
    return outlook->class->forecast(outlook, n, forecast);
}

size_t outlook_choose_draws(double work, double budget, size_t most)
{
    const size_t step = FORECAST_DRAWS_MIN + 1;
    const double affordable = budget / (work > 1 ? work : 1);
    const size_t n = affordable < (double)most ? (size_t)affordable : most;
    return n < step ? FORECAST_DRAWS_MIN : (n + 1) / step * step - 1;
}
