#include "settings.h"

#include "base/crypto.h"
#include "cli/options.h"
#include "files/number.h"
#include "storage/files.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define FILE_MAX 32768
#define CAP_RANGE "a number above 0 and below 2^31"
#define VERSION_LINE "version=2\n"
#define CHECKSUM_LINE "checksum="
#define CHECKSUM_LEN (sizeof CHECKSUM_LINE - 1 + 2 * DPOT_HASH_LEN + 1) /* with its line end */
#define REMEDY "run dpot-device enroll again"
#define CHANGE                                                                                     \
    "Run dpot-device enroll again: it takes the caps, --server, --pin, --ca-file, --max-spool "    \
    "and the "                                                                                     \
    "--group of each campaign, and writes the file anew"
#define TEXT_RANGE "one line of at most 1099 bytes"
#define SERVER_MAX 1024 /* bytes that libdpot takes */
#define COUNT_MAX UINT64_C(1000000000000000000)

static bool copy_text(const char *text, char out[SETTING_MAX])
{
    const int len = snprintf(out, SETTING_MAX, "%s", text);
    return len >= 0 && len < SETTING_MAX && !strchr(text, '\n');
}

static void set_defaults(struct settings *s)
{
    struct dpot_client_config config;
    dpot_client_config_init(&config, sizeof config);
    memset(s, 0, sizeof *s);
    s->accountant = config.accountant;
    s->spool_max = config.spool_max_bytes;
}

/* ---- groups ---- */

static struct dpot_campaign_group *find_own_group(struct settings *s, const uint8_t campaign[16])
{
    for (size_t i = 0; i < s->n_groups; i++) {
        if (memcmp(s->groups[i].campaign_id, campaign, sizeof s->campaign) == 0) {
            return &s->groups[i];
        }
    }
    return NULL;
}

bool settings_find_group(const struct settings *settings, const uint8_t campaign[16],
                         uint32_t *group)
{
    for (size_t i = 0; i < settings->n_groups; i++) {
        if (memcmp(settings->groups[i].campaign_id, campaign, sizeof settings->campaign) == 0) {
            *group = settings->groups[i].group;
            return true;
        }
    }
    *group = settings->group_before;
    return settings->has_group_before;
}

static bool put_group(struct settings *settings, const uint8_t campaign[16], uint32_t group)
{
    struct dpot_campaign_group *own = find_own_group(settings, campaign);
    if (!own && settings->n_groups == GROUPS_MAX) {
        return false;
    }
    own = own ? own : &settings->groups[settings->n_groups++];
    memcpy(own->campaign_id, campaign, sizeof own->campaign_id);
    own->group = group;
    return true;
}

bool settings_choose_group(struct settings *settings, const uint8_t campaign[16], bool was_enrolled)
{
    const uint32_t group = was_enrolled ? settings->group_before : 0;
    return find_own_group(settings, campaign) || put_group(settings, campaign, group);
}

bool settings_keep_groups(struct settings *settings, const struct settings *before)
{
    for (size_t i = 0; i < before->n_groups; i++) {
        const struct dpot_campaign_group *kept = &before->groups[i];
        if (!find_own_group(settings, kept->campaign_id) &&
            !put_group(settings, kept->campaign_id, kept->group)) {
            return false;
        }
    }
    settings->has_group_before = before->has_group_before;
    settings->group_before = before->group_before;
    return true;
}

static bool parse_count(const char *text, uint64_t *count)
{
    return number_parse_integer(text, count) && *count < COUNT_MAX;
}

static bool parse_group(const char *text, uint32_t *group)
{
    uint64_t count = 0;
    const bool is_group = parse_count(text, &count) && count <= UINT32_MAX;
    *group = is_group ? (uint32_t)count : 0;
    return is_group;
}

/* ---- one setting ---- */

/* "group", of older files, or "group.ID". */
static bool set_group(struct settings *s, const char *id, const char *value)
{
    uint8_t campaign[sizeof s->campaign];
    uint32_t group = 0;
    if (!parse_group(value, &group)) {
        return false;
    }
    if (*id == '\0') {
        s->has_group_before = true;
        s->group_before = group;
        return true;
    }
    return *id == '.' && dpot_hex_decode(id + 1, campaign, sizeof campaign) == DPOT_OK &&
           !find_own_group(s, campaign) && put_group(s, campaign, group);
}

