/* The analyst's commands short of memory: each ends with a documented exit code, leaks no memory,
 * leaves no partial file, and works when memory is available again. */
#include "support/heap.h"
#include "tool/tool.h"
#include "unit/aggregator/faults/walk.h"

#include <criterion/criterion.h>
#include <stdio.h>
#include <string.h>

#define WORDS_MAX 28
#define REPORTED_HIT 'M'
#define REPORTED_GOOD 'G'
#define REPORTED_CODE 'C' /* followed by the undocumented exit code, as a character */
#define RUNS_MAX 12       /* of each command */

static const char points[] = "0,0\n1,0\n0,1\n";
static const char weights[] = "0.2\n0.3\n0.5\n";
static const char cost[] = "0,1,2,1\n1,0,1,2\n2,1,0,1\n1,2,1,0\n";
static const char mu[] = "0.7\n0.1\n0.1\n0.1\n";
static const char base[] = "0.25\n0.25\n0.25\n0.25\n";
static const char pool[] = "0\n1\n3\n2\n1\n";
static const char noisy[] = "0.1\n0.9\n1.5\n-0.4\n0.3\n";
static const char devices[] = "0,1\n0,2\n1,3\n2,0\n";
static const char spendings[] = "[{\"mechanism\":\"laplace\",\"epsilon\":1,\"count\":3},{"
                                "\"mechanism\":\"gaussian\",\"rho\":0.1}]";
static const char spec[] =
    "{\"name\":\"a\",\"domain\":{\"type\":\"ring\",\"size\":4},\"metric\":\"ring\",\"simulation\":"
    "true,"
    "\"mechanism\":{\"type\":\"wpm\",\"epsilon\":1,\"lambda\":0.5,\"iterations\":5,\"n_max\":4},"
    "\"min_pool\":1,\"opens\":\"2020-01-01T00:00:00Z\",\"closes\":\"2100-01-01T00:00:00Z\"}";

static const struct {
    const char *name, *text;
} files[] = {
    {"points.csv", points}, {"weights.csv", weights}, {"cost.csv", cost},
    {"mu.csv", mu},         {"base.csv", base},       {"pool.csv", pool},
    {"noisy.csv", noisy},   {"devices.csv", devices}, {"spend.json", spendings},
    {"spec.json", spec},
};

/* @ stands for the folder, in front of a name. */
static const char *const commands[][WORDS_MAX] = {
    {"project", "--mu", "@mu.csv", "--cost", "@cost.csv", "--base-measure", "@base.csv",
     "--epsilon", "1", "--lambda", "0.5", "--iterations", "3", "--out", "@out.csv"},
    {"project", "--mu", "@mu.csv", "--cost", "@cost.csv", "--base-measure", "uniform", "--epsilon",
     "1", "--exact", "--out", "@out.npy"},
    {"base-measure", "--x", "@points.csv", "--metric", "euclidean", "--epsilon", "1", "--weights",
     "@weights.csv", "--max-iterations", "3", "--out", "@out.csv"},
    {"ot", "--x", "@points.csv", "--y", "@points.csv", "--metric", "euclidean", "--exact",
     "--plan-out", "@out.csv"},
    {"ot", "--cost", "@cost.csv", "--a", "@mu.csv", "--lambda", "1", "--plan-out", "@out.npy"},
    {"barycenter", "--group-files", "@points.csv", "--group-files", "@points.csv", "--support", "2",
     "--lambda", "0.5", "--max-iterations", "2", "--max-sweeps", "5", "--seed", "1", "--out",
     "@out.csv"},
    {"deconvolve", "--pool", "@noisy.csv", "--mechanism", "laplace", "--scale", "0.5", "--domain",
     "{\"type\":\"box\",\"lo\":[0],\"hi\":[1]}", "--support", "2", "--iterations", "3", "--out",
     "@out.csv"},
    {"estimate", "--campaign", "@spec.json", "--pool", "@pool.csv", "--bootstrap", "20", "--out",
     "@out.csv"},
    {"account", "compose", "--spend", "@spend.json", "--delta", "1e-6"},
    {"calibrate", "laplace", "--epsilon", "1", "--domain",
     "{\"type\":\"box\",\"lo\":[0],\"hi\":[1]}"},
    {"generator", "train", "--pool",       "@noisy.csv", "--mechanism", "laplace", "--scale", "0.5",
     "--arch",    "mlp:3", "--latent-dim", "1",          "--batch",     "4",       "--steps", "2",
     "--seed",    "1",     "--out",        "@out.onnx"},
    {"simulate", "--campaign", "@spec.json", "--data", "@devices.csv", "--devices", "3",
     "--in-process", "--seed", "1", "--out", "@out"},
    {"plot", "points", "--in", "@points.csv", "--out", "@out.svg"},
};
#define N_COMMANDS (sizeof commands / sizeof commands[0])

