/* dpot/settings.h: settings by key and value, results as JSON. */
#include "dpot/settings.h"
#include "settings/decimal.h"
#include "unit/client/world.h"

#include "base/crypto.h"

#include <criterion/criterion.h>
#include <dirent.h>
#include <jansson.h>
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HEADER DPOT_TEST_DATA "/../client/include/dpot/dpot.h"
#define SECRET "000102030405060708090a0b0c0d0e0fXX"

static struct authority authority;
static struct world world;
static char folder[64];
static dpot_settings *settings;
static char error[400];
static char text[DPOT_JSON_SIZE];

static void set_up(void)
{
    authority_init(&authority, 5);
    world_init(&world, &authority, 1);
    memcpy(folder, "/tmp/dpot-settings-XXXXXX", 26);
    cr_assert_not_null(mkdtemp(folder));
    cr_assert_eq(dpot_settings_new(&settings), DPOT_OK);
}

static void remove_folder(void)
{
    DIR *files = opendir(folder);
    cr_assert_not_null(files);
    for (const struct dirent *entry = readdir(files); entry; entry = readdir(files)) {
        (void)unlinkat(dirfd(files), entry->d_name, 0); /* "." and ".." stay */
    }
    (void)closedir(files);
    cr_expect_eq(rmdir(folder), 0);
}

static void tear_down(void)
{
    dpot_settings_free(settings);
    remove_folder();
    world_release(&world);
    authority_release(&authority);
}

TestSuite(settings, .init = set_up, .fini = tear_down);

static void set(const char *key, const char *value)
{
    cr_assert_eq(dpot_settings_set(settings, key, value, error, sizeof error), DPOT_OK, "%s",
                 error);
}

static void set_required(void)
{
    char pin[2 * DPOT_SIGN_PUBLIC_LEN + 1];
    dpot_hex_encode(pin, authority.pin, sizeof authority.pin);
    set("folder", folder);
    set("pin", pin);
    set("campaign_epsilon_cap", "4");
    set("window_epsilon_cap", "4.5");
    set("window_seconds", "86400");
    set("lifetime_epsilon_cap", "2e1");
}

static dpot_client *open_settings(void)
{
    dpot_client *client = NULL;
    cr_assert_eq(dpot_client_open_settings(settings, &client, error, sizeof error), DPOT_OK, "%s",
                 error);
    cr_assert_str_eq(error, "");
    return client;
}

static json_t *parse(void)
{
    json_error_t why;
    json_t *object = json_loads(text, JSON_REJECT_DUPLICATES, &why);
    cr_assert_not_null(object, "%s: %s", why.text, text);
    cr_assert_null(strchr(text, '\n'));
    return object;
}

static double number(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "%s in %s", key, text);
    return json_number_value(value);
}

/* Calls `take` for each member of a struct of dpot.h but struct_size; returns their number. */
static size_t for_each_member(const char *name, void (*take)(const char *member, void *ctx),
                              void *ctx)
{
    char line[256], begin[64];
    size_t n = 0;
    bool is_inside = false;
    FILE *header = fopen(HEADER, "r");
    cr_assert_not_null(header);
    (void)snprintf(begin, sizeof begin, "struct %s {", name);
    while (fgets(line, sizeof line, header)) {
        is_inside = (is_inside && line[0] != '}') || strncmp(line, begin, strlen(begin)) == 0;
        char *comment = strstr(line, "/*");
        if (comment) {
            *comment = '\0';
        }
        char *end = strpbrk(line, ";[");
        if (!is_inside || !end || strncmp(line, "    ", 4) != 0) {
            continue;
        }
        *end = '\0';
        const char *member = strrchr(line, ' ') + 1;
        member += *member == '*';
        if (strcmp(member, "struct_size") != 0) {
            take(member, ctx);
            n++;
        }
    }
    (void)fclose(header);
    return n;
}

