/* The program as an operator runs it: exit codes, one sentence on failure, signals. */
#include "base/compiler.h"
#include "model/artifact.h"
#include "store/database.h"
#include "store/store.h"
#include "unit/aggregator/fixture.h"
#include "unit/aggregator/http_client.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM DPOT_TEST_BIN "/dpotd"

static char folder[FIXTURE_PATH_SIZE];
static char out[8192], err[8192];

static rlim_t file_limit = RLIM_INFINITY;    /* of the files of the next child, bytes */
static rlim_t address_limit = RLIM_INFINITY; /* of its address space */

static void set_up(void)
{
    fixture_folder(folder);
}

static void tear_down(void)
{
    fixture_remove(folder);
}

TestSuite(dpotd, .init = set_up, .fini = tear_down);

static char *in_folder(const char *name)
{
    static char paths[8][FIXTURE_PATH_SIZE];
    static size_t next;
    char *path = paths[next++ % 8];
    fixture_path(path, folder, name);
    return path;
}

static void redirect(int fd, const char *name)
{
    const int file = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    (void)dup2(file, fd);
    (void)close(file);
}

static void set_limit(int resource, rlim_t value)
{
    struct rlimit limit;
    if (value != RLIM_INFINITY && getrlimit(resource, &limit) == 0) {
        limit.rlim_cur = value;
        (void)setrlimit(resource, &limit);
    }
}

/* What never ends in a small address space burns its processor: it is killed, and not waited for. */
static void limit_memory(void)
{
    if (address_limit != RLIM_INFINITY) {
        (void)setenv("OPENBLAS_NUM_THREADS", "2", 1); /* one that is refused memory is enough */
        set_limit(RLIMIT_AS, address_limit);
        set_limit(RLIMIT_CPU, 20);
    }
}

static pid_t launch(char *const *arguments)
{
    const pid_t child = fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        redirect(STDOUT_FILENO, "stdout");
        redirect(STDERR_FILENO, "stderr");
        set_limit(RLIMIT_FSIZE, file_limit);
        limit_memory();
        (void)execv(PROGRAM, arguments);
        _exit(127);
    }
    return child;
}

static void slurp(const char *name, char *text, size_t cap)
{
    FILE *stream = fopen(in_folder(name), "r");
    cr_assert_not_null(stream);
    text[fread(text, 1, cap - 1, stream)] = '\0';
    (void)fclose(stream);
}

static int finish(pid_t child)
{
    int state = 0;
    cr_assert_eq(waitpid(child, &state, 0), child);
    slurp("stdout", out, sizeof out);
    slurp("stderr", err, sizeof err);
    cr_assert(WIFEXITED(state), "%s", err);
    return WEXITSTATUS(state);
}

#define RUN(...) finish(launch((char *[]){(char *)"dpotd", __VA_ARGS__, NULL}))
#define ARG(text) ((char *)(text))

static void expect_sentence(const char *word)
{
    cr_assert_not_null(strstr(err, word), "%s", err);
    cr_assert_eq(strncmp(err, "dpotd: ", 7), 0, "%s", err);
    cr_assert_eq(strchr(err, '\n'), err + strlen(err) - 1, "one sentence: %s", err);
}

static void init(void)
{
    cr_assert_eq(RUN(ARG("init"), ARG("--dir"), folder, ARG("--json")), 0, "%s", err);
}

Test(dpotd, help_and_version_are_printed_for_every_command)
{
    cr_assert_eq(RUN(ARG("--help")), 0);
    cr_assert_not_null(strstr(out, "Example:"));
    cr_assert_eq(RUN(ARG("--version")), 0);
    cr_assert_eq(strncmp(out, "dpotd ", 6), 0);
    static const char *const commands[] = {"init", "serve", "doctor"};
    for (size_t i = 0; i < 3; i++) {
        cr_assert_eq(RUN(ARG(commands[i]), ARG("--help")), 0);
        cr_assert_not_null(strstr(out, "Example: dpotd"), "%s", commands[i]);
    }
}

