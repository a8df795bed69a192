/* Input files of dpot: pools with their side files, base measures, lists of spendings, domains. The
 * first byte selects the command, the next two cut the rest into two files (input_file.h). */
#include "fuzz.h"
#include "input_file.h"
#include "tool/tool.h"

#include <stdio.h>
#include <string.h>

#define ARGUMENTS_MAX 24

static const char spec[] =
    "{\"name\":\"a\",\"domain\":{\"type\":\"ring\",\"size\":4},\"metric\":\"ring\","
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.5},\"min_pool\":1,"
    "\"opens\":\"2026-01-01T00:00:00Z\",\"closes\":\"2027-01-01T00:00:00Z\"}";
static const char cost[] = "0,1,2,1\n1,0,1,2\n2,1,0,1\n1,2,1,0\n";
static const char mu[] = "1\n0\n0\n0\n";

/* @ before a name stands for the folder of the inputs. */
static const char *const commands[][ARGUMENTS_MAX] = {
    {"estimate", "--campaign", "@spec.json", "--pool", "@first.npy", "--bootstrap", "2"},
    {"estimate", "--campaign", "@spec.json", "--pool", "@first.csv", "--bootstrap", "2"},
    {"account", "compose", "--spend", "@first.json"},
    {"project", "--mu", "@mu.csv", "--cost", "@cost.csv", "--base-measure", "@first.csv",
     "--epsilon", "1", "--lambda", "0.5", "--iterations", "3"},
    {"deconvolve", "--pool", "@first.csv", "--support", "2", "--iterations", "2"},
    {"deconvolve", "--pool", "@first.npy", "--support", "2", "--iterations", "2"},
    {"calibrate", "laplace", "--epsilon", "1", "--domain", "@first.json"},
    {"base-measure", "--x", "@first.csv", "--metric", "euclidean", "--epsilon", "1", "--weights",
     "@second.csv", "--max-iterations", "2"},
    {"ot", "--cost", "@first.csv", "--a", "@second.csv", "--lambda", "1", "--max-iterations", "3"},
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void write_text(const char *name, const char *text)
{
    (void)input_file(name, (const uint8_t *)text, strlen(text));
}

static void write_inputs(const struct input_parts *parts)
{
    static const char *const firsts[] = {"first.npy", "first.csv", "first.json"};
    static const char *const sides[] = {"first.npy.json", "first.csv.json", "second.csv"};
    for (size_t i = 0; i < 3; i++) {
        (void)input_file(firsts[i], parts->first, parts->first_len);
        if (parts->second_len > 0) {
            (void)input_file(sides[i], parts->second, parts->second_len);
        } else {
            input_remove(sides[i]);
        }
    }
    input_remove("out.csv");
    input_remove("out.csv.json");
    write_text("spec.json", spec);
    write_text("cost.csv", cost);
    write_text("mu.csv", mu);
}

static void run_command(const char *const *words)
{
    static char texts[ARGUMENTS_MAX + 8][512];
    char *arguments[ARGUMENTS_MAX + 8];
    static const char *const tail[] = {"--quiet", "--threads", "1", "--out", "@out.csv"};
    const bool has_out = strcmp(words[0], "account") != 0 && strcmp(words[0], "calibrate") != 0 &&
                         strcmp(words[0], "ot") != 0;
    int n = 0;
    (void)snprintf(texts[n++], sizeof texts[0], "dpot");
    for (size_t i = 0; i < ARGUMENTS_MAX && words[i]; i++) {
        (void)snprintf(texts[n++], sizeof texts[0], "%s",
                       words[i][0] == '@' ? input_path(words[i] + 1) : words[i]);
    }
    for (size_t i = 0; i < (has_out ? 5 : 3); i++) {
        (void)snprintf(texts[n++], sizeof texts[0], "%s",
                       tail[i][0] == '@' ? input_path(tail[i] + 1) : tail[i]);
    }
    for (int i = 0; i < n; i++) {
        arguments[i] = texts[i];
    }
    arguments[n] = NULL;
    const int code = program_run(&dpot_program, n, arguments);
    require(code >= 0 && code <= 7 && code != 1); /* not an internal failure */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
    static bool is_silent;
    if (len < 3) {
        return 0;
    }
    if (!is_silent) {
        is_silent = freopen("/dev/null", "w", stdout) != NULL;
    }
    const struct input_parts parts = input_split(data + 1, len - 1);
    write_inputs(&parts);
    run_command(commands[data[0] % N_COMMANDS]);
    return 0;
}
