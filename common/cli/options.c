#include "cli/options.h"

#include "cli/values.h"
#include "files/number.h"
#include "files/spelling.h"

#include <float.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 1024

const struct option options_of_all[] = {
    {"json", NULL, "print one JSON object on stdout and nothing else there"},
    {"quiet", NULL, "no progress on stderr"},
    {"help", NULL, "this page"},
    {NULL, NULL, NULL},
};

/* ---- the command line ---- */

static bool is_name(const char *name, const char *text, size_t len)
{
    return strlen(name) == len && memcmp(name, text, len) == 0;
}

/* Index of the option in run->values: the command's, the program's, then those of all. */
static size_t find_current(const struct run *run, const char *name, size_t name_len,
                           const struct option **found)
{
    size_t n = 0;
    const struct option *const lists[] = {run->command->options, run->program->options,
                                          options_of_all};
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
        for (const struct option *o = lists[l]; o && o->name; o++, n++) {
            if (is_name(o->name, name, name_len)) {
                *found = o;
                return n;
            }
        }
    }
    *found = NULL;
    return OPTIONS_MAX;
}

/* The same, by a former spelling too; *alias: that one, or NULL. */
static size_t find_option(const struct run *run, const char *name, size_t name_len,
                          const struct option **found, const struct option_alias **alias)
{
    const size_t n = find_current(run, name, name_len, found);
    *alias = NULL;
    for (const struct option_alias *a = run->program->aliases; !*found && a && a->old; a++) {
        if (is_name(a->old, name, name_len) &&
            (!a->command || strcmp(a->command, run->command->name) == 0)) {
            *alias = a;
            return find_current(run, a->name, strlen(a->name), found);
        }
    }
    return n;
}

static dpot_status refuse_option(struct run *run, const char *name, size_t name_len)
{
    char hint[SPELLING_HINT_SIZE];
    struct spelling spelling = {.text = name, .len = name_len};
    const struct option *const lists[] = {run->command->options, run->program->options,
                                          options_of_all};
    for (size_t l = 0; l < sizeof lists / sizeof lists[0]; l++) {
        for (const struct option *o = lists[l]; o && o->name; o++) {
            spelling_offer(&spelling, o->name, strlen(o->name));
        }
    }
    spelling_hint(&spelling, "--", hint);
    return RUN_USAGE(run, "option --%.*s is not known%s: see %s %s --help",
                     name_len < 60 ? (int)name_len : 60, name, hint, run->program->name,
                     run->command->name);
}

/* The arguments of "see %s %s --help". */
#define SEE(run) (run)->program->name, (run)->command->name

static bool takes_files(const struct option *option)
{
    return option->value && strcmp(option->value, "F...") == 0;
}

/* A flag says the same twice; of two values one would be ignored. */
static bool is_repeatable(const struct option *option)
{
    return !option->value || takes_files(option);
}

static dpot_status refuse_second(struct run *run, const struct option *option, const char *first,
                                 const char *second)
{
    const bool is_old = strcmp(first, option->name) != 0;
    return strcmp(first, second) == 0
               ? RUN_USAGE(run, "option --%s is given twice: give it once", first)
               : RUN_USAGE(run, "--%s is the old name of --%s: give one of them",
                           is_old ? first : second, is_old ? second : first);
}

static dpot_status take_operand(struct run *run, const char *text)
{
    const struct command *command = run->command;
    const size_t most = command->max_operands > 0 ? command->max_operands : command->n_operands;
    if (run->n_operands >= most) {
        return RUN_USAGE(run, "\"%.60s\" is one argument too many: see %s %s --help", text,
                         SEE(run));
    }
    run->operands[run->n_operands++] = text;
    return DPOT_OK;
}

/* The value of `option`: after "=", or the next argument (NULL: there is none). */
static dpot_status find_value(struct run *run, const struct option *option, const char *equals,
                              const char *next, const char **value)
{
    const char *name = option_spelling(run, option->name);
    char shown[VALUES_TEXT_SIZE];
    values_name(option->value, shown);
    *value = equals ? equals + 1 : next;
    if (!*value) {
        return RUN_USAGE(run, "option --%s has no value: give --%s %s", name, name, shown);
    }
    if (!equals && strncmp(next, "--", 2) == 0) { /* more likely forgotten than meant */
        return RUN_USAGE(run,
                         "option --%s has no value before %.60s: give --%s %s (a value that begins "
                         "with two dashes as --%s=VALUE)",
                         name, next, name, shown, name);
    }
    return **value ? values_check(run, option, *value)
                   : RUN_USAGE(run, "option --%s is empty: give --%s %s", name, name, shown);
}

