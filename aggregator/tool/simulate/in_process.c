#include "tool/simulate/in_process.h"

#include "base/clock.h"
#include "pool/decode.h"
#include "proto/wire_refusal.h"

#include <string.h>

#define SIGNED_BYTES_MAX (DPOT_CAMPAIGN_BYTES_MAX + 4096u)
#define RECEIPT_BYTES_MAX (64u << 10)
#define KEY_FROM_MS 0
#define KEY_UNTIL_MS ((int64_t)253402300799 * 1000) /* the end of 9999: after any virtual time */

static dpot_status sign_campaign(struct in_process *server, const struct dpot_campaign *campaign,
                                 const uint8_t *secret_key, struct dpot_error *error)
{
    struct dpot_buf bytes;
    dpot_buf_init(&bytes, DPOT_CAMPAIGN_BYTES_MAX, NULL);
    dpot_status status = dpot_wire_campaign_encode(campaign, &bytes);
    if (status == DPOT_OK) {
        dpot_hash(server->hash, bytes.data, bytes.len);
        status = dpot_wire_campaign_sign(bytes.data, bytes.len, secret_key,
                                         &server->signed_campaign, error);
    }
    dpot_buf_release(&bytes);
    return status;
}

static dpot_status make_seal_key(struct in_process *server, struct dpot_error *error)
{
    struct dpot_keys keys = {.n_seal_keys = 1};
    struct seal_secret *secret = &server->seal_secret;
    dpot_seal_keypair(secret->key.public_key, secret->secret_key);
    dpot_seal_key_id(secret->key.public_key, secret->key.id);
    secret->key.not_before_ms = KEY_FROM_MS;
    secret->key.not_after_ms = KEY_UNTIL_MS;
    keys.seal_keys[0] = secret->key;
    return registry_sign_keys(server->registry, &keys, &server->signed_keys, error);
}

static dpot_status open_revision(struct in_process *server, const struct dpot_campaign *campaign,
                                 struct dpot_error *error)
{
    struct revision_record record = {
        .revision = campaign->revision, .state = REVISION_DRAFT, .created_ms = campaign->opens_ms};
    memcpy(record.campaign_id, campaign->id, sizeof record.campaign_id);
    memcpy(record.hash, server->hash, sizeof record.hash);
    memcpy(record.name, campaign->name, sizeof record.name);
    const dpot_status status = store_add_revision(
        server->store, &record, server->signed_campaign.data, server->signed_campaign.len, error);
    return status == DPOT_OK ? store_set_state(server->store, server->hash, REVISION_OPEN, error)
                             : status;
}

dpot_status in_process_open(const struct dpot_campaign *campaign, struct in_process *server,
                            struct dpot_error *error)
{
    uint8_t secret_key[DPOT_SIGN_SECRET_LEN];
    *server = (struct in_process){.campaign = campaign};
    dpot_buf_init(&server->signed_campaign, SIGNED_BYTES_MAX, NULL);
    dpot_buf_init(&server->signed_keys, DPOT_KEYS_BYTES_MAX, NULL);
    dpot_sign_keypair(server->pin, secret_key);
    dpot_status status = store_open("sqlite::memory:", &server->store, error);
    if (status == DPOT_OK) {
        status =
            registry_new(server->store, secret_key, dpot_clock_system(), &server->registry, error);
    }
    if (status == DPOT_OK) {
        status = sign_campaign(server, campaign, secret_key, error);
    }
    if (status == DPOT_OK) {
        status = make_seal_key(server, error);
    }
    dpot_wipe(secret_key, sizeof secret_key);
    return status == DPOT_OK ? open_revision(server, campaign, error) : status;
}

void in_process_close(struct in_process *server)
{
    registry_free(server->registry);
    store_close(server->store);
    dpot_buf_release(&server->signed_campaign);
    dpot_buf_release(&server->signed_keys);
    dpot_wipe(server, sizeof *server);
}

/* ---- a connection ---- */

