#include "campaign_case.h"
#include "canned_server.h"
#include "process.h"
#include "unit/files/folder.h"

#include "campaign/spec.h"
#include "files/array.h"
#include "proto/wire_campaign.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ID "000102030405060708090a0b0c0d0e0f"

static void write_case(void)
{
    folder_make();
    write_text("spec.json", CAMPAIGN_SPEC("false"));
    (void)setenv("DPOT_TOKEN", "secret-token", 1);
}

TestSuite(campaign, .init = write_case, .fini = folder_remove);

/* Signs the test's campaign under a new key; writes signed.bin, returns the key as hex. */
static void write_signed(char pin[65])
{
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN], secret_key[DPOT_SIGN_SECRET_LEN];
    uint8_t id[DPOT_CAMPAIGN_ID_LEN];
    struct dpot_campaign campaign;
    struct dpot_error error = {""};
    struct dpot_buf bytes, signed_bytes;
    json_t *spec = NULL;
    dpot_buf_init(&bytes, 1 << 20, NULL);
    dpot_buf_init(&signed_bytes, 1 << 20, NULL);
    cr_assert_eq(dpot_init(), DPOT_OK);
    cr_assert_eq(dpot_hex_decode(ID, id, sizeof id), DPOT_OK);
    dpot_sign_keypair(public_key, secret_key);
    dpot_hex_encode(pin, public_key, sizeof public_key);
    cr_assert_eq(json_read(folder_path("spec.json"), &spec, &error), DPOT_OK);
    cr_assert_eq(spec_compile(spec, id, 1, &campaign, &error), DPOT_OK, "%s", error.text);
    cr_assert_eq(dpot_wire_campaign_encode(&campaign, &bytes), DPOT_OK);
    cr_assert_eq(dpot_wire_campaign_sign(bytes.data, bytes.len, secret_key, &signed_bytes, &error),
                 DPOT_OK);
    (void)folder_write("signed.bin", signed_bytes.data, signed_bytes.len);
    dpot_campaign_release(&campaign);
    dpot_buf_release(&bytes);
    dpot_buf_release(&signed_bytes);
    json_decref(spec);
}

Test(campaign, spec_file_is_shown_without_a_server)
{
    json_t *r = expect_json("campaign show spec.json", 0);
    cr_assert_str_eq(json_string_value(json_object_get(r, "name")), "ring");
    cr_assert(json_is_false(json_object_get(r, "signed")));
    json_decref(r);
}

Test(campaign, signed_file_is_verified_before_it_is_shown)
{
    char pin[65], arguments[256];
    uint8_t bytes[4096];
    write_signed(pin);
    json_t *r = expect_json("campaign show signed.bin", 0);
    cr_assert_str_eq(json_string_value(json_object_get(r, "signer")), pin);
    cr_assert_str_eq(json_string_value(json_object_get(r, "id")), ID);
    json_decref(r);
    (void)snprintf(arguments, sizeof arguments, "campaign show signed.bin --pin %s", pin);
    json_decref(expect_json(arguments, 0));
    pin[0] = pin[0] == 'a' ? 'b' : 'a';
    (void)snprintf(arguments, sizeof arguments, "campaign show signed.bin --pin %s", pin);
    expect_exit(arguments, 3, "signed.bin");
    expect_exit("campaign show signed.bin --pin 12", 2, "--pin is 12");
    const size_t n = folder_read("signed.bin", bytes, sizeof bytes);
    bytes[n / 2] ^= 1;
    (void)folder_write("altered.bin", bytes, n);
    expect_exit("campaign show altered.bin", 3, "altered.bin");
    (void)folder_write("cut.bin", bytes, n / 2);
    expect_exit("campaign show cut.bin", 3, "cut.bin");
}

#define NO_CAMPAIGN ": a SPEC begins with '{' at its first byte, and a signed campaign is binary"