/* Takes the option argv[*i] and its value; advances *i when that is the next argument. */
static dpot_status take_option(struct run *run, int argc, char **argv, int *i)
{
    const char *name = argv[*i] + 2, *value = "";
    const char *equals = strchr(name, '=');
    const size_t name_len = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *option = NULL;
    const struct option_alias *alias = NULL;
    const size_t n = find_option(run, name, name_len, &option, &alias);
    if (!option || n >= OPTIONS_MAX) {
        return refuse_option(run, name, name_len);
    }
    if (run->values[n] && !is_repeatable(option)) {
        return refuse_second(run, option, option_spelling(run, option->name),
                             alias ? alias->old : option->name);
    }
    run->spellings[n] = alias ? alias->old : NULL;
    if (!option->value && equals) {
        return RUN_USAGE(run, "option --%s takes no value", option_spelling(run, option->name));
    }
    if (option->value) {
        const char *next = *i + 1 < argc ? argv[*i + 1] : NULL;
        const dpot_status status = find_value(run, option, equals, next, &value);
        if (status != DPOT_OK) {
            return status;
        }
        *i += !equals;
    }
    if (takes_files(option) && run->values[n]) {
        return take_operand(run, value);
    }
    if (takes_files(option) && run->n_operands > 0) {
        return RUN_USAGE(run, "\"%.60s\" stands before --%s: give the files after it",
                         run->operands[0], option_spelling(run, option->name));
    }
    run->values[n] = value;
    return DPOT_OK;
}

static dpot_status take_arguments(struct run *run, int argc, char **argv)
{
    bool is_over = false; /* "--" was seen */
    dpot_status status = DPOT_OK;
    for (int i = 0; i < argc && status == DPOT_OK; i++) {
        if (!is_over && strcmp(argv[i], "--") == 0) {
            is_over = true;
        } else if (!is_over && strncmp(argv[i], "--", 2) == 0) {
            status = take_option(run, argc, argv, &i);
        } else if (!is_over && argv[i][0] == '-' && argv[i][1] != '\0') {
            status =
                RUN_USAGE(run, "option %.60s is not known: options begin with two dashes", argv[i]);
        } else {
            status = take_operand(run, argv[i]);
        }
    }
    return status;
}

static dpot_status check_required(struct run *run)
{
    const struct command *command = run->command;
    if (run->n_operands < command->n_operands) {
        return RUN_USAGE(run, "%s is missing: give %s %s %s", command->operands, SEE(run),
                         command->operands);
    }
    for (size_t i = 0; i < command->n_required; i++) {
        const struct option *o = &command->options[i];
        if (!run->values[i]) {
            char shown[VALUES_TEXT_SIZE];
            values_name(o->value, shown);
            return RUN_USAGE(run, "option --%s is missing: give --%s %s", o->name, o->name, shown);
        }
    }
    return DPOT_OK;
}

static dpot_status read_general_options(struct run *run)
{
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = n_cores < 1 ? 1 : n_cores > THREADS_MAX ? THREADS_MAX : (uint64_t)n_cores;
    run->is_json = option_is_given(run, "json");
    run->is_quiet = option_is_given(run, "quiet");
    run->has_seed = option_is_given(run, "seed");
    run->has_threads = option_is_given(run, "threads");
    dpot_status status = option_integer(run, "seed", 0, UINT64_MAX, &run->seed);
    if (status == DPOT_OK) {
        status = option_integer(run, "threads", 1, THREADS_MAX, &threads);
    }
    run->n_threads = (size_t)threads;
    return status;
}

