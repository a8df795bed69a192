/* Pools read with the campaign they belong to, and with others. */
#include "campaign_case.h"
#include "process.h"
#include "unit/files/folder.h"

#include "campaign/content.h"
#include "campaign/spec.h"
#include "proto/wire_campaign.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define HASH "00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff"

static char content[2 * DPOT_HASH_LEN + 1]; /* of spec.json */
static char hash[2 * DPOT_HASH_LEN + 1];    /* of signed.bin: the same, signed as revision 3 */

static void sign(const struct dpot_campaign *campaign)
{
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN], secret_key[DPOT_SIGN_SECRET_LEN];
    uint8_t digest[DPOT_HASH_LEN];
    struct dpot_buf bytes, signed_bytes;
    dpot_buf_init(&bytes, 1 << 20, NULL);
    dpot_buf_init(&signed_bytes, 1 << 20, NULL);
    dpot_sign_keypair(public_key, secret_key);
    cr_assert_eq(dpot_wire_campaign_encode(campaign, &bytes), DPOT_OK);
    dpot_hash(digest, bytes.data, bytes.len);
    dpot_hex_encode(hash, digest, sizeof digest);
    cr_assert_eq(dpot_wire_campaign_sign(bytes.data, bytes.len, secret_key, &signed_bytes, NULL),
                 DPOT_OK);
    (void)folder_write("signed.bin", signed_bytes.data, signed_bytes.len);
    dpot_buf_release(&bytes);
    dpot_buf_release(&signed_bytes);
}

