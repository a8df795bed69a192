#include "unit/client/world.h"

#include "mechanism/gauss_certificate.h"
#include "mechanism/mechanism.h"

#include "mechanism/sampler.h"
#include "proto/wire_report.h"
#include "simulation.h"
#include "storage/ledger.h"

#include <criterion/criterion.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN] = {0xc0, 0xff, 0xee, 1, 2, 3, 4, 5,
                                                          6,    7,    8,    9, 9, 9, 9, 9};

/* The uniform base measure of mass one. */
static void encode_base_measure(struct dpot_campaign *campaign)
{
    double m[RING_SIZE];
    struct dpot_error error = {{0}};
    for (size_t j = 0; j < RING_SIZE; j++) {
        m[j] = 1.0 / RING_SIZE;
    }
    cr_assert_eq(dpot_base_measure_encode(m, RING_SIZE, campaign->epsilon_q32,
                                          &campaign->base_measure, &error),
                 DPOT_OK, "%s", error.text);
}

static void make_campaign(struct dpot_campaign *campaign, uint32_t rounds)
{
    *campaign = (struct dpot_campaign){.revision = 1,
                                       .output_is_domain = true,
                                       .metric = {DPOT_METRIC_RING, RING_SIZE},
                                       .cost_power = 1,
                                       .mechanism = DPOT_MECHANISM_WPM,
                                       .epsilon_q32 = DPOT_EPSILON_ONE,
                                       .lambda = 1,
                                       .iterations = 2,
                                       .n_max = 3,
                                       .rounds = rounds,
                                       .opens_ms = OPENS_MS,
                                       .closes_ms = OPENS_MS + rounds * DAY_MS,
                                       .min_pool = 1};
    memcpy(campaign->id, campaign_id, sizeof campaign->id);
    memcpy(campaign->name, "test", 5);
    cr_assert_eq(dpot_domain_init_ring(&campaign->domain, RING_SIZE, NULL), DPOT_OK);
    cr_assert_eq(dpot_domain_init_copy(&campaign->output, &campaign->domain), DPOT_OK);
    campaign->base_measure.mass_code = dpot_alloc_array(NULL, RING_SIZE, sizeof(uint32_t));
    encode_base_measure(campaign);
}

static void make_keys(struct authority *a)
{
    a->keys.n_seal_keys = 2;
    for (size_t i = 0; i < 2; i++) {
        struct dpot_seal_key *key = &a->keys.seal_keys[i];
        dpot_seal_keypair(key->public_key, a->seal_secrets[i]);
        dpot_seal_key_id(key->public_key, key->id);
        key->not_before_ms = OPENS_MS - DAY_MS;
        /* The device prefers the one that lasts longest: the first. */
        key->not_after_ms = OPENS_MS + (i == 0 ? 800 : 700) * DAY_MS;
    }
}

void authority_sign_campaign(const struct authority *a, const struct dpot_campaign *campaign,
                             struct dpot_buf *out)
{
    struct dpot_buf bytes;
    struct dpot_error error = {{0}};
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    dpot_buf_init(out, DPOT_CAMPAIGN_BYTES_MAX + 1024, NULL);
    cr_assert_eq(dpot_wire_campaign_encode(campaign, &bytes), DPOT_OK);
    cr_assert_eq(dpot_wire_campaign_sign(bytes.data, bytes.len, a->sign_secret, out, &error),
                 DPOT_OK, "%s", error.text);
    dpot_buf_release(&bytes);
}

void authority_sign(struct authority *a)
{
    struct dpot_signed_campaign opened;
    struct dpot_error error = {{0}};
    dpot_buf_release(&a->signed_campaign);
    authority_sign_campaign(a, &a->campaign, &a->signed_campaign);
    cr_assert_eq(dpot_wire_campaign_open(a->signed_campaign.data, a->signed_campaign.len, a->pin,
                                         NULL, &opened, &error),
                 DPOT_OK, "%s", error.text);
    memcpy(a->hash, opened.hash, sizeof a->hash);
    dpot_signed_campaign_release(&opened);
}

/* D1 / t = 2000 / 2048, epsilon 1; for Gaussian the row of epsilon 1 and delta 1e-5. */
static void choose_noise(struct dpot_campaign *campaign)
{
    struct dpot_error error = {{0}};
    if (campaign->mechanism == DPOT_MECHANISM_LAPLACE) {
        campaign->vector.set = DPOT_VECTOR_L1_BALL;
        campaign->noise.scale_log2 = 11;
        campaign->epsilon_q32 = DPOT_EPSILON_ONE;
        return;
    }
    campaign->vector.set = DPOT_VECTOR_L2_BALL;
    campaign->noise.scale_log2 = 14;
    cr_assert_eq(dpot_gauss_row_find(DPOT_EPSILON_ONE, UINT64_C(184467440737095), VECTOR_DIM,
                                     &campaign->noise.certificate_row, &error),
                 DPOT_OK, "%s", error.text);
}