static void expect_key(const char *member, void *ctx)
{
    static const char *const values[] = {"1", "basic", SECRET, "aa"};
    static const char *const hooks[] = {"keystore_key_len", "filesystem", "transport", "clock",
                                        "allocator",        "counter",    "groups",    "n_groups"};
    (void)ctx;
    for (size_t i = 0; i < sizeof hooks / sizeof hooks[0]; i++) {
        if (strcmp(member, hooks[i]) == 0) {
            return;
        }
    }
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        if (dpot_settings_set(settings, member, values[i], error, sizeof error) == DPOT_OK) {
            return;
        }
    }
    cr_expect_null(strstr(error, "there is no setting"), "%s", error);
}

Test(settings, every_member_of_the_config_that_is_no_hook_is_a_key)
{
    cr_assert_gt(for_each_member("dpot_client_config", expect_key, NULL), 25);
}

static void expect_member(const char *member, void *ctx)
{
    cr_expect_not_null(json_object_get(ctx, member), "%s is not in %s", member, text);
}

Test(settings, objects_have_every_member_of_their_struct)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(dpot_client_get_status_json(client, text, sizeof text), DPOT_OK);
    json_t *object = parse();
    cr_expect_eq(for_each_member("dpot_client_status", expect_member, object),
                 json_object_size(object));
    json_decref(object);
    cr_assert_eq(dpot_client_pump_json(client, PUMP_MS, text, sizeof text), DPOT_OK);
    object = parse();
    cr_expect_eq(for_each_member("dpot_pump_result", expect_member, object),
                 json_object_size(object));
    json_decref(object);
    cr_assert_eq(dpot_client_get_campaign_json(client, authority.campaign.id, text, sizeof text),
                 DPOT_OK);
    object = parse();
    cr_expect_eq(for_each_member("dpot_campaign_info", expect_member, object) + 3,
                 json_object_size(object));
    json_decref(object);
    dpot_client_close(client);
}

Test(settings, objects_have_the_values_of_their_structs)
{
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK);
    const struct dpot_client_status status = world_status(client);
    cr_assert_eq(dpot_client_get_status_json(client, text, sizeof text), DPOT_OK);
    json_t *object = parse();
    cr_expect_eq(number(object, "n_submitted"), 1);
    cr_expect_eq(number(object, "n_pending"), 1);
    cr_expect_eq(number(object, "spent_epsilon"), status.spent_epsilon);
    cr_expect_eq(number(object, "lifetime_epsilon_cap"), 100);
    cr_expect_eq(number(object, "device_time_ms"), (double)status.device_time_ms);
    cr_expect_eq(number(object, "next_due_ms"), (double)status.next_due_ms);
    cr_expect(json_is_null(json_object_get(object, "paused_until_ms")));
    cr_expect(json_is_false(json_object_get(object, "is_exhausted")));
    cr_expect_str_eq(json_string_value(json_object_get(object, "accountant")), "basic");
    json_decref(object);

    world.clock.now_ms += DUE_MS;
    cr_assert_eq(dpot_client_pump_json(client, PUMP_MS, text, sizeof text), DPOT_OK);
    object = parse();
    cr_expect_eq(number(object, "n_sent"), 1);
    cr_expect_eq(number(object, "n_accepted"), 1);
    cr_expect(json_is_null(json_object_get(object, "next_due_ms")));
    json_decref(object);

    cr_assert_eq(dpot_client_get_campaign_json(client, authority.campaign.id, text, sizeof text),
                 DPOT_OK);
    object = parse();
    cr_expect_eq(number(object, "rounds"), 5);
    cr_expect_eq(number(object, "opens_ms"), (double)OPENS_MS);
    cr_expect_eq(number(object, "n_numbers"), RING_SIZE);
    cr_expect_eq(number(object, "spent_epsilon"), status.spent_epsilon);
    cr_expect(json_is_false(json_object_get(object, "is_vector")));
    json_decref(object);
    dpot_client_close(client);
}

