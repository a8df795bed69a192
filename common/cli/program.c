#include "cli/program.h"

#include "base/compiler.h"
#include "base/utf8.h"
#include "cli/descriptors.h"
#include "cli/help.h"
#include "cli/object.h"
#include "cli/options.h"
#include "files/spelling.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WARNING_SIZE 1024 /* longer ones are cut */

int program_exit_code(const struct program *program, dpot_status status)
{
    return program->exit_code ? program->exit_code(status) : exit_code_of(status);
}

/* ---- finding the command ---- */

const char *command_word_in(const struct command *command, const char *group)
{
    const size_t len = strlen(group);
    const bool is_in = strncmp(command->name, group, len) == 0 && command->name[len] == ' ';
    return is_in ? command->name + len + 1 : NULL;
}

const struct command *program_find(const struct program *program, int n, char **words, int *n_words)
{
    for (const struct command *const *c = program->commands; *c && n > 0; c++) {
        const char *second = command_word_in(*c, words[0]);
        if (second ? n > 1 && strcmp(second, words[1]) == 0 : strcmp((*c)->name, words[0]) == 0) {
            *n_words = second ? 2 : 1;
            return *c;
        }
    }
    return NULL;
}

/* "list, add or prune", cut to fit; false: there is no such group. */
static bool list_group(const struct program *program, const char *group, char *out, size_t cap)
{
    const char *last = NULL;
    size_t used = 0;
    out[0] = '\0';
    for (const struct command *const *c = program->commands; *c; c++) {
        const char *word = command_word_in(*c, group);
        if (word && last && used < cap) {
            used += (size_t)snprintf(out + used, cap - used, "%s%s", used ? ", " : "", last);
        }
        last = word ? word : last;
    }
    if (last && used < cap) {
        (void)snprintf(out + used, cap - used, "%s%s", used ? " or " : "", last);
    }
    return last != NULL;
}

/* The nearest first word of a command, or the nearest word of a group; "" when none is near. */
static void suggest_command(const struct program *program, const char *group, const char *text,
                            char hint[SPELLING_HINT_SIZE])
{
    struct spelling spelling = {.text = text};
    for (const struct command *const *c = program->commands; *c; c++) {
        const char *word = group ? command_word_in(*c, group) : (*c)->name;
        if (word) {
            spelling_offer(&spelling, word, strcspn(word, " "));
        }
    }
    spelling_hint(&spelling, "", hint);
}

static int refuse_command(const struct program *program, int n, char **words)
{
    char group[200], hint[SPELLING_HINT_SIZE];
    const char *name = program->name;
    if (n == 0) {
        (void)fprintf(stderr, "%s: a command is missing: see %s --help\n", name, name);
    } else if (words[0][0] == '-') {
        (void)fprintf(stderr,
                      "%s: the command comes first, then its options, not %s: see %s --help\n",
                      name, words[0], name);
    } else if (!list_group(program, words[0], group, sizeof group)) {
        suggest_command(program, NULL, words[0], hint);
        (void)fprintf(stderr, "%s: \"%.60s\" is not a command%s: see %s --help\n", name, words[0],
                      hint, name);
    } else if (n > 1 && words[1][0] == '-') {
        (void)fprintf(stderr, "%s: %s takes %s first, then options, not %s: see %s %s --help\n",
                      name, words[0], group, words[1], name, words[0]);
    } else if (n == 1) {
        (void)fprintf(stderr, "%s: %s takes %s: see %s %s --help\n", name, words[0], group, name,
                      words[0]);
    } else {
        suggest_command(program, words[0], words[1], hint);
        (void)fprintf(stderr, "%s: \"%s %.60s\" is not a command%s: %s takes %s\n", name, words[0],
                      words[1], hint, words[0], group);
    }
    return EXIT_CODE_USAGE;
}

/* ---- one run ---- */

void run_warn(const struct run *run, const char *format, ...)
{
    char text[WARNING_SIZE];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    dpot_utf8_make_printable(text);
    (void)fprintf(stderr, "%s %s: warning: %s\n", run->program->name, run->command->name, text);
}

/* Scripts rely on what was printed: a failed write must not exit with 0. `done`: see struct run. */
static int check_output(const struct program *program, int exit_code, const char *done)
{
    const bool is_flushed = fflush(stdout) == 0;
    const char *cause = is_flushed ? "" : strerror(errno);
    if (is_flushed && !ferror(stdout)) {
        return exit_code;
    }
    (void)fprintf(stderr, "%s: writing to the standard output failed%s%s%s%s\n", program->name,
                  *cause ? ": " : "", cause, done ? "; " : "", done ? done : "");
    return EXIT_CODE_IO;
}