#if !DPOT_IS_SANITIZED /* whose shadow of the memory is larger than the limits */
Test(dpotd, ends_with_its_code_in_a_small_address_space)
{
    init();
    for (rlim_t mib = 80; mib <= 180; mib += 20) {
        address_limit = mib << 20;
        cr_assert_eq(RUN(ARG("--version")), 0, "%s", err);
        cr_assert_eq(strncmp(out, "dpotd ", 6), 0, "%s", out);
        cr_assert_eq(RUN(ARG("fly")), 2, "%s", err);
        cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("none.json")), 6, "%s", err);
    }
}
#endif

Test(dpotd, an_answer_that_cannot_be_written_is_exit_6)
{
    file_limit = 0;
    cr_assert_eq(RUN(ARG("--help")), 6);
    cr_assert_eq(RUN(ARG("--version")), 6);
}

Test(dpotd, a_wrong_command_line_is_exit_2)
{
    cr_assert_eq(finish(launch((char *[]){ARG("dpotd"), NULL})), 2);
    expect_sentence("a command is missing");
    cr_assert_eq(RUN(ARG("fly")), 2);
    expect_sentence("fly");
    cr_assert_eq(RUN(ARG("keys"), ARG("foo")), 2);
    expect_sentence("keys takes list, add or prune, not foo");
    cr_assert_eq(RUN(ARG("keys")), 2);
    expect_sentence("keys takes list, add or prune");
    cr_assert_eq(RUN(ARG("keys"), ARG("--config"), ARG("f"), ARG("add")), 2);
    expect_sentence("list, add or prune comes right behind keys");
    cr_assert_eq(RUN(ARG("--config"), ARG("f"), ARG("serve")), 2);
    expect_sentence("the command comes first");
    cr_assert_eq(RUN(ARG("serve"), ARG("--wings")), 2);
    expect_sentence("--wings");
    cr_assert_eq(RUN(ARG("serve"), ARG("--config")), 2);
    expect_sentence("--config");
    cr_assert_eq(RUN(ARG("serve")), 2);
    expect_sentence("--config FILE");
    cr_assert_eq(RUN(ARG("init")), 2);
    expect_sentence("--dir DIR");
    cr_assert_eq(RUN(ARG("init"), ARG("--config"), ARG("x")), 2);
}

Test(dpotd, init_prints_pin_and_token_and_refuses_to_run_twice)
{
    init();
    json_t *printed = fixture_json(out);
    cr_assert_eq(strlen(json_string_value(json_object_get(printed, "pin"))), 64);
    cr_assert_eq(strlen(json_string_value(json_object_get(printed, "token"))), 64);
    json_decref(printed);
    cr_assert_eq(RUN(ARG("init"), ARG("--dir"), folder), 3);
    expect_sentence("not overwritten");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--config"), in_folder("dpotd.json")), 0, "%s", err);
}

Test(dpotd, bad_config_is_exit_3_and_a_missing_file_exit_6)
{
    init();
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("nothing.json")), 6);
    expect_sentence("nothing.json");
    fixture_write(in_folder("bad.json"), "{\"listen\":\"127.0.0.1:0\",\"typo\":1}");
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("bad.json")), 3);
    expect_sentence("typo");
    fixture_write(in_folder("tokens"), "nonsense\n");
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 3);
    expect_sentence("line 1");
    cr_assert_eq(unlink(in_folder("tokens")), 0);
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 6);
    expect_sentence("tokens");
}

Test(dpotd, a_key_that_others_can_read_is_exit_3)
{
    init();
    cr_assert_eq(chmod(in_folder("keys/signing.key"), 0644), 0);
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 3);
    expect_sentence("chmod 600");
    cr_assert_eq(unlink(in_folder("keys/signing.key")), 0);
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 6);
    expect_sentence("signing.key");
}

