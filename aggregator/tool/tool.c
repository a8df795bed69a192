#include "tool/tool.h"

#include "base/crypto.h"
#include "dpot/dpot.h"
#include "tool/shared/commands.h"
#include "tool/shared/options.h"
#include "tool/shared/table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct command *const commands[] = {
    &command_project,
    &command_ot,
    &command_base_measure,
    &command_barycenter,
    &command_deconvolve,
    &command_generator_train,
    &command_generator_sample,
    &command_generator_evaluate,
    &command_generator_classifier,
    &command_estimate,
    &command_evaluate,
    &command_plan,
    &command_calibrate_laplace,
    &command_calibrate_gaussian,
    &command_audit,
    &command_account_compose,
    &command_account_shuffle,
    &command_central_barycenter,
    &command_central_coreset,
    &command_central_ledger,
    &command_central_ot_cost,
    &command_central_transport_map,
    &command_convert,
    &command_plot_heatmap,
    &command_plot_points,
    &command_plot_curves,
    &command_plot_sheet,
    &command_simulate,
    &command_population,
    &command_campaign_create,
    &command_campaign_list,
    &command_campaign_show,
    &command_campaign_open,
    &command_campaign_close,
    &command_campaign_revise,
    &command_campaign_fetch,
    &command_pool,
    &command_job_start,
    &command_job_list,
    &command_job_show,
    &command_job_cancel,
    &command_artifact_get,
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

/* ---- help ---- */

static void print_options(FILE *stream, const struct option *options)
{
    for (const struct option *o = options; o && o->name; o++) {
        char left[64];
        (void)snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "",
                       o->value ? o->value : "");
        (void)fprintf(stream, "  %-26s %s\n", left, o->help);
    }
}

static void print_command_help(FILE *stream, const struct command *command)
{
    (void)fprintf(stream, "usage: dpot %s%s%s [options]\n\n%s\n\n%s\n\nOptions:\n", command->name,
                  command->operands ? " " : "", command->operands ? command->operands : "",
                  command->summary, command->details);
    print_options(stream, command->options);
    (void)fputs("\nGeneral options:\n", stream);
    print_options(stream, general_options);
    (void)fprintf(stream, "\nExample:\n  %s\n", command->example);
}

static void print_help(FILE *stream)
{
    (void)fputs("usage: dpot COMMAND [options]     dpot COMMAND --help     dpot --version\n\n"
                "Differential privacy by optimal transport: mathematics on .npy and .csv files,\n"
                "simulation, and admin calls to a running dpotd.\n\nCommands:\n",
                stream);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        (void)fprintf(stream, "  %-22s %s\n", commands[i]->name, commands[i]->summary);
    }
    (void)fputs("\nGeneral options:\n", stream);
    print_options(stream, general_options);
    (void)fputs("\nExit codes: 0 done, 1 internal, 2 usage, 3 bad input data, 4 refused for "
                "privacy,\n5 solver stopped before its tolerance, 6 I/O or network, 7 not ready.\n"
                "\nExample:\n  dpot ot --x a.csv --y b.csv --metric euclidean --exact\n",
                stream);
}

/* ---- finding the command ---- */

/* A command of two words has the second in `second`. Sets how many arguments name it. */
static const struct command *find_command(const char *first, const char *second, int *n_words)
{
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const char *name = commands[i]->name;
        const char *blank = strchr(name, ' ');
        if (!blank && strcmp(name, first) == 0) {
            *n_words = 1;
            return commands[i];
        }
        const size_t len = blank ? (size_t)(blank - name) : 0;
        if (blank && second && strlen(first) == len && memcmp(name, first, len) == 0 &&
            strcmp(blank + 1, second) == 0) {
            *n_words = 2;
            return commands[i];
        }
    }
    return NULL;
}

/* Lists the commands of a group such as "campaign"; 0 when there is no such group. */
static size_t print_group(FILE *stream, const char *group)
{
    size_t n = 0;
    const size_t len = strlen(group);
    for (size_t i = 0; i < N_COMMANDS; i++) {
        const struct command *c = commands[i];
        if (strncmp(c->name, group, len) == 0 && c->name[len] == ' ') {
            (void)fprintf(stream, "%s  dpot %-22s %s\n", n ? "" : "Commands:\n", c->name,
                          c->summary);
            n++;
        }
    }
    return n;
}

