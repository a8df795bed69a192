#include "pool/judge.h"

#include "mechanism/mechanism.h"

bool judge_has_shape(const struct dpot_campaign *campaign, const struct dpot_report *report)
{
    return report->n_values ==
           (dpot_mechanism_is_vector(campaign->mechanism) ? campaign->vector.dim : 0);
}

/* Coordinates that may have different ranges; all others have that of the first. */
static uint32_t n_ranges(const struct dpot_campaign *campaign)
{
    const struct dpot_vector_domain *vector = &campaign->vector;
    return vector->set == DPOT_VECTOR_BOX && vector->n_sides > 1 ? vector->dim : 1;
}

/* The report has the campaign's shape. */
static bool is_in_range(const struct dpot_campaign *campaign, const struct dpot_report *report)
{
    const uint32_t n = n_ranges(campaign);
    int64_t lo = 0, hi = 0;
    for (uint32_t j = 0; j < report->n_values; j++) {
        if (j < n) {
            dpot_mechanism_value_range(campaign, j, &lo, &hi);
        }
        if (report->values[j] < lo || report->values[j] > hi) {
            return false;
        }
    }
    return report->n_values > 0 || report->index < campaign->output.size;
}

enum dpot_report_status judge_report(const struct dpot_campaign *campaign,
                                     const struct dpot_report *report, bool is_malformed)
{
    if (is_malformed || !judge_has_shape(campaign, report)) {
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
