/* Results as JSON objects. */
#include "settings/decimal.h"

#include "arguments.h"
#include "client.h"
#include "dpot/settings.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

/* ---- one object ---- */

struct object {
    char *text; /* of DPOT_JSON_SIZE bytes, more than any object has */
    size_t len;
};

static void put(struct object *object, const char *text)
{
    const size_t len = strlen(text), left = DPOT_JSON_SIZE - 1 - object->len;
    memcpy(object->text + object->len, text, len < left ? len : left);
    object->len += len < left ? len : left;
    object->text[object->len] = '\0';
}

static void begin(struct object *object, char *text)
{
    *object = (struct object){.text = text};
    put(object, "{");
}

static void put_member(struct object *object, const char *name, const char *value)
{
    put(object, object->len > 1 ? ", \"" : "\"");
    put(object, name);
    put(object, "\": ");
    put(object, value);
}

/* ---- members of structs ---- */

enum kind { SIZE, UINT32, UINT64, TIME, PAUSE, FLAG, FLAG32, ACCOUNTANT, REAL, EPSILON, DELTA };

struct member {
    const char *name;
    enum kind kind;
    size_t offset;
};

static void put_number(struct object *object, const char *name, double value, double none)
{
    char text[DPOT_DECIMAL_SIZE] = "null";
    if (value < none) {
        dpot_decimal_format(value, text);
    }
    put_member(object, name, text);
}

static void put_count(struct object *object, const char *name, uint64_t value)
{
    char text[DPOT_DECIMAL_SIZE];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    put_member(object, name, text);
}

static void put_time(struct object *object, const char *name, int64_t time_ms, int64_t never)
{
    char text[DPOT_DECIMAL_SIZE] = "null";
    if (time_ms != never) {
        (void)snprintf(text, sizeof text, "%" PRId64, time_ms);
    }
    put_member(object, name, text);
}

static void put_of(struct object *object, const struct member *member, const void *data)
{
    const void *at = (const char *)data + member->offset;
    switch (member->kind) {
    case SIZE:
        put_count(object, member->name, *(const size_t *)at);
        break;
    case UINT32:
        put_count(object, member->name, *(const uint32_t *)at);
        break;
    case UINT64:
        put_count(object, member->name, *(const uint64_t *)at);
        break;
    case TIME:
        put_time(object, member->name, *(const int64_t *)at, INT64_MAX);
        break;
    case PAUSE:
        put_time(object, member->name, *(const int64_t *)at, 0);
        break;
    case FLAG:
        put_member(object, member->name, *(const int *)at ? "true" : "false");
        break;
    case FLAG32:
        put_member(object, member->name, *(const uint32_t *)at ? "true" : "false");
        break;
    case ACCOUNTANT:
        put_member(object, member->name,
                   *(const uint32_t *)at == DPOT_ACCOUNTANT_ZCDP ? "\"zcdp\"" : "\"basic\"");
        break;
    case REAL:
        put_number(object, member->name, *(const double *)at, HUGE_VAL);
        break;
    case EPSILON:
        put_number(object, member->name, *(const double *)at, DPOT_EPSILON_NONE);
        break;
    case DELTA:
        put_number(object, member->name, *(const double *)at, DPOT_DELTA_NONE);
        break;
    }
}

static void put_all(struct object *object, const struct member *members, size_t n, const void *data)
{
    for (size_t i = 0; i < n; i++) {
        put_of(object, &members[i], data);
    }
}

#define N(array) (sizeof(array) / sizeof(array)[0])

#define OF_STATUS(name, kind)                                                                      \
    {                                                                                              \
#name, kind, offsetof(struct dpot_client_status, name)                                     \
    }
static const struct member status_members[] = {
    OF_STATUS(n_submitted, UINT64),
    OF_STATUS(n_accepted, UINT64),
    OF_STATUS(n_duplicate, UINT64),
    OF_STATUS(n_rejected_malformed, UINT64),
    OF_STATUS(n_rejected_range, UINT64),
    OF_STATUS(n_rejected_group, UINT64),
    OF_STATUS(n_rejected_test, UINT64),
    OF_STATUS(n_rejected_token, UINT64),
    OF_STATUS(n_rejected_closed, UINT64),
    OF_STATUS(n_dropped_closed, UINT64),
    OF_STATUS(n_dropped_age, UINT64),
    OF_STATUS(n_dropped_malformed, UINT64),
    OF_STATUS(n_dropped_lost, UINT64),
    OF_STATUS(n_dropped_withdrawn, UINT64),
    OF_STATUS(n_dropped_spool, UINT64),
    OF_STATUS(n_pending, UINT64),
    OF_STATUS(spent_epsilon, EPSILON),
    OF_STATUS(window_spent_epsilon, EPSILON),
    OF_STATUS(lifetime_epsilon_cap, REAL),
    OF_STATUS(window_epsilon_cap, REAL),
    OF_STATUS(campaign_epsilon_cap, REAL),
    OF_STATUS(spent_delta, DELTA),
    OF_STATUS(window_spent_delta, DELTA),
    OF_STATUS(lifetime_delta_cap, REAL),
    OF_STATUS(window_delta_cap, REAL),
    OF_STATUS(campaign_delta_cap, REAL),
    OF_STATUS(spent_rho, REAL),
    OF_STATUS(window_spent_rho, REAL),
    OF_STATUS(lifetime_rho_cap, REAL),
    OF_STATUS(window_rho_cap, REAL),
    OF_STATUS(campaign_rho_cap, REAL),
    OF_STATUS(accountant, ACCOUNTANT),
    OF_STATUS(is_exhausted, FLAG),
    OF_STATUS(device_time_ms, TIME),
    OF_STATUS(next_due_ms, TIME),
    OF_STATUS(paused_until_ms, PAUSE),
    OF_STATUS(n_late, UINT64),
};

