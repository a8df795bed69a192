/* A whole service in this process, over a store on disk with one open campaign over a ring of 10,
 * for each test anew. */
#ifndef DPOT_TESTS_AGGREGATOR_HTTP_WHOLE_H
#define DPOT_TESTS_AGGREGATOR_HTTP_WHOLE_H

#include "unit/aggregator/fixture.h"
#include "unit/aggregator/http_client.h"

extern char whole_id[2 * DPOT_CAMPAIGN_ID_LEN + 1]; /* of the campaign */

void whole_set_up(void);
void whole_tear_down(void);

/* Stops the service, and starts it again over the same store. */
void whole_close(void);
void whole_open(void);
const char *whole_url(void);
const char *whole_token(void);

/* Returns the JSON of the answer to one admin request, NULL without one. */
json_t *whole_call(const char *method, const char *path, const char *body, int status);
const char *text_of(const json_t *object, const char *key);

/* Starts a job about the campaign; takes a job and returns it when it has ended. */
json_t *whole_start(const char *kind, const char *parameters, int status);
json_t *whole_wait(json_t *job);

/* Stores reports first .. first + n - 1 in round 0 of the campaign; the service is stopped. */
void whole_add_reports(uint32_t first, size_t n);

/* Runs one statement on the store's file; the service may run. */
void whole_tamper(const char *sql);

/* The log so far, of a stopped service. */
const char *whole_log(void);

#endif
