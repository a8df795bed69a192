/* All routes, one table row each: method, path, who may call it, its largest body, its query and
 * its handler.
 *
 * Handlers run on the server's threads, several at once, and never solve: they queue jobs. A
 * handler that waits for the disk answers later (struct http_pause). */
#ifndef DPOT_HTTP_ROUTES_H
#define DPOT_HTTP_ROUTES_H

#include "http/certificate.h"
#include "http/message.h"
#include "http/tokens.h"
#include "jobs/runner.h"
#include "pool/ingest.h"

/* What handlers use: borrowed, and constant while the server runs. */
struct http_app {
    struct store *store;
    struct registry *registry;
    const struct ingest *ingest; /* with a writer and a tally */
    struct runner *runner;
    const struct tokens *tokens;
    bool has_open_metrics;                /* /metrics needs no token */
    struct dpot_buf signed_keys;          /* a SignedKeys as served */
    size_t body_max;                      /* bytes of a report batch, and of a list of them */
    int64_t started_ms;                   /* when this process began to serve */
    struct certificate_period tls_period; /* zeros: no TLS */
};

typedef void (*route_handler)(const struct http_app *app, const struct http_request *request,
                              struct http_response *response);

enum route_auth {
    ROUTE_PUBLIC,
    ROUTE_ADMIN,
    ROUTE_METRICS, /* a token of either kind, or none if has_open_metrics */
};
enum route_body { ROUTE_NO_BODY, ROUTE_BATCH_BODY, ROUTE_SPEC_BODY, ROUTE_JOB_BODY };

/* The query parameters of an admin route; public routes ignore theirs. */
enum route_query {
    ROUTE_NO_QUERY,
    ROUTE_REVISION,
    ROUTE_JOBS_PAGE,      /* limit, and after: a job's id */
    ROUTE_CAMPAIGNS_PAGE, /* limit, and after: a revision's hash */
};

/* Rows in one answer of a list. */
#define ROUTE_ROWS_MAX 1000

struct route {
    const char *method;
    const char *pattern; /* {id}: an id in hex; {digest}: an artifact's digest */
    enum route_auth auth;
    enum route_body body;
    enum route_query query;
    route_handler handle;
};

/* Finds the route of a request and fills request->id or ->digest; HEAD counts as GET. On NULL,
 * `*allow` is NULL for an unknown path (404), else the methods of the path (405). */
const struct route *routes_find(struct http_request *request, const char **allow);

/* Stores one query parameter of an admin route, as it stands in the address (`value` may be NULL).
 * Unknown parameters are refused, because the answer would be about something else.
 * DPOT_ERR_ARGUMENT: the route has no such parameter, or it was given before; DPOT_ERR_RANGE: its
 * value. */
DPOT_WARN_UNUSED dpot_status routes_take_query(const struct route *route,
                                               struct http_request *request, const char *name,
                                               const char *value, struct dpot_error *error);

/* The largest body of the route, bytes. */
size_t route_body_max(const struct http_app *app, const struct route *route);

/* Handlers, grouped by the file that has them. In api_device.c: */
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

/* In api_forward.c: */
void api_forward(const struct http_app *app, const struct http_request *request,
                 struct http_response *response);

/* In api_metrics.c: */
void api_metrics(const struct http_app *app, const struct http_request *request,
                 struct http_response *response);

/* In api_admin.c: */
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

/* In api_jobs.c: */
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
