/* dpotd: the aggregator. Commands, options, signals and exit codes; the work is in service.h and
 * init.h. */
#include "base/clock.h"
#include "base/crypto.h"
#include "base/descriptors.h"
#include "files/json.h"
#include "init.h"
#include "service.h"

#include <errno.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

enum exit_code {
    EXIT_DONE = 0,
    EXIT_INTERNAL = 1,
    EXIT_USAGE = 2,
    EXIT_BAD_DATA = 3,
    EXIT_ENVIRONMENT = 6,
};

#define PROGRESS_EVERY_MS 1000
#define FILES_BESIDE_CONNECTIONS 64 /* store, log, threads' pipes */

static const char general_help[] =
    "dpotd - aggregator of privatised reports\n"
    "\n"
    "  dpotd init --dir DIR [--listen HOST:PORT] [--json]   make keys, an admin token and a "
    "config\n"
    "  dpotd serve --config FILE [--listen HOST:PORT]       serve until SIGTERM\n"
    "  dpotd doctor --config FILE [--quick] [--json]        check config, keys, tokens and store\n"
    "  dpotd COMMAND --help                                 more on one of them\n"
    "  dpotd --version\n"
    "\n"
    "Example: dpotd init --dir /var/lib/dpot && dpotd serve --config /var/lib/dpot/dpotd.json\n";

static const char init_help[] =
    "dpotd init --dir DIR [--listen HOST:PORT] [--json]\n"
    "\n"
    "Makes a new installation in DIR: dpotd.json, keys/ (a signing key and a seal key valid for "
    "400\n"
    "days) and tokens. Prints the pin that devices need and, this once, the admin token. Refuses "
    "to\n"
    "overwrite an installation. One that was cut off (there is no dpotd.json yet) is completed: "
    "keys that\n"
    "are there are kept, a new token is added.\n"
    "\n"
    "  --dir DIR           folder, made when missing\n"
    "  --listen HOST:PORT  where serve will listen (default 127.0.0.1:8080)\n"
    "  --json              print {\"config\", \"listen\", \"pin\", \"token\", "
    "\"kept_signing_key\"}\n"
    "\n"
    "Example: dpotd init --dir /var/lib/dpot --listen 127.0.0.1:8080\n";

static const char serve_help[] =
    "dpotd serve --config FILE [--listen HOST:PORT] [--ready-file FILE]\n"
    "\n"
    "Serves devices and analysts until SIGTERM or SIGINT, then finishes running requests and exits "
    "0.\n"
    "Refuses (exit 6) while another process serves the same store.\n"
    "\n"
    "  --config FILE       dpotd.json, as written by dpotd init\n"
    "  --listen HOST:PORT  instead of the configured address; port 0 takes a free one\n"
    "  --ready-file FILE   holds the URL while the server answers\n"
    "\n"
    "Example: dpotd serve --config /var/lib/dpot/dpotd.json\n";

static const char doctor_help[] =
    "dpotd doctor --config FILE [--quick] [--json]\n"
    "\n"
    "Reads config, keys, tokens and certificate, looks up the address, opens the store, tries to "
    "write\n"
    "4 MiB beside it, and reads every signed campaign, artifact and report in it. Changes nothing "
    "and\n"
    "makes no store; dpotd serve may be running. Exits 0 when all is well; otherwise says every "
    "fault,\n"
    "with its remedy.\n"
    "\n"
    "  --config FILE  dpotd.json\n"
    "  --quick        leave the reports out: reading them takes long when there are many "
    "millions\n"
    "  --json         print {\"ok\", \"faults\", \"notes\"}, two lists of sentences\n"
    "\n"
    "Example: dpotd doctor --config /var/lib/dpot/dpotd.json\n";

/* What the command line said. */
struct options {
    const char *dir, *listen, *config, *ready_file;
    bool is_json, is_quick;
    bool wants_help;
};

static int exit_code_of(dpot_status status)
{
    switch (status) {
    case DPOT_OK:
        return EXIT_DONE;
    case DPOT_ERR_IO:
    case DPOT_ERR_NETWORK:
    case DPOT_ERR_BUSY:
        return EXIT_ENVIRONMENT;
    case DPOT_ERR_MEMORY:
    case DPOT_ERR_RANDOM:
        return EXIT_INTERNAL;
    default:
        return EXIT_BAD_DATA;
    }
}

