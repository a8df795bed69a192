/* Fixture: a device, and a server that answers as the test says. */
#ifndef DPOT_TESTS_CLIENT_DELIVERY_H
#define DPOT_TESTS_CLIENT_DELIVERY_H

#include "unit/client/world.h"

#define HOUR_MS ((int64_t)3600 * 1000)
#define MINUTE_MS ((int64_t)60 * 1000)

extern struct authority authority;
extern struct world world;

/* What the server does with POSTs and with GET /v1/keys; 0: what dpotd does. */
extern struct says {
    int status;
    uint32_t retry_after_s;
    const void *body;
    size_t body_len;
    bool reaches_server;
    int keys_status;
    uint32_t keys_retry_after_s;
    const uint8_t *hates; /* a report id that is answered with 500 */
    int64_t takes_ms;     /* each exchange, by the device's clock; */
    int64_t sleeps_ms;    /* and really */
    uint32_t timeouts_ms[64];
    size_t n_exchanges;
} says;

/* 800 rounds; the server does what dpotd does. */
void delivery_set_up(void);
void delivery_tear_down(void);

/* Another process takes over: its counts are the same. */
dpot_client *reopen(dpot_client *client);

/* A report near the end of round `round`, so that "closed" is about the round; due. */
void submit_late(dpot_client *client, uint32_t round);

/* A client with one report that is due, or with one of each of n rounds. */
dpot_client *with_report(void);
dpot_client *with_reports(uint32_t n);

/* For at most PUMP_MS; result may be NULL. */
dpot_status pump(dpot_client *client, struct dpot_pump_result *result);

#endif
