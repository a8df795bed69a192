#include "unit/client/raw_server.h"

#include "support/child.h"

#include <criterion/criterion.h>
#include <signal.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

void raw_read_head(int connection)
{
    char last[5] = "";
    while (strcmp(last, "\r\n\r\n") != 0) {
        memmove(last, last + 1, 3);
        if (read(connection, last + 3, 1) != 1) {
            return;
        }
    }
}

bool raw_say(int connection, const char *text)
{
    const size_t len = strlen(text);
    return write(connection, text, len) == (ssize_t)len;
}

void raw_rest_ms(long ms)
{
    const struct timespec rest = {.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};
    (void)nanosleep(&rest, NULL);
}

void raw_hear_out(int connection)
{
    char block[4096];
    (void)shutdown(connection, SHUT_WR);
    while (read(connection, block, sizeof block) > 0) {
    }
}

/* In the server's process: its process group ends with it. */
static void accept_for_ever(int listener, void (*serve)(int connection))
{
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGCHLD, SIG_IGN);
    for (;;) {
        const int connection = accept(listener, NULL, NULL);
        if (child_fork() == 0) {
            (void)close(listener);
            serve(connection);
            _exit(0);
        }
        (void)close(connection);
    }
}

void raw_server_start(struct http_server *s, void (*serve)(int connection))
{
    const int listener = http_server_listen(s);
    s->process = child_fork();
    cr_assert_geq(s->process, 0);
    if (s->process == 0) {
        (void)setpgid(0, 0);
        accept_for_ever(listener, serve);
    }
    (void)setpgid(s->process, s->process); /* whoever comes first */
    (void)close(listener);
}

void raw_server_stop(struct http_server *s)
{
    int status = 0;
    (void)kill(-s->process, SIGKILL);
    (void)waitpid(s->process, &status, 0);
}