static dpot_status answer(const struct dpot_http_request *request,
                          struct dpot_http_response *response, int http_status,
                          const struct dpot_buf *body)
{
    response->status = http_status;
    if (!body || body->len == 0) {
        return DPOT_OK;
    }
    return body->len > request->body_max ? DPOT_ERR_TOO_LARGE
                                         : request->on_body(request->sink, body->data, body->len);
}

/* Parses "/v1/campaigns/<hex id><rest>"; false for another path. */
static bool parse_path(const char *path, uint8_t id[DPOT_CAMPAIGN_ID_LEN], const char **rest)
{
    static const char start[] = "/v1/campaigns/";
    char hex[2 * DPOT_CAMPAIGN_ID_LEN + 1] = {0};
    const size_t len = sizeof start - 1;
    if (strncmp(path, start, len) != 0 || strlen(path + len) < sizeof hex - 1) {
        return false;
    }
    memcpy(hex, path + len, sizeof hex - 1);
    *rest = path + len + sizeof hex - 1;
    return dpot_hex_decode(hex, id, DPOT_CAMPAIGN_ID_LEN) == DPOT_OK;
}

static dpot_status take_reports(const struct in_process_connection *connection, const uint8_t *id,
                                const struct dpot_http_request *request,
                                struct dpot_http_response *response)
{
    struct ingest_result result;
    struct dpot_buf receipt;
    dpot_buf_init(&receipt, RECEIPT_BYTES_MAX, NULL);
    ingest_batch(&connection->ingest, id, request->body, request->body_len, &receipt, &result);
    response->retry_after_s = result.retry_after_s;
    if (result.verdict != INGEST_ACCEPTED) {
        const char *closed = result.verdict != INGEST_CLOSED ? NULL
                             : result.over_ms != 0           ? "round"
                                                             : "revision";
        const dpot_status refused =
            dpot_wire_refusal_encode(result.status, closed, result.digest, &receipt);
        if (refused != DPOT_OK) {
            dpot_buf_release(&receipt);
            return refused;
        }
    }
    const dpot_status status = answer(request, response, (int)result.verdict, &receipt);
    dpot_buf_release(&receipt);
    return status;
}

static dpot_status perform(void *ctx, const struct dpot_http_request *request,
                           struct dpot_http_response *response)
{
    const struct in_process_connection *connection = ctx;
    const struct in_process *server = connection->server;
    const size_t start = strlen(IN_PROCESS_URL);
    const bool is_get = strcmp(request->method, "GET") == 0;
    uint8_t id[DPOT_CAMPAIGN_ID_LEN];
    const char *rest = NULL;
    if (strncmp(request->url, IN_PROCESS_URL, start) != 0) {
        return DPOT_ERR_NETWORK;
    }
    const char *path = request->url + start;
    if (is_get && strcmp(path, "/v1/keys") == 0) {
        return answer(request, response, 200, &server->signed_keys);
    }
    if (!parse_path(path, id, &rest)) {
        return answer(request, response, 404, NULL);
    }
    if (is_get && *rest == '\0') {
        return answer(request, response, 200, &server->signed_campaign);
    }
    return strcmp(rest, "/reports") == 0 ? take_reports(connection, id, request, response)
                                         : answer(request, response, 404, NULL);
}

static dpot_status ignore_body(void *sink, const void *data, size_t len)
{
    (void)sink;
    (void)data;
    (void)len;
    return DPOT_OK;
}

dpot_status transport_lose_answer(const struct dpot_transport *transport,
                                  const struct dpot_http_request *request,
                                  struct dpot_http_response *response)
{
    struct dpot_http_request copy = *request;
    copy.on_body = ignore_body;
    (void)transport->perform(transport->ctx, &copy, response);
    return DPOT_ERR_NETWORK;
}

void in_process_connect(const struct in_process *server, const struct dpot_clock *clock,
                        struct in_process_connection *connection)
{
    *connection = (struct in_process_connection){
        .transport = {sizeof connection->transport, connection, perform},
        .server = server,
        .ingest = {.store = server->store,
                   .registry = server->registry,
                   .clock = clock,
                   .seal_secrets = &server->seal_secret,
                   .n_seal_secrets = 1}};
}