/* Sets one setting by its key in the file; false: the key is unknown or the value malformed. */
static bool set(struct settings *s, const char *key, const char *value)
{
    if (strcmp(key, "server") == 0) {
        return copy_text(value, s->server);
    }
    if (strcmp(key, "ca_file") == 0) {
        return copy_text(value, s->ca_file);
    }
    if (strcmp(key, "campaign") == 0) {
        return dpot_hex_decode(value, s->campaign, sizeof s->campaign) == DPOT_OK;
    }
    if (strcmp(key, "pin") == 0) {
        return dpot_hex_decode(value, s->pin, sizeof s->pin) == DPOT_OK;
    }
    if (strcmp(key, "campaign_cap") == 0) {
        return number_parse_finite(value, &s->campaign_cap);
    }
    if (strcmp(key, "window_cap") == 0) {
        return number_parse_finite(value, &s->window_cap);
    }
    if (strcmp(key, "delta_cap") == 0) {
        return number_parse_finite(value, &s->delta_cap);
    }
    if (strcmp(key, "accountant") == 0) {
        s->accountant = strcmp(value, "zcdp") == 0    ? DPOT_ACCOUNTANT_ZCDP
                        : strcmp(value, "basic") == 0 ? DPOT_ACCOUNTANT_BASIC
                                                      : 0;
        return s->accountant != 0;
    }
    if (strcmp(key, "window_seconds") == 0) {
        return parse_count(value, &s->window_seconds);
    }
    if (strcmp(key, "lifetime_cap") == 0) {
        return number_parse_finite(value, &s->lifetime_cap);
    }
    if (strncmp(key, "group", 5) == 0) {
        return set_group(s, key + 5, value);
    }
    if (strcmp(key, "spool_max") == 0) {
        return parse_count(value, &s->spool_max);
    }
    return false;
}

/* Checks what the library would report as a mistake of its caller. */
static const char *find_mistake(const struct settings *s)
{
    uint8_t any = 0;
    for (size_t i = 0; i < sizeof s->pin; i++) {
        any |= s->pin[i];
    }
    const bool is_https = strncmp(s->server, "https://", 8) == 0;
    if (!is_https && strncmp(s->server, "http://", 7) != 0) {
        return "--server must begin with https:// or http://";
    }
    const char first = s->server[is_https ? 8 : 7];
    if (first == '/' || first == '\0') {
        return "--server has no host";
    }
    if (strlen(s->server) > SERVER_MAX) {
        return "--server is longer than 1024 bytes";
    }
    if (any == 0) {
        return "--pin is all zeros: give the aggregator's signing key";
    }
    if (!(s->delta_cap >= 0 && s->delta_cap < 1)) {
        return "--delta-cap must be 0 (no delta at all) to below 1";
    }
    return NULL;
}

/* Otherwise a bad file would be noticed only when the first report is sent. */
static dpot_status check_ca_file(struct run *run, const struct settings *s)
{
    if (s->ca_file[0] == '\0') {
        return DPOT_OK;
    }
    if (strncmp(s->server, "https://", 8) != 0) {
        return RUN_USAGE(run,
                         "--ca-file goes with https:// and --server begins with http://: leave one "
                         "out");
    }
    FILE *file = fopen(s->ca_file, "rb");
    if (!file) {
        return RUN_FAIL(run, EXIT_CODE_DATA, DPOT_ERR_IO, "--ca-file %.200s: %s", s->ca_file,
                        strerror(errno));
    }
    const int first = fgetc(file);
    (void)fclose(file);
    return first == EOF ? RUN_FAIL(run, EXIT_CODE_DATA, DPOT_ERR_MALFORMED,
                                   "--ca-file %.200s: nothing can be read there: give a file of "
                                   "certificates (PEM)",
                                   s->ca_file)
                        : DPOT_OK;
}

/* The options of enroll: key in the file, name, and valid values. */
static const struct {
    const char *key, *option, *range;
    bool is_cap;
} wanted[] = {
    {"server", "server", TEXT_RANGE, false},
    {"campaign", "campaign", "32 hexadecimal digits", false},
    {"pin", "pin", "64 hexadecimal digits", false},
    {"campaign_cap", "campaign-cap", CAP_RANGE, true},
    {"window_cap", "window-cap", CAP_RANGE, true},
    {"window_seconds", "window-seconds", "a whole number of seconds from 1 to 10^18 - 1", true},
    {"lifetime_cap", "lifetime-cap", CAP_RANGE, true},
    {"accountant", "accountant", "basic or zcdp", false},
    {"delta_cap", "delta-cap", "0 (no delta at all) to below 1", false},
    {"ca_file", "ca-file", TEXT_RANGE, false},
    {"group", "group", "a whole number from 0 to 2^32 - 1", false},
    {"spool_max", "max-spool", "a whole number of bytes from 0 (no cap) to 10^18 - 1", false},
};

