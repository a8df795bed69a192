/* Many threads start, poll, list and cancel jobs of one runner, which is closed and opened again
 * under them. Every job must end, and be done if and only if its artifact is stored. */
#include "jobs/runner.h"
#include "base/clock.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define N_ADMINS 4
#define N_JOBS 12 /* of each */
#define N_TURNS 3 /* restarts of the runner */

static const char spec_text[] =
    "{\"name\":\"threads\",\"domain\":{\"type\":\"ring\",\"size\":10},\"metric\":\"ring\","
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.5},"
    "\"opens\":\"2020-01-01T00:00:00Z\",\"closes\":\"2100-01-01T00:00:00Z\"}";

static struct store *store;
static struct registry *registry;
static struct revision_record record;
static struct runner *runner;
static json_t *brief, *endless; /* parameters; shared by all threads, read only */

/* Exits with a message if the condition is false. */
static void demand(bool is_true, const char *what)
{
    if (!is_true) {
        (void)fprintf(stderr, "threads_runner: %s\n", what);
        exit(1);
    }
}

static void pause_us(long us)
{
    const struct timespec t = {.tv_nsec = us * 1000};
    (void)nanosleep(&t, NULL);
}

static json_t *parse(const char *text)
{
    json_t *value = NULL;
    demand(json_parse(text, strlen(text), &value, NULL) == DPOT_OK, "the JSON does not parse");
    return value;
}

static void ignore_change(void *ctx, const struct job_record *job, const struct dpot_error *error)
{
    (void)ctx;
    demand(job != NULL, error ? error->text : "the store refused");
}

static void open_runner(void)
{
    struct dpot_error error = {{0}};
    const struct runner_config config = {
        .source = {store, registry}, .clock = dpot_clock_system(), .on_change = ignore_change};
    demand(runner_open(&config, &runner, &error) == DPOT_OK, error.text);
}

static int count_job(void *ctx, const struct job_record *job)
{
    ++*(size_t *)ctx;
    demand(job->state >= JOB_QUEUED && job->state <= JOB_CANCELLED, "a job has no state");
    return 0;
}

/* Every second job never ends by itself and is cancelled. */
static void *run_admin(void *ctx)
{
    const long offset = *(const long *)ctx;
    for (long i = 0; i < N_JOBS; i++) {
        struct job_record job;
        struct dpot_error error = {{0}};
        const bool is_endless = i % 2 == 1;
        demand(runner_start(runner, "base-measure", record.campaign_id, 0,
                            is_endless ? endless : brief, &job, &error) == DPOT_OK,
               error.text);
        pause_us(offset + 37 * i);
        demand(runner_get(runner, job.id, &job, &error) == DPOT_OK, error.text);
        size_t n = 0;
        demand(runner_list(runner, NULL, count_job, &n, &error) == DPOT_OK && n > 0,
               "listing failed");
        if (is_endless) {
            demand(runner_cancel(runner, job.id, &job, &error) == DPOT_OK, error.text);
        }
    }
    return NULL;
}

static int check_ended(void *ctx, const struct job_record *job)
{
    size_t *counts = ctx;
    counts[job->state]++;
    return 0;
}

static void wait_for_all(size_t n_jobs)
{
    for (int i = 0; i < 60000; i++) {
        size_t counts[JOB_CANCELLED + 1] = {0};
        demand(runner_list(runner, NULL, check_ended, counts, NULL) == DPOT_OK, "listing failed");
        demand(counts[JOB_FAILED] == 0, "a job failed");
        if (counts[JOB_DONE] + counts[JOB_CANCELLED] == n_jobs) {
            demand(counts[JOB_DONE] == n_jobs / 2, "a job that may end was cancelled");
            return;
        }
        pause_us(1000);
    }
    demand(false, "a job never ended");
}

static int check_artifact(void *ctx, const struct job_record *job)
{
    struct dpot_buf bytes;
    (void)ctx;
    dpot_buf_init(&bytes, DPOT_ARTIFACT_BYTES_MAX, NULL);
    demand((store_get_artifact(store, job->artifact, &bytes, NULL) == DPOT_OK) ==
               (job->state == JOB_DONE),
           "a job is done without its artifact, or has one without being done");
    dpot_buf_release(&bytes);
    return 0;
}

static void set_up(void)
{
    struct dpot_error error = {{0}};
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN], secret_key[DPOT_SIGN_SECRET_LEN];
    demand(dpot_init() == DPOT_OK, "the library did not start");
    dpot_sign_keypair(public_key, secret_key);
    demand(store_open("sqlite::memory:", &store, &error) == DPOT_OK, error.text);
    demand(registry_new(store, secret_key, dpot_clock_system(), &registry, &error) == DPOT_OK,
           error.text);
    json_t *spec = parse(spec_text);
    demand(registry_create(registry, spec, &record, &error) == DPOT_OK, error.text);
    json_decref(spec);
    brief = parse("{\"max_iterations\":40,\"gap\":0}");
    endless = parse("{\"max_iterations\":1000000000,\"gap\":0}");
}

int main(void)
{
    static const long offsets[N_ADMINS] = {0, 130, 410, 900};
    set_up();
    for (size_t turn = 1; turn <= N_TURNS; turn++) {
        pthread_t admins[N_ADMINS];
        open_runner();
        for (size_t i = 0; i < N_ADMINS; i++) {
            demand(pthread_create(&admins[i], NULL, run_admin, (void *)&offsets[i]) == 0,
                   "no thread");
        }
        for (size_t i = 0; i < N_ADMINS; i++) {
            (void)pthread_join(admins[i], NULL);
        }
        runner_close(runner); /* running jobs are queued again */
        open_runner();
        wait_for_all(turn * N_ADMINS * N_JOBS);
        runner_close(runner);
    }
    demand(store_list_jobs(store, NULL, check_artifact, NULL, NULL) == DPOT_OK, "listing failed");
    json_decref(brief);
    json_decref(endless);
    registry_free(registry);
    store_close(store);
    return 0;
}
