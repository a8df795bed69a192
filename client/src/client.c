/* Opens and closes a client; what every call does first and last. The calls are in enroll.c,
 * submit.c (the pipeline), uploader.c, consent.c, status.c and statement.c. */
#include "client.h"

#include "arguments.h"
#include "base/clock.h"
#include "base/crypto.h"
#include "hooks.h"
#include "uploader.h"

#include <stdio.h>
#include <string.h>

#define DEFAULT_SEND_DELAY_MS 2000
#define DEFAULT_REQUEST_TIMEOUT_MS 30000
#define DEFAULT_SPOOL_MAX_BYTES ((uint64_t)16 << 20)
#define DEFAULT_WORK_MAX_MS 10000
#define EXPECTED_MAX 4096
#define SERVER_URL_MAX 1024

const char *dpot_version(void)
{
    return DPOT_VERSION;
}

void dpot_client_config_init(struct dpot_client_config *config, size_t struct_size)
{
    const struct dpot_client_config defaults = {
        .struct_size = struct_size,
        .send_delay_ms = DEFAULT_SEND_DELAY_MS,
        .request_timeout_ms = DEFAULT_REQUEST_TIMEOUT_MS,
        .accountant = DPOT_ACCOUNTANT_BASIC,
        .spool_max_bytes = DEFAULT_SPOOL_MAX_BYTES,
        .work_max_ms = DEFAULT_WORK_MAX_MS,
    };
    if (!config) {
        return;
    }
    memset(config, 0, struct_size);
    memcpy(config, &defaults, struct_size < sizeof defaults ? struct_size : sizeof defaults);
}

void dpot_client_clear_error(dpot_client *client)
{
    client->error.text[0] = '\0';
}

dpot_status dpot_client_end(dpot_client *client, dpot_status status)
{
    if (status == DPOT_ERR_POISONED && client->error.text[0] == '\0' &&
        client->journal.is_poisoned) {
        return dpot_journal_explain_poison(&client->journal, &client->error);
    }
    if (status != DPOT_OK && client->error.text[0] == '\0') {
        (void)dpot_error_set(&client->error, status, "%s", dpot_status_text(status));
    }
    if (status == DPOT_OK) {
        dpot_client_clear_error(client); /* of attempts that did not matter */
    }
    return status;
}

int64_t dpot_client_clock(const dpot_client *client)
{
    const struct dpot_clock *clock = client->config.clock;
    return clock->now(clock->ctx);
}

int64_t dpot_client_steady_us(const dpot_client *client)
{
    return dpot_clock_steady_us(client->config.clock);
}

int64_t dpot_client_time(const dpot_client *client)
{
    return dpot_journal_time(&client->journal, dpot_client_clock(client));
}

uint32_t dpot_client_group(const dpot_client *client,
                           const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN])
{
    const struct dpot_client_config *config = &client->config;
    for (size_t i = 0; i < config->n_groups; i++) {
        if (memcmp(config->groups[i].campaign_id, campaign_id, DPOT_CAMPAIGN_ID_LEN) == 0) {
            return config->groups[i].group;
        }
    }
    return config->group;
}

dpot_status dpot_client_lock(dpot_client *client)
{
    dpot_status status = dpot_journal_lock(&client->journal, &client->error);
    if (status != DPOT_OK) {
        return status;
    }
    if (client->journal.is_exhausted) {
        status = dpot_error_set(&client->error, DPOT_ERR_LEDGER,
                                "%s: the whole budget of this install counts as spent",
                                client->journal.why_exhausted);
    } else {
        status = dpot_client_load_consent(client);
    }
    if (status == DPOT_OK && !client->is_withdrawn) {
        status = dpot_journal_settle(&client->journal, dpot_client_time(client));
    }
    if (status != DPOT_OK) {
        dpot_client_unlock(client);
    }
    return status;
}

void dpot_client_unlock(dpot_client *client)
{
    dpot_journal_unlock(&client->journal);
}

struct dpot_privacy dpot_client_window_spent(const dpot_client *client, int64_t time_ms)
{
    const uint64_t longest_s = INT64_MAX / 2000;
    const uint64_t window_s = client->config.window_seconds;
    const int64_t window_ms = (int64_t)(window_s < longest_s ? window_s : longest_s) * 1000;
    return dpot_sums_spent_after(&client->journal.ledger.sums,
                                 time_ms < 0 ? INT64_MIN : time_ms - window_ms);
}

/* ---- opening ---- */

static bool is_zero(const uint8_t *data, size_t len)
{
    uint8_t any = 0;
    for (size_t i = 0; i < len; i++) {
        any |= data[i];
    }
    return any == 0;
}

