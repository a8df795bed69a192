/* dpot job: starts, watches and cancels jobs of a server. */
#include "tool/shared/commands.h"

#include "tool/shared/options.h"
#include "tool/shared/paging.h"
#include "tool/shared/progress.h"
#include "tool/shared/revision.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATH_SIZE 96
#define POLL_FIRST_MS 50
#define POLL_MOST_MS 1000
#define TEXT_SIZE 48
#define JOB_ID_SIZE 33
#define AWAY_DEFAULT 60 /* seconds */
#define AWAY_MOST 86400

static const struct option start_options[] = {
    {"campaign", "ID", "the campaign of the job"},
    REVISION_OPTION,
    {"wait", NULL, "wait for the end of the job, with a progress bar"},
    {"away-seconds", "S 0..86400",
     "with --wait: how long the server may be away, e.g. to restart (default 60)"},
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

static const struct option admin_options[] = {
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

/* ---- start ---- */

/* Numbers, booleans and arrays are parsed as JSON; everything else is a string. */
static json_t *parse_value(const char *text)
{
    json_t *value = json_loads(text, JSON_DECODE_ANY, NULL);
    if (value && !json_is_number(value) && !json_is_boolean(value) && !json_is_array(value)) {
        json_decref(value);
        value = NULL;
    }
    return value ? value : json_string(text);
}

static dpot_status parse_parameters(struct run *run, json_t *parameters)
{
    for (size_t i = 1; i < run->n_operands; i++) {
        const char *text = run->operands[i];
        const char *equals = strchr(text, '=');
        char key[64];
        if (!equals || equals == text || (size_t)(equals - text) >= sizeof key) {
            return RUN_USAGE(run, "\"%.60s\" is no parameter: give key=value", text);
        }
        (void)snprintf(key, sizeof key, "%.*s", (int)(equals - text), text);
        if (json_object_get(parameters, key)) {
            return RUN_USAGE(run, "parameter %s is given twice: give it once", key);
        }
        if (json_object_set_new(parameters, key, parse_value(equals + 1)) != 0) {
            return RUN_USAGE(run, "parameter %zu is not UTF-8 text", i);
        }
    }
    return DPOT_OK;
}

static dpot_status post_job(struct run *run, struct remote *remote, const char *campaign,
                            uint32_t revision, json_t *parameters, json_t **job)
{
    json_t *request = json_pack("{s:s,s:s,s:O}", "kind", run->operands[0], "campaign", campaign,
                                "parameters", parameters);
    if (request && revision > 0) { /* an older server refuses the key by name */
        (void)json_object_set_new(request, "revision", json_integer((json_int_t)revision));
    }
    char *body = request ? json_dumps(request, JSON_COMPACT | JSON_REAL_PRECISION(17)) : NULL;
    json_decref(request);
    if (!body) {
        return RUN_USAGE(run, "the kind of job is not UTF-8 text");
    }
    const dpot_status status =
        remote_call_json(remote, "POST", "/v1/admin/jobs", body, &remote_job, job);
    free(body);
    return status;
}

static const char *state_of(const json_t *job)
{
    const char *state = json_string_value(json_object_get(job, "state"));
    return state ? state : "";
}

static bool is_waiting(const json_t *job)
{
    return strcmp(state_of(job), "queued") == 0 || strcmp(state_of(job), "running") == 0;
}

static void pause_ms(long ms)
{
    const struct timespec t = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&t, NULL);
}

static void show_progress(const json_t *job, struct progress *progress)
{
    const json_t *object = json_object_get(job, "progress");
    const json_int_t total = json_integer_value(json_object_get(object, "total"));
    if (total > 0) {
        const json_int_t done = json_integer_value(json_object_get(object, "done"));
        progress_step_of(progress, (size_t)(done > 0 ? done : 0), (size_t)total);
    }
}

/* A wait for one job. */
struct wait {
    struct run *run;
    struct remote *remote;
    uint64_t patience; /* seconds that the server may be away */
    bool is_away;
    double away_since;
    char id[JOB_ID_SIZE];
    struct progress progress;
};

/* Reports once that the server is away, and waits: a job outlives a restart of the server. */
static dpot_status be_patient(struct wait *w, dpot_status status)
{
    const double now = progress_seconds();
    if (!w->is_away) {
        w->is_away = true;
        w->away_since = now;
        progress_end(&w->progress); /* the bar must not run through the line */
        if (!w->run->is_quiet) {
            (void)fprintf(stderr, "dpot %s: the server is away, waiting\n", w->run->command->name);
        }
        progress_init(&w->progress, w->run, w->run->operands[0], 0);
        progress_join(&w->progress);
    }
    if (now - w->away_since < (double)w->patience) {
        return DPOT_OK;
    }
    return RUN_FAIL(
        w->run, EXIT_CODE_IO, status,
        "the server has been away for %.0f s. Job %s goes on when it is back: look with "
        "dpot job show %s --server %.300s",
        now - w->away_since, w->id, w->id, w->remote->url);
}

/* Polls until the job has ended; *job is replaced by each answer. */
static dpot_status poll_job(struct wait *w, json_t **job)
{
    char path[PATH_SIZE];
    long ms = POLL_FIRST_MS;
    dpot_status status = DPOT_OK;
    (void)snprintf(path, sizeof path, "/v1/admin/jobs/%s", w->id);
    while (status == DPOT_OK && is_waiting(*job)) {
        json_t *answer = NULL;
        pause_ms(ms);
        ms = 2 * ms < POLL_MOST_MS ? 2 * ms : POLL_MOST_MS;
        status = remote_call_json(w->remote, "GET", path, NULL, &remote_job, &answer);
        if (status == DPOT_OK) {
            json_decref(*job);
            *job = answer;
            w->is_away = false;
            show_progress(*job, &w->progress);
        } else if (remote_is_away(w->remote, status)) {
            status = be_patient(w, status);
        }
    }
    return status;
}

static dpot_status wait_for(struct run *run, struct remote *remote, uint64_t patience, json_t **job)
{
    struct wait w = {.run = run, .remote = remote, .patience = patience};
    const char *id = json_string_value(json_object_get(*job, "id"));
    (void)snprintf(w.id, sizeof w.id, "%s", id ? id : "");
    progress_init(&w.progress, run, run->operands[0], 0);
    progress_join(&w.progress);
    const dpot_status status = poll_job(&w, job);
    progress_end(&w.progress);
    return status;
}

/* With --wait, a job that did not succeed is a failure of the command. */
static dpot_status status_of_job(struct run *run, const json_t *job)
{
    const char *sentence = json_string_value(json_object_get(job, "error"));
    const char *id = json_string_value(json_object_get(job, "id"));
    if (strcmp(state_of(job), "cancelled") == 0) {
        return RUN_FAIL(run, EXIT_CODE_NOT_READY, DPOT_ERR_STATE,
                        "job %.32s was cancelled: start a new one", id ? id : "");
    }
    if (strcmp(state_of(job), "failed") == 0) {
        return RUN_FAIL(run, EXIT_CODE_INTERNAL, DPOT_ERR_SERVER, "job %.32s failed: %s",
                        id ? id : "", sentence ? sentence : "without a sentence");
    }
    return DPOT_OK;
}

static dpot_status start_job(struct run *run, const char *campaign, uint32_t revision,
                             uint64_t patience, json_t *parameters)
{
    struct remote remote;
    json_t *job = NULL, *others = NULL;
    dpot_status status = remote_open(run, true, &remote);
    if (status == DPOT_OK) {
        status = post_job(run, &remote, campaign, revision, parameters, &job);
    }
    if (status == DPOT_OK) { /* in the first answer only */
        others = json_incref(json_object_get(job, "other_revisions"));
    }
    if (status == DPOT_OK && option_is_given(run, "wait")) {
        status = wait_for(run, &remote, patience, &job);
        status = status == DPOT_OK ? status_of_job(run, job) : status;
    }
    remote_close(&remote);
    if (status == DPOT_OK) {
        json_t *result = others ? json_pack("{s:O}", "other_revisions", others) : json_object();
        (void)json_object_update(result, job);
        json_decref(run->result);
        run->result = revision_present(run, result);
        json_decref(result);
    }
    json_decref(others);
    json_decref(job);
    return status;
}

static dpot_status run_start(struct run *run)
{
    const char *campaign = NULL;
    uint32_t revision = 0;
    uint64_t patience = AWAY_DEFAULT;
    dpot_status status = option_require(run, "campaign", "the ID of a campaign", &campaign);
    if (status == DPOT_OK && !is_campaign_id(campaign)) {
        status = RUN_USAGE(run, "--campaign is %.80s: an ID has 32 hex digits", campaign);
    }
    if (status == DPOT_OK) {
        status = revision_read(run, &revision);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "away-seconds", 0, AWAY_MOST, &patience);
    }
    if (status == DPOT_OK && option_is_given(run, "away-seconds") &&
        !option_is_given(run, "wait")) {
        status = RUN_USAGE(run, "--away-seconds goes with --wait only: give that too");
    }
    json_t *parameters = json_object();
    if (status == DPOT_OK) {
        status = parse_parameters(run, parameters);
    }
    if (status == DPOT_OK) {
        status = start_job(run, campaign, revision, patience, parameters);
    }
    json_decref(parameters);
    return status;
}

