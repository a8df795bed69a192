#include "http/routes.h"

#include <string.h>

#define SPEC_BODY_MAX ((size_t)32 << 20) /* JSON of a campaign of at most 8 MiB */
#define JOB_BODY_MAX ((size_t)64 << 10)
#define NUMBER_DIGITS 10
#define NO_BODY_MAX ((size_t)4096) /* clients may send {} */
_Static_assert(JOB_ID_LEN == DPOT_CAMPAIGN_ID_LEN, "both ids fit request->id");

#define ADMIN "/v1/admin"
#define CAMPAIGN ADMIN "/campaigns/{id}"

static const struct route table[] = {
    {"GET", "/healthz", ROUTE_PUBLIC, ROUTE_NO_BODY, ROUTE_NO_QUERY, api_device_health},
    {"GET", "/readyz", ROUTE_PUBLIC, ROUTE_NO_BODY, ROUTE_NO_QUERY, api_device_ready},
    {"GET", "/metrics", ROUTE_METRICS, ROUTE_NO_BODY, ROUTE_NO_QUERY, api_metrics},
    {"GET", "/v1/keys", ROUTE_PUBLIC, ROUTE_NO_BODY, ROUTE_NO_QUERY, api_device_keys},
    {"GET", "/v1/campaigns/{id}", ROUTE_PUBLIC, ROUTE_NO_BODY, ROUTE_NO_QUERY, api_device_campaign},
    {"POST", "/v1/campaigns/{id}/reports", ROUTE_PUBLIC, ROUTE_BATCH_BODY, ROUTE_NO_QUERY,
     api_device_reports},
    {"POST", "/v1/forward", ROUTE_PUBLIC, ROUTE_BATCH_BODY, ROUTE_NO_QUERY, api_forward},
    {"POST", ADMIN "/campaigns", ROUTE_ADMIN, ROUTE_SPEC_BODY, ROUTE_NO_QUERY, api_admin_create},
    {"GET", ADMIN "/campaigns", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_CAMPAIGNS_PAGE, api_admin_list},
    {"GET", CAMPAIGN "", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_REVISION, api_admin_show},
    {"GET", CAMPAIGN "/signed", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_REVISION, api_admin_signed},
    {"POST", CAMPAIGN "/open", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_NO_QUERY, api_admin_open},
    {"POST", CAMPAIGN "/close", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_REVISION, api_admin_close},
    {"POST", CAMPAIGN "/revise", ROUTE_ADMIN, ROUTE_SPEC_BODY, ROUTE_NO_QUERY, api_admin_revise},
    {"GET", CAMPAIGN "/pool", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_REVISION, api_admin_pool},
    {"GET", CAMPAIGN "/pool/export", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_REVISION, api_admin_export},
    {"GET", CAMPAIGN "/pool/coefficients", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_REVISION,
     api_admin_coefficients},
    {"GET", CAMPAIGN "/pool/groups", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_REVISION, api_admin_groups},
    {"POST", ADMIN "/jobs", ROUTE_ADMIN, ROUTE_JOB_BODY, ROUTE_NO_QUERY, api_jobs_start},
    {"GET", ADMIN "/jobs", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_JOBS_PAGE, api_jobs_list},
    {"GET", ADMIN "/jobs/{id}", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_NO_QUERY, api_jobs_show},
    {"POST", ADMIN "/jobs/{id}/cancel", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_NO_QUERY,
     api_jobs_cancel},
    {"GET", ADMIN "/artifacts/{digest}", ROUTE_ADMIN, ROUTE_NO_BODY, ROUTE_NO_QUERY,
     api_jobs_artifact},
};

static const struct {
    const char *get, *post, *both;
} allowed = {"GET, HEAD", "POST", "GET, HEAD, POST"};

/* True when the path is the pattern with hex digits of `len` bytes in place of `hole`; fills
 * `out`. */
static bool match_hole(const char *pattern, const char *hole, const char *path, uint8_t *out,
                       size_t len)
{
    char hex[2 * DPOT_HASH_LEN + 1];
    const char *at = strstr(pattern, hole);
    const size_t head_len = at ? (size_t)(at - pattern) : 0;
    const char *tail = at ? at + strlen(hole) : "";
    if (!at || strlen(path) != head_len + 2 * len + strlen(tail) ||
        strncmp(pattern, path, head_len) != 0 || strcmp(tail, path + head_len + 2 * len) != 0) {
        return false;
    }
    memcpy(hex, path + head_len, 2 * len);
    hex[2 * len] = '\0';
    return dpot_hex_decode(hex, out, len) == DPOT_OK;
}

static bool match(const char *pattern, struct http_request *request)
{
    return strcmp(pattern, request->path) == 0 ||
           match_hole(pattern, "{id}", request->path, request->id, sizeof request->id) ||
           match_hole(pattern, "{digest}", request->path, request->digest, sizeof request->digest);
}