Test(dpotd, a_store_that_cannot_be_opened_is_exit_6_and_one_that_is_none_exit_3)
{
    init();
    cr_assert_eq(mkdir(in_folder("dpot.db"), 0700), 0);
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 3);
    expect_sentence("dpot.db is a folder, pipe or device");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--config"), in_folder("dpotd.json")), 3);
    cr_assert_eq(rmdir(in_folder("dpot.db")), 0);
    fixture_write(in_folder("elsewhere.json"),
                  "{\"listen\":\"127.0.0.1:0\",\"store\":\"sqlite:none/dpot.db\","
                  "\"keys_dir\":\"keys\",\"tokens_file\":\"tokens\"}");
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("elsewhere.json")), 6);
    expect_sentence("none/dpot.db");
    fixture_write(in_folder("dpot.db"), "not a database at all, but long enough to be looked at\n");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--config"), in_folder("dpotd.json")), 3);
    expect_sentence("not a database");
}

/* Waits for the ready file and reads the URL from it. */
static void wait_ready(char *url, size_t cap)
{
    const struct timespec pause = {.tv_nsec = 20000000};
    for (int i = 0; i < 6000; i++) {
        FILE *stream = fopen(in_folder("ready"), "r");
        if (stream) {
            cr_assert_not_null(fgets(url, (int)cap, stream));
            url[strcspn(url, "\n")] = '\0';
            (void)fclose(stream);
            return;
        }
        (void)nanosleep(&pause, NULL);
    }
    slurp("stderr", err, sizeof err);
    cr_assert(false, "the server was never ready: %s", err);
}

static pid_t serve(char *url, size_t cap)
{
    (void)unlink(in_folder("ready")); /* of the run before */
    const pid_t child = launch((char *[]){
        ARG("dpotd"), ARG("serve"), ARG("--config"), in_folder("dpotd.json"), ARG("--listen"),
        ARG("127.0.0.1:0"), ARG("--ready-file"), in_folder("ready"), NULL});
    wait_ready(url, cap);
    return child;
}

static void stop_with(int signal_number)
{
    char url[128], line[256];
    struct http_reply reply;
    const pid_t child = serve(url, sizeof url);
    http_exchange(url, "GET", "/readyz", NULL, "", 0, &reply);
    cr_assert_eq(reply.status, 200);
    http_reply_release(&reply);
    cr_assert_eq(kill(child, signal_number), 0);
    cr_assert_eq(finish(child), 0, "%s", err);
    (void)snprintf(line, sizeof line, "dpotd: listening on %s\n", url);
    cr_assert_not_null(strstr(err, line), "%s", err);
    cr_assert_str_eq(out, "");
}

Test(dpotd, a_ready_file_of_an_earlier_run_goes_when_the_start_fails)
{
    init();
    fixture_write(in_folder("ready"), "http://127.0.0.1:1\n");
    fixture_write(in_folder("tokens"), "nonsense\n");
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json"), ARG("--ready-file"),
                     in_folder("ready")),
                 3);
    cr_assert_neq(access(in_folder("ready"), F_OK), 0);
}

Test(dpotd, serve_tells_its_address_and_stops_cleanly_on_a_signal)
{
    init();
    stop_with(SIGTERM);
    stop_with(SIGINT);
}

Test(dpotd, a_port_in_use_is_exit_6)
{
    char url[128];
    init();
    const pid_t child = serve(url, sizeof url);
    cr_assert_eq(RUN(ARG("init"), ARG("--dir"), in_folder("other")), 0, "%s", err);
    cr_assert_eq(
        finish(launch((char *[]){ARG("dpotd"), ARG("serve"), ARG("--config"),
                                 in_folder("other/dpotd.json"), ARG("--listen"), url + 7, NULL})),
        6);
    expect_sentence("choose another port");
    cr_assert_eq(kill(child, SIGTERM), 0);
    cr_assert_eq(finish(child), 0);
}

