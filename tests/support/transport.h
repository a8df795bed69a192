/* A scripted network: a server, which is a function, and a queue of answers that replace the
 * server's. */
#ifndef DPOT_TESTS_SUPPORT_TRANSPORT_H
#define DPOT_TESTS_SUPPORT_TRANSPORT_H

#include "dpot/hooks.h"

#include <stdbool.h>

#define TEST_ANSWER_BODY_MAX (65536 + 1024) /* more than any receipt has */

/* The result of one exchange. */
struct test_answer {
    dpot_status failure; /* other than DPOT_OK: no HTTP status was received */
    int status;
    uint32_t retry_after_s;
    const char *content_type; /* NULL: none */
    size_t body_len;
    uint8_t body[TEST_ANSWER_BODY_MAX];
};

/* Refuses the request as dpotd does once it has read the body; 409: the revision is closed. */
void test_answer_refuse(struct test_answer *answer, int http_status,
                        const struct dpot_http_request *request);

/* A server: writes the answer to a request. */
typedef void test_server(void *ctx, const struct dpot_http_request *request,
                         struct test_answer *answer);

/* One row of the script, for the next POST. */
struct test_script {
    dpot_status failure;
    int status;
    uint32_t retry_after_s;
    const char *content_type; /* NULL: none */
    const char *body;         /* text, NULL: none */
    bool is_refusal; /* as dpotd refuses this very request; `body`: members instead of "closed" */
    bool reaches_server; /* the server receives the request although its answer is replaced */
};

#define TEST_SCRIPT_MAX 32

struct test_transport {
    struct dpot_transport transport; /* pass its address */
    test_server *server;
    void *server_ctx;
    struct test_script script[TEST_SCRIPT_MAX];
    size_t n_script;
    size_t script_used;
    const bool *is_down; /* NULL, or: nothing gets through while it is true */
    size_t n_gets;
    size_t n_posts;
    char last_url[1300];
    char last_content_type[64];
};

void test_transport_init(struct test_transport *t, test_server *server, void *server_ctx);

/* Adds a row to the script. */
void test_transport_script(struct test_transport *t, struct test_script row);

#endif