dpot_status options_parse(struct run *run, int argc, char **argv, bool *wants_help)
{
    *wants_help = false;
    for (int i = 0; i < argc; i++) {
        *wants_help = *wants_help || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        run->is_json = run->is_json || strcmp(argv[i], "--json") == 0; /* for the refusals below */
    }
    if (*wants_help) {
        return DPOT_OK;
    }
    dpot_status status = take_arguments(run, argc, argv);
    if (status == DPOT_OK) {
        status = check_required(run);
    }
    return status == DPOT_OK ? read_general_options(run) : status;
}

/* ---- values ---- */

const char *option_text(const struct run *run, const char *name)
{
    const struct option *option = NULL;
    const struct option_alias *alias = NULL;
    const size_t n = find_option(run, name, strlen(name), &option, &alias);
    return option && n < OPTIONS_MAX ? run->values[n] : NULL;
}

const char *option_spelling(const struct run *run, const char *name)
{
    const struct option *option = NULL;
    const size_t n = find_current(run, name, strlen(name), &option);
    return option && n < OPTIONS_MAX && run->spellings[n] ? run->spellings[n] : name;
}

bool option_is_known(const struct run *run, const char *name)
{
    const struct option *option = NULL;
    const struct option_alias *alias = NULL;
    (void)find_option(run, name, strlen(name), &option, &alias);
    return option != NULL;
}

bool option_is_given(const struct run *run, const char *name)
{
    return option_text(run, name) != NULL;
}

dpot_status option_require(struct run *run, const char *name, const char *what, const char **out)
{
    *out = option_text(run, name);
    return *out ? DPOT_OK : RUN_USAGE(run, "option --%s is missing: give %s", name, what);
}

dpot_status option_positive(struct run *run, const char *name, double most, double *out)
{
    const char *text = option_text(run, name);
    char limit[NUMBER_SIZE];
    double value = 0;
    if (!text) {
        return DPOT_OK;
    }
    number_format(most, limit);
    const bool is_number = number_parse_finite(text, &value);
    if (is_number && value > 0 && value < DBL_MIN) { /* too few digits to compute with */
        return RUN_USAGE(run, "--%s is %.40s: give at least %.2g, at most %s",
                         option_spelling(run, name), text, DBL_MIN, limit);
    }
    if (!is_number || !(value > 0 && value <= most)) {
        return RUN_USAGE(run, "--%s is %.40s: give a number above 0, at most %s",
                         option_spelling(run, name), text, limit);
    }
    *out = value;
    return DPOT_OK;
}

dpot_status option_number(struct run *run, const char *name, double min, double max, double *out)
{
    const char *text = option_text(run, name);
    char least[NUMBER_SIZE], most[NUMBER_SIZE];
    double value = 0;
    if (!text) {
        return DPOT_OK;
    }
    if (!number_parse_finite(text, &value) || !(value >= min && value <= max)) {
        number_format(min, least);
        number_format(max, most);
        return RUN_USAGE(run, "--%s is %.40s: give a number from %s to %s",
                         option_spelling(run, name), text, least, most);
    }
    *out = value;
    return DPOT_OK;
}

dpot_status option_integer(struct run *run, const char *name, uint64_t min, uint64_t max,
                           uint64_t *out)
{
    const char *text = option_text(run, name);
    uint64_t value = 0;
    if (!text) {
        return DPOT_OK;
    }
    if (!number_parse_integer(text, &value) || value < min || value > max) {
        return RUN_USAGE(run, "--%s is %.40s: give an integer from %llu to %llu",
                         option_spelling(run, name), text, (unsigned long long)min,
                         (unsigned long long)max);
    }
    *out = value;
    return DPOT_OK;
}

dpot_status option_either(struct run *run, const char *a, const char *b)
{
    const bool has_a = option_is_given(run, a), has_b = option_is_given(run, b);
    if (has_a && has_b) {
        return RUN_USAGE(run, "--%s and --%s exclude each other: give one of them",
                         option_spelling(run, a), option_spelling(run, b));
    }
    return has_a || has_b
               ? DPOT_OK
               : RUN_USAGE(run, "neither --%s nor --%s is given: give one of them", a, b);
}

dpot_status option_excludes(struct run *run, const char *name, const char *other, const char *why)
{
    if (option_is_given(run, name) && option_is_given(run, other)) {
        return RUN_USAGE(run, "--%s does not go with --%s: %s", option_spelling(run, other),
                         option_spelling(run, name), why);
    }
    return DPOT_OK;
}
