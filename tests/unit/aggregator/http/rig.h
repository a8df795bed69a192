/* A server over loopback for the http suites: store, campaign, keys and token, opened before each test and
 * closed after it. */
#ifndef DPOT_TESTS_AGGREGATOR_HTTP_RIG_H
#define DPOT_TESTS_AGGREGATOR_HTTP_RIG_H

#include "http/server.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/http_client.h"

#include <stdio.h>

#define TOKEN "let-me-in"

extern struct rig rig;
extern struct tokens tokens;
extern struct http_app app;
extern struct server_config config;
extern struct server *server;
extern FILE *log_stream;
extern struct log logger;
extern char hex_id[2 * DPOT_CAMPAIGN_ID_LEN + 1];
extern char reports_path[128];
extern char text[16384];
extern struct http_reply last;

void http_start(void);

/* The server of a test has patience with a slow machine; this starts another that cuts who is late by TIMEOUT_S. */
#define TIMEOUT_S 1
void http_lose_patience(void);
void http_expect_health(void); /* of a server without patience: at one of several tries */

void http_set_up(void);

/* Another writer, with a hook that runs between its commits and their answers; before any request. */
void http_use_writer(void (*on_committed)(void *ctx, size_t n), void *ctx);

void http_tear_down(void);
int request(const char *method, const char *path, const char *token, const void *body, size_t len);
int get(const char *path);
const char *campaign_path(const char *prefix, const char *tail);

/* The head of a POST of reports with a body of so many bytes; its length. */
#define POST_HEAD_SIZE 256
size_t post_head(char head[POST_HEAD_SIZE], size_t body_len);
struct dpot_buf sealed(uint32_t first, size_t n);

#endif
