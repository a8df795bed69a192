#include "tool/shared/options.h"

#include "files/array.h"
#include "tool/shared/conflict.h"

#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define THREADS_MAX 1024

const struct option general_options[] = {
    {"json", NULL, "print one JSON object on stdout and nothing else there"},
    {"quiet", NULL, "no progress on stderr"},
    {"seed", "N", "make a run reproducible (simulation and solvers only)"},
    {"threads", "N", "threads to use (default: all cores)"},
    {"help", NULL, "this page"},
    {NULL, NULL, NULL},
};

/* Number of the option in run->values: the command's own first, then the general ones. */
static size_t find_option(const struct run *run, const char *name, size_t name_len,
                          const struct option **found)
{
    size_t n = 0;
    const struct option *const lists[2] = {run->command->options, general_options};
    for (size_t l = 0; l < 2; l++) {
        for (const struct option *o = lists[l]; o && o->name; o++, n++) {
            if (strlen(o->name) == name_len && memcmp(o->name, name, name_len) == 0) {
                *found = o;
                return n;
            }
        }
    }
    *found = NULL;
    return OPTIONS_MAX;
}

const char *option_text(const struct run *run, const char *name)
{
    const struct option *option = NULL;
    const size_t n = find_option(run, name, strlen(name), &option);
    return option && n < OPTIONS_MAX ? run->values[n] : NULL;
}

bool option_is_known(const struct run *run, const char *name)
{
    const struct option *option = NULL;
    (void)find_option(run, name, strlen(name), &option);
    return option != NULL;
}

bool option_is_given(const struct run *run, const char *name)
{
    return option_text(run, name) != NULL;
}

/* "F...": further values, given after it or by the option again, are operands. */
static bool takes_files(const struct option *option)
{
    return option->value && strcmp(option->value, "F...") == 0;
}

static dpot_status take_operand(struct run *run, const char *text)
{
    const struct command *command = run->command;
    const size_t most = command->max_operands > 0 ? command->max_operands : command->n_operands;
    if (run->n_operands >= most) {
        return RUN_USAGE(run, "\"%.60s\" is one argument too many: see dpot %s --help", text,
                         command->name);
    }
    run->operands[run->n_operands++] = text;
    return DPOT_OK;
}

/* Takes argv[*i] as an option, and its value, which may be the next argument. */
static dpot_status take_option(struct run *run, int argc, char **argv, int *i)
{
    const char *name = argv[*i] + 2;
    const char *equals = strchr(name, '=');
    const size_t name_len = equals ? (size_t)(equals - name) : strlen(name);
    const struct option *option = NULL;
    const size_t n = find_option(run, name, name_len, &option);
    if (!option || n >= OPTIONS_MAX) {
        return RUN_USAGE(run, "option --%.60s is not known: see dpot %s --help", name,
                         run->command->name);
    }
    if (run->values[n] && !takes_files(option)) {
        return RUN_USAGE(run, "option --%s is given twice: give it once", option->name);
    }
    if (!option->value) {
        run->values[n] = "";
        return equals ? RUN_USAGE(run, "option --%s takes no value", option->name) : DPOT_OK;
    }
    if (!equals && *i + 1 >= argc) {
        return RUN_USAGE(run, "option --%s has no value: give --%s %s", option->name, option->name,
                         option->value);
    }
    const char *value = equals ? equals + 1 : argv[++*i];
    if (!equals && strncmp(value, "--", 2) == 0) { /* forgotten, much rather than meant */
        return RUN_USAGE(run,
                         "option --%s has no value before %.60s: give --%s %s (a value that begins "
                         "with two dashes as --%s=VALUE)",
                         option->name, value, option->name, option->value, option->name);
    }
    if (run->values[n]) {
        return take_operand(run, value);
    }
    if (takes_files(option) && run->n_operands > 0) {
        return RUN_USAGE(run, "\"%.60s\" stands before --%s: give the files after it",
                         run->operands[0], option->name);
    }
    run->values[n] = value;
    if (!*run->values[n]) {
        return RUN_USAGE(run, "option --%s is empty: give --%s %s", option->name, option->name,
                         option->value);
    }
    return DPOT_OK;
}

