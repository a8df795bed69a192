#include "cli/options.h"
#include "dpotd/backup.h"
#include "dpotd/command.h"
#include "dpotd/grants.h"
#include "files/output.h"
#include "http/listen.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#define STDERR_PATIENCE_MS 1000

/* The file appears whole or not at all. */
static dpot_status write_ready_file(const char *path, const char *url, struct dpot_error *error)
{
    char line[CONFIG_TEXT_SIZE];
    const int n = snprintf(line, sizeof line, "%s\n", url);
    return output_write(path, line, (size_t)n, error);
}

static sem_t stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    (void)sem_post(&stop_requested);
}

/* Signals are handled, not only blocked: the threads that OpenBLAS starts before main() do not
 * inherit our mask, and a second signal would kill the process during the shutdown. They are
 * blocked as well, so that no call of our threads is interrupted. */
static void take_signals(sigset_t *stopping)
{
    struct sigaction action = {.sa_handler = request_stop, .sa_flags = SA_RESTART};
    (void)sem_init(&stop_requested, 0, 0);
    (void)sigemptyset(&action.sa_mask);
    (void)sigemptyset(stopping);
    (void)sigaddset(stopping, SIGTERM);
    (void)sigaddset(stopping, SIGINT);
    (void)pthread_sigmask(SIG_BLOCK, stopping, NULL);
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    (void)signal(SIGHUP, SIG_IGN); /* the log is stderr: nothing to reopen */
}

static void wait_for_stop(const sigset_t *stopping)
{
    (void)pthread_sigmask(SIG_UNBLOCK, stopping, NULL);
    while (sem_wait(&stop_requested) != 0 && errno == EINTR) {
    }
    (void)pthread_sigmask(SIG_BLOCK, stopping, NULL);
}

/* A ready file of an earlier run must not be mistaken for ours. Not called while another server
 * owns the store: the file is its own then. */
static void remove_ready_file(const struct run *run)
{
    const char *path = option_text(run, "ready-file");
    if (path) {
        (void)unlink(path);
    }
}

static void print_url(const struct service *service)
{
    char line[LISTEN_URL_SIZE + 32];
    (void)snprintf(line, sizeof line, "dpotd: listening on %s\n", service_url(service));
    service_print(service, line);
}

/* The sentence of a failure must not keep the program from ending: a standard error that takes
 * nothing for a while is replaced. */
static void give_up_blocked_stderr(void)
{
    struct pollfd descriptor = {.fd = STDERR_FILENO, .events = POLLOUT};
    const int fd = poll(&descriptor, 1, STDERR_PATIENCE_MS) == 0 ? open("/dev/null", O_WRONLY) : -1;
    if (fd >= 0) {
        (void)dup2(fd, STDERR_FILENO);
    }
}

struct start {
    const struct config *config;
    const struct run *run;
};

/* Called when we own the store: removes what earlier runs left. */
static void clear_remains(void *ctx)
{
    const struct start *start = ctx;
    remove_ready_file(start->run);
    backup_sweep(start->config);
}

static dpot_status serve(struct run *run, const struct config *config, const char *notes)
{
    struct start start = {config, run};
    const struct service_hooks hooks = {.notes = notes, .on_owned = clear_remains, .ctx = &start};
    const char *ready_file = option_text(run, "ready-file");
    struct service *service = NULL;
    struct dpot_error loss = {{0}};
    sigset_t stopping;
    take_signals(&stopping);
    dpot_status status =
        service_open(config, option_text(run, "listen"), &hooks, &service, &run->error);
    if (status != DPOT_OK) {
        if (status != DPOT_ERR_BUSY) {
            remove_ready_file(run);
        }
        return status;
    }
    print_url(service);
    if (ready_file) {
        status = write_ready_file(ready_file, service_url(service), &run->error);
    }
    if (status == DPOT_OK) {
        wait_for_stop(&stopping);
    }
    remove_ready_file(run);
    const dpot_status stopped = service_stop(service, &loss);
    if (status == DPOT_OK && stopped != DPOT_OK) {
        run->error = loss;
    }
    return status == DPOT_OK ? stopped : status;
}

static dpot_status run_serve(struct run *run)
{
    struct config config;
    char notes[GRANTS_NOTES_SIZE];
    dpot_status status = command_read_config(run, &config);
    if (status == DPOT_OK) {
        status = grants_fit(&config, notes, &run->error);
    }
    if (status == DPOT_OK) {
        status = serve(run, &config, notes);
    } else {
        remove_ready_file(run);
    }
    if (status != DPOT_OK) {
        give_up_blocked_stderr();
    }
    return status;
}

static const struct option options[] = {
    {"config", "FILE", "dpotd.json, as written by dpotd init"},
    {"listen", "HOST:PORT", "instead of the configured address; port 0 takes a free one"},
    {"ready-file", "FILE", "holds the URL while the server answers"},
    {NULL, NULL, NULL},
};

const struct command command_serve = {
    .name = "serve",
    .summary = "serve until SIGTERM",
    .details = "Serves devices and analysts until SIGTERM or SIGINT, then finishes running "
               "requests and exits\n"
               "0, or 6 when its store was removed or replaced meanwhile, and says where what it "
               "held is saved.\n"
               "Refuses (exit 6) while another process serves the same store, and (exit 3) to "
               "begin anew where\n"
               "a store is missing: dpotd restore puts a copy there.",
    .example = "dpotd serve --config /var/lib/dpot/dpotd.json",
    .options = options,
    .n_required = 1,
    .run = run_serve,
};