void authority_ask_for_vectors(struct authority *a, enum dpot_mechanism_id mechanism)
{
    struct dpot_campaign old = a->campaign;
    a->campaign = (struct dpot_campaign){
        .revision = 1,
        .metric = {.id = DPOT_METRIC_EUCLIDEAN},
        .cost_power = 1,
        .mechanism = mechanism,
        .vector = {.dim = VECTOR_DIM, .radius = 1000, .grid_step = 0.25, .inverse_step = 4},
        .rounds = old.rounds,
        .opens_ms = old.opens_ms,
        .closes_ms = old.closes_ms,
        .min_pool = 1};
    memcpy(a->campaign.id, old.id, sizeof old.id);
    memcpy(a->campaign.name, old.name, sizeof old.name);
    choose_noise(&a->campaign);
    dpot_campaign_release(&old);
    authority_sign(a);
}

void authority_extend(struct authority *a, uint32_t rounds, uint64_t epsilon_q32)
{
    a->campaign.rounds = rounds;
    a->campaign.closes_ms = OPENS_MS + rounds * DAY_MS;
    a->campaign.epsilon_q32 = epsilon_q32;
    encode_base_measure(&a->campaign);
    authority_sign(a);
}

void authority_sign_keys(struct authority *a)
{
    dpot_buf_release(&a->signed_keys);
    dpot_buf_init(&a->signed_keys, DPOT_KEYS_BYTES_MAX, NULL);
    cr_assert_eq(dpot_wire_keys_sign(&a->keys, a->sign_secret, &a->signed_keys, NULL), DPOT_OK);
}

void authority_init(struct authority *a, uint32_t rounds)
{
    *a = (struct authority){0};
    cr_assert_eq(dpot_init(), DPOT_OK);
    dpot_sign_keypair(a->pin, a->sign_secret);
    make_keys(a);
    authority_sign_keys(a);
    make_campaign(&a->campaign, rounds);
    authority_sign(a);
}

void authority_release(struct authority *a)
{
    dpot_buf_release(&a->signed_keys);
    dpot_buf_release(&a->signed_campaign);
    dpot_campaign_release(&a->campaign);
}

/* ---- the server ---- */

static void serve(struct test_answer *answer, int status, const struct dpot_buf *body)
{
    answer->status = status;
    if (body) {
        cr_assert_leq(body->len, sizeof answer->body);
        memcpy(answer->body, body->data, body->len);
        answer->body_len = body->len;
    }
}

static void serve_keys(const struct world *w, struct test_answer *answer)
{
    if (w->serves_second_key) {
        struct dpot_keys keys = {.n_seal_keys = 1, .seal_keys = {w->authority->keys.seal_keys[1]}};
        struct dpot_buf body;
        dpot_buf_init(&body, DPOT_KEYS_BYTES_MAX, NULL);
        cr_assert_eq(dpot_wire_keys_sign(&keys, w->authority->sign_secret, &body, NULL), DPOT_OK);
        serve(answer, 200, &body);
        dpot_buf_release(&body);
    } else {
        serve(answer, 200, &w->authority->signed_keys);
    }
}

/* Whether the disk, not the cache, holds a CHARGE for this key. */
static bool has_durable_charge(const struct world *w, const uint8_t *hash, uint32_t round)
{
    size_t len = 0;
    const uint8_t *ledger = test_filesystem_durable(&w->files, DPOT_LEDGER_NAME, &len);
    for (size_t at = DPOT_HEADER_LEN; at + DPOT_LEDGER_RECORD_LEN <= len;
         at += DPOT_LEDGER_RECORD_LEN) {
        if (memcmp(ledger + at, "CHRG", 4) == 0 &&
            memcmp(ledger + at + 16, hash, DPOT_HASH_LEN) == 0 &&
            dpot_load_u32(ledger + at + 48) == round) {
            return true;
        }
    }
    return false;
}

static bool was_received(const struct world *w, const struct dpot_report *report)
{
    for (size_t i = 0; i < w->n_received; i++) {
        if (memcmp(w->received[i].report.id, report->id, sizeof report->id) == 0) {
            return true;
        }
    }
    return false;
}

