/* A server on loopback for the http suites, with store, campaign, keys and token, for each test
 * anew. */
#ifndef DPOT_TESTS_AGGREGATOR_HTTP_RIG_H
#define DPOT_TESTS_AGGREGATOR_HTTP_RIG_H

#include "http/server.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/http_client.h"

#include <stdatomic.h>
#include <stdio.h>

#define TOKEN "let-me-in"
#define LOG_PATIENCE_MS 60000

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

/* The server of a test allows for a slow machine. This starts another one whose requests have
 * TIMEOUT_S. */
#define TIMEOUT_S 1
void http_use_short_timeout(void);
void http_expect_health(void); /* of such a server, in one of several tries */

void http_set_up(void);

/* Replaces the writer by one with a hook between commits and answers. Call it before any
 * request. */
void http_use_writer(void (*on_committed)(void *ctx, size_t n), void *ctx);

/* Such a hook: holds every answer after its commit until may_answer. */
extern atomic_bool has_committed, may_answer;
void hold_until_released(void *ctx, size_t n);

/* For a minute at most, so that a failed test ends. */
void wait_for(const atomic_bool *flag);

void http_tear_down(void);
int request(const char *method, const char *path, const char *token, const void *body, size_t len);
int get(const char *path);
const char *campaign_path(const char *prefix, const char *tail);

/* Formats the head of a POST of reports with body_len bytes; returns its length. */
#define POST_HEAD_SIZE 256
size_t post_head(char head[POST_HEAD_SIZE], size_t body_len);

/* A sealed body of reports first .. first + n - 1. */
struct dpot_buf sealed(uint32_t first, size_t n);

#endif
