/* Settings by key and value, and a client that owns its files and its network. */
#include "settings/decimal.h"

#include "arguments.h"
#include "base/alloc.h"
#include "base/crypto.h"
#include "client.h"
#include "dpot/settings.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#define TEXT_MAX 4096
#define KEYSTORE_KEY_MIN 16
#define KEYSTORE_KEY_MAX 64
#define GROUP_PREFIX "group."

struct dpot_settings {
    struct dpot_client_config config;
    char folder[TEXT_MAX];
    char ca_file[TEXT_MAX];
    char server_url[TEXT_MAX];
    uint8_t keystore_key[KEYSTORE_KEY_MAX];
    struct dpot_campaign_group *groups; /* (config.n_groups) */
};

/* ---- keys ---- */

enum kind { TEXT, PIN, SECRET, ACCOUNTANT, REAL, UINT32, UINT64, GROUP };

static const char *const ranges[] = {
    [TEXT] = "a text of at most 4095 bytes",
    [PIN] = "the server's signing key, 64 hexadecimal digits",
    [SECRET] = "32 to 128 hexadecimal digits",
    [ACCOUNTANT] = "basic or zcdp",
    [REAL] = "a finite decimal number, for instance 0.5",
    [UINT32] = "a whole number from 0 to 4294967295",
    [UINT64] = "a whole number from 0 to 18446744073709551615",
    [GROUP] = "a number from 0 to 4294967295, for \"group.\" and 32 hexadecimal digits",
};

struct key {
    const char *name;
    enum kind kind;
    size_t offset; /* in struct dpot_settings */
};

#define OF_SETTINGS(name, kind)                                                                    \
    {                                                                                              \
#name, kind, offsetof(struct dpot_settings, name)                                          \
    }
#define OF_CONFIG(name, kind)                                                                      \
    {                                                                                              \
#name, kind, offsetof(struct dpot_settings, config.name)                                   \
    }

static const struct key keys[] = {
    OF_SETTINGS(folder, TEXT),
    OF_SETTINGS(ca_file, TEXT),
    OF_SETTINGS(server_url, TEXT),
    OF_SETTINGS(keystore_key, SECRET),
    OF_CONFIG(pin, PIN),
    OF_CONFIG(accountant, ACCOUNTANT),
    OF_CONFIG(campaign_epsilon_cap, REAL),
    OF_CONFIG(window_epsilon_cap, REAL),
    OF_CONFIG(window_seconds, UINT64),
    OF_CONFIG(lifetime_epsilon_cap, REAL),
    OF_CONFIG(campaign_delta_cap, REAL),
    OF_CONFIG(window_delta_cap, REAL),
    OF_CONFIG(lifetime_delta_cap, REAL),
    OF_CONFIG(campaign_rho_cap, REAL),
    OF_CONFIG(window_rho_cap, REAL),
    OF_CONFIG(lifetime_rho_cap, REAL),
    OF_CONFIG(send_delay_ms, UINT32),
    OF_CONFIG(request_timeout_ms, UINT32),
    OF_CONFIG(group, UINT32),
    OF_CONFIG(spool_max_bytes, UINT64),
    OF_CONFIG(work_max_ms, UINT32),
    OF_CONFIG(memory_max_bytes, UINT64),
};

static const struct key group_key = {GROUP_PREFIX, GROUP, 0};

static const struct key *find_key(const char *name)
{
    for (size_t i = 0; i < sizeof keys / sizeof keys[0]; i++) {
        if (strcmp(keys[i].name, name) == 0) {
            return &keys[i];
        }
    }
    return strncmp(name, GROUP_PREFIX, sizeof GROUP_PREFIX - 1) == 0 ? &group_key : NULL;
}

/* ---- values ---- */

static bool set_text(char *text, const char *value)
{
    const size_t len = strlen(value);
    if (len >= TEXT_MAX) {
        return false;
    }
    memcpy(text, value, len + 1);
    return true;
}

static bool set_secret(struct dpot_settings *settings, const char *value)
{
    const size_t len = strlen(value) / 2;
    uint8_t secret[KEYSTORE_KEY_MAX];
    const bool is_secret = len >= KEYSTORE_KEY_MIN && len <= KEYSTORE_KEY_MAX &&
                           dpot_hex_decode(value, secret, len) == DPOT_OK;
    if (is_secret) {
        memcpy(settings->keystore_key, secret, len);
        settings->config.keystore_key_len = len;
    }
    dpot_wipe(secret, sizeof secret);
    return is_secret;
}