Test(settings, a_sum_that_is_not_defined_is_null)
{
    authority_ask_for_vectors(&authority, DPOT_MECHANISM_GAUSSIAN);
    authority.campaign.noise.certificate_row = 0; /* a rho and no epsilon */
    authority_sign(&authority);
    world.config.campaign_epsilon_cap = world.config.window_epsilon_cap = 0;
    world.config.lifetime_epsilon_cap = 0;
    world.config.accountant = DPOT_ACCOUNTANT_ZCDP;
    world.config.campaign_rho_cap = world.config.window_rho_cap = 100;
    world.config.lifetime_rho_cap = 100;
    dpot_client *client = world_enroll(&world);
    cr_assert_eq(world_submit(&world, client, NULL), DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(dpot_client_get_status_json(client, text, sizeof text), DPOT_OK);
    json_t *object = parse();
    cr_expect(json_is_null(json_object_get(object, "spent_epsilon")));
    cr_expect(json_is_null(json_object_get(object, "window_spent_delta")));
    cr_expect_gt(number(object, "spent_rho"), 0);
    cr_expect_str_eq(json_string_value(json_object_get(object, "accountant")), "zcdp");
    json_decref(object);
    cr_assert_eq(dpot_client_get_campaign_json(client, authority.campaign.id, text, sizeof text),
                 DPOT_OK);
    object = parse();
    cr_expect(json_is_null(json_object_get(object, "spent_epsilon")));
    cr_expect(json_is_true(json_object_get(object, "is_vector")));
    json_decref(object);
    dpot_client_close(client);
}

Test(settings, results_need_room_and_a_failure_leaves_none)
{
    dpot_client *client = world_open(&world);
    cr_expect_eq(dpot_client_get_status_json(client, text, sizeof text - 1), DPOT_ERR_ARGUMENT);
    cr_expect_not_null(strstr(dpot_client_last_error(client), "4096"));
    cr_expect_eq(dpot_client_pump_json(client, 0, NULL, sizeof text), DPOT_ERR_ARGUMENT);
    cr_expect_eq(dpot_client_get_status_json(NULL, text, sizeof text), DPOT_ERR_ARGUMENT);
    cr_expect_eq(dpot_client_get_campaign_json(client, NULL, text, sizeof text), DPOT_ERR_ARGUMENT);
    (void)snprintf(text, sizeof text, "old");
    cr_expect_eq(dpot_client_get_campaign_json(client, authority.campaign.id, text, sizeof text),
                 DPOT_ERR_NOT_FOUND);
    cr_expect_str_eq(text, "");
    dpot_client_close(client);
}

Test(settings, a_client_keeps_what_it_was_opened_with)
{
    uint8_t id[DPOT_CAMPAIGN_ID_LEN];
    static const double place[] = {1};
    enum dpot_submit_outcome outcome = 0;
    set_required();
    set("keystore_key", "000102030405060708090a0b0c0d0e0f");
    set("group.000102030405060708090a0b0c0d0e0f", "7");
    dpot_client *client = open_settings();
    set("folder", "/nonexistent");
    dpot_settings_free(settings);
    settings = NULL;
    authority.campaign.closes_ms += 100 * 365 * DAY_MS; /* open by the system clock */
    authority_sign(&authority);
    cr_assert_eq(dpot_client_import(client, authority.signed_campaign.data,
                                    authority.signed_campaign.len, id),
                 DPOT_OK, "%s", dpot_client_last_error(client));
    cr_assert_eq(dpot_client_submit_points(client, id, place, NULL, 1, 1, &outcome), DPOT_OK, "%s",
                 dpot_client_last_error(client));
    cr_expect_eq(outcome, DPOT_SUBMIT_REPORTED);
    cr_assert_eq(dpot_client_get_status_json(client, text, sizeof text), DPOT_OK);
    json_t *object = parse();
    cr_expect_eq(number(object, "window_epsilon_cap"), 4.5);
    cr_expect_eq(number(object, "lifetime_epsilon_cap"), 20);
    json_decref(object);
    dpot_client_close(client);
}

Test(settings, a_setting_is_refused_by_its_key_and_value)
{
    static const struct {
        const char *key, *value, *sentence;
    } refused[] = {
        {"server", "https://localhost", "no setting \"server\""},
        {"struct_size", "8", "no setting \"struct_size\""},
        {"", "", "no setting \"\""},
        {"group.", "1", "group.: \"1\""},
        {"group.00", "1", "32 hexadecimal digits"},
        {"group.000102030405060708090a0b0c0d0e0f", "4294967296", "0 to 4294967295"},
        {"pin", "00", "pin: \"00\" is not a value it can have: give the server's signing key"},
        {"accountant", "zCDP", "accountant: \"zCDP\""},
        {"campaign_epsilon_cap", "", "campaign_epsilon_cap: \"\""},
        {"campaign_epsilon_cap", "1,5", "\"1,5\""},
        {"campaign_epsilon_cap", "inf", "\"inf\""},
        {"campaign_epsilon_cap", "1e999", "a finite decimal number"},
        {"campaign_epsilon_cap", "1e-999", "a finite decimal number"},
        {"campaign_epsilon_cap", "0x1p3", "a finite decimal number"},
        {"campaign_epsilon_cap", "1 ", "a finite decimal number"},
        {"campaign_epsilon_cap", "1.2.3", "a finite decimal number"},
        {"window_seconds", "-1", "window_seconds: \"-1\""},
        {"window_seconds", "1.5", "window_seconds: \"1.5\""},
        {"window_seconds", "18446744073709551616", "0 to 18446744073709551615"},
        {"work_max_ms", "4294967296", "0 to 4294967295"},
    };
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++) {
        cr_expect_eq(
            dpot_settings_set(settings, refused[i].key, refused[i].value, error, sizeof error),
            DPOT_ERR_ARGUMENT, "%s", refused[i].key);
        cr_expect_not_null(strstr(error, refused[i].sentence), "%s", error);
    }
    cr_expect_eq(dpot_settings_set(settings, "folder", NULL, error, sizeof error),
                 DPOT_ERR_ARGUMENT);
    cr_expect_str_eq(error, "value is NULL: give it");
    cr_expect_eq(dpot_settings_set(NULL, "folder", "", NULL, 0), DPOT_ERR_ARGUMENT);
    cr_expect_eq(dpot_settings_new(NULL), DPOT_ERR_ARGUMENT);
}

