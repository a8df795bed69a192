/* Every route: method, path, who may call it, how long a body and which query it takes, and its handler. One table
 * row each.
 *
 * Handlers run on the server's threads, several at once; they change nothing but their answer and
 * never solve. One that waits for a disk answers later (struct http_pause). */
#ifndef DPOT_HTTP_ROUTES_H
#define DPOT_HTTP_ROUTES_H

#include "http/certificate.h"
#include "http/message.h"
#include "http/tokens.h"
#include "jobs/runner.h"
#include "pool/ingest.h"

/* What handlers work with; everything borrowed, and constant while the server runs. */
struct http_app {
    struct store *store;
    struct registry *registry;
    const struct ingest *ingest;
    struct runner *runner; /* jobs */
    const struct tokens *tokens;
    bool has_open_metrics;                /* to everybody, without a token */
    struct dpot_buf signed_keys;          /* a SignedKeys as served */
    size_t body_max;                      /* of a report batch */
    int64_t started_ms;                   /* when this process began to serve */
    struct certificate_period tls_period; /* zeros: without TLS */
};

typedef void (*route_handler)(const struct http_app *app, const struct http_request *request,
                              struct http_response *response);

enum route_auth {
    ROUTE_PUBLIC,
    ROUTE_ADMIN,
    ROUTE_METRICS, /* a token of either kind, unless the metrics are open */
};
enum route_body { ROUTE_NO_BODY, ROUTE_BATCH_BODY, ROUTE_SPEC_BODY, ROUTE_JOB_BODY };

/* The query parameters of an admin route; public routes ignore theirs. */
enum route_query { ROUTE_NO_QUERY, ROUTE_REVISION };

struct route {
    const char *method;
    const char *pattern; /* "{id}" stands for an id in hex, "{digest}" for an artifact's name */
    enum route_auth auth;
    enum route_body body;
    enum route_query query;
    route_handler handle;
};

/* Finds the route of a request and fills request->id or ->digest; HEAD counts as GET. NULL: `*allow` is NULL
 * for an unknown path (404), otherwise the methods the path has (405). */
const struct route *routes_find(struct http_request *request, const char **allow);

/* Takes one parameter of the query of an admin route, as it stands in the address (`value` may be NULL).
 * DPOT_ERR_ARGUMENT: the route has no such parameter, or it was given before; DPOT_ERR_RANGE: its value.
 * A parameter that is not understood is never ignored: the answer would be about something else. */
DPOT_WARN_UNUSED dpot_status routes_take_query(const struct route *route,
                                               struct http_request *request, const char *name,
                                               const char *value, struct dpot_error *error);

/* The longest body the route takes, bytes. */
size_t route_body_max(const struct http_app *app, const struct route *route);

/* Handlers, by file. api_device.c: */
void api_device_health(const struct http_app *app, const struct http_request *request,
                       struct http_response *response);
void api_device_ready(const struct http_app *app, const struct http_request *request,
                      struct http_response *response);
void api_device_keys(const struct http_app *app, const struct http_request *request,
                     struct http_response *response);
void api_device_campaign(const struct http_app *app, const struct http_request *request,
                         struct http_response *response);
void api_device_reports(const struct http_app *app, const struct http_request *request,
                        struct http_response *response);

/* api_metrics.c: */
void api_metrics(const struct http_app *app, const struct http_request *request,
                 struct http_response *response);

/* api_admin.c: */
void api_admin_create(const struct http_app *app, const struct http_request *request,
                      struct http_response *response);
void api_admin_list(const struct http_app *app, const struct http_request *request,
                    struct http_response *response);
void api_admin_show(const struct http_app *app, const struct http_request *request,
                    struct http_response *response);
void api_admin_open(const struct http_app *app, const struct http_request *request,
                    struct http_response *response);
void api_admin_close(const struct http_app *app, const struct http_request *request,
                     struct http_response *response);
void api_admin_pool(const struct http_app *app, const struct http_request *request,
                    struct http_response *response);
void api_admin_export(const struct http_app *app, const struct http_request *request,
                      struct http_response *response);
void api_admin_coefficients(const struct http_app *app, const struct http_request *request,
                            struct http_response *response);
void api_admin_groups(const struct http_app *app, const struct http_request *request,
                      struct http_response *response);
void api_admin_revise(const struct http_app *app, const struct http_request *request,
                      struct http_response *response);

void api_admin_signed(const struct http_app *app, const struct http_request *request,
                      struct http_response *response);

/* api_jobs.c: */
void api_jobs_start(const struct http_app *app, const struct http_request *request,
                    struct http_response *response);
void api_jobs_list(const struct http_app *app, const struct http_request *request,
                   struct http_response *response);
void api_jobs_show(const struct http_app *app, const struct http_request *request,
                   struct http_response *response);
void api_jobs_cancel(const struct http_app *app, const struct http_request *request,
                     struct http_response *response);
void api_jobs_artifact(const struct http_app *app, const struct http_request *request,
                       struct http_response *response);

#endif