Test(campaign, files_that_are_neither_spec_nor_signed_are_refused)
{
    const struct {
        const char *text, *sentence;
    } cases[] = {
        {"", "the file is empty"},
        {" " CAMPAIGN_SPEC("false"), "begins with a blank or an empty line" NO_CAMPAIGN},
        {"\n" CAMPAIGN_SPEC("false"), "begins with a blank or an empty line" NO_CAMPAIGN},
        {"\xEF\xBB\xBF" CAMPAIGN_SPEC("false"), "begins with a byte order mark" NO_CAMPAIGN},
        {"\xFF\xFE{", "begins with a byte order mark" NO_CAMPAIGN},
        {"[" CAMPAIGN_SPEC("false") "]", "begins with '['" NO_CAMPAIGN},
        {"garbage", "begins with other text" NO_CAMPAIGN},
        {"\177ELF\x02", "as a signed campaign (a SPEC begins with '{')"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        write_text("c", cases[i].text);
        expect_exit("campaign show c", 3, cases[i].sentence);
        expect_exit("estimate --campaign c --pool p.csv --out e.csv", 3, cases[i].sentence);
    }
    expect_exit("campaign show .", 6, "it is a folder: give a SPEC.json or a signed campaign");
}

Test(campaign, file_above_a_limit_is_refused_with_the_limit)
{
    const size_t signed_max = (8 << 20) + 1024, spec_max = DPOT_JSON_BYTES_MAX;
    char sentence[64];
    char *bytes = calloc(1, spec_max + 1);
    cr_assert_not_null(bytes);
    (void)folder_write("large", bytes, signed_max + 1);
    (void)snprintf(sentence, sizeof sentence, "larger than %zu bytes", signed_max);
    expect_exit("campaign show large", 3, sentence);
    bytes[0] = '{';
    (void)folder_write("large", bytes, spec_max + 1);
    (void)snprintf(sentence, sizeof sentence, "larger than %zu bytes", spec_max);
    expect_exit("campaign show large", 3, sentence);
    free(bytes);
}

Test(campaign, epsilon_below_the_smallest_charge_is_refused_with_the_limit)
{
    char text[1024];
    const char *spec = CAMPAIGN_SPEC("false");
    const char *epsilon = strstr(spec, "\"epsilon\":2");
    const size_t len = (size_t)(epsilon - spec) + strlen("\"epsilon\":");
    (void)snprintf(text, sizeof text, "%.*s1e-12%s", (int)len, spec, spec + len + 1);
    write_text("small.json", text);
    expect_exit("campaign show small.json", 3,
                "1e-12: give a number from 2^-32 (about 2.33e-10) to 20");
    (void)snprintf(text, sizeof text, "%.*s2.33e-10%s", (int)len, spec, spec + len + 1);
    write_text("small.json", text);
    json_decref(expect_json("campaign show small.json", 0));
}

Test(campaign, signed_file_serves_a_simulation_in_process)
{
    char pin[65];
    write_signed(pin);
    json_t *shown = expect_json("campaign show signed.bin", 0);
    write_text("data.csv", "1,2\n2,3\n");
    json_t *r =
        expect_json("simulate --campaign signed.bin --data data.csv --devices 2 --in-process "
                    "--out run",
                    0);
    cr_assert_eq(number_of(r, "accepted"), 2);
    cr_assert_str_eq(json_string_value(json_object_get(r, "campaign_hash")),
                     json_string_value(json_object_get(shown, "hash")));
    json_decref(r);
    json_decref(shown);
}

Test(campaign, pool_of_another_revision_is_refused)
{
    char pin[65], text[512] = "";
    write_signed(pin);
    for (int i = 0; i < 24; i++) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%d\n", i % 12);
    }
    write_text("pool.csv", text);
    write_text("pool.csv.json", "{\"campaign_hash\":\"00ff\"}");
    expect_exit("estimate --campaign signed.bin --pool pool.csv --out e.csv", 3,
                "holds reports of campaign hash 00ff");
}

