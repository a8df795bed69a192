#include "cli/help.h"

#include "cli/options.h"
#include "cli/program.h"

#include <string.h>

static void print_options(FILE *stream, const struct option *options)
{
    for (const struct option *o = options; o && o->name; o++) {
        char left[64];
        (void)snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "",
                       o->value ? o->value : "");
        (void)fprintf(stream, "  %-26s %s\n", left, o->help);
    }
}

static void print_general_options(FILE *stream, const struct program *program)
{
    (void)fputs("\nGeneral options:\n", stream);
    print_options(stream, program->options);
    print_options(stream, options_of_all);
}

void help_print_command(FILE *stream, const struct program *program, const struct command *command)
{
    (void)fprintf(stream, "usage: %s %s", program->name, command->name);
    for (size_t i = 0; i < command->n_required; i++) {
        (void)fprintf(stream, " --%s %s", command->options[i].name, command->options[i].value);
    }
    (void)fprintf(stream, "%s%s [options]\n\n%s\n\n%s\n", command->operands ? " " : "",
                  command->operands ? command->operands : "", command->summary, command->details);
    if (command->options) {
        (void)fputs("\nOptions:\n", stream);
        print_options(stream, command->options);
    }
    print_general_options(stream, program);
    (void)fprintf(stream, "\nExample:\n  %s\n", command->example);
}

static void print_exit_codes(FILE *stream, unsigned codes)
{
    static const char *const meanings[] = {"done",
                                           "internal",
                                           "usage",
                                           "bad input data",
                                           "refused for privacy",
                                           "solver stopped before its tolerance",
                                           "I/O or network",
                                           "not ready"};
    (void)fputs("\nExit codes:", stream);
    for (unsigned i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if ((codes & 1u << i) != 0) {
            (void)fprintf(stream, "%s %u %s", i > 0 ? "," : "", i, meanings[i]);
        }
    }
}

void help_print_program(FILE *stream, const struct program *program)
{
    const char *name = program->name;
    (void)fprintf(stream,
                  "usage: %s COMMAND [options]     %s COMMAND --help     %s --version\n\n%s\n\n"
                  "Commands:\n",
                  name, name, name, program->summary);
    for (const struct command *const *c = program->commands; *c; c++) {
        (void)fprintf(stream, "  %-22s %s\n", (*c)->name, (*c)->summary);
    }
    print_general_options(stream, program);
    print_exit_codes(stream, program->exit_codes);
    (void)fprintf(stream, "\n\nExample:\n  %s\n", program->example);
}

size_t help_print_group(FILE *stream, const struct program *program, const char *group)
{
    size_t n = 0;
    for (const struct command *const *c = program->commands; *c; c++) {
        if (command_word_in(*c, group)) {
            (void)fprintf(stream, "%s  %s %-22s %s\n", n++ ? "" : "Commands:\n", program->name,
                          (*c)->name, (*c)->summary);
        }
    }
    return n;
}

/* ---- completion ---- */

/* Whether `word` is one of these options and its value comes next. */
static bool wants_value(const struct option *options, const char *word)
{
    for (const struct option *o = options; o && o->name; o++) {
        if (o->value && strncmp(word, "--", 2) == 0 && strcmp(word + 2, o->name) == 0) {
            return true;
        }
    }
    return false;
}

/* The first words of all commands, once for each group, or the second ones of a group. */
static void print_words(FILE *stream, const struct program *program, const char *group)
{
    const char *last = "";
    for (const struct command *const *c = program->commands; *c; c++) {
        const char *word = group ? command_word_in(*c, group) : (*c)->name;
        const size_t len = word ? strcspn(word, " ") : 0;
        if (len > 0 && (strncmp(word, last, len) != 0 || last[len] != ' ')) {
            (void)fprintf(stream, "%.*s\n", (int)len, word);
        }
        last = word ? word : last;
    }
}

void help_print_completion(FILE *stream, const struct program *program, int n_words, char **words)
{
    int n = 0;
    const struct command *command = program_find(program, n_words, words, &n);
    if (!command) {
        print_words(stream, program, n_words > 0 ? words[0] : NULL);
        return;
    }
    const struct option *const lists[] = {command->options, program->options, options_of_all};
    for (size_t l = 0; l < 3; l++) {
        if (wants_value(lists[l], words[n_words - 1])) {
            return;
        }
    }
    for (size_t l = 0; l < 3; l++) {
        for (const struct option *o = lists[l]; o && o->name; o++) {
            (void)fprintf(stream, "--%s\n", o->name);
        }
    }
}