static void set_up(void)
{
    static const uint8_t id[DPOT_CAMPAIGN_ID_LEN] = {7};
    uint8_t digest[DPOT_HASH_LEN];
    struct dpot_campaign campaign;
    json_t *spec = NULL;
    char text[512] = "";
    folder_make();
    cr_assert_eq(dpot_init(), DPOT_OK);
    write_text("spec.json", CAMPAIGN_SPEC("false"));
    cr_assert_eq(json_read(folder_path("spec.json"), &spec, NULL), DPOT_OK);
    cr_assert_eq(spec_compile(spec, id, 3, &campaign, NULL), DPOT_OK);
    cr_assert_eq(content_digest(&campaign, digest, NULL), DPOT_OK);
    dpot_hex_encode(content, digest, sizeof digest);
    sign(&campaign);
    dpot_campaign_release(&campaign);
    (void)json_object_set_new(json_object_get(spec, "mechanism"), "epsilon", json_real(1.5));
    cr_assert_eq(json_write(folder_path("other.json"), spec, NULL), DPOT_OK);
    json_decref(spec);
    for (int i = 0; i < 24; i++) {
        (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%d\n", i % 12);
    }
    write_text("pool.csv", text);
}

TestSuite(provenance, .init = set_up, .fini = folder_remove);

/* Runs an estimate with this file beside the pool. */
static void estimate(struct process *p, const char *campaign, const char *side)
{
    char text[128];
    write_text("pool.csv.json", side);
    (void)snprintf(text, sizeof text, "estimate --campaign %s --pool pool.csv --out e.csv --quiet",
                   campaign);
    process_run(p, text);
}

static const char *side_of(const char *side_hash, const char *side_content)
{
    static char text[512];
    (void)snprintf(text, sizeof text,
                   "{\"campaign_hash\":\"%s\",\"content_digest\":\"%s\",\"revision\":3,"
                   "\"mechanism\":\"wpm\"}",
                   side_hash, side_content);
    return text;
}

static void expect_taken(const struct process *p, const char *expected_hash)
{
    cr_assert_eq(p->exit_code, 0, "%d %s", p->exit_code, p->err);
    cr_assert_null(strstr(p->err, "warning"), "%s", p->err);
    json_t *side = json_load_file(folder_path("e.csv.json"), 0, NULL);
    cr_assert_str_eq(json_string_value(json_object_get(side, "campaign_hash")), expected_hash);
    cr_assert_eq(number_of(side, "revision"), 3);
    json_decref(side);
}

static void expect_refused(const struct process *p, const char *a, const char *b)
{
    cr_assert_eq(p->exit_code, 3, "%d %s", p->exit_code, p->err);
    cr_assert_not_null(strstr(p->err, a), "%s", p->err);
    cr_assert_not_null(strstr(p->err, b), "%s", p->err);
}

Test(provenance, a_spec_takes_the_pool_of_its_deployed_revision)
{
    struct process p;
    estimate(&p, "spec.json", side_of(HASH, content));
    expect_taken(&p, HASH); /* from the side file: a SPEC has no revision */
}

Test(provenance, a_spec_of_another_content_is_refused_with_both_names)
{
    struct process p;
    char start[32];
    estimate(&p, "other.json", side_of(HASH, content));
    (void)snprintf(start, sizeof start, "content %.12s...", content);
    expect_refused(&p, start, "and the campaign's is");
    expect_refused(&p, "revision 3", "--pool pool.csv");
    cr_assert_neq(access(folder_path("e.csv"), F_OK), 0, "nothing is written");
}

Test(provenance, a_signed_campaign_is_compared_by_revision_and_by_content)
{
    struct process p;
    estimate(&p, "signed.bin", side_of(hash, content));
    expect_taken(&p, hash);
    estimate(&p, "signed.bin", side_of(HASH, content));
    expect_refused(&p, "campaign hash 001122334455", "(revision 3)");
    estimate(&p, "signed.bin", side_of(hash, HASH));
    expect_refused(&p, "content 001122334455", "--pool pool.csv");
}

Test(provenance, an_older_side_file_is_compared_by_its_keys)
{
    struct process p;
    estimate(&p, "spec.json", "{\"campaign_hash\":\"" HASH "\",\"mechanism\":\"wpm\"}");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_not_null(strstr(p.err, "could not be checked"), "%s", p.err);
    estimate(&p, "spec.json", "{\"campaign_hash\":\"" HASH "\",\"mechanism\":\"kpm\"}");
    expect_refused(&p, "mechanism kpm", "campaign's is wpm");
    char side[160];
    (void)snprintf(side, sizeof side, "{\"campaign_hash\":\"%s\",\"mechanism\":\"wpm\"}", hash);
    estimate(&p, "signed.bin", side);
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_null(strstr(p.err, "warning"), "%s", p.err);
    estimate(&p, "signed.bin", "{\"campaign_hash\":\"" HASH "\",\"mechanism\":\"wpm\"}");
    expect_refused(&p, "campaign hash 001122334455", "give the campaign of this pool");
}

Test(provenance, an_invalid_side_file_is_refused)
{
    static const char *const sides[] = {"{\"campaign_hash\":\"" HASH "\",\"content_digest\":7}",
                                        "{\"campaign_hash\":[]}", "{\"mechanism\":false}",
                                        "{\"content_digest\":\"\"}", "no json"};
    for (size_t i = 0; i < sizeof sides / sizeof sides[0]; i++) {
        struct process p;
        estimate(&p, "spec.json", sides[i]);
        cr_assert_eq(p.exit_code, 3, "%s: %d %s", sides[i], p.exit_code, p.err);
    }
}

Test(provenance, a_simulation_in_process_has_the_content_of_its_spec)
{
    char text[1024];
    struct process p;
    write_text("data.csv", "1,2\n2,3\n");
    (void)snprintf(text, sizeof text, "%s", CAMPAIGN_SPEC("false"));
    char *min_pool = strstr(text, "\"min_pool\":20");
    min_pool[strlen("\"min_pool\":")] = '1';
    min_pool[strlen("\"min_pool\":2")] = ' ';
    write_text("small.json", text);
    json_decref(expect_json(
        "simulate --campaign small.json --data data.csv --devices 2 --in-process --out run", 0));
    json_t *side = json_load_file(folder_path("run/pool.npy.json"), 0, NULL);
    cr_assert_str_eq(json_string_value(json_object_get(side, "content_digest")), content);
    json_decref(side);
    process_run(&p, "estimate --campaign small.json --pool run/pool.npy --out e.csv --quiet");
    cr_assert_eq(p.exit_code, 0, "%s", p.err);
    cr_assert_null(strstr(p.err, "warning"), "%s", p.err);
    process_run(&p, "estimate --campaign other.json --pool run/pool.npy --out e.csv");
    cr_assert_eq(p.exit_code, 3, "%s", p.err);
}

Test(provenance, a_pool_without_a_side_file_gets_a_warning)
{
    struct process p;
    process_run(&p, "estimate --campaign spec.json --pool pool.csv --out e.csv --quiet");
    cr_assert_eq(p.exit_code, 0, "%d %s", p.exit_code, p.err);
    cr_assert_not_null(strstr(p.err, "warning: there is no file beside --pool pool.csv: that the "
                                     "pool is this campaign's could not be checked"),
                       "%s", p.err);
}

Test(provenance, a_side_file_of_another_count_is_refused)
{
    struct process p;
    char side[600];
    const char *start = side_of(HASH, content);
    (void)snprintf(side, sizeof side, "{\"n\":25,%s", start + 1);
    estimate(&p, "spec.json", side);
    expect_refused(&p, "--pool pool.csv has 24 reports, and pool.csv.json says 25", "export both");
    (void)snprintf(side, sizeof side, "{\"n\":24,%s", start + 1);
    estimate(&p, "spec.json", side);
    expect_taken(&p, HASH);
    (void)snprintf(side, sizeof side, "{\"n\":\"many\",%s", start + 1);
    estimate(&p, "spec.json", side);
    expect_refused(&p, "--pool pool.csv", "n");
}

Test(provenance, the_side_file_of_a_result_is_not_accepted_for_a_pool)
{
    struct process p;
    estimate(&p, "spec.json", "{\"method\":\"frequency\",\"campaign_hash\":null,\"n\":24}");
    cr_assert_not_null(strstr(p.err, "is not a pool's"), "%s", p.err);
    cr_assert_null(strstr(p.err, "older version"), "%s", p.err);
}