Test(campaign, wrong_calls_are_refused_before_the_network)
{
    expect_exit("campaign show spec.json --server http://127.0.0.1:9", 2, "is no campaign ID");
    expect_exit("campaign open ../../keys --server http://127.0.0.1:9", 2, "is no campaign ID");
    expect_exit("campaign open " ID, 2, "--server is missing");
    expect_exit("campaign open " ID " --server pool.example.org", 2, "give http://HOST");
    expect_exit("campaign fetch " ID " --server http://127.0.0.1:9", 2, "--out is missing");
    expect_exit("pool nonsense --server http://127.0.0.1:9", 2, "is no campaign ID");
    write_text("bad.json", "{\"name\":\"ring\",\"colour\":1}");
    expect_exit("campaign create bad.json --server http://127.0.0.1:9", 3, "colour");
    expect_exit("campaign create none.json --server http://127.0.0.1:9", 6, "none.json");
}

/* Three rounds over a time that ends so; the sentence, or NULL: no warning. */
static void assert_warns(const char *closes, const char *sentence)
{
    struct process p;
    char text[1024];
    const char *spec = CAMPAIGN_SPEC("false"), *end = strstr(spec, "2026-12-08T00:00:00Z");
    (void)snprintf(text, sizeof text, "%.*s%s%s", (int)(end - spec), spec, closes, end + 20);
    write_text("short.json", text);
    process_run(&p, "campaign create short.json --server http://127.0.0.1:9");
    cr_assert_eq(p.exit_code, 6, "%s", p.err);
    cr_assert_eq(strstr(p.err, "warning") != NULL, sentence != NULL, "%s", p.err);
    cr_assert(!sentence || strstr(p.err, sentence), "%s", p.err);
}

Test(campaign, rounds_shorter_than_an_hour_get_a_warning_with_their_length)
{
    assert_warns("2026-12-01T03:00:00Z", NULL);
    assert_warns("2026-12-01T02:59:57Z", "the 3 rounds is only 59.98 minutes long");
    assert_warns("2026-12-01T00:30:00Z", "the 3 rounds is only 10 minutes long");
    assert_warns("2026-12-01T00:00:06Z", "the 3 rounds is only 2 seconds long");
}

Test(campaign, admin_token_must_be_there)
{
    (void)unsetenv("DPOT_TOKEN");
    expect_exit("campaign list --server http://127.0.0.1:9", 2, "the admin token is missing");
    write_text("token", "");
    expect_exit("campaign list --server http://127.0.0.1:9 --token-file token", 2, "missing");
    write_text("token", "two words\n");
    expect_exit("campaign list --server http://127.0.0.1:9 --token-file token", 2, "blank");
    expect_exit("campaign list --server http://127.0.0.1:9 --token-file none", 6, "none");
    write_text("token", "good\n");
    expect_exit("campaign list --server http://127.0.0.1:9 --token-file token", 6, "127.0.0.1:9");
}

Test(campaign, server_that_is_not_there_is_exit_code_6)
{
    expect_exit("campaign list --server http://127.0.0.1:9", 6, "GET http://127.0.0.1:9");
    expect_exit("campaign create spec.json --server http://127.0.0.1:9", 6, "POST");
    expect_exit("campaign fetch " ID " --server http://127.0.0.1:9 --out f", 6, "127.0.0.1:9");
    write_text("data.csv", "1,2\n");
    expect_exit("simulate --campaign " ID
                " --server http://127.0.0.1:9 --data data.csv --devices 1 "
                "--out run",
                6, "127.0.0.1:9");
}

Test(campaign, refusals_of_the_server_become_exit_codes_with_its_sentence)
{
    const struct {
        const char *status;
        int exit_code;
    } cases[] = {{"400 Bad Request", 3}, {"401 Unauthorized", 4},  {"403 Forbidden", 4},
                 {"404 Not Found", 3},   {"409 Conflict", 7},      {"413 Too Large", 3},
                 {"500 Oops", 6},        {"503 Not Available", 6}, {"302 Found", 6}};
    static const char body[] = "{\"error\":\"a sentence of the server\",\"status\":\"X\"}";
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct canned_server server;
        char arguments[256];
        canned_server_start(&server, cases[i].status, body, sizeof body - 1);
        (void)snprintf(arguments, sizeof arguments, "campaign open " ID " --server %s/",
                       server.url);
        expect_exit(arguments, cases[i].exit_code, "a sentence of the server");
        (void)snprintf(arguments, sizeof arguments, "campaign create spec.json --server %s",
                       server.url);
        expect_exit(arguments, cases[i].exit_code, "a sentence of the server");
        canned_server_stop(&server);
    }
}

