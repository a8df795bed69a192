#include "cli/help.h"

#include "cli/options.h"
#include "cli/program.h"
#include "cli/values.h"

#include <string.h>

#define WIDTH 80
#define LEFT_WIDTH 26    /* columns of an option and its placeholder */
#define SUMMARY_WIDTH 22 /* columns of the name of a command */
#define TEXT_SIZE 1024

/* Prints a text behind `indent` columns, and breaks it at its spaces into lines that begin with as
 * many. */
static void print_wrapped(FILE *stream, size_t indent, const char *text)
{
    size_t at = indent;
    for (size_t len = 0; *text; text += len) {
        const size_t n_spaces = strspn(text, " ");
        len = n_spaces + strcspn(text + n_spaces, " ");
        if (n_spaces > 0 && at + len > WIDTH) {
            (void)fprintf(stream, "\n%*s", (int)indent, "");
            at = indent - n_spaces;
            (void)fprintf(stream, "%.*s", (int)(len - n_spaces), text + n_spaces);
        } else {
            (void)fprintf(stream, "%.*s", (int)len, text);
        }
        at += len;
    }
    (void)fputc('\n', stream);
}

static void print_options(FILE *stream, const struct option *options)
{
    for (const struct option *o = options; o && o->name; o++) {
        char left[64 + VALUES_TEXT_SIZE], text[TEXT_SIZE], shown[VALUES_TEXT_SIZE] = "",
                                                           range[VALUES_TEXT_SIZE] = "";
        if (o->value) {
            values_name(o->value, shown);
            values_range(o->value, range);
        }
        (void)snprintf(left, sizeof left, "--%s%s%s", o->name, o->value ? " " : "", shown);
        const bool is_long = strlen(left) > LEFT_WIDTH;
        (void)fprintf(stream, "  %-*s%s%*s ", LEFT_WIDTH, left, is_long ? "\n  " : "",
                      is_long ? LEFT_WIDTH : 0, "");
        (void)snprintf(text, sizeof text, "%s%s%s", o->help, *range ? "; " : "", range);
        print_wrapped(stream, 2 + LEFT_WIDTH + 1, text);
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
        char shown[VALUES_TEXT_SIZE];
        values_name(command->options[i].value, shown);
        (void)fprintf(stream, " --%s %s", command->options[i].name, shown);
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
    char text[TEXT_SIZE];
    size_t len = 0;
    for (unsigned i = 0; i < sizeof meanings / sizeof meanings[0]; i++) {
        if ((codes & 1u << i) != 0) {
            len += (size_t)snprintf(text + len, sizeof text - len, "%s%u %s", i > 0 ? ", " : "", i,
                                    meanings[i]);
        }
    }
    (void)fputs("\nExit codes: ", stream);
    print_wrapped(stream, strlen("Exit codes: "), text);
}

static void print_title(FILE *stream, const struct program *program, const struct command *command)
{
    for (const struct section *s = program->sections; s && s->title; s++) {
        if (s->first == command) {
            (void)fprintf(stream, "\n%s:\n", s->title);
        }
    }
}

void help_print_program(FILE *stream, const struct program *program)
{
    const char *name = program->name;
    (void)fprintf(
        stream, "usage: %s COMMAND [options]\n       %s help COMMAND\n       %s --version\n\n%s\n",
        name, name, name, program->summary);
    if (!program->sections) {
        (void)fputs("\nCommands:\n", stream);
    }
    for (const struct command *const *c = program->commands; *c; c++) {
        print_title(stream, program, *c);
        (void)fprintf(stream, "  %-*s ", SUMMARY_WIDTH, (*c)->name);
        print_wrapped(stream, 2 + SUMMARY_WIDTH + 1, (*c)->summary);
    }
    print_general_options(stream, program);
    print_exit_codes(stream, program->exit_codes);
    (void)fprintf(stream, "\nExample:\n  %s\n", program->example);
}

size_t help_print_group(FILE *stream, const struct program *program, const char *group)
{
    size_t n = 0;
    for (const struct command *const *c = program->commands; *c; c++) {
        if (command_word_in(*c, group)) {
            (void)fprintf(stream, "%s  %s %-*s ", n++ ? "" : "Commands:\n", program->name,
                          SUMMARY_WIDTH, (*c)->name);
            print_wrapped(stream, 2 + strlen(program->name) + 1 + SUMMARY_WIDTH + 1, (*c)->summary);
        }
    }
    return n;
}

/* ---- completion ---- */

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

/* The option that `word` is, or whose value it stands before; NULL: none. */
static const struct option *find_in(const struct option *const lists[3], const char *word)
{
    for (size_t l = 0; l < 3 && strncmp(word, "--", 2) == 0; l++) {
        for (const struct option *o = lists[l]; o && o->name; o++) {
            if (strcmp(word + 2, o->name) == 0) {
                return o;
            }
        }
    }
    return NULL;
}

static void print_kind(FILE *stream, const char *value)
{
    if (values_are_files(value)) {
        (void)fputs("<files>\n", stream);
    } else if (values_are_folders(value)) {
        (void)fputs("<folders>\n", stream);
    }
}

static void print_values(FILE *stream, const char *value)
{
    size_t len = 0;
    print_kind(stream, value);
    for (const char *at = value; strchr(value, '|') && (len = values_next_word(&at)) > 0;
         at += len) {
        (void)fprintf(stream, "%.*s\n", (int)len, at);
    }
}

/* Flags and lists of files may be repeated; another option is not offered again. */
static bool is_offered(const struct option *option, int n_words, char **words)
{
    for (int i = 0; i < n_words && option->value && strcmp(option->value, "F...") != 0; i++) {
        if (strncmp(words[i], "--", 2) == 0 && strcmp(words[i] + 2, option->name) == 0) {
            return false;
        }
    }
    return true;
}

static void print_names(FILE *stream, const struct option *options, int n_words, char **words)
{
    for (const struct option *o = options; o && o->name; o++) {
        if (is_offered(o, n_words, words)) {
            (void)fprintf(stream, "--%s\n", o->name);
        }
    }
}

static bool has_operand(const struct option *const lists[3], int n_words, char **words)
{
    for (int i = 0; i < n_words; i++) {
        const struct option *o = find_in(lists, words[i]);
        if (!o && strncmp(words[i], "--", 2) != 0) {
            return true;
        }
        i += o && o->value; /* stands next */
    }
    return false;
}

/* What may follow: a value of the last option, or options and operands. */
static void print_next(FILE *stream, const struct program *program, const struct command *command,
                       int n_words, char **words)
{
    const struct option *const lists[] = {command->options, program->options, options_of_all};
    const struct option *last = n_words > 0 ? find_in(lists, words[n_words - 1]) : NULL;
    if (last && last->value) {
        print_values(stream, last->value);
        return;
    }
    for (size_t l = 0; l < 3; l++) {
        print_names(stream, lists[l], n_words, words);
    }
    bool takes_files = command->operands && values_are_files(command->operands);
    for (int i = 0; i < n_words && !takes_files; i++) {
        const struct option *o = find_in(lists, words[i]);
        takes_files = o && o->value && strcmp(o->value, "F...") == 0;
    }
    if (takes_files) {
        print_kind(stream, "F");
    } else if (command->operands && !has_operand(lists, n_words, words)) {
        print_values(stream, command->operands);
    }
}

void help_print_completion(FILE *stream, const struct program *program, int n_words, char **words)
{
    int n = 0;
    if (n_words > 0 && strcmp(words[0], "help") == 0) {
        n_words--;
        words++;
        if (program_find(program, n_words, words, &n)) {
            return;
        }
    } else if (n_words == 0) {
        (void)fputs("help\n", stream);
    }
    const struct command *command = program_find(program, n_words, words, &n);
    if (!command) {
        print_words(stream, program, n_words > 0 ? words[0] : NULL);
        return;
    }
    print_next(stream, program, command, n_words - n, words + n);
}