#define OF_INFO(name, kind)                                                                        \
    {                                                                                              \
#name, kind, offsetof(struct dpot_campaign_info, name)                                     \
    }
static const struct member info_members[] = {
    OF_INFO(revision, UINT32),  OF_INFO(rounds, UINT32),       OF_INFO(n_groups, UINT32),
    OF_INFO(is_vector, FLAG32), OF_INFO(opens_ms, TIME),       OF_INFO(closes_ms, TIME),
    OF_INFO(steps, UINT64),     OF_INFO(memory_bytes, UINT64), OF_INFO(measured_us, UINT64),
    OF_INFO(work_ms, UINT32),   OF_INFO(n_numbers, UINT32),
};

static const struct member spending_members[] = {
    {"spent_epsilon", EPSILON, offsetof(struct dpot_spending, epsilon)},
    {"spent_delta", DELTA, offsetof(struct dpot_spending, delta)},
    {"spent_rho", REAL, offsetof(struct dpot_spending, rho)},
};

#define OF_PUMP(name, kind)                                                                        \
    {                                                                                              \
#name, kind, offsetof(struct dpot_pump_result, name)                                       \
    }
static const struct member pump_members[] = {
    OF_PUMP(n_sent, SIZE),
    OF_PUMP(n_pending, SIZE),
    OF_PUMP(next_due_ms, TIME),
    OF_PUMP(n_accepted, SIZE),
    OF_PUMP(n_duplicate, SIZE),
    OF_PUMP(n_rejected_malformed, SIZE),
    OF_PUMP(n_rejected_range, SIZE),
    OF_PUMP(n_rejected_group, SIZE),
    OF_PUMP(n_rejected_test, SIZE),
    OF_PUMP(n_rejected_token, SIZE),
    OF_PUMP(n_rejected_closed, SIZE),
    OF_PUMP(n_dropped_closed, SIZE),
    OF_PUMP(n_dropped_age, SIZE),
    OF_PUMP(n_dropped_malformed, SIZE),
    OF_PUMP(n_dropped_lost, SIZE),
    OF_PUMP(n_dropped_withdrawn, SIZE),
    OF_PUMP(n_dropped_spool, SIZE),
};

/* ---- the calls ---- */

/* An empty text in a failure. */
static dpot_status check_text(dpot_client *client, char *text, size_t cap)
{
    const dpot_status status = dpot_client_require(client, text, "text");
    if (status != DPOT_OK) {
        return status;
    }
    if (cap < DPOT_JSON_SIZE) {
        return dpot_error_set(&client->error, DPOT_ERR_ARGUMENT,
                              "cap is %zu: give DPOT_JSON_SIZE (%d) bytes", cap, DPOT_JSON_SIZE);
    }
    text[0] = '\0';
    return DPOT_OK;
}

dpot_status dpot_client_get_status_json(dpot_client *client, char *text, size_t cap)
{
    struct dpot_client_status status = {.struct_size = sizeof status};
    struct object object;
    dpot_status result = check_text(client, text, cap);
    if (result == DPOT_OK) {
        result = dpot_client_get_status(client, &status);
    }
    if (result == DPOT_OK) {
        begin(&object, text);
        put_all(&object, status_members, N(status_members), &status);
        put(&object, "}");
    }
    return result;
}

dpot_status dpot_client_get_campaign_json(dpot_client *client, const uint8_t campaign_id[16],
                                          char *text, size_t cap)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    struct dpot_spending spending = {.struct_size = sizeof spending};
    struct object object;
    dpot_status result = check_text(client, text, cap);
    if (result == DPOT_OK) {
        result = dpot_client_get_campaign(client, campaign_id, &info);
    }
    if (result == DPOT_OK) {
        result = dpot_client_get_campaign_spending(client, campaign_id, &spending);
    }
    if (result == DPOT_OK) {
        begin(&object, text);
        put_all(&object, info_members, N(info_members), &info);
        put_all(&object, spending_members, N(spending_members), &spending);
        put(&object, "}");
    }
    return result;
}

dpot_status dpot_client_pump_json(dpot_client *client, uint32_t deadline_ms, char *text, size_t cap)
{
    struct dpot_pump_result pumped = {.struct_size = sizeof pumped};
    struct object object;
    dpot_status result = check_text(client, text, cap);
    if (result == DPOT_OK) {
        result = dpot_client_pump(client, deadline_ms, &pumped);
        begin(&object, text);
        put_all(&object, pump_members, N(pump_members), &pumped);
        put(&object, "}");
    }
    return result;
}