/* The address begins with a scheme and names a host. */
static dpot_status check_server_url(const char *url, struct dpot_error *error)
{
    const size_t scheme_len = strncmp(url, "https://", 8) == 0  ? 8
                              : strncmp(url, "http://", 7) == 0 ? 7
                                                                : 0;
    const size_t len = strlen(url);
    if (scheme_len == 0) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "config.server_url must begin with https:// or http://");
    }
    if (url[scheme_len] == '/' || len == scheme_len) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT, "config.server_url has no host after %.*s",
                              (int)scheme_len, url);
    }
    return len <= SERVER_URL_MAX
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_ARGUMENT,
                                "config.server_url has %zu bytes: at most %d", len, SERVER_URL_MAX);
}

static dpot_status check_keystore_key(const struct dpot_client_config *config,
                                      struct dpot_error *error)
{
    const size_t len = config->keystore_key_len;
    if (!config->keystore_key && len > 0) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "config.keystore_key is NULL beside a length of %zu: the key could "
                              "not be fetched?",
                              len);
    }
    return !config->keystore_key || (len >= 16 && len <= 64)
               ? DPOT_OK
               : dpot_error_set(error, DPOT_ERR_ARGUMENT,
                                "config.keystore_key_len is %zu: it must be 16 to 64 bytes", len);
}

/* Mistakes of the embedder, other than those of hooks and caps. */
static dpot_status check_config(const struct dpot_client_config *config, struct dpot_error *error)
{
    const char *mistake = NULL;
    if (!config->filesystem) {
        mistake = "config.filesystem is NULL: give one, for instance of dpot_filesystem_posix_new";
    } else if (is_zero(config->pin, sizeof config->pin)) {
        mistake = "config.pin is not set: give the aggregator's 32-byte signing key";
    } else if (!config->groups && config->n_groups > 0) {
        mistake = "config.groups is NULL beside a count: give n_groups of them, or 0";
    } else if (config->request_timeout_ms == 0) {
        mistake = "config.request_timeout_ms is 0: choose at least 1, 30000 for instance";
    } else if (config->send_delay_ms == 0) {
        mistake = "config.send_delay_ms is 0: choose at least 1, 2000 for instance";
    }
    if (mistake) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT, "%s", mistake);
    }
    const dpot_status status = check_keystore_key(config, error);
    return status == DPOT_OK && config->server_url ? check_server_url(config->server_url, error)
                                                   : status;
}

static dpot_status copy_server_url(dpot_client *client)
{
    const char *url = client->config.server_url;
    if (!url) {
        return DPOT_OK;
    }
    size_t len = strlen(url);
    while (len > 0 && url[len - 1] == '/') {
        len--;
    }
    client->server_url_size = len + 1;
    client->server_url =
        dpot_alloc_array(client->config.allocator, client->server_url_size, sizeof(char));
    if (!client->server_url) {
        return DPOT_ERR_MEMORY;
    }
    memcpy(client->server_url, url, len);
    client->config.server_url = client->server_url;
    return DPOT_OK;
}

static void init_parts(dpot_client *client)
{
    struct dpot_client_config *config = &client->config;
    if (!config->clock) {
        config->clock = dpot_clock_system();
    }
    dpot_journal_init(&client->journal, config->filesystem, config->allocator, config->counter,
                      config->clock, config->keystore_key, config->keystore_key_len,
                      config->send_delay_ms, config->accountant);
    config->keystore_key = NULL; /* the journal has derived its own: the caller may wipe this */
    client->campaigns =
        (struct dpot_campaigns){.filesystem = config->filesystem,
                                .allocator = config->allocator,
                                .epsilon_ceiling_q32 = DPOT_EPSILON_CEILING_Q32,
                                .is_zcdp = config->accountant == DPOT_ACCOUNTANT_ZCDP};
    memcpy(client->campaigns.pin, config->pin, sizeof config->pin);
    client->rng_source = &dpot_rng_source_sodium;
    client->paused_until_ms = INT64_MIN;
}

/* Everything in opening that can be refused. */
static dpot_status set_up(dpot_client *client)
{
    dpot_status status = check_config(&client->config, &client->error);
    if (status == DPOT_OK) {
        status = dpot_caps_init(&client->caps, &client->config, &client->error);
    }
    if (status == DPOT_OK) {
        status = dpot_random_check(&client->error);
    }
    if (status == DPOT_OK) {
        status = dpot_init();
    }
    if (status != DPOT_OK) {
        return status;
    }
    dpot_caps_limit(&client->caps, DPOT_EPSILON_CEILING_Q32);
    init_parts(client);
    status = copy_server_url(client);
    if (status == DPOT_OK) {
        status = dpot_client_lock(client);
    }
    if (status == DPOT_OK) {
        dpot_client_unlock(client);
    }
    if (status == DPOT_ERR_POISONED) {
        /* The files were read; only recording reports that have ended failed, on a full disk for
         * instance. The next call tries again: opening must succeed for a user who withdraws. */
        dpot_journal_reset(&client->journal);
        status = DPOT_OK;
    }
    if (status == DPOT_OK || status == DPOT_ERR_LEDGER) {
        status = dpot_random_check(&client->error); /* an install has a random id */
    }
    return status;
}

