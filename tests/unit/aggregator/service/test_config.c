#include "dpotd/config.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/page.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char folder[FIXTURE_PATH_SIZE];
static char path[FIXTURE_PATH_SIZE];
static struct config config;

static void set_up(void)
{
    fixture_folder(folder);
    fixture_path(path, folder, "dpotd.json");
}

static void tear_down(void)
{
    fixture_remove(folder);
}

TestSuite(config, .init = set_up, .fini = tear_down);

#define REQUIRED                                                                                   \
    "\"listen\":\"127.0.0.1:8080\",\"store\":\"sqlite:dpot.db\",\"keys_dir\":\"keys\","            \
    "\"tokens_file\":\"tokens\""

static void accept(const char *text)
{
    struct dpot_error error = {{0}};
    fixture_write(path, text);
    cr_assert_eq(config_read(path, &config, &error), DPOT_OK, "%s", error.text);
}

static void refuse(const char *text, dpot_status expected, const char *word)
{
    struct dpot_error error = {{0}};
    fixture_write(path, text);
    const dpot_status status = config_read(path, &config, &error);
    cr_assert_eq(status, expected, "%s: %s", text, dpot_status_name(status));
    cr_assert_not_null(strstr(error.text, word), "%s", error.text);
    cr_assert_not_null(strstr(error.text, path), "%s", error.text);
}

static void expect_path(const char *found, const char *expected)
{
    char whole[2 * FIXTURE_PATH_SIZE];
    (void)snprintf(whole, sizeof whole, expected, folder);
    cr_assert_str_eq(found, whole);
}

Test(config, the_smallest_config_has_defaults_and_paths_beside_it)
{
    accept("{" REQUIRED "}");
    cr_assert_str_eq(config.listen, "127.0.0.1:8080");
    expect_path(config.store, "sqlite:%s/dpot.db");
    expect_path(config.keys_dir, "%s/keys");
    expect_path(config.tokens_file, "%s/tokens");
    cr_assert_str_eq(config.tls_cert, "");
    cr_assert_eq(config.max_body_bytes, DPOT_BATCH_BYTES_MAX);
    cr_assert_eq(config.max_connections, 1024);
    cr_assert_eq(config.request_timeout_s, 60);
    cr_assert_eq(config.job_threads, 1);
    cr_assert_eq(config.job_memory_bytes, (uint64_t)2 << 30);
    cr_assert_eq(config.job_keep_s, 60);
    cr_assert_eq(config.commit_max_reports, DPOT_BATCH_REPORTS_MAX);
    cr_assert_eq(config.commit_max_delay_ms, 0);
    cr_assert_eq(config.log, LOG_LEVEL_INFO);
    cr_assert_not(config.has_open_metrics);
}

Test(config, metrics_are_public_only_if_configured)
{
    accept("{" REQUIRED ",\"metrics\":\"open\"}");
    cr_assert(config.has_open_metrics);
    accept("{" REQUIRED ",\"metrics\":\"token\"}");
    cr_assert_not(config.has_open_metrics);
    refuse("{" REQUIRED ",\"metrics\":\"all\"}", DPOT_ERR_RANGE, "choose token or open");
}

Test(config, every_key_is_read)
{
    accept("{" REQUIRED ",\"tls\":{\"cert\":\"c.pem\",\"key\":\"/etc/k.pem\"},"
           "\"limits\":{\"max_connections\":50,\"max_connections_per_ip\":5,"
           "\"max_body_bytes\":100000,\"max_body_memory_bytes\":33554432,\"request_timeout_s\":7,"
           "\"threads\":3,\"job_threads\":4,\"job_memory_bytes\":67108864,\"job_keep_s\":9},"
           "\"commit\":{\"max_reports\":100,\"max_delay_ms\":2},\"log\":\"debug\"}");
    expect_path(config.tls_cert, "%s/c.pem");
    cr_assert_str_eq(config.tls_key, "/etc/k.pem");
    cr_assert_eq(config.max_connections, 50);
    cr_assert_eq(config.max_connections_per_ip, 5);
    cr_assert_eq(config.max_body_bytes, 100000);
    cr_assert_eq(config.max_body_memory_bytes, 33554432);
    cr_assert_eq(config.request_timeout_s, 7);
    cr_assert_eq(config.threads, 3);
    cr_assert_eq(config.job_threads, 4);
    cr_assert_eq(config.job_memory_bytes, 67108864);
    cr_assert_eq(config.job_keep_s, 9);
    cr_assert_eq(config.commit_max_reports, 100);
    cr_assert_eq(config.commit_max_delay_ms, 2);
    cr_assert_eq(config.log, LOG_LEVEL_DEBUG);
}