static int fail(dpot_status status, const struct dpot_error *error)
{
    (void)fprintf(stderr, "dpotd: %s\n", error->text[0] ? error->text : dpot_status_text(status));
    return exit_code_of(status);
}

static int fail_usage(const char *sentence, const char *value)
{
    (void)fprintf(stderr, "dpotd: %s%s (see dpotd --help)\n", sentence, value);
    return EXIT_USAGE;
}

/* Everything that is printed for programs must have arrived. */
static int finish_output(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return EXIT_DONE;
    }
    struct dpot_error error = {{0}};
    return fail(
        dpot_error_set(&error, DPOT_ERR_IO, "writing the answer failed: %s", strerror(errno)),
        &error);
}

/* Commands. */

static int print_init(const struct init_result *result, const struct options *options)
{
    char pin[2 * DPOT_SIGN_PUBLIC_LEN + 1];
    dpot_hex_encode(pin, result->pin, sizeof result->pin);
    if (options->is_json) {
        json_t *body = json_pack("{s:s,s:s,s:s,s:s,s:b}", "config", result->config_path, "listen",
                                 options->listen, "pin", pin, "token", result->token,
                                 "kept_signing_key", result->kept_signing_key);
        (void)json_dumpf(body, stdout, JSON_COMPACT);
        (void)fputc('\n', stdout);
        json_decref(body);
    } else {
        (void)printf(
            "config: %s\npin: %s%s\nadmin token: %s\n\nKeep the token: it is shown only now.\n",
            result->config_path, pin,
            result->kept_signing_key ? " (of the signing key that was there)" : "", result->token);
    }
    return finish_output();
}

static int command_init(const struct options *given)
{
    struct options options = *given;
    struct dpot_error error = {{0}};
    struct init_result result;
    if (!options.dir) {
        return fail_usage("init needs --dir DIR", "");
    }
    if (!options.listen) {
        options.listen = "127.0.0.1:8080";
    }
    const dpot_status status =
        init_run(options.dir, options.listen, dpot_clock_system(), &result, &error);
    const int code = status == DPOT_OK ? print_init(&result, &options) : fail(status, &error);
    dpot_wipe(&result, sizeof result);
    return code;
}

/* What the doctor found. */
struct findings {
    dpot_status first; /* fault; DPOT_OK: none */
    json_t *faults, *notes;
    int64_t told_ms; /* when the last progress was told */
};

static void take_finding(void *ctx, dpot_status status, const char *sentence)
{
    struct findings *findings = ctx;
    json_t *text = json_string(sentence);
    if (findings->first == DPOT_OK) {
        findings->first = status;
    }
    (void)json_array_append_new(status == DPOT_OK ? findings->notes : findings->faults,
                                text ? text : json_string("a path that is not UTF-8"));
    if (status != DPOT_OK) {
        (void)fprintf(stderr, "dpotd: %s\n", sentence);
    }
}

/* Only to one who waits. */
static void tell_progress(void *ctx, const struct revision_record *record, uint64_t n_read)
{
    struct findings *findings = ctx;
    const struct dpot_clock *clock = dpot_clock_system();
    const int64_t now_ms = clock->now(clock->ctx);
    if (now_ms - findings->told_ms >= PROGRESS_EVERY_MS) {
        findings->told_ms = now_ms;
        (void)fprintf(stderr, "dpotd: read %llu reports of revision %u of \"%s\"\n",
                      (unsigned long long)n_read, record->revision, record->name);
    }
}

static int print_findings(const struct findings *findings, bool is_json)
{
    if (is_json) {
        json_t *body = json_pack("{s:b,s:O,s:O}", "ok", findings->first == DPOT_OK, "faults",
                                 findings->faults, "notes", findings->notes);
        (void)json_dumpf(body, stdout, JSON_COMPACT);
        (void)fputc('\n', stdout);
        json_decref(body);
    }
    for (size_t i = 0; !is_json && i < json_array_size(findings->notes); i++) {
        (void)printf("%s\n", json_string_value(json_array_get(findings->notes, i)));
    }
    if (!is_json && findings->first == DPOT_OK) {
        (void)printf("config, keys, tokens and store are fine\n");
    }
    const int code = finish_output();
    return findings->first == DPOT_OK ? code : exit_code_of(findings->first);
}

