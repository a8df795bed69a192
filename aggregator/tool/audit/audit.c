/* dpot audit: checks that the program keeps the privacy it claims. */
#include "tool/shared/commands.h"

#include "audit/direct.h"
#include "base/alloc.h"
#include "base/rng_seeded.h"
#include "files/spelling.h"
#include "solve/run/workers.h"
#include "tool/audit/verdict.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"

#include <math.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#define CONFIDENCE_DEFAULT 0.9999
#define SAMPLES_DEFAULT 500000
#define SAMPLES_MIN 1000
#define SAMPLES_MAX 20000000
#define PATH_SHARE 80 /* privatizer samples for each sample of the client path */
#define PATH_CHUNK ((size_t)20 * CLIENT_PATH_SAMPLES_PER_DEVICE) /* of 20 devices at one server */
#define DIRECT_CHUNK ((size_t)25000)
#define TESTS_PER_SUBJECT 2 /* bounds: client path, privatizer */
#define DIRECT_STREAMS ((uint64_t)1 << 63)
#define STREAMS_LOG2 32 /* streams of one subject */

static const struct option options[] = {
    {"mechanism", "NAME|all",
     "what to audit: a mechanism (laplace), one case of it (laplace-box), all"},
    {"n-samples", "N 1000..20000000",
     "reports of each input by the privatizer, the client path makes N / 80 (default 500000)"},
    {"confidence", "C (0,1)", "of all bounds together (default 0.9999)"},
    {NULL, NULL, NULL},
};

struct audit {
    struct run *run;
    const char *mechanism;
    uint64_t n_samples;
    double confidence;
    size_t n_subjects; /* matching --mechanism */
    size_t number;     /* of the subject in the list */
    bool has_failed;
    json_t *rows;
    double longest_ms[2]; /* real time of a submit of either input; not in the rows, which a seed
                             makes reproducible */
};

/* One subject on several threads: chunks of the client path of input 0 and 1, then of the
 * privatizer. */
struct work {
    const struct audit *audit;
    struct client_path_plan plan;
    struct audit_samples path, direct;
    size_t n_path_chunks, n_direct_chunks; /* of one input */
    struct client_path_tally *tallies;     /* (2 n_path_chunks) */
};

/* ---- options ---- */

static size_t count_matches(const char *wanted)
{
    size_t n = 0;
    for (size_t i = 0; subject_names[i]; i++) {
        n += strcmp(wanted, "all") == 0 || subject_matches(subject_names[i], wanted);
    }
    return n;
}

static void suggest_subject(const char *wanted, char hint[SPELLING_HINT_SIZE])
{
    struct spelling spelling = {.text = wanted};
    for (size_t i = 0; subject_names[i]; i++) { /* the mechanism, then one case of it */
        spelling_offer(&spelling, subject_names[i], strcspn(subject_names[i], "-"));
        spelling_offer(&spelling, subject_names[i], strlen(subject_names[i]));
    }
    spelling_hint(&spelling, "", hint);
}

static dpot_status read_options(struct audit *a)
{
    struct run *run = a->run;
    dpot_status status =
        option_require(run, "mechanism", "the name of a mechanism, or all", &a->mechanism);
    if (status == DPOT_OK) {
        status = option_integer(run, "n-samples", SAMPLES_MIN, SAMPLES_MAX, &a->n_samples);
    }
    if (status == DPOT_OK && option_is_given(run, "confidence")) {
        status = option_positive(run, "confidence", 1, &a->confidence);
        if (status == DPOT_OK && a->confidence == 1) {
            status = RUN_USAGE(run, "--confidence is 1: samples prove nothing for certain, give "
                                    "less");
        }
    }
    if (status != DPOT_OK) {
        return status;
    }
    a->n_subjects = count_matches(a->mechanism);
    if (a->n_subjects == 0) {
        char hint[SPELLING_HINT_SIZE];
        suggest_subject(a->mechanism, hint);
        return RUN_USAGE(run,
                         "--mechanism is %.40s: choose all, wpm, kpm, exponential, laplace or "
                         "gaussian, or a case of one (dpot audit --help)%s",
                         a->mechanism, hint);
    }
    return DPOT_OK;
}

/* ---- sampling ---- */

static uint64_t stream_of(const struct audit *a, unsigned input, size_t chunk, size_t per_chunk)
{
    return ((uint64_t)a->number << STREAMS_LOG2) +
           (uint64_t)input * (UINT64_C(1) << (STREAMS_LOG2 - 1)) + (uint64_t)chunk * per_chunk;
}