Test(dpotd, a_store_that_is_served_already_is_exit_6_until_its_server_is_gone)
{
    char url[128], who[64];
    init();
    pid_t child = serve(url, sizeof url);
    (void)snprintf(who, sizeof who, "served by process %ld", (long)child);
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json"), ARG("--listen"),
                     ARG("127.0.0.1:0"), ARG("--ready-file"), in_folder("ready")),
                 6);
    cr_assert_eq(access(in_folder("ready"), F_OK), 0, "the living server's ready file stays");
    expect_sentence(who);
    expect_sentence("dpot.db");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--config"), in_folder("dpotd.json")), 0, "%s", err);
    cr_assert_eq(kill(child, SIGKILL), 0);
    (void)waitpid(child, NULL, 0);
    child = serve(url, sizeof url);
    cr_assert_eq(kill(child, SIGTERM), 0);
    cr_assert_eq(finish(child), 0);
}

static void write_config(const char *listen, const char *rest)
{
    char text[1024];
    (void)snprintf(text, sizeof text,
                   "{\"listen\":\"%s\",\"store\":\"sqlite:dpot.db\",\"keys_dir\":\"keys\","
                   "\"tokens_file\":\"tokens\"%s}",
                   listen, rest);
    fixture_write(in_folder("dpotd.json"), text);
}

static int doctor(void)
{
    return RUN(ARG("doctor"), ARG("--config"), in_folder("dpotd.json"));
}

Test(dpotd, a_key_that_was_never_finished_is_noted_and_pruned_but_not_under_its_maker)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    cr_assert_eq(RUN(ARG("init"), ARG("--dir"), folder), 0);
    fixture_write(in_folder("keys/seal-0011223344556677.key.partial"), "secret_key 00");
    fixture_write(in_folder("keys/signing.key.partial"), "secret_key 00");
    const int fd = open(in_folder("keys/signing.key.partial"), O_WRONLY | O_CLOEXEC);
    cr_assert_eq(fcntl(fd, F_SETLK, &whole), 0, "this process makes one of the two");
    cr_assert_eq(doctor(), 0, "%s", err);
    cr_assert_not_null(strstr(out, "seal-0011223344556677.key.partial was left"), "%s", out);
    cr_assert_null(strstr(out, "signing.key.partial"), "%s", out);
    cr_assert_eq(RUN(ARG("keys"), ARG("prune"), ARG("--config"), in_folder("dpotd.json")), 0);
    cr_assert_not_null(strstr(out, "removed 1 unfinished key file\n"), "%s", out);
    cr_assert_neq(access(in_folder("keys/seal-0011223344556677.key.partial"), F_OK), 0);
    cr_assert_eq(access(in_folder("keys/signing.key.partial"), F_OK), 0);
    (void)close(fd);
    cr_assert_eq(
        RUN(ARG("keys"), ARG("prune"), ARG("--json"), ARG("--config"), in_folder("dpotd.json")), 0);
    cr_assert_str_eq(out, "{\"removed\":0,\"unfinished\":1}\n");
    cr_assert_neq(access(in_folder("keys/signing.key.partial"), F_OK), 0);
    cr_assert_eq(access(in_folder("keys/signing.key"), F_OK), 0);
}

Test(dpotd, the_doctor_makes_no_store)
{
    init();
    cr_assert_eq(doctor(), 0, "%s", err);
    cr_assert_not_null(strstr(out, "there is no store"), "%s", out);
    cr_assert_neq(access(in_folder("dpot.db"), F_OK), 0);
    cr_assert_eq(RUN(ARG("doctor"), ARG("--json"), ARG("--config"), in_folder("dpotd.json")), 0);
    json_t *printed = fixture_json(out);
    cr_assert(json_is_true(json_object_get(printed, "ok")));
    cr_assert_eq(json_array_size(json_object_get(printed, "faults")), 0);
    cr_assert_eq(json_array_size(json_object_get(printed, "notes")), 1);
    json_decref(printed);
}