Test(settings, a_text_that_does_not_fit_is_refused)
{
    char longest[4097];
    memset(longest, 'a', sizeof longest);
    longest[4095] = '\0';
    set("ca_file", longest);
    longest[4095] = 'a';
    longest[4096] = '\0';
    cr_expect_eq(dpot_settings_set(settings, "ca_file", longest, error, sizeof error),
                 DPOT_ERR_ARGUMENT);
    cr_expect_str_eq(error, "ca_file: not a value it can have: give a text of at most 4095 bytes");
}

Test(settings, a_secret_is_in_no_sentence)
{
    cr_expect_eq(dpot_settings_set(settings, "keystore_key", SECRET, error, sizeof error),
                 DPOT_ERR_ARGUMENT);
    cr_expect_not_null(strstr(error, "keystore_key"));
    cr_expect_null(strstr(error, "0001"));
}

Test(settings, the_last_value_of_a_key_counts_and_a_refused_one_does_not)
{
    set_required();
    set("lifetime_epsilon_cap", "7");
    cr_expect_eq(dpot_settings_set(settings, "lifetime_epsilon_cap", "x", NULL, 0),
                 DPOT_ERR_ARGUMENT);
    dpot_client *client = open_settings();
    struct dpot_client_status status = world_status(client);
    cr_expect_eq(status.lifetime_epsilon_cap, 7);
    dpot_client_close(client);
}

