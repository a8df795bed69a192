/* Jobs and artifacts, in every backend. */
#include "conformance/bench.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

/* Job number n; its id begins with it. */
static struct job_record job_of(uint8_t n)
{
    struct job_record record = {.kind = "estimate", .created_ms = FIXTURE_NOW_MS + n};
    record.id[0] = n;
    memset(record.campaign_id, 3, sizeof record.campaign_id);
    memset(record.hash, 4, sizeof record.hash);
    (void)snprintf(record.parameters, sizeof record.parameters, "{\"n\":%u}", n);
    return record;
}

static struct job_record add(struct bench *b, uint8_t n)
{
    const struct job_record record = job_of(n);
    struct dpot_error error = {{0}};
    cr_assert_eq(store_add_job(b->store, &record, &error), DPOT_OK, "%s", error.text);
    return record;
}

static struct job_record get(struct bench *b, uint8_t n)
{
    struct job_record record;
    struct dpot_error error = {{0}};
    const uint8_t id[JOB_ID_LEN] = {n};
    cr_assert_eq(store_get_job(b->store, id, &record, &error), DPOT_OK, "%s", error.text);
    return record;
}

static void set_state(struct bench *b, uint8_t n, enum job_state state)
{
    struct job_record record = get(b, n);
    struct dpot_error error = {{0}};
    record.state = state;
    cr_assert_eq(store_update_job(b->store, &record, &error), DPOT_OK, "%s", error.text);
}

static void finish(struct bench *b, uint8_t n, const char *bytes)
{
    struct job_record record = get(b, n);
    struct dpot_error error = {{0}};
    cr_assert_eq(store_finish_job(b->store, &record, bytes, strlen(bytes), &error), DPOT_OK, "%s",
                 error.text);
    cr_assert_eq(record.state, JOB_DONE);
}

STORE_TEST(a_job_comes_back_queued_as_it_was_added)
{
    const struct job_record added = add(b, 1);
    bench_reopen(b);
    const struct job_record found = get(b, 1);
    cr_assert_eq(found.state, JOB_QUEUED);
    cr_assert_str_eq(found.kind, added.kind);
    cr_assert_str_eq(found.parameters, added.parameters);
    cr_assert_arr_eq(found.campaign_id, added.campaign_id, sizeof found.campaign_id);
    cr_assert_arr_eq(found.hash, added.hash, sizeof found.hash);
    cr_assert_eq(found.created_ms, added.created_ms);
    cr_assert_eq(found.started_ms, 0);
    cr_assert_eq(found.ended_ms, 0);
    cr_assert_eq(found.n_total, 0);
    cr_assert_eq(found.n_attempts, 0);
    cr_assert_str_eq(found.sentence, "");
}

STORE_TEST(an_unknown_job_is_not_found_and_the_same_id_is_refused)
{
    struct job_record record = job_of(1);
    struct dpot_error error = {{0}};
    cr_assert_eq(store_get_job(b->store, record.id, &record, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "no job"));
    record = job_of(1);
    record.state = JOB_RUNNING;
    cr_assert_eq(store_update_job(b->store, &record, NULL), DPOT_ERR_NOT_FOUND);
    cr_assert_eq(store_finish_job(b->store, &record, "x", 1, NULL), DPOT_ERR_NOT_FOUND);
    (void)add(b, 1);
    cr_assert_eq(store_add_job(b->store, &record, NULL), DPOT_ERR_EXISTS);
}

