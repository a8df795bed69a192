#include "process.h"

#include "support/child.h"
#include "unit/files/folder.h"

#include <criterion/criterion.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#define ARGUMENTS_MAX 64

static void redirect(const char *path, int flags, int fd)
{
    const int file = open(path, flags, 0600);
    if (file < 0 || dup2(file, fd) < 0) {
        _exit(99);
    }
}

size_t process_address_space;

/* A process that loops in a small address space is killed by its processor time limit. */
static void limit_memory(void)
{
    const struct rlimit memory = {process_address_space, process_address_space};
    const struct rlimit seconds = {20, 20};
    if (process_address_space > 0 &&
        (setrlimit(RLIMIT_AS, &memory) != 0 || setrlimit(RLIMIT_CPU, &seconds) != 0)) {
        _exit(99);
    }
}

static void become_program(char **argv)
{
    limit_memory();
    if (chdir(folder_path(".")) != 0) {
        _exit(99);
    }
    redirect(access("stdin", R_OK) == 0 ? "stdin" : "/dev/null", O_RDONLY, STDIN_FILENO);
    redirect("stdout.txt", O_WRONLY | O_CREAT | O_TRUNC, STDOUT_FILENO);
    redirect("stderr.txt", O_WRONLY | O_CREAT | O_TRUNC, STDERR_FILENO);
    (void)execv(argv[0], argv);
    _exit(99);
}

static void read_text(const char *name, char *out)
{
    out[folder_read(name, out, PROCESS_OUT_MAX - 1)] = '\0';
}

void process_run(struct process *process, const char *arguments)
{
    static char program[] = DPOT_TEST_BIN "/dpot";
    char text[4096], *rest = NULL;
    char *argv[ARGUMENTS_MAX] = {program};
    int argc = 1, status = 0;
    (void)snprintf(text, sizeof text, "%s", arguments);
    for (char *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest)) {
        argv[argc++] = word;
        cr_assert_lt(argc, ARGUMENTS_MAX);
    }
    const pid_t child = child_fork();
    cr_assert_geq(child, 0);
    if (child == 0) {
        become_program(argv);
    }
    cr_assert_eq(waitpid(child, &status, 0), child);
    process->exit_code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    read_text("stdout.txt", process->out);
    read_text("stderr.txt", process->err);
}

void expect_exit(const char *arguments, int exit_code, const char *sentence)
{
    static struct process p;
    process_run(&p, arguments);
    cr_assert_eq(p.exit_code, exit_code, "dpot %s: %d, stderr: %s", arguments, p.exit_code, p.err);
    if (exit_code == 0) {
        cr_assert_not_null(strstr(p.out, sentence), "dpot %s: %s", arguments, p.out);
        return;
    }
    cr_assert_not_null(strstr(p.err, sentence), "dpot %s: %s", arguments, p.err);
    cr_assert_str_empty(p.out, "dpot %s", arguments);
}

json_t *expect_json(const char *arguments, int exit_code)
{
    static struct process p;
    char all[4096];
    (void)snprintf(all, sizeof all, "%s --json", arguments);
    process_run(&p, all);
    cr_assert_eq(p.exit_code, exit_code, "dpot %s: %d, stderr: %s", all, p.exit_code, p.err);
    json_t *object = json_loads(p.out, JSON_REJECT_DUPLICATES, NULL);
    cr_assert(json_is_object(object), "dpot %s: stdout is not one object: %s", all, p.out);
    return object;
}

double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    cr_assert(json_is_number(value), "%s is no number", key);
    return json_number_value(value);
}

void write_text(const char *name, const char *text)
{
    (void)folder_write(name, text, strlen(text));
}
