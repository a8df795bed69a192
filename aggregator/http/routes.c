#include "http/routes.h"

#include <string.h>

#define SPEC_BODY_MAX ((size_t)32 << 20) /* JSON of a campaign of at most 8 MiB */
#define JOB_BODY_MAX ((size_t)64 << 10)
#define NO_BODY_MAX ((size_t)4096) /* an empty body, or a polite {} */
_Static_assert(JOB_ID_LEN == DPOT_CAMPAIGN_ID_LEN, "both ids fit request->id");

static const struct route table[] = {
    {"GET", "/healthz", ROUTE_PUBLIC, ROUTE_NO_BODY, api_device_health},
    {"GET", "/readyz", ROUTE_PUBLIC, ROUTE_NO_BODY, api_device_ready},
    {"GET", "/v1/keys", ROUTE_PUBLIC, ROUTE_NO_BODY, api_device_keys},
    {"GET", "/v1/campaigns/{id}", ROUTE_PUBLIC, ROUTE_NO_BODY, api_device_campaign},
    {"POST", "/v1/campaigns/{id}/reports", ROUTE_PUBLIC, ROUTE_BATCH_BODY, api_device_reports},
    {"POST", "/v1/admin/campaigns", ROUTE_ADMIN, ROUTE_SPEC_BODY, api_admin_create},
    {"GET", "/v1/admin/campaigns", ROUTE_ADMIN, ROUTE_NO_BODY, api_admin_list},
    {"GET", "/v1/admin/campaigns/{id}", ROUTE_ADMIN, ROUTE_NO_BODY, api_admin_show},
    {"POST", "/v1/admin/campaigns/{id}/open", ROUTE_ADMIN, ROUTE_NO_BODY, api_admin_open},
    {"POST", "/v1/admin/campaigns/{id}/close", ROUTE_ADMIN, ROUTE_NO_BODY, api_admin_close},
    {"GET", "/v1/admin/campaigns/{id}/pool", ROUTE_ADMIN, ROUTE_NO_BODY, api_admin_pool},
    {"GET", "/v1/admin/campaigns/{id}/pool/export", ROUTE_ADMIN, ROUTE_NO_BODY, api_admin_export},
    {"GET", "/v1/admin/campaigns/{id}/pool/coefficients", ROUTE_ADMIN, ROUTE_NO_BODY,
     api_admin_coefficients},
    {"POST", "/v1/admin/campaigns/{id}/revise", ROUTE_ADMIN, ROUTE_SPEC_BODY, api_admin_revise},
    {"POST", "/v1/admin/jobs", ROUTE_ADMIN, ROUTE_JOB_BODY, api_jobs_start},
    {"GET", "/v1/admin/jobs", ROUTE_ADMIN, ROUTE_NO_BODY, api_jobs_list},
    {"GET", "/v1/admin/jobs/{id}", ROUTE_ADMIN, ROUTE_NO_BODY, api_jobs_show},
    {"POST", "/v1/admin/jobs/{id}/cancel", ROUTE_ADMIN, ROUTE_NO_BODY, api_jobs_cancel},
    {"GET", "/v1/admin/artifacts/{digest}", ROUTE_ADMIN, ROUTE_NO_BODY, api_jobs_artifact},
};

static const struct {
    const char *get, *post, *both;
} allowed = {"GET, HEAD", "POST", "GET, HEAD, POST"};

/* True when the path is the pattern with hex digits of `len` bytes for `hole`; those are in `out`
 * then. */
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
