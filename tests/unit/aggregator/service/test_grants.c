/* dpotd where the system grants little: files, addresses, threads, a standard error that nobody
 * reads. */
#include "base/compiler.h"
#include "unit/aggregator/http_client.h"
#include "unit/aggregator/service/dpotd.h"

#include <criterion/criterion.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

TestSuite(grants, .init = dpotd_set_up, .fini = dpotd_tear_down);

/* ---- open files ---- */

static rlim_t n_files;
static void limit_files(void)
{
    const struct rlimit limit = {n_files, n_files};
    (void)setrlimit(RLIMIT_NOFILE, &limit);
}

static void expect_health_among_silent_peers(rlim_t allowed)
{
    enum { N_SILENT = 200 };
    char url[128];
    int silent[N_SILENT];
    n_files = allowed;
    before_exec = limit_files;
    const pid_t child = serve(url, sizeof url);
    for (int i = 0; i < N_SILENT; i++) {
        silent[i] = http_connect(url);
    }
    cr_assert_eq(status_of(url, "GET", "/healthz", NULL, ""), 200);
    for (int i = 0; i < N_SILENT; i++) {
        (void)close(silent[i]);
    }
    stop(child);
    cr_assert_not_null(strstr(err, "open files are allowed: max_connections is "), "%s", err);
}

/* The values of a note: the second one is the configured. */
static void expect_note(const char *key, bool is_expected)
{
    char word[64];
    (void)snprintf(word, sizeof word, ": %s is ", key);
    const char *at = strstr(err, word);
    cr_assert_eq(at != NULL, is_expected, "%s", err);
    if (at) {
        unsigned long long value = 0, configured = 0;
        cr_assert_eq(sscanf(at + strlen(word), "%llu instead of %llu", &value, &configured), 2,
                     "%s", err);
        cr_assert_lt(value, configured, "%s", err);
    }
}

Test(grants, with_few_files_max_connections_is_lower_and_silent_peers_keep_nobody_out)
{
    init();
    expect_health_among_silent_peers(64);
    expect_note("max_connections", true);
    expect_note("threads", true);
    expect_health_among_silent_peers(128);
    expect_note("max_connections", true);
    expect_note("threads", false);
}

/* Where fewer threads leave more connections than configured, the configured number holds. */
Test(grants, fewer_threads_raise_max_connections_no_further_than_configured)
{
    char url[128];
    const char *path = in_folder("dpotd.json");
    init();
    json_t *config = json_load_file(path, 0, NULL);
    cr_assert_eq(json_object_set_new(config, "limits", json_pack("{s:i}", "max_connections", 32)),
                 0);
    cr_assert_eq(json_dump_file(config, path, 0), 0);
    json_decref(config);
    n_files = 91;
    before_exec = limit_files;
    stop(serve(url, sizeof url));
    expect_note("max_connections", false);
    expect_note("threads", true);
}

Test(grants, too_few_files_are_refused_with_the_number_that_is_needed)
{
    init();
    n_files = 32;
    before_exec = limit_files;
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 6, "%s", err);
    expect_sentence("at least 45 are needed");
}

/* ---- memory ---- */

/* More addresses never prevent what fewer allow. */
Test(grants, a_server_starts_in_every_address_space_above_the_least)
{
    char url[128];
    init();
    if (DPOT_IS_SANITIZED) {
        cr_skip_test("a sanitizer reserves terabytes of addresses");
    }
    for (rlim_t mib = 140; mib <= 1000; mib += mib < 300 ? 20 : 100) {
        address_limit = mib << 20;
        stop(serve(url, sizeof url));
        cr_assert_not_null(strstr(err, "max_body_memory_bytes is "), "%s", err);
    }
}

/* ---- threads ---- */

/* New threads are refused as at a limit of processes. */
static void forbid_threads(void)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone3, 1, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    const struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) {
        _exit(77);
    }
}

/* OpenBLAS tries to start its threads (common/ot/linalg_openblas.c). */
static void forbid_threads_without_path(void)
{
    (void)unsetenv("PATH");
    (void)unsetenv("OPENBLAS_NUM_THREADS");
    forbid_threads();
}

Test(grants, without_threads_the_doctor_works_and_the_server_says_why_not)
{
    init();
    if (DPOT_IS_SANITIZED) {
        cr_skip_test("a sanitizer starts threads of its own");
    }
    before_exec = forbid_threads;
    const int code = RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json"));
    if (code == 77) {
        cr_skip_test("this system has no seccomp");
    }
    cr_assert_eq(code, 1, "%s", err);
    expect_sentence("the thread that writes the log did not start: allow more threads");
    cr_assert_eq(RUN(ARG("keys"), ARG("list"), ARG("--config"), in_folder("dpotd.json")), 0, "%s",
                 err);
    before_exec = forbid_threads_without_path;
    cr_assert_eq(RUN(ARG("keys"), ARG("list"), ARG("--config"), in_folder("dpotd.json")), 0, "%s",
                 err);
}

/* ---- the standard error ---- */

static int full[2];
static void use_full_pipe(void)
{
    (void)dup2(full[1], STDERR_FILENO);
    limit_files();
}

static void fill_pipe(void)
{
    static const char page[4096];
    cr_assert_eq(pipe(full), 0);
    const int flags = fcntl(full[1], F_GETFL);
    cr_assert_eq(fcntl(full[1], F_SETFL, flags | O_NONBLOCK), 0);
    while (write(full[1], page, sizeof page) > 0) {
    }
    cr_assert_eq(fcntl(full[1], F_SETFL, flags), 0);
    before_exec = use_full_pipe;
}

/* With few files there are notes at the start. */
Test(grants, a_server_whose_standard_error_is_full_starts_answers_and_ends)
{
    char url[128];
    init();
    fill_pipe();
    n_files = 128;
    const pid_t child = serve(url, sizeof url);
    cr_assert_eq(status_of(url, "GET", "/healthz", NULL, ""), 200);
    stop(child);
}

Test(grants, a_server_that_cannot_start_ends_although_its_standard_error_is_full)
{
    init();
    fill_pipe();
    n_files = 32;
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("dpotd.json")), 6);
    n_files = 128;
    cr_assert_eq(RUN(ARG("serve"), ARG("--config"), in_folder("none.json")), 6);
}