static void take_batch(struct world *w, const struct dpot_batch *batch,
                       const struct dpot_http_request *request, struct test_answer *answer)
{
    uint8_t digest[DPOT_HASH_LEN];
    enum dpot_report_status statuses[RECEIVED_MAX];
    struct dpot_buf receipt;
    for (size_t i = 0; i < batch->n_reports; i++) {
        struct received *r = &w->received[w->n_received];
        statuses[i] =
            was_received(w, &batch->reports[i]) ? DPOT_REPORT_DUPLICATE : DPOT_REPORT_ACCEPTED;
        cr_assert_lt(w->n_received, RECEIVED_MAX);
        memcpy(r->campaign_hash, batch->campaign_hash, sizeof r->campaign_hash);
        r->round = batch->round;
        r->has_losses = batch->has_losses;
        r->body_len = request->body_len;
        r->report = batch->reports[i];
        r->report.values = NULL; /* the batch's */
        dpot_hash(r->values_hash, batch->reports[i].values,
                  batch->reports[i].n_values * sizeof *batch->reports[i].values);
        w->n_uncharged += !has_durable_charge(w, batch->campaign_hash, batch->round);
        w->n_received++;
    }
    dpot_buf_init(&receipt, 65536, NULL);
    dpot_wire_batch_digest(request->body, request->body_len, digest);
    cr_assert_eq(dpot_wire_receipt_encode(statuses, batch->n_reports,
                                          w->is_old_server ? NULL : digest, &receipt),
                 DPOT_OK);
    serve(answer, 202, &receipt);
    answer->content_type = "application/x-protobuf";
    dpot_buf_release(&receipt);
}

static void serve_reports(struct world *w, const struct dpot_http_request *request,
                          struct test_answer *answer)
{
    const struct authority *a = w->authority;
    uint8_t key_id[DPOT_SEAL_KEY_ID_LEN];
    cr_assert_eq(dpot_wire_batch_key_id(request->body, request->body_len, key_id, NULL), DPOT_OK);
    const size_t k = memcmp(key_id, a->keys.seal_keys[0].id, sizeof key_id) == 0 ? 0 : 1;
    if (k == 0 && w->withdraws_key) {
        serve(answer, 410, NULL);
        return;
    }
    struct dpot_batch batch;
    struct dpot_error error = {{0}};
    cr_assert_eq(dpot_wire_batch_open(request->body, request->body_len,
                                      a->keys.seal_keys[k].public_key, a->seal_secrets[k], NULL,
                                      &batch, &error),
                 DPOT_OK, "%s", error.text);
    take_batch(w, &batch, request, answer);
    dpot_batch_release(&batch);
}

static bool ends_with(const char *text, const char *end)
{
    const size_t text_len = strlen(text), end_len = strlen(end);
    return text_len >= end_len && strcmp(text + text_len - end_len, end) == 0;
}

void world_server(void *ctx, const struct dpot_http_request *request, struct test_answer *answer)
{
    struct world *w = ctx;
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1];
    dpot_hex_encode(hex, w->authority->campaign.id, DPOT_CAMPAIGN_ID_LEN);
    if (strcmp(request->method, "POST") == 0) {
        serve_reports(w, request, answer);
    } else if (ends_with(request->url, "/v1/keys")) {
        serve_keys(w, answer);
    } else if (ends_with(request->url, hex)) {
        serve(answer, w->is_closed ? 409 : 200, &w->authority->signed_campaign);
    } else {
        serve(answer, 404, NULL);
    }
}

/* ---- the device ---- */

void world_init(struct world *w, const struct authority *a, uint64_t seed)
{
    memset(w, 0, sizeof *w);
    w->authority = a;
    test_filesystem_init(&w->files, seed);
    test_clock_init(&w->clock, OPENS_MS + 1000);
    test_transport_init(&w->network, world_server, w);
    w->network.is_down = &w->files.is_down;
    dpot_client_config_init(&w->config, sizeof w->config);
    w->config.server_url = "https://pool.example.org/";
    memcpy(w->config.pin, a->pin, sizeof w->config.pin);
    w->config.campaign_epsilon_cap = 100;
    w->config.window_epsilon_cap = 100;
    w->config.window_seconds = 86400;
    w->config.lifetime_epsilon_cap = 100;
    w->config.send_delay_ms = SEND_DELAY_MS;
    w->config.filesystem = &w->files.filesystem;
    w->config.transport = &w->network.transport;
    w->config.clock = &w->clock.clock;
}

void world_release(struct world *w)
{
    test_filesystem_release(&w->files);
}

dpot_client *world_open(struct world *w)
{
    dpot_client *client = NULL;
    char text[400];
    cr_assert_eq(dpot_client_open(&w->config, &client, text, sizeof text), DPOT_OK, "%s", text);
    dpot_client_set_work_time(client, WORK_MS);
    return client;
}

