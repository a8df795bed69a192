#include "model/campaign.h"

#include "base/clock.h"
#include "model/campaign_parts.h"

#include <string.h>

#define TIME_MAX_MS INT64_C(253402300799000) /* 9999-12-31T23:59:59Z */
#define ROUND_MIN_MS 1000

void dpot_campaign_release(struct dpot_campaign *campaign)
{
    const struct dpot_allocator *allocator = campaign->allocator;
    dpot_domain_release(&campaign->domain);
    dpot_domain_release(&campaign->output);
    dpot_vector_domain_release(&campaign->vector);
    dpot_free_array(allocator, campaign->base_measure.mass_code, campaign->base_measure.size,
                    sizeof *campaign->base_measure.mass_code);
    dpot_free_array(allocator, campaign->groups, campaign->n_groups, sizeof *campaign->groups);
    memset(campaign, 0, sizeof *campaign); /* an assignment may make a copy on the stack */
}

/* A label: 1 to DPOT_CAMPAIGN_NAME_MAX bytes of [a-z0-9-], with a NUL inside its array. */
static dpot_status check_label(const char *what, const char label[DPOT_CAMPAIGN_NAME_MAX + 1],
                               struct dpot_error *error)
{
    if (!memchr(label, '\0', DPOT_CAMPAIGN_NAME_MAX + 1)) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s is longer than %d bytes: shorten it", what,
                              DPOT_CAMPAIGN_NAME_MAX);
    }
    if (label[0] == '\0') {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s is empty: use a-z, 0-9 and -", what);
    }
    for (const char *c = label; *c; c++) {
        const bool is_allowed = (*c >= 'a' && *c <= 'z') || (*c >= '0' && *c <= '9') || *c == '-';
        if (!is_allowed) {
            return dpot_error_set(error, DPOT_ERR_RANGE,
                                  "byte %zu of %s is 0x%02x: use a-z, 0-9 and - only",
                                  (size_t)(c - label), what, (unsigned)(unsigned char)*c);
        }
    }
    return DPOT_OK;
}

dpot_status dpot_campaign_check_count(const char *field, uint64_t value, uint64_t max,
                                      struct dpot_error *error)
{
    if (value < 1 || value > max) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "%s is %llu: choose 1 to %llu", field,
                              (unsigned long long)value, (unsigned long long)max);
    }
    return DPOT_OK;
}

static dpot_status check_time(const char *field, int64_t time_ms, struct dpot_error *error)
{
    if (time_ms < 0 || time_ms > TIME_MAX_MS || time_ms % 1000 != 0) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "%s is %lld ms since 1970: give whole seconds in the years 1970 to "
                              "9999",
                              field, (long long)time_ms);
    }
    return DPOT_OK;
}

static dpot_status check_schedule(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    dpot_status status = check_time("opens", campaign->opens_ms, error);
    if (status == DPOT_OK) {
        status = check_time("closes", campaign->closes_ms, error);
    }
    if (status == DPOT_OK) {
        status = dpot_campaign_check_count("rounds", campaign->rounds, DPOT_ROUNDS_MAX, error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (campaign->opens_ms >= campaign->closes_ms) {
        char opens[DPOT_RFC3339_SIZE], closes[DPOT_RFC3339_SIZE];
        dpot_time_format(campaign->opens_ms, opens);
        dpot_time_format(campaign->closes_ms, closes);
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "opens is %s and closes is %s: it must close after it opens", opens,
                              closes);
    }
    if ((campaign->closes_ms - campaign->opens_ms) / campaign->rounds < ROUND_MIN_MS) {
        return dpot_error_set(error, DPOT_ERR_RANGE,
                              "rounds is %u: each round must last at least one second",
                              campaign->rounds);
    }
    return DPOT_OK;
}

static dpot_status check_groups(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    if (campaign->n_groups > DPOT_GROUPS_MAX || (campaign->n_groups > 0 && !campaign->groups)) {
        return dpot_error_set(error, DPOT_ERR_TOO_LARGE, "there are %u groups: at most %d",
                              campaign->n_groups, DPOT_GROUPS_MAX);
    }
    for (uint32_t i = 0; i < campaign->n_groups; i++) {
        const dpot_status status = check_label("a group label", campaign->groups[i], error);
        if (status != DPOT_OK) {
            return dpot_error_prefix(error, status, "group %u", i);
        }
        for (uint32_t j = 0; j < i; j++) {
            if (strcmp(campaign->groups[i], campaign->groups[j]) == 0) {
                return dpot_error_set(error, DPOT_ERR_RANGE,
                                      "groups %u and %u are both %s: labels must differ", j, i,
                                      campaign->groups[i]);
            }
        }
    }
    return DPOT_OK;
}

dpot_status dpot_campaign_check(const struct dpot_campaign *campaign, struct dpot_error *error)
{
    dpot_status status = check_label("name", campaign->name, error);
    if (status == DPOT_OK) {
        status = dpot_campaign_check_count("revision", campaign->revision, UINT32_MAX, error);
    }
    if (status == DPOT_OK) {
        status = dpot_campaign_check_mechanism(campaign, error);
    }
    if (status == DPOT_OK) {
        status = check_schedule(campaign, error);
    }
    if (status == DPOT_OK) {
        status = check_groups(campaign, error);
    }
    return status;
}

int64_t dpot_campaign_round_opens(const struct dpot_campaign *campaign, uint32_t round)
{
    const int64_t length = (campaign->closes_ms - campaign->opens_ms) / campaign->rounds;
    return campaign->opens_ms + (int64_t)round * length;
}

int64_t dpot_campaign_round_closes(const struct dpot_campaign *campaign, uint32_t round)
{
    return round + 1 == campaign->rounds ? campaign->closes_ms
                                         : dpot_campaign_round_opens(campaign, round + 1);
}

dpot_status dpot_campaign_round(const struct dpot_campaign *campaign, int64_t time_ms,
                                uint32_t *round)
{
    if (time_ms < campaign->opens_ms) {
        return DPOT_ERR_NOT_OPEN;
    }
    if (time_ms >= campaign->closes_ms) {
        return DPOT_ERR_CLOSED;
    }
    const int64_t length = (campaign->closes_ms - campaign->opens_ms) / campaign->rounds;
    const int64_t r = (time_ms - campaign->opens_ms) / length;
    *round = r < campaign->rounds ? (uint32_t)r : campaign->rounds - 1;
    return DPOT_OK;
}
