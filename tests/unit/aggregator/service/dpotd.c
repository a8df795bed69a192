#include "unit/aggregator/service/dpotd.h"

#include "support/child.h"
#include "unit/aggregator/http_client.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PROGRAM DPOT_TEST_BIN "/dpotd"

char folder[FIXTURE_PATH_SIZE];
char out[8192], err[8192];

rlim_t file_limit = RLIM_INFINITY;
rlim_t address_limit = RLIM_INFINITY;
void (*before_exec)(void);

void dpotd_set_up(void)
{
    fixture_folder(folder);
}

void dpotd_tear_down(void)
{
    fixture_remove(folder);
}

char *in_folder(const char *name)
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

/* A child that loops in a small address space is killed by its processor time limit. */
static void limit_memory(void)
{
    if (address_limit != RLIM_INFINITY) {
        set_limit(RLIMIT_AS, address_limit);
        set_limit(RLIMIT_CPU, 20);
    }
}

pid_t launch(char *const *arguments)
{
    const pid_t child = child_fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        redirect(STDOUT_FILENO, "stdout");
        redirect(STDERR_FILENO, "stderr");
        set_limit(RLIMIT_FSIZE, file_limit);
        limit_memory();
        (void)setrlimit(RLIMIT_NOFILE, &(struct rlimit){1024, 1024}); /* as systems often grant */
        if (before_exec) {
            before_exec();
        }
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

int finish(pid_t child)
{
    int state = 0;
    cr_assert_eq(waitpid(child, &state, 0), child);
    slurp("stdout", out, sizeof out);
    slurp("stderr", err, sizeof err);
    cr_assert(WIFEXITED(state), "%s", err);
    return WEXITSTATUS(state);
}

void expect_sentence(const char *word)
{
    cr_assert_not_null(strstr(err, word), "%s", err);
    cr_assert_eq(strncmp(err, "dpotd", 5), 0, "%s", err);
    cr_assert_eq(strchr(err, '\n'), err + strlen(err) - 1, "one sentence: %s", err);
}

void init(void)
{
    cr_assert_eq(RUN(ARG("init"), ARG("--dir"), folder, ARG("--json")), 0, "%s", err);
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

pid_t serve(char *url, size_t cap)
{
    (void)unlink(in_folder("ready")); /* from the previous run */
    const pid_t child = launch((char *[]){
        ARG("dpotd"), ARG("serve"), ARG("--config"), in_folder("dpotd.json"), ARG("--listen"),
        ARG("127.0.0.1:0"), ARG("--ready-file"), in_folder("ready"), NULL});
    wait_ready(url, cap);
    return child;
}

void stop(pid_t child)
{
    cr_assert_eq(kill(child, SIGTERM), 0);
    cr_assert_eq(finish(child), 0, "%s", err);
}

void init_for_token(char token[TOKEN_SIZE])
{
    init();
    json_t *printed = fixture_json(out);
    (void)snprintf(token, TOKEN_SIZE, "%s", json_string_value(json_object_get(printed, "token")));
    json_decref(printed);
}

int status_of(const char *url, const char *method, const char *path, const char *token,
              const char *body)
{
    struct http_reply reply;
    http_exchange(url, method, path, token, body, strlen(body), &reply);
    const int status = reply.status;
    http_reply_release(&reply);
    return status;
}