static bool set_pin(uint8_t pin[32], const char *value)
{
    uint8_t key[32];
    const bool is_key = dpot_hex_decode(value, key, sizeof key) == DPOT_OK;
    if (is_key) {
        memcpy(pin, key, sizeof key);
    }
    return is_key;
}

static bool set_accountant(uint32_t *accountant, const char *value)
{
    const bool is_zcdp = strcmp(value, "zcdp") == 0;
    if (!is_zcdp && strcmp(value, "basic") != 0) {
        return false;
    }
    *accountant = is_zcdp ? DPOT_ACCOUNTANT_ZCDP : DPOT_ACCOUNTANT_BASIC;
    return true;
}

static bool set_uint32(uint32_t *number, const char *value)
{
    uint64_t parsed = 0;
    if (!dpot_decimal_parse_integer(value, UINT32_MAX, &parsed)) {
        return false;
    }
    *number = (uint32_t)parsed;
    return true;
}

static struct dpot_campaign_group *find_group(const struct dpot_settings *settings,
                                              const uint8_t campaign_id[DPOT_CAMPAIGN_ID_LEN])
{
    for (size_t i = 0; i < settings->config.n_groups; i++) {
        if (memcmp(settings->groups[i].campaign_id, campaign_id, DPOT_CAMPAIGN_ID_LEN) == 0) {
            return &settings->groups[i];
        }
    }
    return NULL;
}

static dpot_status set_group(struct dpot_settings *settings, const char *id, const char *value)
{
    struct dpot_campaign_group entry = {.group = 0};
    if (dpot_hex_decode(id, entry.campaign_id, sizeof entry.campaign_id) != DPOT_OK ||
        !set_uint32(&entry.group, value)) {
        return DPOT_ERR_ARGUMENT;
    }
    struct dpot_campaign_group *group = find_group(settings, entry.campaign_id);
    const size_t n = settings->config.n_groups;
    if (!group) {
        group = dpot_resize_array(NULL, settings->groups, n, n + 1, sizeof *group);
        if (!group) {
            return DPOT_ERR_MEMORY;
        }
        settings->groups = group;
        settings->config.n_groups = n + 1;
        group += n;
    }
    *group = entry;
    return DPOT_OK;
}

/* DPOT_ERR_ARGUMENT: the key cannot have this value. */
static dpot_status set_value(struct dpot_settings *settings, const struct key *key,
                             const char *name, const char *value)
{
    void *member = (char *)settings + key->offset;
    bool is_set = false;
    switch (key->kind) {
    case TEXT:
        is_set = set_text(member, value);
        break;
    case PIN:
        is_set = set_pin(member, value);
        break;
    case SECRET:
        is_set = set_secret(settings, value);
        break;
    case ACCOUNTANT:
        is_set = set_accountant(member, value);
        break;
    case REAL:
        is_set = dpot_decimal_parse(value, member);
        break;
    case UINT32:
        is_set = set_uint32(member, value);
        break;
    case UINT64:
        is_set = dpot_decimal_parse_integer(value, UINT64_MAX, member);
        break;
    case GROUP:
        return set_group(settings, name + sizeof GROUP_PREFIX - 1, value);
    }
    return is_set ? DPOT_OK : DPOT_ERR_ARGUMENT;
}

static dpot_status set(struct dpot_settings *settings, const char *name, const char *value,
                       struct dpot_error *error)
{
    if (!settings || !name || !value) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT, "%s is NULL: give it",
                              !settings ? "settings"
                              : !name   ? "key"
                                        : "value");
    }
    const struct key *key = find_key(name);
    if (!key) {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "there is no setting \"%.100s\": dpot/settings.h has the list", name);
    }
    const dpot_status status = set_value(settings, key, name, value);
    if (status != DPOT_ERR_ARGUMENT) {
        return status;
    }
    return key->kind == SECRET || key->kind == TEXT /* a server_url may have a password */
               ? dpot_error_set(error, status, "%s: not a value it can have: give %s", name,
                                ranges[key->kind])
               : dpot_error_set(error, status,
                                "%.100s: \"%.100s\" is not a value it can have: give %s", name,
                                value, ranges[key->kind]);
}

/* ---- the calls ---- */

dpot_status dpot_settings_new(dpot_settings **settings)
{
    if (!settings) {
        return DPOT_ERR_ARGUMENT;
    }
    *settings = dpot_alloc_array(NULL, 1, sizeof **settings);
    if (!*settings) {
        return DPOT_ERR_MEMORY;
    }
    dpot_client_config_init(&(*settings)->config, sizeof(*settings)->config);
    return DPOT_OK;
}

