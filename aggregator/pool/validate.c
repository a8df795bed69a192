#include "pool/validate.h"

#include "mechanism/mechanism.h"

bool validate_shape(const struct dpot_campaign *campaign, const struct dpot_report *report)
{
    return report->n_values ==
           (dpot_mechanism_is_vector(campaign->mechanism) ? campaign->vector.dim : 0);
}

static bool is_index_in_range(const struct dpot_campaign *campaign,
                              const struct dpot_report *report)
{
    return report->index < campaign->output.size;
}

/* One range test for the whole array, without a branch per value. */
static bool are_between(const int64_t *values, size_t n, int64_t lo, int64_t hi)
{
    unsigned is_outside = 0;
    for (size_t j = 0; j < n; j++) {
        is_outside |= (unsigned)(values[j] < lo) | (unsigned)(values[j] > hi);
    }
    return is_outside == 0;
}

/* Only the sides of a box may differ; otherwise all coordinates have the range of the first. */
static bool are_values_in_range(const struct dpot_campaign *campaign,
                                const struct dpot_report *report)
{
    const struct dpot_vector_domain *vector = &campaign->vector;
    const bool is_uneven = vector->set == DPOT_VECTOR_BOX && vector->n_sides > 1;
    const uint32_t step = is_uneven ? 1 : report->n_values;
    bool is_inside = true;
    for (uint32_t j = 0; is_inside && j < report->n_values; j += step) {
        int64_t lo = 0, hi = 0;
        dpot_mechanism_value_range(campaign, j, &lo, &hi);
        is_inside = are_between(report->values + j, step, lo, hi);
    }
    return is_inside;
}

/* The report must have the campaign's shape. */
static bool is_in_range(const struct dpot_campaign *campaign, const struct dpot_report *report)
{
    return report->n_values > 0 ? are_values_in_range(campaign, report)
                                : is_index_in_range(campaign, report);
}

enum dpot_report_status validate_report(const struct dpot_campaign *campaign,
                                        const struct dpot_report *report, bool is_malformed)
{
    if (is_malformed || !validate_shape(campaign, report)) {
        return DPOT_REPORT_REJECTED_MALFORMED;
    }
    if (!is_in_range(campaign, report)) {
        return DPOT_REPORT_REJECTED_RANGE;
    }
    const uint32_t n_labels = campaign->n_groups > 0 ? campaign->n_groups : 1;
    if (report->group >= n_labels) {
        return DPOT_REPORT_REJECTED_GROUP;
    }
    if (report->test && !campaign->simulation) {
        return DPOT_REPORT_REJECTED_TEST;
    }
    return DPOT_REPORT_ACCEPTED;
}