const struct route *routes_find(struct http_request *request, const char **allow)
{
    const char *method = strcmp(request->method, "HEAD") == 0 ? "GET" : request->method;
    bool has_get = false, has_post = false;
    if (strcmp(method, "OPTIONS") == 0 && strcmp(request->path, "*") == 0) {
        *allow = allowed.both; /* of the server as a whole */
        return NULL;
    }
    for (size_t i = 0; i < sizeof table / sizeof table[0]; i++) {
        if (!match(table[i].pattern, request)) {
            continue;
        }
        if (strcmp(table[i].method, method) == 0) {
            return &table[i];
        }
        has_get = has_get || strcmp(table[i].method, "GET") == 0;
        has_post = has_post || strcmp(table[i].method, "POST") == 0;
    }
    *allow = has_get && has_post ? allowed.both
             : has_get           ? allowed.get
             : has_post          ? allowed.post
                                 : NULL;
    return NULL;
}

/* ---- queries ---- */

/* A decimal number from 1 to `max`; 0 for any other text. */
static uint32_t parse_number(const char *text, uint32_t max)
{
    uint64_t number = 0;
    const size_t len = strlen(text);
    if (len == 0 || len > NUMBER_DIGITS || strspn(text, "0123456789") != len) {
        return 0;
    }
    for (size_t i = 0; i < len; i++) {
        number = 10 * number + (uint64_t)(text[i] - '0');
    }
    return number <= max ? (uint32_t)number : 0;
}

static dpot_status take_revision(struct http_request *request, const char *value,
                                 struct dpot_error *error)
{
    request->revision = parse_number(value, UINT32_MAX);
    return request->revision != 0
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE,
                                "the query parameter revision is \"%.40s\": give a number from 1",
                                value);
}

static dpot_status take_limit(struct http_request *request, const char *value,
                              struct dpot_error *error)
{
    request->limit = parse_number(value, ROUTE_ROWS_MAX);
    return request->limit != 0
               ? DPOT_OK
               : dpot_error_set(
                     error, DPOT_ERR_RANGE,
                     "the query parameter limit is \"%.40s\": give a number from 1 to %d", value,
                     ROUTE_ROWS_MAX);
}

static dpot_status take_after(struct http_request *request, const char *value, size_t len,
                              struct dpot_error *error)
{
    request->after_len = len;
    return strlen(value) == 2 * len && dpot_hex_decode(value, request->after, len) == DPOT_OK
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_RANGE,
                                "the query parameter after is \"%.80s\": give \"next\" of the "
                                "answer before, %zu hex digits",
                                value, 2 * len);
}

static dpot_status take_job(struct http_request *request, const char *value,
                            struct dpot_error *error)
{
    return take_after(request, value, JOB_ID_LEN, error);
}

static dpot_status take_hash(struct http_request *request, const char *value,
                             struct dpot_error *error)
{
    return take_after(request, value, DPOT_HASH_LEN, error);
}

/* The parameters of each kind of query, and what the others are told. */
struct parameter {
    const char *name;
    dpot_status (*take)(struct http_request *request, const char *value, struct dpot_error *error);
};
static const struct {
    const char *known;
    struct parameter parameters[2];
} queries[] = {
    [ROUTE_NO_QUERY] = {"this path takes none", {{NULL, NULL}}},
    [ROUTE_REVISION] = {"only revision=N is", {{"revision", take_revision}}},
    [ROUTE_JOBS_PAGE] = {"only limit=N and after=ID are",
                         {{"limit", take_limit}, {"after", take_job}}},
    [ROUTE_CAMPAIGNS_PAGE] = {"only limit=N and after=HASH are",
                              {{"limit", take_limit}, {"after", take_hash}}},
};

dpot_status routes_take_query(const struct route *route, struct http_request *request,
                              const char *name, const char *value, struct dpot_error *error)
{
    for (unsigned i = 0; i < 2; i++) {
        const struct parameter *parameter = &queries[route->query].parameters[i];
        if (!parameter->name || strcmp(name, parameter->name) != 0) {
            continue;
        }
        if (request->n_given[i]++ > 0) {
            return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                                  "the query parameter %s is given twice: give it once", name);
        }
        return parameter->take(request, value ? value : "", error);
    }
    return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                          "the query parameter \"%.40s\" is not known here: %s", name,
                          queries[route->query].known);
}

size_t route_body_max(const struct http_app *app, const struct route *route)
{
    switch (route->body) {
    case ROUTE_BATCH_BODY:
        return app->body_max;
    case ROUTE_SPEC_BODY:
        return SPEC_BODY_MAX;
    case ROUTE_JOB_BODY:
        return JOB_BODY_MAX;
    case ROUTE_NO_BODY:
        break;
    }
    return NO_BODY_MAX;
}