static dpot_status take_options(struct run *run, struct settings *settings)
{
    for (size_t i = 0; i < sizeof wanted / sizeof wanted[0]; i++) {
        const char *option = wanted[i].option, *value = option_text(run, option);
        if (!value && wanted[i].is_cap) {
            return dpot_error_set(&run->error, DPOT_ERR_CAP_UNSET,
                                  "--%s is missing: privacy caps have no default, set it", option);
        }
        if (value && !set(settings, wanted[i].key, value)) {
            return RUN_USAGE(run, "--%s: \"%.100s\" is not a value it can have: give %s", option,
                             value, wanted[i].range);
        }
    }
    return DPOT_OK;
}

dpot_status settings_from_options(struct run *run, struct settings *settings)
{
    set_defaults(settings);
    const dpot_status status = take_options(run, settings);
    if (status != DPOT_OK) {
        return status;
    }
    if (option_is_given(run, "group")) { /* of this campaign only */
        settings->has_group_before = false;
        (void)put_group(settings, settings->campaign, settings->group_before);
    }
    if (settings->accountant == DPOT_ACCOUNTANT_ZCDP && option_is_given(run, "delta-cap")) {
        return RUN_USAGE(run,
                         "--delta-cap goes with --accountant basic: with zcdp the three caps are "
                         "rhos and there is no delta cap");
    }
    const char *mistake = find_mistake(settings);
    return mistake ? RUN_USAGE(run, "%s", mistake) : check_ca_file(run, settings);
}

/* ---- the file ---- */

static dpot_status put_line(struct dpot_buf *text, const char *format, ...)
#if defined(__GNUC__)
    __attribute__((format(printf, 2, 3)))
#endif
    ;

static dpot_status put_line(struct dpot_buf *text, const char *format, ...)
{
    char line[SETTING_MAX + 32];
    va_list arguments;
    va_start(arguments, format);
    const int len = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    return len < 0 || (size_t)len >= sizeof line ? DPOT_ERR_TOO_LARGE
                                                 : dpot_buf_append(text, line, (size_t)len);
}

static dpot_status put_groups(const struct settings *settings, struct dpot_buf *text)
{
    dpot_status status = DPOT_OK;
    if (settings->has_group_before) {
        status = put_line(text, "group=%" PRIu32 "\n", settings->group_before);
    }
    for (size_t i = 0; i < settings->n_groups && status == DPOT_OK; i++) {
        char campaign[2 * sizeof settings->campaign + 1];
        dpot_hex_encode(campaign, settings->groups[i].campaign_id, sizeof settings->campaign);
        status = put_line(text, "group.%s=%" PRIu32 "\n", campaign, settings->groups[i].group);
    }
    return status;
}

static dpot_status put_settings(const struct settings *settings, struct dpot_buf *text)
{
    char campaign[2 * sizeof settings->campaign + 1], pin[2 * sizeof settings->pin + 1];
    dpot_hex_encode(campaign, settings->campaign, sizeof settings->campaign);
    dpot_hex_encode(pin, settings->pin, sizeof settings->pin);
    dpot_status status = put_line(text, VERSION_LINE "server=%s\n", settings->server);
    if (status == DPOT_OK) {
        status = put_line(text, "ca_file=%s\n", settings->ca_file);
    }
    if (status == DPOT_OK) {
        status = put_line(text,
                          "campaign=%s\npin=%s\ncampaign_cap=%.17g\nwindow_cap=%.17g\n"
                          "window_seconds=%" PRIu64 "\nlifetime_cap=%.17g\naccountant=%s\n"
                          "delta_cap=%.17g\nspool_max=%" PRIu64 "\n",
                          campaign, pin, settings->campaign_cap, settings->window_cap,
                          settings->window_seconds, settings->lifetime_cap,
                          settings->accountant == DPOT_ACCOUNTANT_ZCDP ? "zcdp" : "basic",
                          settings->delta_cap, settings->spool_max);
    }
    return status == DPOT_OK ? put_groups(settings, text) : status;
}