static dpot_status read_general_options(struct run *run)
{
    const long n_cores = sysconf(_SC_NPROCESSORS_ONLN);
    uint64_t threads = n_cores < 1 ? 1 : (uint64_t)n_cores;
    threads = threads > THREADS_MAX ? THREADS_MAX : threads;
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
    const struct command *command = run->command;
    bool is_over = false; /* "--" was seen */
    *wants_help = false;
    for (int i = 0; i < argc; i++) {
        *wants_help = *wants_help || strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0;
        run->is_json = run->is_json || strcmp(argv[i], "--json") == 0; /* for the refusals below */
    }
    for (int i = 0; i < argc && !*wants_help; i++) {
        dpot_status status = DPOT_OK;
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
        if (status != DPOT_OK) {
            return status;
        }
    }
    if (*wants_help) {
        return DPOT_OK;
    }
    if (run->n_operands < command->n_operands) {
        return RUN_USAGE(run, "%s is missing: give dpot %s %s", command->operands, command->name,
                         command->operands);
    }
    return read_general_options(run);
}

dpot_status option_require(struct run *run, const char *name, const char *what, const char **out)
{
    *out = option_text(run, name);
    return *out ? DPOT_OK : RUN_USAGE(run, "option --%s is missing: give %s", name, what);
}

/* A whole finite decimal number. */
static bool parse_number(const char *text, double *value)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    if (errno == ERANGE && *value == 0) {
        return false; /* not 0, and no number here is as small */
    }
    return end != text && !*end && isfinite(*value) && !strpbrk(text, "xX \t\n");
}

dpot_status option_positive(struct run *run, const char *name, double most, double *out)
{
    const char *text = option_text(run, name);
    double value = 0;
    if (!text) {
        return DPOT_OK;
    }
    const bool is_number = parse_number(text, &value);
    if (is_number && value > 0 && value < DBL_MIN) { /* too few digits to compute with */
        return RUN_USAGE(run, "--%s is %.40s: give at least %.2g, at most %g", name, text, DBL_MIN,
                         most);
    }
    if (!is_number || !(value > 0 && value <= most)) {
        return RUN_USAGE(run, "--%s is %.40s: give a number above 0, at most %g", name, text, most);
    }
    *out = value;
    return DPOT_OK;
}

dpot_status option_number(struct run *run, const char *name, double min, double max, double *out)
{
    const char *text = option_text(run, name);
    double value = 0;
    if (!text) {
        return DPOT_OK;
    }
    if (!parse_number(text, &value) || !(value >= min && value <= max)) {
        return RUN_USAGE(run, "--%s is %.40s: give a number from %g to %g", name, text, min, max);
    }
    *out = value;
    return DPOT_OK;
}

dpot_status option_integer(struct run *run, const char *name, uint64_t min, uint64_t max,
                           uint64_t *out)
{
    const char *text = option_text(run, name);
    char *end = NULL;
    if (!text) {
        return DPOT_OK;
    }
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    const bool is_digits = text[strspn(text, "0123456789")] == '\0';
    if (!is_digits || *end || errno == ERANGE || value < min || value > max) {
        return RUN_USAGE(run, "--%s is %.40s: give an integer from %llu to %llu", name, text,
                         (unsigned long long)min, (unsigned long long)max);
    }
    *out = value;
    return DPOT_OK;
}

dpot_status option_either(struct run *run, const char *a, const char *b)
{
    const bool has_a = option_is_given(run, a), has_b = option_is_given(run, b);
    if (has_a && has_b) {
        return RUN_USAGE(run, "--%s and --%s exclude each other: give one of them", a, b);
    }
    return has_a || has_b
               ? DPOT_OK
               : RUN_USAGE(run, "neither --%s nor --%s is given: give one of them", a, b);
}

dpot_status option_excludes(struct run *run, const char *name, const char *other, const char *why)
{
    if (option_is_given(run, name) && option_is_given(run, other)) {
        return RUN_USAGE(run, "--%s does not go with --%s: %s", other, name, why);
    }
    return DPOT_OK;
}

dpot_status option_output(struct run *run, const char *name, const char **out)
{
    *out = option_text(run, name);
    if (!*out || strcmp(*out, "-") != 0) {
        return *out ? conflict_check(run, name, *out) : DPOT_OK;
    }
    if (run->is_json) {
        return RUN_USAGE(run, "--%s - and --json both write to stdout: name a file", name);
    }
    if (run->writes_stdout) {
        return RUN_USAGE(run, "--%s - is the second output on stdout: name a file", name);
    }
    run->writes_stdout = true;
    return DPOT_OK;
}

dpot_status option_array_output(struct run *run, const char *name, const char **out)
{
    const dpot_status status = option_output(run, name, out);
    if (status != DPOT_OK || !*out || array_can_write(*out)) {
        return status;
    }
    return RUN_USAGE(run, "--%s is %.200s: give a name that ends in .npy or .csv", name, *out);
}