static dpot_status run_path_chunk(struct work *w, unsigned input, size_t chunk,
                                  struct dpot_error *error)
{
    const size_t first = chunk * PATH_CHUNK, left = w->path.n - first;
    return client_path_run(
        &w->plan, input,
        stream_of(w->audit, input, chunk, PATH_CHUNK / CLIENT_PATH_SAMPLES_PER_DEVICE),
        left < PATH_CHUNK ? left : PATH_CHUNK, w->path.of[input] + first,
        &w->tallies[input * w->n_path_chunks + chunk], error);
}

static dpot_status run_direct_chunk(struct work *w, unsigned input, size_t chunk,
                                    struct dpot_error *error)
{
    struct dpot_rng_seeded seeded;
    const size_t first = chunk * DIRECT_CHUNK, left = w->direct.n - first;
    dpot_rng_seeded_init(&seeded, w->plan.seed,
                         DIRECT_STREAMS + stream_of(w->audit, input, chunk, 1));
    return direct_run(w->plan.subject, input,
                      w->plan.subject->has_seed ? &seeded.source : &dpot_rng_source_sodium,
                      left < DIRECT_CHUNK ? left : DIRECT_CHUNK, w->direct.of[input] + first,
                      error);
}

static atomic_bool is_interrupted;

static void interrupt(int number)
{
    (void)number;
    atomic_store(&is_interrupted, true);
}

static dpot_status run_chunk(void *ctx, size_t worker, size_t item, struct dpot_error *error)
{
    struct work *w = ctx;
    (void)worker;
    if (atomic_load(&is_interrupted)) {
        return dpot_error_set(error, DPOT_ERR_STATE, "interrupted");
    }
    if (item < 2 * w->n_path_chunks) {
        return run_path_chunk(w, (unsigned)(item % 2), item / 2, error);
    }
    item -= 2 * w->n_path_chunks;
    return run_direct_chunk(w, (unsigned)(item % 2), item / 2, error);
}

static bool allocate_samples(struct audit_samples *samples, size_t n)
{
    samples->n = n;
    samples->of[0] = dpot_alloc_array(NULL, n, sizeof(struct audit_sample));
    samples->of[1] = dpot_alloc_array(NULL, n, sizeof(struct audit_sample));
    return samples->of[0] && samples->of[1];
}

static void release_samples(struct audit_samples *samples)
{
    dpot_free_array(NULL, samples->of[0], samples->n, sizeof(struct audit_sample));
    dpot_free_array(NULL, samples->of[1], samples->n, sizeof(struct audit_sample));
}

/* Campaigns with costlier reports get fewer samples. */
static size_t share_of(size_t n_samples, const struct subject *subject, size_t share)
{
    const size_t n = n_samples / (share * subject->cost);
    return n > CLIENT_PATH_SAMPLES_PER_DEVICE ? n : CLIENT_PATH_SAMPLES_PER_DEVICE;
}

static dpot_status work_init(struct work *w, const struct audit *a, const struct subject *subject)
{
    const size_t n_direct = share_of(a->n_samples, subject, 1);
    const size_t n_path = share_of(a->n_samples, subject, PATH_SHARE);
    *w = (struct work){.audit = a,
                       .plan = {.subject = subject, .seed = a->run->seed},
                       .n_path_chunks = (n_path + PATH_CHUNK - 1) / PATH_CHUNK,
                       .n_direct_chunks = (n_direct + DIRECT_CHUNK - 1) / DIRECT_CHUNK};
    w->path.n_outcomes = w->direct.n_outcomes = subject_outcomes(subject);
    w->tallies = dpot_alloc_array(NULL, 2 * w->n_path_chunks, sizeof *w->tallies);
    const bool has_path = allocate_samples(&w->path, n_path);
    return allocate_samples(&w->direct, n_direct) && has_path && w->tallies ? DPOT_OK
                                                                            : DPOT_ERR_MEMORY;
}

static void work_release(struct work *w)
{
    release_samples(&w->path);
    release_samples(&w->direct);
    dpot_free_array(NULL, w->tallies, 2 * w->n_path_chunks, sizeof *w->tallies);
}

static dpot_status take_samples(struct work *w)
{
    struct progress progress;
    struct run *run = w->audit->run;
    const size_t n_items = 2 * (w->n_path_chunks + w->n_direct_chunks);
    progress_init(&progress, run, w->plan.subject->name, n_items);
    const struct solve_control control = progress_control(&progress);
    const dpot_status status =
        workers_run(n_items, run->n_threads, run_chunk, w, &control, &run->error);
    progress_end(&progress);
    return status;
}

/* ---- the verdict ---- */