const struct command command_job_start = {
    .name = "job start",
    .operands = "base-measure|estimate|generator|barycenter [key=value ...]",
    .n_operands = 1,
    .max_operands = OPERANDS_MAX,
    .summary = "start a job on a server: base-measure, estimate, generator or barycenter",
    .details =
        "  base-measure  the base measure that costs the campaign's users least, for its next\n"
        "                revision (dpot campaign revise); method=mirror|uniform|certified,\n"
        "                max_iterations=N (10000; certified: rounds, 1000), gap=G (1e-6): for the\n"
        "                worst point, without reading reports. method=users: for users drawn from\n"
        "                the estimate of the pool; users=N (300), draws_min=3, draws_max=15,\n"
        "                mix=T (of the worst case, 0), seed=N, gap=G (0.01); needs min_pool\n"
        "  estimate      the share of reports that name each output point; exit code 7 below the\n"
        "                campaign's min_pool\n"
        "  generator     a generator of data without noise, from a pool of laplace or gaussian\n"
        "                vectors; arch=mlp:256,256, latent_dim=D, batch=b, pool_batch=B or\n"
        "                atoms=N, sinkhorn=L, steps=N, optimizer=adam|rmsprop, learning_rate=r,\n"
        "                schedule=cosine|linear|constant, seed=N, cost=l1|squared,\n"
        "                regularization=R: as dpot generator train, which makes the same model\n"
        "                from the same pool. Needs min_pool; resumes after a restart\n"
        "  barycenter    the Wasserstein barycenter of the pool's groups, each deconvolved first:\n"
        "                support=m (48), group_weights=[w,...], lambda=L (0: exact plans),\n"
        "                starts=N, seed=N, max_iterations=N, min_group=N (a group's share of\n"
        "                min_pool), deconvolve_tol=T, deconvolve_iterations=N, and for vectors\n"
        "                cells=[R,C] or atoms=N: as dpot barycenter --pool, which finds the same\n"
        "                points\n"
        "A job reads one revision: without --revision the open one, otherwise the newest closed\n"
        "one. Jobs run one after another; a job outlives this command and a restart of the\n"
        "server. With --wait the exit code is 1 for a failed job, 7 for a cancelled one, and 6 if\n"
        "the server stays away longer than --away-seconds; the job continues when it is back (dpot "
        "job\n"
        "show ID). Keys: id, kind, campaign, campaign_hash, revision, revision_state,\n"
        "other_revisions (those that hold reports), parameters, state (queued, running, done,\n"
        "failed, cancelled), progress {done, total}, created, started, ended, error, artifact (a\n"
        "digest).",
    .example = "dpot job start base-measure --campaign 3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2 "
               "method=mirror --wait --server https://pool.example.org",
    .options = start_options,
    .run = run_start,
};