void dpot_client_put_error(char *text, size_t cap, const struct dpot_error *error,
                           dpot_status status)
{
    if (text && cap > 0) {
        const char *sentence = error->text[0] ? error->text : dpot_status_text(status);
        (void)snprintf(text, cap, "%s", status == DPOT_OK ? "" : sentence);
    }
}

/* Merges the config over the defaults; its hooks are checked before one of them is called. */
static dpot_status take_config(const struct dpot_client_config *config,
                               struct dpot_client_config *merged, dpot_client *const *client,
                               struct dpot_error *error)
{
    if (!client) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "client is NULL: give the address of the handle");
    }
    if (!config) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "config is NULL: give one, begun by dpot_client_config_init");
    }
    const dpot_status status = dpot_struct_check(config, offsetof(struct dpot_client_config, pin),
                                                 sizeof *config, "config", error);
    if (status != DPOT_OK) {
        return status;
    }
    const size_t size = config->struct_size;
    dpot_client_config_init(merged, sizeof *merged);
    memcpy(merged, config, size < sizeof *merged ? size : sizeof *merged);
    return dpot_hooks_check(merged, error);
}

dpot_status dpot_client_open(const struct dpot_client_config *config, dpot_client **client,
                             char *error_text, size_t error_cap)
{
    if (client) {
        *client = NULL;
    }
    struct dpot_client_config merged;
    struct dpot_error error = {{0}};
    dpot_status status = take_config(config, &merged, client, &error);
    dpot_client *c = status == DPOT_OK ? dpot_alloc_array(merged.allocator, 1, sizeof *c) : NULL;
    if (!c) {
        status = status == DPOT_OK ? DPOT_ERR_MEMORY : status;
        dpot_client_put_error(error_text, error_cap, &error, status);
        return status;
    }
    c->config = merged;
    status = set_up(c);
    dpot_client_put_error(error_text, error_cap, &c->error, status);
    if (status != DPOT_OK) {
        dpot_client_close(c);
        return status == DPOT_ERR_POISONED ? DPOT_ERR_IO : status;
    }
    *client = c;
    return DPOT_OK;
}

void dpot_client_close(dpot_client *client)
{
    if (client) {
        const struct dpot_allocator *allocator = client->config.allocator;
        dpot_journal_release(&client->journal);
        dpot_upload_drop(client);
        dpot_free_array(allocator, client->campaigns.expected, client->campaigns.n_expected,
                        DPOT_HASH_LEN);
        dpot_free_array(allocator, client->server_url, client->server_url_size, sizeof(char));
        void (*const release_owned)(void *) = client->release_owned;
        void *const owned = client->owned;
        dpot_free_array(allocator, client, 1, sizeof *client);
        if (release_owned) {
            release_owned(owned);
        }
    }
}

dpot_status dpot_client_expect(dpot_client *client, const uint8_t (*digests)[32], size_t n)
{
    if (!client) {
        return DPOT_ERR_ARGUMENT;
    }
    dpot_client_clear_error(client);
    if (n > EXPECTED_MAX) {
        return dpot_error_set(&client->error, DPOT_ERR_ARGUMENT,
                              "n is %zu: give at most %d digests", n, EXPECTED_MAX);
    }
    if (!digests && n > 0) {
        return dpot_error_set(&client->error, DPOT_ERR_ARGUMENT,
                              "digests is NULL beside a count of %zu: give them, or 0", n);
    }
    const struct dpot_allocator *allocator = client->config.allocator;
    struct dpot_campaigns *campaigns = &client->campaigns;
    uint8_t(*copy)[DPOT_HASH_LEN] = NULL;
    if (n > 0) {
        copy = dpot_alloc_array(allocator, n, sizeof *copy);
        if (!copy) {
            return dpot_client_end(client, DPOT_ERR_MEMORY);
        }
        memcpy(copy, digests, n * sizeof *copy);
    }
    dpot_free_array(allocator, campaigns->expected, campaigns->n_expected, sizeof *copy);
    campaigns->expected = copy;
    campaigns->n_expected = n;
    return DPOT_OK;
}

const char *dpot_client_last_error(const dpot_client *client)
{
    return client ? client->error.text : "";
}