STORE_TEST(the_job_that_waited_longest_is_next)
{
    struct job_record next;
    struct dpot_error error = {{0}};
    cr_assert_eq(store_next_job(b->store, &next, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_str_eq(error.text, "");
    (void)add(b, 7);
    (void)add(b, 2);
    (void)add(b, 5);
    cr_assert_eq(store_next_job(b->store, &next, NULL), DPOT_OK);
    cr_assert_eq(next.id[0], 7);
    set_state(b, 7, JOB_RUNNING);
    set_state(b, 2, JOB_CANCELLED);
    bench_reopen(b);
    cr_assert_eq(store_next_job(b->store, &next, NULL), DPOT_OK);
    cr_assert_eq(next.id[0], 5);
}

struct seen {
    size_t n;
    uint8_t first[8];
    size_t limit;
};

static int note_job(void *ctx, const struct job_record *record)
{
    struct seen *seen = ctx;
    seen->first[seen->n++] = record->id[0];
    return seen->n == seen->limit;
}

STORE_TEST(jobs_are_listed_newest_first_until_the_caller_has_enough)
{
    struct seen seen = {.n = 0};
    for (uint8_t n = 1; n <= 4; n++) {
        (void)add(b, n);
    }
    cr_assert_eq(store_list_jobs(b->store, NULL, note_job, &seen, NULL), DPOT_OK);
    cr_assert_eq(seen.n, 4);
    cr_assert_eq(memcmp(seen.first, "\4\3\2\1", 4), 0);
    seen = (struct seen){.limit = 2};
    cr_assert_eq(store_list_jobs(b->store, NULL, note_job, &seen, NULL), DPOT_OK);
    cr_assert_eq(seen.n, 2);
}

STORE_TEST(so_many_jobs_are_queued_and_no_more)
{
    struct dpot_error error = {{0}};
    for (uint8_t n = 0; n < JOB_QUEUED_MAX; n++) {
        (void)add(b, n);
    }
    const struct job_record more = job_of(JOB_QUEUED_MAX);
    cr_assert_eq(store_add_job(b->store, &more, &error), DPOT_ERR_BUSY);
    cr_assert_not_null(strstr(error.text, "100 jobs wait already"), "%s", error.text);
    set_state(b, 3, JOB_RUNNING);
    (void)add(b, JOB_QUEUED_MAX);
    cr_assert_eq(store_add_job(b->store, &more, NULL), DPOT_ERR_BUSY);
}

static int count_down(void *ctx, const struct job_record *record)
{
    uint8_t *next = ctx;
    cr_assert_eq(record->id[0], --*next);
    return 0;
}

STORE_TEST(a_list_of_jobs_goes_on_after_any_job_and_shows_all)
{
    const uint8_t after[JOB_ID_LEN] = {120}, unknown[JOB_ID_LEN] = {251};
    uint8_t next = 250;
    for (uint8_t n = 0; n < 250; n++) {
        (void)add(b, n);
        set_state(b, n, JOB_CANCELLED);
    }
    cr_assert_eq(store_list_jobs(b->store, NULL, count_down, &next, NULL), DPOT_OK);
    cr_assert_eq(next, 0);
    next = 120;
    cr_assert_eq(store_list_jobs(b->store, after, count_down, &next, NULL), DPOT_OK);
    cr_assert_eq(next, 0);
    struct dpot_error error = {{0}};
    cr_assert_eq(store_list_jobs(b->store, unknown, count_down, &next, &error), DPOT_ERR_NOT_FOUND);
    cr_assert_not_null(strstr(error.text, "no job"), "%s", error.text);
}

STORE_TEST(the_progress_of_a_running_job_is_stored)
{
    (void)add(b, 1);
    struct job_record record = get(b, 1);
    record.state = JOB_RUNNING;
    record.n_done = 812;
    record.n_total = (uint64_t)1 << 40;
    record.n_attempts = 2;
    record.started_ms = FIXTURE_NOW_MS + 5;
    cr_assert_eq(store_update_job(b->store, &record, NULL), DPOT_OK);
    bench_reopen(b);
    struct job_record found = get(b, 1);
    cr_assert_eq(found.state, JOB_RUNNING);
    cr_assert_eq(found.n_done, 812);
    cr_assert_eq(found.n_total, (uint64_t)1 << 40);
    cr_assert_eq(found.n_attempts, 2);
    cr_assert_eq(found.started_ms, FIXTURE_NOW_MS + 5);
    record.state = JOB_FAILED;
    record.ended_ms = FIXTURE_NOW_MS + 9;
    (void)snprintf(record.sentence, sizeof record.sentence, "out of luck");
    cr_assert_eq(store_update_job(b->store, &record, NULL), DPOT_OK);
    found = get(b, 1);
    cr_assert_eq(found.state, JOB_FAILED);
    cr_assert_eq(found.ended_ms, FIXTURE_NOW_MS + 9);
    cr_assert_str_eq(found.sentence, "out of luck");
}

STORE_TEST(a_job_that_has_ended_never_changes)
{
    static const enum job_state ends[] = {JOB_FAILED, JOB_CANCELLED};
    for (uint8_t i = 0; i < 2; i++) {
        struct dpot_error error = {{0}};
        struct job_record record = add(b, i);
        set_state(b, i, ends[i]);
        record.state = JOB_RUNNING;
        cr_assert_eq(store_update_job(b->store, &record, &error), DPOT_ERR_STATE);
        cr_assert_not_null(strstr(error.text, job_state_name(ends[i])), "%s", error.text);
        cr_assert_eq(store_finish_job(b->store, &record, "late", 4, NULL), DPOT_ERR_STATE);
        cr_assert_eq(get(b, i).state, ends[i]);
    }
    struct job_record record = add(b, 9);
    finish(b, 9, "result");
    record.state = JOB_CANCELLED;
    cr_assert_eq(store_update_job(b->store, &record, NULL), DPOT_ERR_STATE);
    cr_assert_eq(get(b, 9).state, JOB_DONE);
}

STORE_TEST(a_job_is_done_with_its_artifact_and_only_so)
{
    struct job_record record = add(b, 1);
    struct dpot_buf bytes;
    uint8_t digest[DPOT_HASH_LEN];
    record.state = JOB_DONE;
    cr_assert_eq(store_update_job(b->store, &record, NULL), DPOT_ERR_ARGUMENT);
    finish(b, 1, "result");
    bench_reopen(b);
    dpot_hash(digest, "result", 6);
    record = get(b, 1);
    cr_assert_eq(record.state, JOB_DONE);
    cr_assert_arr_eq(record.artifact, digest, sizeof digest);
    dpot_buf_init(&bytes, 100, NULL);
    cr_assert_eq(store_get_artifact(b->store, digest, &bytes, NULL), DPOT_OK);
    cr_assert_eq(bytes.len, 6);
    cr_assert_arr_eq(bytes.data, "result", 6);
    dpot_buf_release(&bytes);
}

STORE_TEST(a_refused_finish_stores_no_artifact)
{
    struct job_record record = add(b, 1);
    struct dpot_buf bytes;
    uint8_t digest[DPOT_HASH_LEN];
    set_state(b, 1, JOB_CANCELLED);
    cr_assert_eq(store_finish_job(b->store, &record, "late", 4, NULL), DPOT_ERR_STATE);
    dpot_hash(digest, "late", 4);
    dpot_buf_init(&bytes, 100, NULL);
    cr_assert_eq(store_get_artifact(b->store, digest, &bytes, NULL), DPOT_ERR_NOT_FOUND);
    dpot_buf_release(&bytes);
}

STORE_TEST(two_jobs_with_one_result_share_its_artifact)
{
    (void)add(b, 1);
    (void)add(b, 2);
    finish(b, 1, "result");
    finish(b, 2, "result");
    const struct job_record first = get(b, 1), second = get(b, 2);
    cr_assert_arr_eq(first.artifact, second.artifact, sizeof first.artifact);
}

STORE_TEST(an_artifact_larger_than_its_buffer_is_refused)
{
    struct dpot_buf bytes;
    (void)add(b, 1);
    finish(b, 1, "result");
    const struct job_record record = get(b, 1);
    dpot_buf_init(&bytes, 5, NULL);
    cr_assert_eq(store_get_artifact(b->store, record.artifact, &bytes, NULL), DPOT_ERR_TOO_LARGE);
    cr_assert_eq(bytes.len, 0);
    dpot_buf_release(&bytes);
}

STORE_TEST(jobs_left_running_wait_again_and_others_stay_as_they_are)
{
    for (uint8_t n = 1; n <= 4; n++) {
        (void)add(b, n);
    }
    struct job_record record = get(b, 1);
    record.state = JOB_RUNNING;
    record.n_done = 3;
    record.n_total = 9;
    record.n_attempts = 1;
    record.started_ms = 77;
    cr_assert_eq(store_update_job(b->store, &record, NULL), DPOT_OK);
    set_state(b, 2, JOB_FAILED);
    finish(b, 3, "result");
    bench_reopen(b);
    cr_assert_eq(store_requeue_jobs(b->store, FIXTURE_NOW_MS, NULL), DPOT_OK);
    record = get(b, 1);
    cr_assert_eq(record.state, JOB_QUEUED);
    cr_assert_eq(record.n_done, 0);
    cr_assert_eq(record.n_total, 0);
    cr_assert_eq(record.started_ms, 0);
    cr_assert_eq(record.n_attempts, 1);
    cr_assert_eq(get(b, 2).state, JOB_FAILED);
    cr_assert_eq(get(b, 3).state, JOB_DONE);
    cr_assert_eq(get(b, 4).state, JOB_QUEUED);
}

STORE_TEST(a_job_that_crashed_its_process_too_often_has_failed)
{
    (void)add(b, 1);
    struct job_record record = get(b, 1);
    record.state = JOB_RUNNING;
    record.n_attempts = JOB_ATTEMPTS_MAX;
    cr_assert_eq(store_update_job(b->store, &record, NULL), DPOT_OK);
    cr_assert_eq(store_requeue_jobs(b->store, FIXTURE_NOW_MS, NULL), DPOT_OK);
    record = get(b, 1);
    cr_assert_eq(record.state, JOB_FAILED);
    cr_assert_eq(record.ended_ms, FIXTURE_NOW_MS);
    cr_assert_not_null(strstr(record.sentence, "3 times"));
}