void dpot_settings_free(dpot_settings *settings)
{
    if (settings) {
        dpot_free_array(NULL, settings->groups, settings->config.n_groups,
                        sizeof *settings->groups);
        dpot_free_secret(NULL, settings, 1, sizeof *settings);
    }
}

dpot_status dpot_settings_set(dpot_settings *settings, const char *key, const char *value,
                              char *error_text, size_t error_cap)
{
    struct dpot_error error = {{0}};
    const dpot_status status = set(settings, key, value, &error);
    dpot_client_put_error(error_text, error_cap, &error, status);
    return status;
}

/* ---- opening ---- */

/* What a client that was opened by settings owns beside its own memory. */
struct belongings {
    struct dpot_filesystem *files;
    struct dpot_transport *transport;
    struct dpot_campaign_group *groups; /* (n_groups) */
    size_t n_groups;
};

static void release(void *owned)
{
    struct belongings *b = owned;
    dpot_filesystem_posix_free(b->files);
#if DPOT_WITH_CURL
    dpot_transport_curl_free(b->transport);
#endif
    dpot_free_array(NULL, b->groups, b->n_groups, sizeof *b->groups);
    dpot_free_array(NULL, b, 1, sizeof *b);
}

static dpot_status open_folder(const char *folder, struct dpot_filesystem **files,
                               struct dpot_error *error)
{
    if (folder[0] == '\0') {
        return dpot_error_set(error, DPOT_ERR_ARGUMENT,
                              "folder is not set: give one for the device's files");
    }
    const dpot_status status = dpot_filesystem_posix_new(folder, files);
    return status == DPOT_ERR_IO
               ? dpot_error_set(error, status,
                                "folder \"%.200s\": %s: give one that can be written", folder,
                                strerror(errno))
               : status;
}

/* Without libcurl there is none, and dpot_client_open refuses a server_url. */
static dpot_status open_network(const struct dpot_settings *settings,
                                struct dpot_transport **transport)
{
#if DPOT_WITH_CURL
    if (settings->server_url[0]) {
        return dpot_transport_curl_new(settings->ca_file[0] ? settings->ca_file : NULL, transport);
    }
#else
    (void)settings;
    (void)transport;
#endif
    return DPOT_OK;
}

static dpot_status copy_groups(const struct dpot_settings *settings, struct belongings *b)
{
    const size_t n = settings->config.n_groups;
    if (n > 0) {
        b->groups = dpot_alloc_array(NULL, n, sizeof *b->groups);
        if (!b->groups) {
            return DPOT_ERR_MEMORY;
        }
        memcpy(b->groups, settings->groups, n * sizeof *b->groups);
        b->n_groups = n;
    }
    return DPOT_OK;
}

static dpot_status collect(const struct dpot_settings *settings, struct belongings *b,
                           struct dpot_error *error)
{
    dpot_status status = open_folder(settings->folder, &b->files, error);
    if (status == DPOT_OK) {
        status = open_network(settings, &b->transport);
    }
    return status == DPOT_OK ? copy_groups(settings, b) : status;
}

static dpot_status open_with(const struct dpot_settings *settings, struct belongings *b,
                             dpot_client **client, char *error_text, size_t error_cap)
{
    struct dpot_client_config config = settings->config;
    config.server_url = settings->server_url[0] ? settings->server_url : NULL;
    config.keystore_key = config.keystore_key_len > 0 ? settings->keystore_key : NULL;
    config.filesystem = b->files;
    config.transport = b->transport;
    config.groups = b->groups;
    const dpot_status status = dpot_client_open(&config, client, error_text, error_cap);
    if (status == DPOT_OK) {
        (*client)->owned = b;
        (*client)->release_owned = release;
    }
    return status;
}

dpot_status dpot_client_open_settings(const dpot_settings *settings, dpot_client **client,
                                      char *error_text, size_t error_cap)
{
    struct dpot_error error = {{0}};
    if (client) {
        *client = NULL;
    }
    if (!settings || !client) {
        (void)dpot_error_set(&error, DPOT_ERR_ARGUMENT, "%s is NULL: give it",
                             settings ? "client" : "settings");
        dpot_client_put_error(error_text, error_cap, &error, DPOT_ERR_ARGUMENT);
        return DPOT_ERR_ARGUMENT;
    }
    struct belongings *b = dpot_alloc_array(NULL, 1, sizeof *b);
    dpot_status status = b ? collect(settings, b, &error) : DPOT_ERR_MEMORY;
    dpot_client_put_error(error_text, error_cap, &error, status);
    if (status == DPOT_OK) {
        status = open_with(settings, b, client, error_text, error_cap);
    }
    if (status != DPOT_OK && b) {
        release(b);
    }
    return status;
}