static int report_failure(const struct run *run, dpot_status status)
{
    const int exit_code =
        run->forced_exit ? run->forced_exit : program_exit_code(run->program, status);
    const char *text = run->error.text[0] ? run->error.text : dpot_status_text(status);
    (void)fprintf(stderr, "%s %s: %s\n", run->program->name, run->command->name, text);
    if (run->is_json && !run->has_printed) {
        struct object object;
        object_begin(&object, stdout);
        object_text(&object, "outcome", "failed");
        object_text(&object, "status", dpot_status_name(status));
        object_text(&object, "error", text);
        object_count(&object, "exit_code", (uint64_t)exit_code);
        object_end(&object);
    }
    return exit_code;
}

static int report_success(const struct run *run)
{
    const int printed = run->program->print ? run->program->print(run) : EXIT_CODE_DONE;
    if (run->is_stopped) {
        (void)fprintf(stderr,
                      "%s %s: stopped before the tolerance was reached: allow more iterations or a "
                      "larger tolerance\n",
                      run->program->name, run->command->name);
    }
    return printed            ? printed
           : run->forced_exit ? run->forced_exit
           : run->is_stopped  ? EXIT_CODE_STOPPED
                              : EXIT_CODE_DONE;
}

static int run_command(const struct program *program, const struct command *command, int argc,
                       char **argv)
{
    struct run run = {.program = program, .command = command, .n_threads = 1};
    bool wants_help = false;
    dpot_status status = options_parse(&run, argc, argv, &wants_help);
    if (wants_help) {
        help_print_command(stdout, program, command);
        return check_output(program, EXIT_CODE_DONE, NULL);
    }
    if (status == DPOT_OK && program->begin) {
        status = program->begin(&run);
    }
    if (status == DPOT_OK) {
        status = command->run(&run);
    }
    const bool is_said = status == DPOT_ERR_IO && ferror(stdout); /* the output was stdout */
    int exit_code = status == DPOT_OK ? report_success(&run) : report_failure(&run, status);
    exit_code = is_said ? exit_code : check_output(program, exit_code, run.done);
    if (program->end) {
        program->end(&run);
    }
    return exit_code;
}

/* "help ot", "help campaign create"; a group lists its commands. */
static int print_page(const struct program *program, int n, char **words)
{
    int n_words = 0;
    const struct command *command = program_find(program, n, words, &n_words);
    if (command && n_words == n) {
        help_print_command(stdout, program, command);
    } else if (n == 1 && (words[0][0] == '-' || strcmp(words[0], "help") == 0)) {
        help_print_program(stdout, program);
    } else if (command || n > 1 || help_print_group(stdout, program, words[0]) == 0) {
        return refuse_command(program, n, words);
    }
    return check_output(program, EXIT_CODE_DONE, NULL);
}

int program_run(const struct program *program, int argc, char **argv)
{
    int n_words = 0;
    const char *first = argc > 1 ? argv[1] : "", *second = argc > 2 ? argv[2] : "";
    const struct command *command = program_find(program, argc - 1, argv + 1, &n_words);
    if (command) {
        return run_command(program, command, argc - 1 - n_words, argv + 1 + n_words);
    }
    if (strcmp(first, "--version") == 0) {
        (void)printf("%s %s\n", program->name, program->version);
    } else if (strcmp(first, "help") == 0 && argc > 2) {
        return print_page(program, argc - 2, argv + 2);
    } else if (strcmp(first, "--help") == 0 || strcmp(first, "-h") == 0 ||
               strcmp(first, "help") == 0) {
        help_print_program(stdout, program);
    } else if (strcmp(first, "completion") == 0) {
        help_print_completion(stdout, program, argc - 2, argv + 2);
    } else if (strcmp(second, "--help") != 0 || help_print_group(stdout, program, first) == 0) {
        return refuse_command(program, argc - 1, argv + 1);
    }
    return check_output(program, EXIT_CODE_DONE, NULL);
}

/* Skips exit handlers, except for the leak check of a sanitizer. The handler of OpenBLAS joins the
 * threads that it started before main(); a thread that was refused memory retries without end, so
 * that under a small address space (ulimit -v, a container) no command would ever exit. */
static _Noreturn void leave(int exit_code)
{
    (void)fflush(NULL);
    if (DPOT_IS_SANITIZED) {
        exit(exit_code);
    }
    _Exit(exit_code);
}

_Noreturn void program_main(const struct program *program, int argc, char **argv)
{
    dpot_descriptors_hold();
    /* A closed pipe and a file at its size limit become failed writes: exit code 6. */
    (void)signal(SIGPIPE, SIG_IGN);
    (void)signal(SIGXFSZ, SIG_IGN);
    leave(program_run(program, argc, argv));
}
