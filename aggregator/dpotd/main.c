/* dpotd: the aggregator. The command line; what the commands do is in command_*.c, and the work in service.h,
 * init.h, keys.h and backup.h. */
#include "base/crypto.h"
#include "base/descriptors.h"
#include "cli/leave.h"
#include "dpotd/command.h"
#include "json/json.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

static const char general_help[] =
    "dpotd - aggregator of privatised reports\n"
    "\n"
    "  dpotd init --dir DIR [--listen HOST:PORT] [--json]   make keys, an admin token and a "
    "config\n"
    "  dpotd serve --config FILE [--listen HOST:PORT]       serve until SIGTERM\n"
    "  dpotd doctor --config FILE [--quick] [--json]        check config, keys, tokens and store\n"
    "  dpotd backup --config FILE --to FILE                 copy the store while it is served\n"
    "  dpotd restore --config FILE --from FILE [--quick]    put a copy in the store's place\n"
    "  dpotd migrate --config FILE [--json]                 bring the store's schema up to date\n"
    "  dpotd keys list --config FILE [--json]               the pin and the keys devices seal for\n"
    "  dpotd keys add --config FILE [--days N] [--json]     a new key to seal for\n"
    "  dpotd keys prune --config FILE [--json]              remove keys that have expired\n"
    "  dpotd COMMAND --help                                 more on one of them\n"
    "  dpotd --version\n"
    "\n"
    "Example: dpotd init --dir /var/lib/dpot && dpotd serve --config /var/lib/dpot/dpotd.json\n";

/* The command line. */

static const struct command *const commands[] = {
    &command_init,    &command_serve,     &command_doctor,   &command_backup,     &command_restore,
    &command_migrate, &command_keys_list, &command_keys_add, &command_keys_prune,
};

static bool takes(const struct command *command, const char *name)
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
           : strcmp(name, "--to") == 0         ? &options->to
           : strcmp(name, "--from") == 0       ? &options->from
           : strcmp(name, "--days") == 0       ? &options->days
                                               : NULL;
}

static int parse(const struct command *command, int n, char **arguments, struct options *options)
{
    for (int i = 0; i < n; i++) {
        const char *name = arguments[i];
        if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
            options->wants_help = true;
            return EXIT_DONE;
        }
        if (!takes(command, name)) {
            return command_fail_usage("unknown option ", name);
        }
        const char **place = value_place(options, name);
        if (!place) {
            *(strcmp(name, "--quick") == 0 ? &options->is_quick : &options->is_json) = true;
        } else if (i + 1 == n) {
            return command_fail_usage("a value is missing after ", name);
        } else {
            *place = arguments[++i];
        }
    }
    return EXIT_DONE;
}

static int run_command(const struct command *command, int n, char **arguments)
{
    struct options options = {.dir = NULL};
    const int code = parse(command, n, arguments, &options);
    if (code != EXIT_DONE) {
        return code;
    }
    if (options.wants_help) {
        (void)fputs(command->help, stdout);
        return command_finish();
    }
    return command->run(&options);
}

/* How many of the words are the name of a command: one or two, or 0. */
static int match(const char *name, int n, char **words)
{
    const char *space = strchr(name, ' ');
    const size_t first_len = space ? (size_t)(space - name) : strlen(name);
    if (n < 1 || strlen(words[0]) != first_len || strncmp(words[0], name, first_len) != 0) {
        return 0;
    }
    if (!space) {
        return 1;
    }
    return n > 1 && strcmp(words[1], space + 1) == 0 ? 2 : 0;
}

static int run(int argc, char **argv)
{
    const char *name = argc > 1 ? argv[1] : "";
    if (dpot_init() != DPOT_OK) {
        return command_fail(DPOT_ERR_RANDOM, &(struct dpot_error){{0}});
    }
    json_object_seed(0); /* here, before there are threads */
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0) {
        (void)fputs(general_help, stdout);
        return command_finish();
    }
    if (strcmp(name, "--version") == 0) {
        (void)printf("dpotd %s\n", DPOT_PROGRAM_VERSION);
        return command_finish();
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const int n_words = match(commands[i]->name, argc - 1, argv + 1);
        if (n_words > 0) {
            return run_command(commands[i], argc - 1 - n_words, argv + 1 + n_words);
        }
    }
    if (name[0] == '-') {
        return command_fail_usage("the command comes first and its options behind it, not ", name);
    }
    if (strcmp(name, "keys") == 0) {
        if (argc > 2 && argv[2][0] == '-') {
            return command_fail_usage(
                "list, add or prune comes right behind keys, and the options behind that, not ",
                argv[2]);
        }
        return argc > 2 ? command_fail_usage("keys takes list, add or prune, not ", argv[2])
                        : command_fail_usage("keys takes list, add or prune", "");
    }
    return argc > 1 ? command_fail_usage("unknown command ", name)
                    : command_fail_usage("a command is missing", "");
}

int main(int argc, char **argv)
{
    dpot_descriptors_hold();
    (void)umask(S_IRWXG | S_IRWXO);
    (void)signal(SIGXFSZ, SIG_IGN); /* a file at its limit fails the write, as a full disk does */
    leave(run(argc, argv));
}