Test(dpotd, the_doctor_sees_a_certificate_that_is_missing_or_none)
{
    init();
    write_config("127.0.0.1:0", ",\"tls\":{\"cert\":\"cert.pem\",\"key\":\"key.pem\"}");
    cr_assert_eq(doctor(), 6);
    expect_sentence("cert.pem");
    fixture_write(in_folder("cert.pem"), "no certificate\n");
    cr_assert_eq(doctor(), 6);
    expect_sentence("key.pem");
    fixture_write(in_folder("key.pem"), "no key\n");
    cr_assert_eq(chmod(in_folder("key.pem"), 0600), 0);
    cr_assert_eq(doctor(), 3);
    expect_sentence("PEM certificate");
}

static void copy_golden(const char *name, const char *to)
{
    char from[FIXTURE_PATH_SIZE], text[4096];
    (void)snprintf(from, sizeof from, "%s/golden/certificates/%s", DPOT_TEST_DATA, name);
    FILE *stream = fopen(from, "r");
    cr_assert_not_null(stream, "%s", from);
    text[fread(text, 1, sizeof text - 1, stream)] = '\0';
    (void)fclose(stream);
    fixture_write(in_folder(to), text);
    cr_assert_eq(chmod(in_folder(to), 0600), 0);
}

Test(dpotd, the_doctor_sees_a_certificate_that_is_not_valid_now)
{
    init();
    write_config("127.0.0.1:0", ",\"tls\":{\"cert\":\"cert.pem\",\"key\":\"key.pem\"}");
    copy_golden("key.pem", "key.pem");
    copy_golden("lasting.pem", "cert.pem");
    cr_assert_eq(doctor(), 0, "%s", err);
    cr_assert_null(strstr(out, "certificate"), "%s", out);
    copy_golden("expired.pem", "cert.pem");
    cr_assert_eq(doctor(), 3);
    expect_sentence("expired at 2020-02-01T00:00:00Z");
    copy_golden("future.pem", "cert.pem");
    cr_assert_eq(doctor(), 3);
    expect_sentence("not valid before 2090-01-01T00:00:00Z");
}

Test(dpotd, the_doctor_sees_an_address_that_is_not_ours)
{
    init();
    write_config("no.such.host.invalid:80", "");
    cr_assert_eq(doctor(), 6);
    expect_sentence("no.such.host.invalid");
    write_config("192.0.2.1:80", ""); /* for documentation: nobody has it */
    cr_assert_eq(doctor(), 6);
    expect_sentence("192.0.2.1");
}

Test(dpotd, the_doctor_goes_on_after_a_fault_and_tells_them_all)
{
    init();
    write_config("no.such.host.invalid:80", "");
    fixture_write(in_folder("tokens"), "nonsense\n");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--json"), ARG("--config"), in_folder("dpotd.json")), 3);
    cr_assert_not_null(strstr(err, "line 1"), "%s", err);
    cr_assert_not_null(strstr(err, "no.such.host.invalid"), "%s", err);
    json_t *printed = fixture_json(out);
    cr_assert(json_is_false(json_object_get(printed, "ok")));
    cr_assert_eq(json_array_size(json_object_get(printed, "faults")), 2);
    json_decref(printed);
}

/* Runs one statement on the store behind its back. */
static void tamper(const char *sql)
{
    struct database *database = NULL;
    struct dpot_error error = {{0}};
    cr_assert_eq(database_open(in_folder("dpot.db"), &database, &error), DPOT_OK, "%s", error.text);
    cr_assert(query_run(query_start(database, STATEMENT_PROBE, sql)), "%s", sql);
    database_close(database);
}

#define TOKEN_SIZE 80