Test(config, absolute_paths_are_unchanged)
{
    accept("{\"listen\":\"[::1]:0\",\"store\":\"sqlite:/s/d.db\",\"keys_dir\":\"/k\","
           "\"tokens_file\":\"/t\"}");
    cr_assert_str_eq(config.store, "sqlite:/s/d.db");
    cr_assert_str_eq(config.keys_dir, "/k");
}

struct refusal {
    const char *text;
    dpot_status status;
    const char *word;
};

static const struct refusal refusals[] = {
    {"{" REQUIRED ",\"lissten\":1}", DPOT_ERR_MALFORMED, "lissten"},
    {"{" REQUIRED ",\"tls\":null}", DPOT_ERR_MALFORMED, "tls is null"},
    {"{" REQUIRED ",\"limits\":{\"max\":1}}", DPOT_ERR_MALFORMED, "limits.max"},
    {"{" REQUIRED ",\"commit\":{\"max\":1}}", DPOT_ERR_MALFORMED, "commit.max"},
    {"{" REQUIRED ",\"tls\":{\"cert\":\"c\",\"key\":\"k\",\"ca\":\"x\"}}", DPOT_ERR_MALFORMED,
     "tls.ca"},
    {"{" REQUIRED ",\"tls\":{\"cert\":\"c\"}}", DPOT_ERR_MALFORMED, "tls.key is missing"},
    {"{" REQUIRED ",\"tls\":{\"key\":\"c\"}}", DPOT_ERR_MALFORMED, "tls.cert is missing"},
    {"{" REQUIRED ",\"limits\":{\"threads\":0}}", DPOT_ERR_RANGE, "limits.threads is 0"},
    {"{" REQUIRED ",\"limits\":{\"job_threads\":0}}", DPOT_ERR_RANGE, "limits.job_threads is 0"},
    {"{" REQUIRED ",\"limits\":{\"job_memory_bytes\":1}}", DPOT_ERR_RANGE,
     "limits.job_memory_bytes is 1"},
    {"{" REQUIRED ",\"limits\":{\"job_keep_s\":0}}", DPOT_ERR_RANGE, "limits.job_keep_s is 0"},
    {"{" REQUIRED ",\"limits\":{\"threads\":\"many\"}}", DPOT_ERR_MALFORMED, "limits.threads"},
    {"{" REQUIRED ",\"limits\":{\"threads\":100,\"max_connections\":50}}", DPOT_ERR_RANGE,
     "limits.max_connections is 50"},
    {"{" REQUIRED ",\"limits\":{\"max_body_bytes\":8388609}}", DPOT_ERR_RANGE,
     "limits.max_body_bytes"},
    {"{" REQUIRED ",\"limits\":{\"request_timeout_s\":0}}", DPOT_ERR_RANGE,
     "limits.request_timeout_s"},
    {"{" REQUIRED ",\"commit\":{\"max_reports\":0}}", DPOT_ERR_RANGE, "commit.max_reports is 0"},
    {"{" REQUIRED ",\"commit\":{\"max_delay_ms\":-1}}", DPOT_ERR_RANGE, "commit.max_delay_ms"},
    {"{" REQUIRED ",\"commit\":[]}", DPOT_ERR_MALFORMED, "commit"},
    {"{" REQUIRED ",\"log\":\"loud\"}", DPOT_ERR_RANGE, "log is \"loud\""},
    {"{\"store\":\"sqlite:x\",\"keys_dir\":\"k\",\"tokens_file\":\"t\"}", DPOT_ERR_MALFORMED,
     "listen is missing"},
    {"{\"listen\":\"here\",\"store\":\"sqlite:x\",\"keys_dir\":\"k\",\"tokens_file\":\"t\"}",
     DPOT_ERR_MALFORMED, "listen is \"here\""},
    {"{\"listen\":\"h:1\",\"keys_dir\":\"k\",\"tokens_file\":\"t\"}", DPOT_ERR_MALFORMED,
     "store is missing"},
    {"{\"listen\":\"h:1\",\"store\":\"postgres:x\",\"keys_dir\":\"k\",\"tokens_file\":\"t\"}",
     DPOT_ERR_RANGE, "postgres:x"},
    {"{\"listen\":\"h:1\",\"store\":\"sqlite::memory:\",\"keys_dir\":\"k\","
     "\"tokens_file\":\"t\"}",
     DPOT_ERR_RANGE, "name a file, such as sqlite:dpot.db"},
    {"{\"listen\":\"h:1\",\"store\":\"sqlite:/dev/null\",\"keys_dir\":\"k\","
     "\"tokens_file\":\"t\"}",
     DPOT_ERR_MALFORMED, "/dev/null is a folder, pipe or device"},
    {"{\"listen\":\"h:1\",\"store\":\"sqlite:.\",\"keys_dir\":\"k\","
     "\"tokens_file\":\"t\"}",
     DPOT_ERR_MALFORMED, "is a folder, pipe or device"},
    {"{\"listen\":\"h:1\",\"store\":\"sqlite:\",\"keys_dir\":\"k\",\"tokens_file\":\"t\"}",
     DPOT_ERR_MALFORMED, "store is empty"},
    {"{\"listen\":\"h:1\",\"store\":\"sqlite:x\",\"tokens_file\":\"t\"}", DPOT_ERR_MALFORMED,
     "keys_dir is missing"},
    {"{\"listen\":\"h:1\",\"store\":\"sqlite:x\",\"keys_dir\":\"\",\"tokens_file\":\"t\"}",
     DPOT_ERR_MALFORMED, "keys_dir is empty"},
    {"{\"listen\":\"h:1\",\"store\":\"sqlite:x\",\"keys_dir\":\"k\"}", DPOT_ERR_MALFORMED,
     "tokens_file is missing"},
    {"{\"listen\":1", DPOT_ERR_MALFORMED, "line 1"},
    {"{\"listen\":\"a:1\",\"listen\":\"b:2\"}", DPOT_ERR_MALFORMED, "listen"},
    {"[]", DPOT_ERR_MALFORMED, "object"},
    {"", DPOT_ERR_MALFORMED, "dpotd.json"},
};