Test(campaign, answers_that_are_not_json_objects_are_refused)
{
    const char *const bodies[] = {"", "[]", "<html>", "{\"a\":", "\xff\xfe"};
    for (size_t i = 0; i < sizeof bodies / sizeof bodies[0]; i++) {
        struct canned_server server;
        char arguments[256];
        canned_server_start(&server, "200 OK", bodies[i], strlen(bodies[i]));
        (void)snprintf(arguments, sizeof arguments, "campaign list --server %s", server.url);
        expect_exit(arguments, 6, "is it a dpotd?");
        canned_server_stop(&server);
    }
}

Test(campaign, list_is_a_table_by_default)
{
    static const char body[] = "{\"campaigns\":[{\"id\":\"" ID "\",\"revision\":1,\"hash\":\"00\","
                               "\"name\":\"ring\",\"state\":\"open\",\"created\":\"now\"}]}";
    struct canned_server server;
    struct process p;
    char arguments[256];
    canned_server_start(&server, "200 OK", body, sizeof body - 1);
    (void)snprintf(arguments, sizeof arguments, "campaign list --server %s", server.url);
    process_run(&p, arguments);
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert(strstr(p.out, "id ") == p.out && strstr(p.out, "\n" ID) && strstr(p.out, "open"));
    json_t *r = expect_json(arguments, 0);
    cr_assert_eq(json_array_size(json_object_get(r, "campaigns")), 1);
    json_decref(r);
    canned_server_stop(&server);
}

Test(campaign, fetch_saves_a_closed_campaign_too)
{
    char pin[65], arguments[256];
    uint8_t bytes[4096], saved[4096];
    struct canned_server server;
    write_signed(pin);
    const size_t n = folder_read("signed.bin", bytes, sizeof bytes);
    canned_server_start(&server, "409 Conflict", bytes, n);
    (void)snprintf(arguments, sizeof arguments,
                   "campaign fetch " ID " --server %s --out saved --pin %s", server.url, pin);
    json_t *r = expect_json(arguments, 0);
    json_decref(r);
    cr_assert(folder_read("saved", saved, sizeof saved) == n && memcmp(bytes, saved, n) == 0);
    canned_server_stop(&server);
}

Test(campaign, fetch_saves_the_signed_bytes_and_warns_without_a_pin)
{
    char pin[65], arguments[256];
    uint8_t bytes[4096], saved[4096];
    struct canned_server server;
    struct process p;
    write_signed(pin);
    const size_t n = folder_read("signed.bin", bytes, sizeof bytes);
    canned_server_start(&server, "200 OK", bytes, n);
    (void)snprintf(arguments, sizeof arguments, "campaign fetch " ID " --server %s --out saved",
                   server.url);
    process_run(&p, arguments);
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "no --pin"));
    cr_assert(folder_read("saved", saved, sizeof saved) == n && memcmp(bytes, saved, n) == 0);
    (void)snprintf(arguments, sizeof arguments,
                   "campaign fetch " ID " --server %s --out saved --pin %s", server.url, pin);
    process_run(&p, arguments);
    cr_assert_eq(p.exit_code, 0);
    cr_assert_str_empty(p.err);
    (void)snprintf(arguments, sizeof arguments,
                   "campaign fetch ffffffffffffffffffffffffffffffff --server %s --out other",
                   server.url);
    expect_exit(arguments, 3, "the server answered with campaign " ID);
    canned_server_stop(&server);
}