static int refuse_command(const char *first, const char *second)
{
    if (second && strcmp(second, "--help") == 0 && print_group(stdout, first) > 0) {
        return EXIT_CODE_DONE;
    }
    if (second) {
        (void)fprintf(stderr, "dpot: \"%.40s %.40s\" is not a command: see dpot --help\n", first,
                      second);
    } else {
        (void)fprintf(stderr, "dpot: \"%.40s\" is not a command: see dpot --help\n", first);
    }
    (void)print_group(stderr, first);
    return EXIT_CODE_USAGE;
}

/* ---- the run ---- */

static int flush_stdout(int exit_code)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return exit_code;
    }
    (void)fputs("dpot: writing to stdout failed\n", stderr);
    return EXIT_CODE_IO;
}

static int print_json(const json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text) {
        (void)fputs("dpot: out of memory for the result\n", stderr);
        return EXIT_CODE_INTERNAL;
    }
    (void)printf("%s\n", text);
    free(text);
    return EXIT_CODE_DONE;
}

static int report_failure(const struct run *run, dpot_status status)
{
    const int exit_code = run->forced_exit ? run->forced_exit : exit_code_of(status);
    const char *text = run->error.text[0] ? run->error.text : dpot_status_text(status);
    (void)fprintf(stderr, "dpot %s: %s\n", run->command->name, text);
    if (run->is_json) {
        json_t *object = json_object();
        json_t *sentence = json_string(text); /* NULL when an argument in it is not UTF-8 */
        (void)json_object_set_new(object, "error",
                                  sentence ? sentence : json_string(dpot_status_text(status)));
        (void)json_object_set_new(object, "status", json_string(dpot_status_name(status)));
        (void)json_object_set_new(object, "exit_code", json_integer(exit_code));
        (void)print_json(object);
        json_decref(object);
    }
    return flush_stdout(exit_code);
}

static int report_success(const struct run *run)
{
    int exit_code = run->forced_exit  ? run->forced_exit
                    : run->is_stopped ? EXIT_CODE_STOPPED
                                      : EXIT_CODE_DONE;
    if (run->is_json) {
        const int printed = print_json(run->result);
        exit_code = printed ? printed : exit_code;
    } else {
        table_print(run->writes_stdout ? stderr : stdout, run->result);
    }
    if (run->is_stopped) {
        (void)fprintf(stderr,
                      "dpot %s: stopped before the tolerance was reached: allow more "
                      "iterations or a larger tolerance\n",
                      run->command->name);
    }
    return flush_stdout(exit_code);
}

static int run_command(const struct command *command, int argc, char **argv)
{
    struct run run = {.command = command, .n_threads = 1};
    bool wants_help = false;
    dpot_status status = options_parse(&run, argc, argv, &wants_help);
    if (wants_help) {
        print_command_help(stdout, command);
        return flush_stdout(EXIT_CODE_DONE);
    }
    run.result = json_object();
    if (status == DPOT_OK) {
        status = run.result ? dpot_init() : DPOT_ERR_MEMORY;
    }
    if (status == DPOT_OK) {
        status = command->run(&run);
    }
    const int exit_code = status == DPOT_OK ? report_success(&run) : report_failure(&run, status);
    json_decref(run.result);
    return exit_code;
}

int tool_run(int argc, char **argv)
{
    if (argc < 2) {
        print_help(stderr);
        return EXIT_CODE_USAGE;
    }
    if (strcmp(argv[1], "--version") == 0) {
        (void)puts("dpot " DPOT_VERSION);
        return flush_stdout(EXIT_CODE_DONE);
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
        strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return flush_stdout(EXIT_CODE_DONE);
    }
    int n_words = 0;
    const char *second = argc > 2 ? argv[2] : NULL;
    const struct command *command = find_command(argv[1], second, &n_words);
    if (!command) {
        return refuse_command(argv[1], second);
    }
    return run_command(command, argc - 1 - n_words, argv + 1 + n_words);
}