static dpot_status reach_verdict(struct work *w, struct verdict *verdict)
{
    const struct audit *a = w->audit;
    const double error = (1 - a->confidence) / (double)(TESTS_PER_SUBJECT * a->n_subjects);
    const double delta = verdict_claimed_delta(verdict);
    for (size_t i = 0; i < 2 * w->n_path_chunks; i++) {
        client_path_tally_add(&verdict->tally, &w->tallies[i]);
    }
    verdict->n_path = w->path.n;
    verdict->n_direct = w->direct.n;
    dpot_status status = verdict_enumerate(verdict, &a->run->error);
    if (status == DPOT_OK) {
        status = silence_run(&w->plan, &verdict->silence, &a->run->error);
    }
    if (status == DPOT_OK) {
        status = events_bound(&w->path, delta, error, &verdict->path);
    }
    return status == DPOT_OK ? events_bound(&w->direct, delta, error, &verdict->direct) : status;
}

static json_t *describe_event(const struct event_finding *event)
{
    static const char *const kinds[] = {"none", "at_least", "below", "trace", "other_trace"};
    const struct proportion_pair *counts = &event->counts;
    json_t *object = json_object();
    (void)json_object_set_new(object, "lower_bound", json_number(event->epsilon));
    (void)json_object_set_new(object, "event", json_string(kinds[event->kind]));
    (void)json_object_set_new(object, "likelier_input", json_integer((json_int_t)event->likelier));
    (void)json_object_set_new(object, "hits", json_integer((json_int_t)counts->n_hits));
    (void)json_object_set_new(object, "n", json_integer((json_int_t)counts->n));
    (void)json_object_set_new(object, "other_hits", json_integer((json_int_t)counts->n_other_hits));
    (void)json_object_set_new(object, "other_n", json_integer((json_int_t)counts->n_other));
    return object;
}

static json_t *describe_path(const struct verdict *verdict)
{
    const struct client_path_tally *tally = &verdict->tally;
    json_t *object = describe_event(&verdict->path);
    const struct {
        const char *key;
        uint64_t value;
    } counts[] = {{"reports", tally->n_reports},
                  {"charges", tally->n_charges},
                  {"contradictions", tally->n_contradictions},
                  {"missing", tally->n_missing},
                  {"odd_lengths", tally->n_lengths},
                  {"odd_statuses", tally->n_statuses},
                  {"odd_groups", tally->n_groups},
                  {"mischarged", tally->n_mischarged},
                  {"odd_pools", tally->n_pools}};
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        (void)json_object_set_new(object, counts[i].key, json_integer((json_int_t)counts[i].value));
    }
    return object;
}

static json_t *describe_silence(const struct silence_finding *silence)
{
    json_t *object = json_object();
    (void)json_object_set_new(object, "verdict", json_string(silence->is_silent ? "pass" : "fail"));
    (void)json_object_set_new(object, "compared", json_integer((json_int_t)silence->n_lines));
    if (!silence->is_silent) {
        (void)json_object_set_new(object, "difference", json_string(silence->difference));
    }
    return object;
}

static json_t *describe_method(const struct verdict *verdict)
{
    char text[200];
    const bool is_vector = dpot_mechanism_is_vector(verdict->subject->campaign.mechanism);
    const char *what = !is_vector                   ? "whole polytope"
                       : verdict->vector.is_partial ? "some outputs"
                                                    : "every output";
    (void)snprintf(text, sizeof text,
                   "exact: %zu inputs, %s; client path: 2 x %zu; privatizer: 2 x %zu",
                   is_vector ? verdict->vector.n_inputs : verdict->index.n_inputs, what,
                   verdict->n_path, verdict->n_direct);
    return json_string(text);
}

static json_t *describe(const struct verdict *verdict)
{
    const bool passes = verdict_passes(verdict);
    json_t *row = json_object();
    (void)json_object_set_new(row, "mechanism", json_string(verdict->subject->name));
    (void)json_object_set_new(row, "claimed_epsilon",
                              json_number(verdict_claimed_epsilon(verdict)));
    (void)json_object_set_new(row, "claimed_delta", json_number(verdict_claimed_delta(verdict)));
    (void)json_object_set_new(row, "lower_bound", json_number(verdict_lower_bound(verdict)));
    (void)json_object_set_new(row, "exact_maximum", json_number(verdict_exact_maximum(verdict)));
    (void)json_object_set_new(row, "verdict", json_string(passes ? "pass" : "fail"));
    (void)json_object_set_new(row, "method", describe_method(verdict));
    (void)json_object_set_new(row, "client_path", describe_path(verdict));
    (void)json_object_set_new(row, "privatizer", describe_event(&verdict->direct));
    (void)json_object_set_new(row, "silence", describe_silence(&verdict->silence));
    return row;
}