/* ---- the pool ---- */

dpot_status in_process_count(const struct in_process *server, struct pool_count *count,
                             struct dpot_error *error)
{
    return store_count_pool(server->store, server->hash, count, error);
}

/* Copies reports into an array. */
struct reading {
    struct decoder *decoder; /* NULL: indices */
    struct array *pool;
    size_t n;
    dpot_status status; /* of the decoder */
    struct dpot_error *error;
};

static int take_report(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct reading *reading = ctx;
    const struct array *pool = reading->pool;
    (void)round;
    if (reading->n == pool->n_rows) {
        return 1;
    }
    double *row = pool->values + reading->n++ * pool->n_cols;
    if (reading->decoder) {
        reading->status = decoder_run(reading->decoder, report, row, reading->error);
    } else {
        *row = report->index;
    }
    return reading->status != DPOT_OK;
}

/* Makes the array and the decoder. */
static dpot_status prepare_reading(const struct in_process *server, enum decode_space space,
                                   uint64_t n_accepted, struct reading *reading)
{
    dpot_status status = DPOT_OK;
    size_t n_columns = 1;
    const bool is_vector = decode_has_rows(server->campaign);
    if (is_vector) {
        status = decoder_new(server->campaign, space, &reading->decoder, reading->error);
    }
    if (status == DPOT_OK && is_vector) {
        n_columns = decoder_n_columns(reading->decoder);
    }
    if (status == DPOT_OK && n_accepted > ARRAY_ENTRIES_MAX / n_columns) {
        status = dpot_error_set(reading->error, DPOT_ERR_TOO_LARGE,
                                "the pool has %llu x %zu numbers, an array at most %zu: simulate "
                                "fewer devices",
                                (unsigned long long)n_accepted, n_columns, ARRAY_ENTRIES_MAX);
    }
    return status == DPOT_OK ? array_init(reading->pool, (size_t)n_accepted, n_columns, !is_vector)
                             : status;
}

dpot_status in_process_pool(const struct in_process *server, enum decode_space space,
                            struct array *pool, struct dpot_error *error)
{
    struct pool_count count;
    struct reading reading = {.pool = pool, .error = error};
    *pool = (struct array){0};
    dpot_status status = in_process_count(server, &count, error);
    if (status == DPOT_OK && count.n_accepted == 0) {
        return DPOT_ERR_NOT_FOUND;
    }
    if (status == DPOT_OK) {
        status = prepare_reading(server, space, count.n_accepted, &reading);
    }
    if (status == DPOT_OK) {
        status = store_read_pool(server->store, server->hash, take_report, &reading, error);
        status = status == DPOT_OK ? reading.status : status;
    }
    decoder_free(reading.decoder);
    if (status != DPOT_OK) {
        array_release(pool);
    }
    return status;
}

static int take_group(void *ctx, uint32_t round, const struct dpot_report *report)
{
    struct reading *reading = ctx;
    (void)round;
    if (reading->n == reading->pool->n_rows) {
        return 1;
    }
    reading->pool->values[reading->n++] = report->group;
    return 0;
}

dpot_status in_process_groups(const struct in_process *server, struct array *groups,
                              struct dpot_error *error)
{
    struct pool_count count;
    struct reading reading = {.pool = groups, .error = error};
    *groups = (struct array){0};
    dpot_status status = in_process_count(server, &count, error);
    if (status == DPOT_OK && count.n_accepted == 0) {
        return DPOT_ERR_NOT_FOUND;
    }
    if (status == DPOT_OK) {
        status = array_init(groups, (size_t)count.n_accepted, 1, true);
    }
    if (status == DPOT_OK) {
        status = store_read_pool(server->store, server->hash, take_group, &reading, error);
    }
    if (status != DPOT_OK) {
        array_release(groups);
    }
    return status;
}
