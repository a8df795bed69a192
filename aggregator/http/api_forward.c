/* POST /v1/forward: the bodies of many devices, which a gateway forwards unopened, in one request.
 *
 * Each body has the answer that a POST of its own would have had, and one that is refused costs no
 * other. All are stored in one commit (ingest_submit). */
#include "http/api.h"
#include "http/forward.h"

/* The bodies between validation and answer. */
struct forwarding {
    size_t n;
    struct ingest_call **calls;    /* (n); NULL: refused, and `results` says why */
    struct ingest_result *results; /* (n) */
    struct http_pause *pause;
    size_t n_waiting; /* calls that the writer has; counted down on its thread */
};

static void release(struct forwarding *f)
{
    dpot_free_array(NULL, f->results, f->n, sizeof *f->results);
    dpot_free_array(NULL, f->calls, f->n, sizeof(struct ingest_call *));
    dpot_free_array(NULL, f, 1, sizeof *f);
}

/* NULL: memory is out. */
static struct forwarding *make(size_t n, struct http_pause *pause)
{
    struct forwarding *f = dpot_alloc_array(NULL, 1, sizeof *f);
    if (!f) {
        return NULL;
    }
    *f = (struct forwarding){.n = n,
                             .calls = dpot_alloc_array(NULL, n, sizeof(struct ingest_call *)),
                             .results = dpot_alloc_array(NULL, n, sizeof *f->results),
                             .pause = pause};
    if (!f->calls || !f->results) {
        release(f);
        return NULL;
    }
    return f;
}

static void begin_calls(struct forwarding *f, const struct ingest *ingest, struct forward_list list)
{
    for (size_t i = 0; i < f->n; i++) {
        struct forward_item item;
        forward_take(&list, &item);
        f->calls[i] = ingest_begin(ingest, item.id, item.body, item.len, &f->results[i]);
        f->n_waiting += f->calls[i] != NULL;
    }
}

/* ---- answering ---- */

static void refuse_for_memory(struct http_response *response, const struct http_request *request)
{
    http_response_refuse(response, request->path, 503, DPOT_ERR_MEMORY,
                         "the server is busy: try again");
    response->retry_after_s = 2;
}

/* Keeps the first of the gravest refusals for the log line of the request. */
static void note_refusal(struct http_response *response, const struct http_response *answer,
                         size_t i)
{
    if (answer->level > response->level || response->note.text[0] == '\0') {
        response->level = answer->level;
        response->note = answer->note;
        (void)dpot_error_prefix(&response->note, DPOT_OK, "body %zu, %u", i + 1, answer->status);
    }
}

/* Fills in the answer to body i. */
static void answer_one(struct forwarding *f, size_t i, const struct http_request *request,
                       struct http_response *answer)
{
    if (f->calls[i]) {
        ingest_finish(f->calls[i], &answer->body, &f->results[i]);
        f->calls[i] = NULL;
    }
    api_answer_batch(request, answer, &f->results[i]);
}

/* Ends every call, also when the answers find no memory: then the devices send again and get
 * duplicates. */
static void finish_forward(void *work, struct http_response *response,
                           const struct http_request *request)
{
    struct forwarding *f = work;
    size_t n_accepted = 0;
    response->status = 200;
    response->content_type = FORWARD_TYPE;
    response->level = LOG_LEVEL_DEBUG;
    dpot_status status = forward_begin(&response->body);
    for (size_t i = 0; i < f->n; i++) {
        struct http_response answer;
        http_response_init(&answer);
        answer_one(f, i, request, &answer);
        if (answer.status == INGEST_ACCEPTED) {
            n_accepted++;
        } else {
            note_refusal(response, &answer, i);
        }
        status = status == DPOT_OK ? forward_append(&response->body, &answer) : status;
        http_response_release(&answer);
    }
    if (n_accepted < f->n) {
        (void)dpot_error_prefix(&response->note, DPOT_OK, "%zu of %zu accepted", n_accepted, f->n);
    }
    if (status != DPOT_OK) {
        refuse_for_memory(response, request);
    }
    release(f);
}

/* The gateway has disconnected; the reports are stored and counted nevertheless. */
static void abandon_forward(void *work)
{
    const struct http_request nobody = {.path = ""};
    struct http_response response;
    http_response_init(&response);
    finish_forward(work, &response, &nobody);
    http_response_release(&response);
}

/* On the writer's thread, for each call. */
static void count_down(void *ctx)
{
    struct forwarding *f = ctx;
    f->n_waiting--;
    if (f->n_waiting == 0) {
        f->pause->resume(f->pause);
    }
}

void api_forward(const struct http_app *app, const struct http_request *request,
                 struct http_response *response)
{
    struct http_pause *pause = request->pause;
    struct forward_list list;
    struct dpot_error error = {{0}};
    size_t n = 0;
    const dpot_status status = forward_open(request->body, request->body_len, &list, &n, &error);
    if (status != DPOT_OK) {
        api_refuse(request, response, status, &error);
        http_response_add(response, "batch", ""); /* older devices drop no report for it */
        return;
    }
    struct forwarding *f = make(n, pause);
    if (!f) {
        refuse_for_memory(response, request);
        return;
    }
    begin_calls(f, app->ingest, list);
    pause->work = f;
    pause->finish = finish_forward;
    pause->abandon = abandon_forward;
    if (f->n_waiting == 0 || !pause->suspend(pause)) {
        pause->work = NULL;
        finish_forward(f, response, request);
        return;
    }
    ingest_submit(f->calls, f->n, count_down, f); /* the request may have ended */
}