static dpot_status audit_subject(struct audit *a, const char *name)
{
    struct subject subject;
    struct work work = {.audit = a};
    struct verdict verdict = {.subject = &subject};
    dpot_status status = subject_init(&subject, name, a->run->has_seed, &a->run->error);
    if (status == DPOT_OK) {
        status = work_init(&work, a, &subject);
    }
    if (status == DPOT_OK) {
        status = take_samples(&work);
    }
    if (status == DPOT_OK) {
        status = reach_verdict(&work, &verdict);
    }
    if (status == DPOT_OK) {
        a->has_failed = a->has_failed || !verdict_passes(&verdict);
        (void)json_array_append_new(a->rows, describe(&verdict));
        for (int i = 0; i < 2; i++) {
            a->longest_ms[i] = fmax(a->longest_ms[i], verdict.silence.longest_ms[i]);
        }
    }
    work_release(&work);
    subject_release(&subject);
    return status;
}

/* Audits every case that matches, until one fails to run or a signal arrives. */
static dpot_status audit_all(struct audit *a)
{
    struct sigaction action = {.sa_handler = interrupt}, before_int, before_term;
    dpot_status status = DPOT_OK;
    (void)sigemptyset(&action.sa_mask);
    (void)sigaction(SIGINT, &action, &before_int);
    (void)sigaction(SIGTERM, &action, &before_term);
    for (; subject_names[a->number] && status == DPOT_OK; a->number++) {
        const char *name = subject_names[a->number];
        if (strcmp(a->mechanism, "all") == 0 || subject_matches(name, a->mechanism)) {
            status = audit_subject(a, name);
        }
    }
    (void)sigaction(SIGINT, &before_int, NULL);
    (void)sigaction(SIGTERM, &before_term, NULL);
    return status;
}

static dpot_status run_audit(struct run *run)
{
    struct audit a = {.run = run, .n_samples = SAMPLES_DEFAULT, .confidence = CONFIDENCE_DEFAULT};
    dpot_status status = read_options(&a);
    if (status != DPOT_OK) {
        return status;
    }
    const double started = progress_seconds();
    a.rows = json_array();
    run_put(run, "mechanisms", a.rows);
    status = audit_all(&a);
    const bool is_cut = status != DPOT_OK && atomic_load(&is_interrupted);
    run_put_number(run, "longest_submit_ms_0", a.longest_ms[0]);
    run_put_number(run, "longest_submit_ms_1", a.longest_ms[1]);
    run_put_number(run, "confidence", a.confidence);
    run_put_number(run, "seconds", progress_seconds() - started);
    run_put_text(run, "verdict", a.has_failed ? "fail" : is_cut ? "interrupted" : "pass");
    if (is_cut) {
        status = DPOT_OK;
        run->forced_exit = EXIT_CODE_STOPPED;
        run_warn(run, "interrupted: only the cases above were audited");
    }
    if (status == DPOT_OK && a.has_failed) {
        run->forced_exit = EXIT_CODE_PRIVACY;
        run_warn(run, "a claim of privacy does not hold: see the rows that say fail");
    }
    return status;
}

const struct command command_audit = {
    .name = "audit",
    .summary = "checks that this program keeps the privacy it claims",
    .details =
        "Audits small campaigns of every mechanism, each with two inputs as far apart as its\n"
        "claim allows. exact_maximum is the largest privacy loss by enumeration: of the integer\n"
        "laws of index mechanisms over many inputs and over their whole polytope; of the integer\n"
        "noise of vector mechanisms at the furthest inputs that clipping allows (gaussian: the\n"
        "least epsilon at the claimed delta). lower_bound is what reports prove at the confidence\n"
        "C of all bounds together: an event is chosen on one half of the reports and counted on\n"
        "the other (Clopper, Pearson). Reports are made by the whole client path (clamp, ledger,\n"
        "spool, seal, an aggregator in memory, a lost answer, a restart) and, in larger number,\n"
        "by the privatizer alone: client_path and privatizer hold the two bounds, lower_bound the\n"
        "larger one. silence compares two runs of a device that differ only in its data: times,\n"
        "lengths, order, ids, groups, file operations, charges and answers must be the same.\n"
        "longest_submit_ms_0 and _1 are real times.\n\n"
        "A case fails when lower_bound or exact_maximum exceeds claimed_epsilon, when the two\n"
        "runs differ (difference holds the first line that does), or when a device misbehaves\n"
        "(two reports for one charge, ..); the exit code is then 4. An interrupted audit prints\n"
        "the finished cases, with exit code 5.\n\n"
        "Cases: wpm, kpm, exponential, each also with -sample-first; wpm-exact, wpm-exact-large;\n"
        "wpm-sphere, wpm-sphere-large; kpm-groups, kpm-large; laplace-box, -nan, -l1-ball,\n"
        "-l1-ball-large, -dct; gaussian-l2-ball, -l2-ball-large, -box, -dct.\n"
        "Samples cannot detect an error of a few per cent; exact_maximum does.",
    .example = "dpot audit --mechanism laplace-l1-ball --n-samples 50000",
    .options = options,
    .run = run_audit,
};