static void write_checksum(const void *text, size_t len, char line[CHECKSUM_LEN + 1])
{
    uint8_t hash[DPOT_HASH_LEN];
    char hex[2 * DPOT_HASH_LEN + 1];
    dpot_hash(hash, text, len);
    dpot_hex_encode(hex, hash, sizeof hash);
    (void)snprintf(line, CHECKSUM_LEN + 1, CHECKSUM_LINE "%s\n", hex);
}

dpot_status settings_write(const struct settings *settings, const struct dpot_filesystem *files,
                           struct dpot_error *error)
{
    struct dpot_buf text;
    dpot_buf_init(&text, FILE_MAX, NULL);
    dpot_status status = put_settings(settings, &text);
    if (status == DPOT_OK) {
        char line[CHECKSUM_LEN + 1];
        write_checksum(text.data, text.len, line);
        status = dpot_buf_append(&text, line, CHECKSUM_LEN);
    }
    if (status == DPOT_OK) {
        status = dpot_file_replace(files, SETTINGS_NAME, text.data, text.len);
    }
    dpot_buf_release(&text);
    return status == DPOT_OK ? DPOT_OK
                             : dpot_error_set(error, status, "%s: %s", SETTINGS_NAME,
                                              dpot_file_why(files, status));
}

static dpot_status parse_lines(struct settings *settings, char *text, struct dpot_error *error)
{
    size_t number = 0;
    while (*text) {
        number++;
        char *end = strchr(text, '\n');
        char *equals = strchr(text, '=');
        if (!end || !equals || equals > end) {
            return dpot_error_set(error, DPOT_ERR_MALFORMED, "%s, line %zu: not key=value: " REMEDY,
                                  SETTINGS_NAME, number);
        }
        *end = *equals = '\0';
        if (!set(settings, text, equals + 1)) {
            return dpot_error_set(error, DPOT_ERR_MALFORMED,
                                  "%s, line %zu: not a setting this program has written: " REMEDY,
                                  SETTINGS_NAME, number);
        }
        text = end + 1;
    }
    const char *mistake = find_mistake(settings);
    return mistake ? dpot_error_set(error, DPOT_ERR_MALFORMED, "%s: %s: " REMEDY, SETTINGS_NAME,
                                    mistake)
                   : DPOT_OK;
}

/* Removes the line with the checksum; false: it is missing or wrong. */
static bool take_checksum(struct dpot_buf *text)
{
    char line[CHECKSUM_LEN + 1];
    if (text->len < CHECKSUM_LEN) {
        return false;
    }
    text->len -= CHECKSUM_LEN;
    write_checksum(text->data, text->len, line);
    return memcmp(text->data + text->len, line, CHECKSUM_LEN) == 0;
}

static bool begins_with(const struct dpot_buf *text, const char *word)
{
    return text->len >= strlen(word) && memcmp(text->data, word, strlen(word)) == 0;
}

static dpot_status parse(struct settings *settings, struct dpot_buf *text, struct dpot_error *error)
{
    const bool has_version = begins_with(text, VERSION_LINE);
    if (has_version && !take_checksum(text)) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "%s: the checksum in its last line is wrong or missing: the file was "
                              "damaged, or edited by hand. " CHANGE,
                              SETTINGS_NAME);
    }
    settings->has_group_before = !has_version; /* 0 if the file has none */
    if (dpot_buf_append(text, "", 1) != DPOT_OK || strlen((char *)text->data) + 1 != text->len) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "%s: not text that this program has written: " REMEDY, SETTINGS_NAME);
    }
    char *lines = (char *)text->data + (has_version ? sizeof VERSION_LINE - 1 : 0);
    return parse_lines(settings, lines, error);
}

dpot_status settings_read(struct settings *settings, const struct dpot_filesystem *files,
                          struct dpot_error *error)
{
    struct dpot_buf text;
    set_defaults(settings); /* older files lack some settings */
    dpot_buf_init(&text, FILE_MAX + 1, NULL);
    dpot_status status = dpot_file_read(files, SETTINGS_NAME, &text);
    if (status == DPOT_OK) {
        status = parse(settings, &text, error);
    } else if (status == DPOT_ERR_NOT_FOUND) {
        (void)dpot_error_set(
            error, status, "%s is not in this folder: run dpot-device enroll first", SETTINGS_NAME);
    } else {
        (void)dpot_error_set(error, status, "%s: %s", SETTINGS_NAME, dpot_file_why(files, status));
    }
    dpot_buf_release(&text);
    return status;
}