Test(settings, an_opening_is_refused_in_one_sentence)
{
    dpot_client *client = (dpot_client *)error;
    cr_expect_eq(dpot_client_open_settings(settings, &client, error, sizeof error),
                 DPOT_ERR_ARGUMENT);
    cr_expect_null(client);
    cr_expect_str_eq(error, "folder is not set: give one for the device's files");
    set_required();
    set("folder", HEADER);
    cr_expect_eq(dpot_client_open_settings(settings, &client, error, sizeof error), DPOT_ERR_IO);
    cr_expect_not_null(strstr(error, "Not a directory"), "%s", error);
    set("folder", folder);
    set("lifetime_epsilon_cap", "0");
    cr_expect_eq(dpot_client_open_settings(settings, &client, error, sizeof error),
                 DPOT_ERR_CAP_UNSET);
    cr_expect_not_null(strstr(error, "lifetime_epsilon_cap"), "%s", error);
    cr_expect_null(client);
    set("server_url", "pool.example.org");
    cr_expect_eq(dpot_client_open_settings(settings, &client, error, sizeof error),
                 DPOT_ERR_ARGUMENT);
    cr_expect_not_null(strstr(error, "server_url"), "%s", error);
    cr_expect_eq(dpot_client_open_settings(settings, NULL, error, sizeof error), DPOT_ERR_ARGUMENT);
    cr_expect_eq(dpot_client_open_settings(NULL, &client, error, sizeof error), DPOT_ERR_ARGUMENT);
}

/* A locale with a comma: that of C.UTF-8, altered. */
static void use_comma(void)
{
    char path[128], bytes[256];
    FILE *file = fopen("/usr/lib/locale/C.utf8/LC_NUMERIC", "rb");
    cr_assert_not_null(file);
    const size_t len = fread(bytes, 1, sizeof bytes, file);
    (void)fclose(file);
    for (size_t i = 0; i < len; i++) {
        bytes[i] = bytes[i] == '.' ? ',' : bytes[i];
    }
    (void)snprintf(path, sizeof path, "%s/comma", folder);
    cr_assert_eq(mkdir(path, 0700), 0);
    (void)snprintf(path, sizeof path, "%s/comma/LC_NUMERIC", folder);
    file = fopen(path, "wb");
    cr_assert_not_null(file);
    cr_assert_eq(fwrite(bytes, 1, len, file), len);
    (void)fclose(file);
    cr_assert_eq(setenv("LOCPATH", folder, 1), 0);
    const char *name = setlocale(LC_NUMERIC, "comma");
    (void)unlink(path);
    (void)snprintf(path, sizeof path, "%s/comma", folder);
    (void)rmdir(path);
    cr_assert_not_null(name);
    cr_assert_str_eq(localeconv()->decimal_point, ",");
}

Test(settings, numbers_have_a_point_in_every_locale)
{
    char out[DPOT_DECIMAL_SIZE];
    double value = 0;
    use_comma();
    cr_assert(dpot_decimal_parse("2.5e-1", &value));
    cr_expect_eq(value, 0.25);
    cr_expect_not(dpot_decimal_parse("2,5", &value));
    dpot_decimal_format(-0.1, out);
    cr_expect_str_eq(out, "-0.1");
}

Test(settings, decimals_read_back_as_the_same_number)
{
    static const double values[] = {0, 1, -1, 0.1, 1e300, 5e-324, 4294967295.75, 1.0 / 3};
    for (size_t i = 0; i < sizeof values / sizeof values[0]; i++) {
        char out[DPOT_DECIMAL_SIZE];
        double back = NAN;
        dpot_decimal_format(values[i], out);
        cr_expect(dpot_decimal_parse(out, &back) && back == values[i], "%s", out);
    }
}