static int command_doctor(const struct options *options)
{
    struct dpot_error error = {{0}};
    struct config config;
    if (!options->config) {
        return fail_usage("doctor needs --config FILE", "");
    }
    const struct dpot_clock *clock = dpot_clock_system();
    struct findings findings = {
        .faults = json_array(), .notes = json_array(), .told_ms = clock->now(clock->ctx)};
    const struct service_look look = {.tell = take_finding,
                                      .progress = tell_progress,
                                      .ctx = &findings,
                                      .is_quick = options->is_quick};
    dpot_status status = config_read(options->config, &config, &error);
    if (status != DPOT_OK) {
        take_finding(&findings, status, error.text[0] ? error.text : dpot_status_text(status));
    } else {
        status = service_check(&config, &look, &error);
    }
    const int code = status == DPOT_ERR_MEMORY ? fail(status, &error)
                                               : print_findings(&findings, options->is_json);
    json_decref(findings.faults);
    json_decref(findings.notes);
    return code;
}

/* A bare system allows 1024 files, which is fewer connections than are configured. */
static void raise_file_limit(const struct config *config)
{
    struct rlimit limit;
    const rlim_t wanted = (rlim_t)config->max_connections + FILES_BESIDE_CONNECTIONS;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur >= wanted) {
        return;
    }
    limit.rlim_cur = limit.rlim_max < wanted ? limit.rlim_max : wanted;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < wanted) {
        (void)fprintf(stderr,
                      "dpotd: only %llu open files are allowed and limits.max_connections is %u: "
                      "raise the limit\n",
                      (unsigned long long)limit.rlim_cur, config->max_connections);
    }
}

/* The URL appears in the file whole or not at all. */
static dpot_status write_ready_file(const char *path, const char *url, struct dpot_error *error)
{
    char temporary[CONFIG_TEXT_SIZE];
    if (snprintf(temporary, sizeof temporary, "%s.tmp", path) >= CONFIG_TEXT_SIZE) {
        return dpot_error_set(error, DPOT_ERR_RANGE, "the path of --ready-file is too long");
    }
    FILE *stream = fopen(temporary, "w");
    bool is_written = stream && fprintf(stream, "%s\n", url) > 0;
    if (stream) {
        is_written = fclose(stream) == 0 && is_written;
    }
    if (!is_written || rename(temporary, path) != 0) {
        return dpot_error_set(error, DPOT_ERR_IO, "writing %s failed: %s", path, strerror(errno));
    }
    return DPOT_OK;
}

static sem_t stop_requested;

static void request_stop(int signal_number)
{
    (void)signal_number;
    (void)sem_post(&stop_requested);
}

/* Handled, not only blocked: OpenBLAS makes threads before main begins, which do not inherit our mask
 * and would take a second signal with its default action, in the middle of the shutdown. Blocked as
 * well, so that no thread of ours is interrupted in a call. */
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
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGHUP, SIG_IGN); /* the log is stderr: there is nothing to reopen */
}

static void wait_for_stop(const sigset_t *stopping)
{
    (void)pthread_sigmask(SIG_UNBLOCK, stopping, NULL);
    while (sem_wait(&stop_requested) != 0 && errno == EINTR) {
    }
    (void)pthread_sigmask(SIG_BLOCK, stopping, NULL);
}

/* A ready file of an earlier run must not be taken for ours; that of a server that lives, and therefore
 * owns the store, is left alone. */
static void remove_ready_file(void *ctx)
{
    const struct options *options = ctx;
    if (options->ready_file) {
        (void)unlink(options->ready_file);
    }
}