static void set_up(void)
{
    cr_assert_eq(dpot_init(), DPOT_OK);
    walk_make_folders();
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        char path[2 * FIXTURE_PATH_SIZE];
        (void)snprintf(path, sizeof path, "%s/%s", seed, files[i].name);
        fixture_write(path, files[i].text);
    }
    test_heap_init();
}

static void tear_down(void)
{
    fixture_remove(home);
}

TestSuite(tool_memory, .init = set_up, .fini = tear_down);

struct shortage {
    size_t command, at;
    bool is_single;
};

static int run(const char *const *words)
{
    static char texts[WORDS_MAX + 8][2 * FIXTURE_PATH_SIZE];
    char *arguments[WORDS_MAX + 8];
    static const char *const tail[] = {"--quiet", "--threads", "1"};
    int n = 0;
    (void)snprintf(texts[n++], sizeof texts[0], "dpot");
    for (size_t i = 0; i < WORDS_MAX && words[i]; i++) {
        const bool is_name = words[i][0] == '@';
        (void)snprintf(texts[n++], sizeof texts[0], "%s%s%s", is_name ? folder : "",
                       is_name ? "/" : "", words[i] + is_name);
    }
    for (size_t i = 0; i < 3; i++) {
        (void)snprintf(texts[n++], sizeof texts[0], "%s", tail[i]);
    }
    for (int i = 0; i < n; i++) {
        arguments[i] = texts[i];
    }
    arguments[n] = NULL;
    return program_run(&dpot_program, n, arguments);
}

/* Once short of memory, once with it; output is ignored. */
static void work(void *ctx)
{
    const struct shortage *shortage = ctx;
    if (!freopen("/dev/null", "w", stdout) || !freopen("/dev/null", "w", stderr)) {
        return;
    }
    test_heap_fail_at(shortage->at, shortage->is_single);
    const int code = run(commands[shortage->command]);
    const bool is_hit = test_heap_is_hit();
    test_heap_fail_at(0, true);
    if (is_hit) {
        disk_report(REPORTED_HIT);
    }
    if (code != 0 && code != 1 && code != 6 && code != 3 && code != 5) {
        disk_report(REPORTED_CODE);
        disk_report((unsigned char)('0' + code));
    }
    const int again = run(commands[shortage->command]);
    if (again == 0 || again == 5) {
        disk_report(REPORTED_GOOD);
    }
}

static void validate(void *ctx, const struct disk_outcome *outcome)
{
    const struct shortage *shortage = ctx;
    cr_expect(was_reported(outcome, REPORTED_GOOD) && !was_reported(outcome, REPORTED_CODE),
              "dpot %s (%zu), allocation %zu: %.*s", commands[shortage->command][0],
              shortage->command, shortage->at, (int)outcome->n_reported,
              (const char *)outcome->reported);
}

static size_t count_allocations(size_t command)
{
    static const struct disk_plan plan = {.fault = DISK_SOUND};
    struct shortage shortage = {.command = command, .at = (size_t)1 << 20};
    const struct walk walk = {work, validate, &shortage, seed, folder};
    struct disk_outcome outcome;
    for (walk_once(&walk, &plan, &outcome);
         !was_reported(&outcome, REPORTED_HIT) && shortage.at > 1;) {
        shortage.at = shortage.at * 2 / 3;
        walk_once(&walk, &plan, &outcome);
    }
    return shortage.at;
}

Test(tool_memory, a_command_short_of_memory_fails_cleanly_and_works_afterwards)
{
    static const struct disk_plan plan = {.fault = DISK_SOUND};
    size_t n = 0;
    for (size_t command = 0; command < N_COMMANDS; command++) {
        const size_t step = count_allocations(command) / RUNS_MAX + 1;
        struct shortage shortage = {.command = command, .at = 1};
        const struct walk walk = {work, validate, &shortage, seed, folder};
        struct disk_outcome outcome = {.n_reported = 0};
        do {
            shortage.is_single = n++ % 2 == 0;
            walk_once(&walk, &plan, &outcome);
            shortage.at += step;
        } while (was_reported(&outcome, REPORTED_HIT));
    }
    cr_log_info("%zu runs", n);
}