Test(config, every_refusal_names_the_file_and_the_key)
{
    for (size_t i = 0; i < sizeof refusals / sizeof refusals[0]; i++) {
        refuse(refusals[i].text, refusals[i].status, refusals[i].word);
    }
}

Test(config, a_missing_file_is_an_io_error)
{
    struct dpot_error error = {{0}};
    cr_assert_eq(config_read(path, &config, &error), DPOT_ERR_IO);
    cr_assert_not_null(strstr(error.text, path));
}

Test(config, a_config_file_without_a_folder_has_paths_in_the_current_one)
{
    char out[CONFIG_TEXT_SIZE];
    cr_assert(config_resolve(out, "dpotd.json", "keys"));
    cr_assert_str_eq(out, "keys");
    cr_assert(config_resolve(out, "/a/b.json", "keys"));
    cr_assert_str_eq(out, "/a/keys");
    cr_assert(config_resolve(out, "/a/b.json", "/keys"));
    cr_assert_str_eq(out, "/keys");
}

/* The default of a number is the first one in parentheses behind its key; that of words is marked
 * "(default)". */
static void expect_on_page(const char *section, const struct json_field *field)
{
    char text[64];
    (void)snprintf(text, sizeof text, ".B %s\n", field->key);
    const char *place = strstr(section, text), *number = place ? strchr(place, '(') : NULL;
    cr_assert_not_null(strstr(section, field->key), "%s", field->key);
    cr_assert(field->kind != JSON_KIND_INTEGER ||
                  (number && strtod(number + 1, NULL) == field->otherwise),
              "%s: %.0f", field->key, field->otherwise);
    for (const struct json_word *word = field->words; word && word->name; word++) {
        (void)snprintf(text, sizeof text, "\\(dq%s\\(dq%s", word->name,
                       word->value == (int)field->otherwise ? " \" (default)" : "");
        cr_assert(place && strstr(place, text), "%s: %s", field->key, text);
    }
    for (const struct json_field *row = field->fields; row && row->key; row++) {
        expect_on_page(section, row);
    }
}

Test(config, the_manual_has_every_key_with_its_words_and_defaults)
{
    const char *section = page_section(PAGE("dpotd.8"), "\n.SH CONFIGURATION", "\n.SH");
    for (const struct json_field *field = config_fields; field->key; field++) {
        expect_on_page(section, field);
    }
}
