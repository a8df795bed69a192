/* Damaged and missing artifacts are reported, never served, and repaired by their job. */
#include "unit/aggregator/store/store_file.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

TestSuite(sqlite_artifacts, .init = store_file_set_up, .fini = store_file_tear_down);

Test(sqlite_artifacts, an_artifact_altered_on_disk_is_corrupt_and_never_served)
{
    struct store *store = NULL;
    struct dpot_error error = {{0}};
    struct dpot_buf bytes;
    uint8_t digest[DPOT_HASH_LEN];
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    store_file_finish_job(store, "result");
    store_close(store);
    store_file_tamper("UPDATE artifact SET bytes = CAST('resulT' AS BLOB)");
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    dpot_hash(digest, "result", 6);
    dpot_buf_init(&bytes, 100, NULL);
    cr_assert_eq(store_get_artifact(store, digest, &bytes, &error), DPOT_ERR_CORRUPT);
    cr_assert_not_null(strstr(error.text, "an artifact"), "%s", error.text);
    cr_assert_eq(bytes.len, 0);

    cr_assert_not_null(strstr(error.text, "start its job again"), "%s", error.text);
    dpot_buf_release(&bytes);
    store_close(store);
}

/* What store_check_artifacts reports. */
struct seen_damage {
    size_t n, n_without_job, n_missing;
    uint8_t digest[DPOT_HASH_LEN];
    char kind[JOB_KIND_SIZE];
};

static int note_damage(void *ctx, const uint8_t digest[DPOT_HASH_LEN], const struct job_record *job,
                       bool is_missing)
{
    struct seen_damage *seen = ctx;
    seen->n++;
    seen->n_without_job += job == NULL;
    seen->n_missing += is_missing;
    memcpy(seen->digest, digest, DPOT_HASH_LEN);
    (void)snprintf(seen->kind, sizeof seen->kind, "%s", job ? job->kind : "");
    return 0;
}

static struct seen_damage check_artifacts(struct store *store)
{
    struct seen_damage seen = {.n = 0};
    struct dpot_error error = {{0}};
    cr_assert_eq(store_check_artifacts(store, note_damage, &seen, &error), DPOT_OK, "%s",
                 error.text);
    return seen;
}

Test(sqlite_artifacts, a_job_that_computes_the_bytes_again_repairs_a_damaged_artifact)
{
    struct store *store = NULL;
    struct dpot_buf bytes;
    uint8_t digest[DPOT_HASH_LEN];
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    store_file_finish_job(store, "result");
    store_file_finish_job(store, "another");
    cr_assert_eq(check_artifacts(store).n, 0);
    store_close(store);
    store_file_tamper("UPDATE artifact SET bytes = CAST('resulT' AS BLOB) WHERE seq = 1");
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    dpot_hash(digest, "result", 6);
    const struct seen_damage seen = check_artifacts(store);
    cr_assert_eq(seen.n, 1);
    cr_assert_eq(memcmp(seen.digest, digest, sizeof digest), 0);
    cr_assert_str_eq(seen.kind, "any");

    store_file_finish_job(store, "a third"); /* other bytes do not repair it */
    cr_assert_eq(check_artifacts(store).n, 1);
    store_file_finish_job(store, "result");
    cr_assert_eq(check_artifacts(store).n, 0);
    dpot_buf_init(&bytes, 100, NULL);
    cr_assert_eq(store_get_artifact(store, digest, &bytes, NULL), DPOT_OK);
    cr_assert_eq(bytes.len, 6);
    cr_assert_eq(memcmp(bytes.data, "result", 6), 0);
    dpot_buf_release(&bytes);
    store_close(store);
}

Test(sqlite_artifacts, a_damaged_artifact_that_no_job_names_is_reported_too)
{
    struct store *store = NULL;
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    store_file_finish_job(store, "result");
    store_close(store);
    store_file_tamper("UPDATE artifact SET digest = zeroblob(32)");
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    const struct seen_damage seen = check_artifacts(store);
    cr_assert_eq(seen.n, 2);
    cr_assert_eq(seen.n_without_job, 1);
    cr_assert_eq(seen.n_missing, 1, "the job's own name has no artifact now");
    store_close(store);
}

Test(sqlite_artifacts, a_missing_artifact_is_reported_once_with_its_newest_job)
{
    struct store *store = NULL;
    struct dpot_buf bytes;
    struct dpot_error error = {{0}};
    uint8_t digest[DPOT_HASH_LEN];
    dpot_buf_init(&bytes, 100, NULL);
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    store_file_finish_job(store, "result");
    store_file_finish_job(store, "result");
    store_file_finish_job(store, "another");
    store_close(store);
    store_file_tamper("DELETE FROM artifact");
    cr_assert_eq(store_open(store_file.url, &store, NULL), DPOT_OK);
    cr_assert_eq(check_artifacts(store).n, 2);
    cr_assert_eq(check_artifacts(store).n_missing, 2);
    dpot_hash(digest, "result", 6);
    cr_assert_eq(store_get_artifact(store, digest, &bytes, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "start that job again"), "%s", error.text);
    digest[0] ^= 1;
    cr_assert_eq(store_get_artifact(store, digest, &bytes, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "no artifact has this digest"), "%s", error.text);
    store_file_finish_job(store, "result");
    cr_assert_eq(check_artifacts(store).n, 1, "the job made it again");
    store_close(store);
}