static void init_for_token(char token[TOKEN_SIZE])
{
    init();
    json_t *printed = fixture_json(out);
    (void)snprintf(token, TOKEN_SIZE, "%s", json_string_value(json_object_get(printed, "token")));
    json_decref(printed);
}

static int status_of(const char *url, const char *method, const char *path, const char *token,
                     const char *body)
{
    struct http_reply reply;
    http_exchange(url, method, path, token, body, strlen(body), &reply);
    const int status = reply.status;
    http_reply_release(&reply);
    return status;
}

/* Serves for a moment, with one campaign. */
static void make_campaign(void)
{
    char url[128], token[TOKEN_SIZE];
    init_for_token(token);
    const pid_t child = serve(url, sizeof url);
    cr_assert_eq(status_of(url, "POST", "/v1/admin/campaigns", token, fixture_census_spec), 201);
    cr_assert_eq(kill(child, SIGTERM), 0);
    cr_assert_eq(finish(child), 0, "%s", err);
}

static int note_revision(void *ctx, const struct revision_record *record)
{
    struct job_record *job = ctx;
    memcpy(job->campaign_id, record->campaign_id, sizeof job->campaign_id);
    memcpy(job->hash, record->hash, sizeof job->hash);
    return 0;
}

static void make_done_job(void)
{
    struct store *store = NULL;
    struct job_record job = {
        .id = {0xAB}, .kind = "base-measure", .parameters = "{}", .created_ms = 1};
    struct dpot_buf artifact;
    char url[FIXTURE_PATH_SIZE + 16];
    make_campaign();
    (void)snprintf(url, sizeof url, "sqlite:%s", in_folder("dpot.db"));
    cr_assert_eq(store_open(url, &store, NULL), DPOT_OK);
    cr_assert_eq(store_list_revisions(store, note_revision, &job, NULL), DPOT_OK);
    cr_assert_eq(store_add_job(store, &job, NULL), DPOT_OK);
    job.n_attempts = 1;
    job.started_ms = job.ended_ms = 2;
    dpot_buf_init(&artifact, DPOT_ARTIFACT_BYTES_MAX, NULL);
    fixture_artifact(&job, &artifact);
    cr_assert_eq(store_finish_job(store, &job, artifact.data, artifact.len, NULL), DPOT_OK);
    dpot_buf_release(&artifact);
    store_close(store);
}

/* A row has no checksum: what it says is compared with the artifact, and one column with the next. */
Test(dpotd, the_doctor_and_the_start_see_jobs_and_counts_that_cannot_be)
{
    static const struct {
        const char *sql, *word;
        bool is_seen_at_start;
    } faults[] = {
        {"UPDATE job SET kind = 'base-measurd'", "the kind of job ab00", false},
        {"UPDATE job SET kind = 'base-measure', parameters = '{\"a\":1}'",
         "the parameters of job ab00", false},
        {"UPDATE job SET parameters = '{}', started_ms = 0", "do not go with the state of job ab00",
         true},
        {"UPDATE job SET started_ms = 2, campaign_id = zeroblob(16)", "is named by job ab00", true},
    };
    make_done_job();
    for (size_t i = 0; i < sizeof faults / sizeof faults[0]; i++) {
        char url[128];
        tamper(faults[i].sql);
        cr_assert_eq(doctor(), 3);
        expect_sentence(faults[i].word);
        const pid_t child = serve(url, sizeof url);
        cr_assert_eq(kill(child, SIGTERM), 0);
        cr_assert_eq(finish(child), 0, "%s", err);
        cr_assert_eq(strstr(err, faults[i].word) != NULL, faults[i].is_seen_at_start, "%s", err);
    }
}