static int run_service(const struct config *config, struct options *options)
{
    const struct service_hooks hooks = {.on_owned = remove_ready_file, .ctx = options};
    struct dpot_error error = {{0}};
    struct service *service = NULL;
    sigset_t stopping;
    take_signals(&stopping);
    dpot_status status = service_open(config, options->listen, &hooks, &service, &error);
    if (status != DPOT_OK) {
        if (status != DPOT_ERR_BUSY) {
            remove_ready_file(options);
        }
        return fail(status, &error);
    }
    (void)fprintf(stderr, "dpotd: listening on %s\n", service_url(service));
    if (options->ready_file) {
        status = write_ready_file(options->ready_file, service_url(service), &error);
    }
    if (status == DPOT_OK) {
        wait_for_stop(&stopping);
    }
    remove_ready_file(options);
    service_close(service);
    return status == DPOT_OK ? EXIT_DONE : fail(status, &error);
}

static int command_serve(const struct options *given)
{
    struct options options = *given;
    struct dpot_error error = {{0}};
    struct config config;
    if (!options.config) {
        return fail_usage("serve needs --config FILE", "");
    }
    const dpot_status status = config_read(options.config, &config, &error);
    if (status != DPOT_OK) {
        remove_ready_file(&options);
        return fail(status, &error);
    }
    raise_file_limit(&config);
    return run_service(&config, &options);
}

/* The command line. */

struct command_row {
    const char *name;
    const char *help;
    const char *const *options; /* NULL-terminated */
    int (*run)(const struct options *options);
};

static const char *const init_options[] = {"--dir", "--listen", "--json", NULL};
static const char *const serve_options[] = {"--config", "--listen", "--ready-file", NULL};
static const char *const doctor_options[] = {"--config", "--quick", "--json", NULL};

static const struct command_row commands[] = {
    {"init", init_help, init_options, command_init},
    {"serve", serve_help, serve_options, command_serve},
    {"doctor", doctor_help, doctor_options, command_doctor},
};

static bool takes(const struct command_row *command, const char *name)
{
    for (const char *const *known = command->options; *known; known++) {
        if (strcmp(*known, name) == 0) {
            return true;
        }
    }
    return false;
}

/* Where the value of an option goes; NULL for one without a value. */
static const char **value_place(struct options *options, const char *name)
{
    return strcmp(name, "--dir") == 0          ? &options->dir
           : strcmp(name, "--listen") == 0     ? &options->listen
           : strcmp(name, "--config") == 0     ? &options->config
           : strcmp(name, "--ready-file") == 0 ? &options->ready_file
                                               : NULL;
}

static int parse(const struct command_row *command, int n, char **arguments,
                 struct options *options)
{
    for (int i = 0; i < n; i++) {
        const char *name = arguments[i];
        if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
            options->wants_help = true;
            return EXIT_DONE;
        }
        if (!takes(command, name)) {
            return fail_usage("unknown option ", name);
        }
        const char **place = value_place(options, name);
        if (!place) {
            *(strcmp(name, "--quick") == 0 ? &options->is_quick : &options->is_json) = true;
        } else if (i + 1 == n) {
            return fail_usage("a value is missing after ", name);
        } else {
            *place = arguments[++i];
        }
    }
    return EXIT_DONE;
}

static int run_command(const struct command_row *command, int n, char **arguments)
{
    struct options options = {.dir = NULL};
    const int code = parse(command, n, arguments, &options);
    if (code != EXIT_DONE) {
        return code;
    }
    if (options.wants_help) {
        (void)fputs(command->help, stdout);
        return finish_output();
    }
    return command->run(&options);
}

int main(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    dpot_descriptors_hold();
    (void)umask(S_IRWXG | S_IRWXO);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its limit fails the write, as a full disk does */
    if (dpot_init() != DPOT_OK) {
        return fail(DPOT_ERR_RANDOM, &(struct dpot_error){{0}});
    }
    json_object_seed(0); /* here, before there are threads */
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        (void)fputs(general_help, stdout);
        return finish_output();
    }
    if (strcmp(name, "--version") == 0) {
        (void)printf("dpotd %s\n", DPOT_PROGRAM_VERSION);
        return finish_output();
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            return run_command(&commands[i], argc - 2, argv + 2);
        }
    }
    return argc > 1 ? fail_usage("unknown command ", name) : fail_usage("a command is missing", "");
}