/* ---- list ---- */

/* A row of the readable list. */
static json_t *shorten(const json_t *job)
{
    static const char *const copied[] = {"id",    "kind",    "campaign", "revision",
                                         "state", "created", "artifact"};
    json_t *row = json_object();
    char share[TEXT_SIZE] = "";
    const json_t *progress = json_object_get(job, "progress");
    const double done = (double)json_integer_value(json_object_get(progress, "done"));
    const double total = (double)json_integer_value(json_object_get(progress, "total"));
    for (size_t i = 0; i < sizeof copied / sizeof copied[0]; i++) {
        (void)json_object_set(row, copied[i], json_object_get(job, copied[i]));
        if (strcmp(copied[i], "state") == 0) {
            (void)snprintf(share, sizeof share, total > 0 ? "%.0f%%" : "-",
                           total > 0 ? 100 * done / total : 0);
            (void)json_object_set_new(row, "progress", json_string(share));
        }
    }
    return row;
}

static const struct option list_options[] = {
    PAGING_OPTIONS,
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

static dpot_status run_list(struct run *run)
{
    const dpot_status status = paging_list(run, "/v1/admin/jobs", &remote_jobs);
    if (status != DPOT_OK || run->is_json) {
        return status;
    }
    json_t *rows = json_array();
    const json_t *jobs = json_object_get(run->result, "jobs");
    for (size_t i = 0; i < json_array_size(jobs); i++) {
        (void)json_array_append_new(rows, shorten(json_array_get(jobs, i)));
    }
    const bool is_empty = json_array_size(rows) == 0;
    json_t *shown = is_empty ? json_integer(0) : rows;
    if (is_empty) {
        json_decref(rows);
    }
    run_put(run, "jobs", shown);
    return DPOT_OK;
}

const struct command command_job_list = {
    .name = "job list",
    .summary = "the jobs of a server, the newest first",
    .details = "Keys: jobs [as dpot job start]; next (for --after, if --limit has cut the list).",
    .example = "dpot job list --limit 20 --server https://pool.example.org",
    .options = list_options,
    .run = run_list,
};

/* ---- show, cancel ---- */

static dpot_status call_job(struct run *run, const char *method, const char *tail)
{
    char path[PATH_SIZE];
    const char *id = run->operands[0];
    if (!is_campaign_id(id)) {
        return RUN_USAGE(run, "\"%.80s\" is no job ID: it has 32 hex digits", id);
    }
    (void)snprintf(path, sizeof path, "/v1/admin/jobs/%.32s%s", id, tail);
    return remote_admin(run, method, path, NULL, &remote_job);
}

static dpot_status run_show(struct run *run)
{
    return call_job(run, "GET", "");
}

static dpot_status run_cancel(struct run *run)
{
    return call_job(run, "POST", "/cancel");
}

const struct command command_job_show = {
    .name = "job show",
    .operands = "ID",
    .n_operands = 1,
    .summary = "one job: its state, progress and artifact",
    .details = "Keys: as dpot job start.",
    .example = "dpot job show 5b0e1f2a3c4d5e6f708192a3b4c5d6e7 --server https://pool.example.org",
    .options = admin_options,
    .run = run_show,
};

const struct command command_job_cancel = {
    .name = "job cancel",
    .operands = "ID",
    .n_operands = 1,
    .summary = "cancel a job that has not ended",
    .details = "A queued job is cancelled at once; a running one soon after, and its result is\n"
               "dropped. Exit code 7 if it has ended. Keys: as dpot job start.",
    .example = "dpot job cancel 5b0e1f2a3c4d5e6f708192a3b4c5d6e7 --server https://pool.example.org",
    .options = admin_options,
    .run = run_cancel,
};