Test(dpotd, the_doctor_sees_artifacts_that_are_damaged_or_missing_and_names_their_job)
{
    make_done_job();
    cr_assert_eq(doctor(), 0, "%s", err);
    tamper("UPDATE artifact SET bytes = x'00'");
    cr_assert_eq(doctor(), 3);
    expect_sentence("base-measure job ab00");
    expect_sentence("is damaged: start that job again");
    tamper("DELETE FROM artifact");
    cr_assert_eq(doctor(), 3);
    expect_sentence("base-measure job ab00");
    expect_sentence("is missing: start that job again");
}

/* With the checksums of what is there then. */
static void tamper_and_sum(const char *sql)
{
    tamper(sql);
    tamper("INSERT OR REPLACE INTO commit_sum SELECT seq,"
           " dpot_commit_sum(hash, round, seq, format, n_reports, reports) FROM commits");
}

/* The doctor's sentence about the pool, after one more alteration. */
static void expect_damaged_pool(const char *sql, const char *word)
{
    tamper_and_sum(sql);
    cr_assert_eq(doctor(), 3, "%s", err);
    expect_sentence("the pool of revision 1 of campaign ");
    expect_sentence(word);
    expect_sentence("from a backup");
}

Test(dpotd, the_doctor_sees_a_pool_that_lost_reports_or_has_others)
{
    make_campaign();
    cr_assert_eq(doctor(), 0, "%s", err);
    expect_damaged_pool("INSERT INTO pool_count (hash, status, n) SELECT hash, 1, 2 FROM revision",
                        "the store holds 0 reports and counted 2");
    cr_assert_eq(RUN(ARG("doctor"), ARG("--quick"), ARG("--config"), in_folder("dpotd.json")), 3);
    expect_sentence("the count of accepted reports of revision 1 of campaign ");
    expect_sentence(" is 2 and the reports are 0");
    expect_damaged_pool("INSERT INTO commits (hash, round, format, n_reports, reports)"
                        " SELECT hash, 0, 1, 2, zeroblob(55) FROM revision",
                        "a block of reports");
    tamper_and_sum("UPDATE commits SET reports = zeroblob(56)");
    cr_assert_eq(doctor(), 0, "%s", err);
    expect_damaged_pool("UPDATE pool_count SET n = 1", "holds 2 reports and counted 1");
    tamper("UPDATE pool_count SET n = 2");
    expect_damaged_pool("UPDATE commits SET reports = zeroblob(16) || x'ffffffff' || zeroblob(36)",
                        "1 of 2 stored reports are none of the campaign");
    tamper_and_sum("UPDATE commits SET reports = zeroblob(56)");
    expect_damaged_pool("UPDATE commits SET round = 7",
                        "2 of 2 stored reports are none of the campaign");
    tamper_and_sum("UPDATE commits SET round = 0");
    cr_assert_eq(doctor(), 0, "%s", err);
    tamper("UPDATE commits SET reports = x'01' || substr(reports, 2)"); /* one bit */
    cr_assert_eq(doctor(), 3, "%s", err);
    expect_sentence("commit 1, round 0");
}

/* A store that was served once. */
static void make_store(void)
{
    char url[128];
    init();
    const pid_t child = serve(url, sizeof url);
    cr_assert_eq(kill(child, SIGTERM), 0);
    cr_assert_eq(finish(child), 0, "%s", err);
}

Test(dpotd, the_doctor_sees_tables_of_others)
{
    make_store();
    tamper("CREATE TRIGGER evil AFTER INSERT ON commits BEGIN DELETE FROM commits; END");
    cr_assert_eq(doctor(), 3);
    expect_sentence("trigger \"evil\"");
}

