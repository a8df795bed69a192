/* The options of dpot as one vocabulary: one name for one kind of value; all former spellings. */
#include "cli/options.h"
#include "cli/values.h"
#include "tool/aliases.h"
#include "tool/tool.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

static const struct command *find_command(const char *name)
{
    for (const struct command *const *c = dpot_program.commands; *c; c++) {
        if (strcmp((*c)->name, name) == 0) {
            return *c;
        }
    }
    return NULL;
}

static const struct option *find_option(const struct command *command, const char *name)
{
    for (const struct option *o = command->options; o && o->name; o++) {
        if (strcmp(o->name, name) == 0) {
            return o;
        }
    }
    return NULL;
}

/* A value that the option takes. */
static const char *valid_value(const struct option *option)
{
    static char word[VALUES_TEXT_SIZE];
    const char *at = option->value;
    size_t len = 0;
    if (values_are_words(option->value) && (len = values_next_word(&at)) > 0) {
        (void)snprintf(word, sizeof word, "%.*s", (int)len, at);
        return word;
    }
    const bool takes_one = strchr(option->value, '.') || !strstr(option->value, ",0.");
    return !takes_one                           ? "0.005"
           : strstr(option->value, " 1000..")   ? "1000"
           : strstr(option->value, " 2..")      ? "2"
           : strstr(option->value, "[0.01,")    ? "0.5"
           : strchr(option->value, '(') != NULL ? "0.005"
                                                : "1";
}

Test(vocabulary, every_former_spelling_of_an_option_is_still_taken)
{
    size_t n = 0;
    for (const struct option_alias *a = tool_aliases; a->old; a++, n++) {
        const struct command *command = find_command(a->command);
        cr_assert(command && !find_option(command, a->old), "%s --%s", a->command, a->old);
        const struct option *option = find_option(command, a->name);
        cr_assert_not_null(option, "%s --%s", a->command, a->name);
        char name[64], value[VALUES_TEXT_SIZE] = "";
        (void)snprintf(name, sizeof name, "--%s", a->old);
        if (option->value) {
            (void)snprintf(value, sizeof value, "%s", valid_value(option));
        }
        char *argv[] = {name, value};
        struct run run = {.program = &dpot_program, .command = command};
        bool wants_help = false;
        const dpot_status status = options_parse(&run, option->value ? 2 : 1, argv, &wants_help);
        cr_assert(option_is_given(&run, a->name), "%s %s %s: %d %s", a->command, name, value,
                  status, run.error.text);
        cr_assert_str_eq(option_text(&run, a->name), value);
    }
    cr_assert_geq(n, 41);
}

enum kind { FLAG, A_FILE, FOLDER, WORDS, INTEGER, NUMBER, TEXT };

static enum kind kind_of(const char *value)
{
    char range[VALUES_TEXT_SIZE];
    if (!value) {
        return FLAG;
    }
    values_range(value, range);
    return values_are_files(value)     ? A_FILE
           : values_are_folders(value) ? FOLDER
           : values_are_words(value)   ? WORDS
           : !*range                   ? TEXT
           : strstr(value, "..")       ? INTEGER
                                       : NUMBER;
}

/* An ID or the file itself; a file or a folder for several; a mechanism or one case of it. */
static bool is_free(const char *name)
{
    return strcmp(name, "campaign") == 0 || strcmp(name, "out") == 0 ||
           strcmp(name, "mechanism") == 0;
}

Test(vocabulary, a_name_means_the_same_kind_of_value_in_every_command)
{
    for (const struct command *const *c = dpot_program.commands; *c; c++) {
        for (const struct option *o = (*c)->options; o && o->name; o++) {
            for (const struct command *const *d = c + 1; *d && !is_free(o->name); d++) {
                const struct option *other = find_option(*d, o->name);
                cr_assert(!other || kind_of(other->value) == kind_of(o->value), "--%s: %s, %s",
                          o->name, (*c)->name, (*d)->name);
            }
        }
    }
}

/* A file beside --out is read unless its name says that it is written. */
Test(vocabulary, the_help_of_what_writes_ends_in_out)
{
    for (const struct command *const *c = dpot_program.commands; *c; c++) {
        for (const struct option *o = (*c)->options; o && o->name; o++) {
            const size_t len = strlen(o->name);
            const bool says_out =
                strcmp(o->name, "out") == 0 || (len > 4 && strcmp(o->name + len - 4, "-out") == 0);
            cr_assert(says_out || strncmp(o->help, "write ", 6) != 0, "%s --%s", (*c)->name,
                      o->name);
            cr_assert(!says_out || kind_of(o->value) == A_FILE || kind_of(o->value) == FOLDER);
        }
    }
}

Test(vocabulary, an_option_fits_a_line_and_every_set_its_refusal)
{
    for (const struct command *const *c = dpot_program.commands; *c; c++) {
        for (const struct option *o = (*c)->options; o && o->name; o++) {
            cr_assert_null(strchr(o->help, '\n'), "%s --%s", (*c)->name, o->name);
            cr_assert_lt(o->value ? strlen(o->value) : 0, VALUES_TEXT_SIZE / 2);
        }
    }
}

Test(vocabulary, no_help_of_an_option_goes_on_in_the_next)
{
    for (const struct command *const *c = dpot_program.commands; *c; c++) {
        for (const struct option *o = (*c)->options; o && o->name; o++) {
            const size_t len = strlen(o->help);
            cr_assert(len > 0 && !strchr(",;:.", o->help[len - 1]), "%s --%s: %s", (*c)->name,
                      o->name, o->help);
        }
    }
}