dpot_client *world_enroll(struct world *w)
{
    dpot_client *client = world_open(w);
    cr_assert_eq(dpot_client_enroll(client, w->authority->campaign.id), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    return client;
}

dpot_status world_submit(struct world *w, dpot_client *client, enum dpot_submit_outcome *outcome)
{
    const double place = 3;
    static const double vector[VECTOR_DIM] = {0.5, -0.25};
    if (dpot_mechanism_is_vector(w->authority->campaign.mechanism)) {
        return dpot_client_submit_vector(client, w->authority->campaign.id, vector, VECTOR_DIM,
                                         outcome);
    }
    return dpot_client_submit_points(client, w->authority->campaign.id, &place, NULL, 1, 1,
                                     outcome);
}

dpot_status world_pump(struct world *w, dpot_client *client, struct dpot_pump_result *result)
{
    w->clock.now_ms += DUE_MS;
    if (result) {
        *result = (struct dpot_pump_result){.struct_size = sizeof *result};
    }
    return dpot_client_pump(client, PUMP_MS, result);
}

static dpot_status take_body(void *sink, const void *data, size_t len)
{
    return dpot_buf_append(sink, data, len);
}

static dpot_status carry(struct world *w, dpot_client *client, struct dpot_http_request *request)
{
    const struct dpot_transport *transport = &w->network.transport;
    struct dpot_http_response response = {.struct_size = sizeof response};
    struct dpot_buf body;
    dpot_buf_init(&body, request->body_max, NULL);
    request->on_body = take_body;
    request->sink = &body;
    const dpot_status sent = transport->perform(transport->ctx, request, &response);
    const dpot_status status = dpot_client_take_response(client, sent == DPOT_OK ? &response : NULL,
                                                         body.data, body.len, NULL);
    dpot_buf_release(&body);
    return status;
}

dpot_status world_carry(struct world *w, dpot_client *client)
{
    w->clock.now_ms += DUE_MS;
    for (;;) {
        struct dpot_http_request request = {.struct_size = sizeof request};
        dpot_status status = dpot_client_next_request(client, &request, NULL);
        if (status != DPOT_OK || !request.method) {
            return status;
        }
        status = carry(w, client, &request);
        if (status != DPOT_OK) {
            return status;
        }
    }
}

struct dpot_client_status world_status(dpot_client *client)
{
    struct dpot_client_status status = {.struct_size = sizeof status};
    cr_assert_eq(dpot_client_get_status(client, &status), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    return status;
}

void assert_conserved(const struct dpot_client_status *s)
{
    cr_assert_eq(s->n_submitted, s->n_accepted + s->n_duplicate + s->n_rejected_malformed +
                                     s->n_rejected_range + s->n_rejected_group +
                                     s->n_rejected_test + s->n_rejected_token +
                                     s->n_rejected_closed + s->n_dropped_closed + s->n_dropped_age +
                                     s->n_dropped_malformed + s->n_dropped_lost +
                                     s->n_dropped_withdrawn + s->n_dropped_spool + s->n_pending);
}

/* Slot (write, sync, folder), charge (write, sync, folder), then the report: cut before it. */
void world_stop_before_report(struct world *w, dpot_client *client, enum test_loss loss)
{
    test_filesystem_cut_at(&w->files, 7, false);
    cr_assert_eq(world_submit(w, client, NULL), DPOT_ERR_POISONED);
    dpot_client_close(client);
    test_filesystem_restart(&w->files, loss);
}

static dpot_status read_counter(void *ctx, uint64_t *value)
{
    const struct hardware *h = ctx;
    *value = h->value;
    return DPOT_OK;
}

static dpot_status advance_counter(void *ctx)
{
    struct hardware *h = ctx;
    h->value++;
    return DPOT_OK;
}

void hardware_init(struct hardware *hardware)
{
    *hardware = (struct hardware){
        .counter = {sizeof hardware->counter, hardware, read_counter, advance_counter}};
}

size_t world_count_contradictions(const struct world *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->n_received; i++) {
        for (size_t j = 0; j < i; j++) {
            const struct received *a = &w->received[i], *b = &w->received[j];
            const bool is_same_key =
                a->round == b->round &&
                memcmp(a->campaign_hash, b->campaign_hash, sizeof a->campaign_hash) == 0;
            const bool is_same_report =
                a->report.index == b->report.index && a->report.n_values == b->report.n_values &&
                memcmp(a->values_hash, b->values_hash, sizeof a->values_hash) == 0 &&
                memcmp(a->report.id, b->report.id, sizeof a->report.id) == 0;
            n += is_same_key && !is_same_report;
        }
    }
    return n;
}