Test(dpotd, a_fault_of_a_copy_that_is_not_restored_is_told_as_the_copys)
{
    make_store();
    tamper("CREATE TRIGGER evil AFTER INSERT ON commits BEGIN DELETE FROM commits; END");
    cr_assert_eq(rename(in_folder("dpot.db"), in_folder("copy.db")), 0);
    cr_assert_eq(RUN(ARG("restore"), ARG("--config"), in_folder("dpotd.json"), ARG("--from"),
                     in_folder("copy.db")),
                 3, "%s", err);
    cr_assert_not_null(strstr(err, "dpotd: in the copy: "), "%s", err);
    cr_assert_not_null(strstr(err, "trigger \"evil\""), "%s", err);
    cr_assert_eq(unlink(in_folder("keys/signing.key")), 0);
    cr_assert_eq(RUN(ARG("restore"), ARG("--config"), in_folder("dpotd.json"), ARG("--from"),
                     in_folder("copy.db")),
                 6, "%s", err);
    cr_assert_null(strstr(err, "in the copy"), "the key is none of it: %s", err);
    expect_sentence("signing.key");
}

Test(dpotd, the_doctor_sees_a_store_that_cannot_grow)
{
    char url[128];
    init();
    const pid_t child = serve(url, sizeof url);
    file_limit = 1000000;
    cr_assert_eq(doctor(), 6, "%s", err);
    expect_sentence("does not take 4 MiB more");
    file_limit = RLIM_INFINITY;
    cr_assert_eq(doctor(), 0, "%s", err);
    cr_assert_eq(kill(child, SIGTERM), 0);
    cr_assert_eq(finish(child), 0, "%s", err);
}

#define FILE_LIMIT 200000 /* bytes: the write-ahead log reaches it after some campaigns */
#define CAMPAIGNS_MAX 200

static int create_campaign(const char *url, const char *token)
{
    return status_of(url, "POST", "/v1/admin/campaigns", token, fixture_census_spec);
}

Test(dpotd, a_file_at_its_limit_is_503_and_the_server_lives, .timeout = 120)
{
    char url[128], token[TOKEN_SIZE];
    int status = 201;
    init_for_token(token);
    file_limit = FILE_LIMIT;
    pid_t child = serve(url, sizeof url);
    for (int i = 0; i < CAMPAIGNS_MAX && status == 201; i++) {
        status = create_campaign(url, token);
    }
    cr_assert_eq(status, 503, "%d", status);
    int ready = 200; /* a page may fit where a campaign does not: each look takes one */
    for (int i = 0; i < 20 && ready == 200; i++) {
        cr_assert_eq(create_campaign(url, token), 503);
        ready = status_of(url, "GET", "/readyz", NULL, "");
    }
    cr_assert_eq(ready, 503);
    cr_assert_eq(status_of(url, "GET", "/v1/admin/campaigns", token, ""), 200);
    cr_assert_eq(kill(child, SIGTERM), 0);
    cr_assert_eq(finish(child), 0, "%s", err);
    file_limit = RLIM_INFINITY;
    child = serve(url, sizeof url);
    cr_assert_eq(create_campaign(url, token), 201);
    cr_assert_eq(kill(child, SIGTERM), 0);
    cr_assert_eq(finish(child), 0, "%s", err);
}

Test(dpotd, the_same_token_and_pin_hold_after_a_restart)
{
    char url[128], token[TOKEN_SIZE];
    struct http_reply reply;
    init_for_token(token);
    pid_t child = serve(url, sizeof url);
    http_exchange(url, "POST", "/v1/admin/campaigns", token, fixture_census_spec,
                  strlen(fixture_census_spec), &reply);
    cr_assert_eq(reply.status, 201);
    http_reply_release(&reply);
    cr_assert_eq(kill(child, SIGKILL), 0);
    (void)waitpid(child, NULL, 0);
    child = serve(url, sizeof url);
    http_exchange(url, "GET", "/v1/admin/campaigns", token, "", 0, &reply);
    cr_assert_eq(reply.status, 200);
    cr_assert_eq(dpot_buf_append(&reply.body, "", 1), DPOT_OK);
    cr_assert_not_null(strstr((const char *)reply.body.data, "\"census\""));
    http_reply_release(&reply);
    cr_assert_eq(kill(child, SIGTERM), 0);
    cr_assert_eq(finish(child), 0);
}
