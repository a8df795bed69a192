/* Unusual inputs that fail in other transport programs, for every method of `dpot project`, `dpot
 * base-measure` and `dpot ot`: a proved result, or a refusal that names the limit before any
 * work. */
#include "arrays.h"
#include "process.h"
#include "unit/files/folder.h"

#include "files/array.h"

#include <criterion/criterion.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define N_MOST 5
#define FORBIDDEN 1e32
#define THIRD (1.0 / 3)

enum command {
    PROJECT_EXACT,
    PROJECT_ENTROPIC,
    PROJECT_TINY, /* everything underflows */
    PROJECT_KPM,
    PROJECT_EXPONENTIAL,
    CERTIFIED,
    MIRROR,
    UNIFORM,
    OT_EXACT,
    OT_ENTROPIC,
    OT_TINY,
    N_COMMANDS
};

static const char *const commands[N_COMMANDS] = {
    "project --mu mu.npy --cost c.npy --base-measure m.npy --epsilon %g --exact --out q.npy",
    "project --mu mu.npy --cost c.npy --base-measure m.npy --epsilon %g --lambda 0.1 --out q.npy",
    "project --mu mu.npy --cost c.npy --base-measure m.npy --epsilon %g --lambda 1e-13 "
    "--iterations 50 --out q.npy",
    "project --method kpm --mu mu.npy --cost c.npy --base-measure m.npy --epsilon %g --exact "
    "--out q.npy",
    "project --method exponential --mu mu.npy --cost c.npy --base-measure m.npy --epsilon %g "
    "--exact --out q.npy",
    "base-measure --cost c.npy --epsilon %g --method certified --out bm.npy",
    "base-measure --cost c.npy --epsilon %g --method mirror --max-iterations 500 --out bm.npy",
    "base-measure --cost c.npy --epsilon %g --method uniform --out bm.npy",
    "ot --cost c.npy --a mu.npy --b b.npy --exact",
    "ot --cost c.npy --a mu.npy --b b.npy --lambda 0.1 --max-iterations 2000",
    "ot --cost c.npy --a mu.npy --b b.npy --lambda 1e-13 --max-iterations 50",
};

/* The expected sentence of each command that must refuse. */
struct refusal {
    enum command command;
    const char *sentence;
};

struct bad_input {
    const char *name;
    size_t k, kv;
    double cost[N_MOST * N_MOST], mu[N_MOST], epsilon;
    double place; /* log of the base measure's total mass over epsilon / 2: -1 and 1 are the ends */
    double exact; /* transport cost of the exact projection where it has a closed form; else NAN */
    double worst; /* least worst case, likewise */
    struct refusal refusals[N_COMMANDS];
};

#define LINE                                                                                       \
    {                                                                                              \
        0, 1, 2, 1, 0, 1, 2, 1, 0                                                                  \
    }
#define NO_SHAPE                                                                                   \
    {                                                                                              \
        PROJECT_KPM, "reports points of the domain: there are"                                     \
    }
#define NO_UTILITY                                                                                 \
    {                                                                                              \
        PROJECT_EXPONENTIAL, "the exponential mechanism needs a positive finite"                   \
    }
#define ON_ALL(text)                                                                               \
    {                                                                                              \
        {PROJECT_EXACT, text}, {PROJECT_ENTROPIC, text}, {PROJECT_TINY, text},                     \
            {PROJECT_KPM, text}, {PROJECT_EXPONENTIAL, text}, {CERTIFIED, text}, {MIRROR, text},   \
            {UNIFORM, text}, {OT_EXACT, text}, {OT_ENTROPIC, text}, {OT_TINY, text},               \
    }
#define TOO_LARGE "costs are at most 1e+15 lambda"
#define TOO_LARGE_OT "at most 1e+15 lambda: give a larger lambda, or scale the costs"

static const struct bad_input inputs[] = {
    /* The outputs in the middle have their lower bound, e^(-1/2) / 4 each, at distance 1. */
    {"more outputs than inputs",
     2,
     4,
     {0, 1, 2, 3, 3, 2, 1, 0},
     {0.5, 0.5},
     1,
     0,
     0.30326532985631671,
     NAN,
     {NO_SHAPE}},
    {"one input", 1, 5, {0, 1, 4, 9, 16}, {1}, 1, 0, NAN, 0, {NO_SHAPE, NO_UTILITY}},
    {"one output", 3, 1, {1, 2, 3}, {0.2, 0.3, 0.5}, 1, 0, 2.3, 3, {NO_SHAPE}},
    {"one input and one output", 1, 1, {2}, {1}, 1, 0, 2, 2, {NO_UTILITY}},
    {"points that coincide",
     3,
     3,
     {0, 0, 1, 0, 0, 1, 1, 1, 0},
     {0.3, 0.3, 0.4},
     1,
     0,
     0,
     0.2689414213699951,
     {{0, NULL}}}, /* as two points: 1 / (1 + e) */
    {"costs of zero", 3, 3, {0}, {0.2, 0.3, 0.5}, 1, 0, 0, 0, {NO_UTILITY}},
    {"forbidden arcs",
     3,
     3,
     {0, 1, FORBIDDEN, 1, 0, 1, FORBIDDEN, 1, 0},
     {0.2, 0.3, 0.5},
     1,
     0,
     NAN,
     NAN,
     {{PROJECT_ENTROPIC, TOO_LARGE},
      {PROJECT_TINY, TOO_LARGE},
      {OT_ENTROPIC, TOO_LARGE_OT},
      {OT_TINY, TOO_LARGE_OT},
      {CERTIFIED, "costs may be 1e+12 times as large as that, forbid a pair with a smaller one"}}},
    {"infinite costs",
     3,
     3,
     {0, 1, INFINITY, 1, 0, 1, 2, 1, 0},
     {0.2, 0.3, 0.5},
     1,
     0,
     NAN,
     NAN,
     ON_ALL("row 1, column 3 is inf: give a finite number")},
    {"costs that are no numbers",
     3,
     3,
     {0, 1, 2, 1, 0, NAN, 2, 1, 0},
     {0.2, 0.3, 0.5},
     1,
     0,
     NAN,
     NAN,
     ON_ALL("row 2, column 3 is")},
    {"negative costs",
     3,
     3,
     {0, -1, 2, 1, 0, 1, 2, 1, 0},
     {0.2, 0.3, 0.5},
     1,
     0,
     NAN,
     NAN,
     {{CERTIFIED, "row 1, column 2 is -1"},
      {MIRROR, "row 1, column 2 is -1"},
      {UNIFORM, "row 1, column 2 is -1"}}},
    {"costs of whole numbers", 2, 2, {2, 1, 1, 1}, {0.5, 0.5}, 1, 0, 1, 1, {{0, NULL}}},
    {"masses that differ in the last bit",
     3,
     3,
     LINE,
     {THIRD * (1 + DBL_EPSILON), THIRD, THIRD *(1 - DBL_EPSILON)},
     1,
     0,
     0,
     NAN,
     {{0, NULL}}},
    {"weights of zero", 3, 3, LINE, {0, 1, 0}, 1, 0, 0.45042624309995727, NAN, {{0, NULL}}},
    {"epsilon near zero", 3, 3, LINE, {0.2, 0.3, 0.5}, 0.01, 0, NAN, NAN, {{0, NULL}}},
    {"the largest epsilon", 3, 3, LINE, {0.2, 0.3, 0.5}, 20, 0, 0, NAN, {{0, NULL}}},
    {"the least total mass", 3, 3, LINE, {0.2, 0.3, 0.5}, 1, -1, 0.3, NAN, {{0, NULL}}},
    {"the largest total mass", 3, 3, LINE, {0.2, 0.3, 0.5}, 1, 1, 0.3, NAN, {{0, NULL}}},
    {"costs that are not symmetric",
     3,
     3,
     {0, 1, 7, 5, 0, 2, 3, 9, 0},
     {0.2, 0.3, 0.5},
     1,
     0,
     NAN,
     NAN,
     {{0, NULL}}},
    {"costs that are no metric",
     3,
     3,
     {5, 1, 100, 1, 7, 0.25, 100, 0.25, 3},
     {0.2, 0.3, 0.5},
     1,
     0,
     NAN,
     NAN,
     {{0, NULL}}},
};
#define N_INPUTS (sizeof inputs / sizeof inputs[0])

static double base_mass(const struct bad_input *in)
{
    return exp(in->place * in->epsilon / 2) / (double)in->kv;
}

static void write_input(const struct bad_input *in)
{
    double m[N_MOST], b[N_MOST];
    struct array column;
    struct dpot_error error = {""};
    for (size_t j = 0; j < in->kv; j++) {
        m[j] = base_mass(in);
        b[j] = 1 / (double)in->kv;
    }
    const struct {
        const char *name;
        size_t n;
        const double *values;
    } vectors[] = {{"mu.npy", in->k, in->mu}, {"m.npy", in->kv, m}, {"b.npy", in->kv, b}};
    for (size_t v = 0; v < 3; v++) {
        cr_assert_eq(array_init(&column, vectors[v].n, 1, true), DPOT_OK);
        memcpy(column.values, vectors[v].values, vectors[v].n * sizeof(double));
        cr_assert_eq(array_write(folder_path(vectors[v].name), &column, ARRAY_F8, &error), DPOT_OK);
        array_release(&column);
    }
    write_array("c.npy", in->k, in->kv, in->cost);
}

static double largest_cost(const struct bad_input *in)
{
    double largest = 0;
    for (size_t e = 0; e < in->k * in->kv; e++) {
        largest = fmax(largest, fabs(in->cost[e]) < 1e20 ? fabs(in->cost[e]) : 0);
    }
    return largest;
}

static void check_law(const struct bad_input *in)
{
    double q[N_MOST], sum = 0;
    const double high = exp(in->epsilon / 2), m = base_mass(in);
    read_array("q.npy", in->kv, q);
    for (size_t j = 0; j < in->kv; j++) {
        cr_assert(q[j] >= m / high * (1 - 1e-12) && q[j] <= m * high * (1 + 1e-12),
                  "%s: q %zu is %g", in->name, j, q[j]);
        sum += q[j];
    }
    cr_assert_float_eq(sum, 1, 1e-12, "%s: %.17g", in->name, sum);
}

/* The properties of every projection; the exact one is proved by its dual, and costs least. */
static void check_projection(const struct bad_input *in, enum command command, const json_t *result,
                             double *exact)
{
    const double scale = largest_cost(in), cost = number_of(result, "transport_cost");
    check_law(in);
    cr_assert(isfinite(cost));
    if (command == PROJECT_EXACT) {
        *exact = cost;
        cr_assert_float_eq(number_of(result, "gap"), 0, 1e-14 * scale, "%s", in->name);
        cr_assert(isnan(in->exact) || fabs(cost - in->exact) <= 1e-13 * scale, "%s: %.17g",
                  in->name, cost);
    }
    cr_assert_geq(cost, *exact - 1e-13 * scale, "%s: %.17g, exact %.17g", in->name, cost, *exact);
    cr_assert(command != PROJECT_ENTROPIC || in->k * in->kv == 1 ||
                  cost <= *exact + 2 * 0.1 * log((double)(in->k * in->kv)),
              "%s: %g, exact %g", in->name, cost, *exact);
}

static void check_measure(const struct bad_input *in, enum command command, const json_t *result)
{
    double m[N_MOST], total = 0;
    const double high = exp(in->epsilon / 2), objective = number_of(result, "objective");
    read_array("bm.npy", in->kv, m);
    for (size_t j = 0; j < in->kv; j++) {
        cr_assert_geq(m[j], 0);
        total += m[j];
    }
    cr_assert(total >= (1 - 1e-9) / high && total <= high * (1 + 1e-9), "%s: %g", in->name, total);
    cr_assert_geq(number_of(result, "lower_bound"), 0);
    cr_assert_leq(number_of(result, "lower_bound"), objective);
    if (command == CERTIFIED) {
        /* The proof is rounded down by a few units in the last place of the largest cost. */
        cr_assert_leq(objective - number_of(result, "lower_bound"),
                      1e-6 * objective + 1e-14 * largest_cost(in), "%s", in->name);
        cr_assert(isnan(in->worst) || fabs(objective - in->worst) <= 1e-6 * in->worst, "%s: %.17g",
                  in->name, objective);
        char arguments[128];
        (void)snprintf(arguments, sizeof arguments,
                       "base-measure --cost c.npy --epsilon %g --verify bm.npy", in->epsilon);
        json_decref(expect_json(arguments, 0));
    }
}

static const char *refusal_of(const struct bad_input *in, enum command command)
{
    for (size_t r = 0; r < N_COMMANDS && in->refusals[r].sentence; r++) {
        if (in->refusals[r].command == command) {
            return in->refusals[r].sentence;
        }
    }
    return NULL;
}

static void check_transport(const struct bad_input *in, enum command command, const json_t *result)
{
    const double value = number_of(result, "transport_cost"), dual = number_of(result, "dual");
    cr_assert(isfinite(value) && isfinite(dual));
    if (command == OT_EXACT) {
        cr_assert_float_eq(value, dual, 1e-14 * largest_cost(in), "%s: %.17g, dual %.17g", in->name,
                           value, dual);
    }
}

/* Sweeps may end before the tolerance: exit code 5. */
static json_t *run_sweeps(const char *arguments)
{
    static struct process p;
    char all[300];
    (void)snprintf(all, sizeof all, "%s --json", arguments);
    process_run(&p, all);
    json_t *result = json_loads(p.out, 0, NULL);
    cr_assert(json_is_object(result), "dpot %s: %s %s", all, p.out, p.err);
    const char *outcome = json_string_value(json_object_get(result, "outcome"));
    cr_assert_eq(p.exit_code, strcmp(outcome, "converged") == 0 ? 0 : 5, "dpot %s: %s", all, p.err);
    return result;
}

static void run_command(const struct bad_input *in, enum command command, double *exact)
{
    char arguments[256];
    const char *refusal = refusal_of(in, command);
    (void)snprintf(arguments, sizeof arguments, commands[command], in->epsilon);
    if (refusal) {
        expect_exit(arguments, 3, refusal);
        return;
    }
    json_t *result = command >= OT_ENTROPIC ? run_sweeps(arguments) : expect_json(arguments, 0);
    if (command <= PROJECT_EXPONENTIAL) {
        check_projection(in, command, result, exact);
    } else if (command <= UNIFORM) {
        check_measure(in, command, result);
    } else {
        check_transport(in, command, result);
    }
    json_decref(result);
}

TestSuite(bad_input, .init = folder_make, .fini = folder_remove);

Test(bad_input, has_the_right_result_or_a_refusal_from_every_method)
{
    for (size_t i = 0; i < N_INPUTS; i++) {
        double exact = NAN;
        write_input(&inputs[i]);
        for (int command = 0; command < N_COMMANDS; command++) {
            run_command(&inputs[i], (enum command)command, &exact);
        }
    }
}

/* 1 / alpha and alpha by a little more than rounding. */
Test(bad_input, a_total_mass_beyond_its_ends_is_refused_with_the_range)
{
    const double factors[2] = {exp(-0.5) * (1 - 1e-7), exp(0.5) * (1 + 1e-7)};
    struct bad_input in = {"mass", 3, 3, LINE, {0.2, 0.3, 0.5}, 1, 0, NAN, NAN, {{0, NULL}}};
    write_input(&in);
    for (size_t f = 0; f < 2; f++) {
        const char *const methods[] = {"--exact", "--lambda 0.1", "--method kpm --exact",
                                       "--method exponential --exact"};
        for (size_t k = 0; k < 4; k++) {
            char arguments[256];
            (void)snprintf(arguments, sizeof arguments,
                           "project --mu mu.npy --cost c.npy --base-measure uniform:%.17g "
                           "--epsilon 1 %s --out q.npy",
                           factors[f], methods[k]);
            expect_exit(arguments, 3, "it must lie in [0.60653066, 1.64872127]");
        }
    }
}

static double worst_case_with(const char *options)
{
    char arguments[256];
    (void)snprintf(arguments, sizeof arguments,
                   "base-measure --cost c.npy --epsilon 1 --method certified %s --out bm.npy",
                   options);
    json_t *result = expect_json(arguments, 0);
    const double objective = number_of(result, "objective");
    cr_assert_leq(objective - number_of(result, "lower_bound"), 2e-3 * objective);
    json_decref(result);
    return objective;
}

/* In the exact and the certified paths sums of masses that differ by rounding count as equal. */
Test(bad_input, sums_that_differ_in_the_last_bit_are_one_sum)
{
    const double a[3] = {0.1 + 0.2, 0.3, 0.4}, b[3] = {0.3, 0.1 + 0.2, 0.4 - DBL_EPSILON};
    const double even[6] = {0.3, 0.3, 0.4, 0.25, 0.5, 0.25};
    const double odd[6] = {0.1 + 0.2, 0.3, 0.4, 0.25 * (1 + DBL_EPSILON), 0.5, 0.25};
    const double weights[3] = {0.25, 0.5, 0.25}, rounded[3] = {0.25, 0.5 * (1 + DBL_EPSILON), 0.25};
    const struct bad_input in = {"bits", 3, 3, LINE, {0.2, 0.3, 0.5}, 1, 0, NAN, NAN, {{0, NULL}}};
    cr_assert_neq(a[0] + a[1] + a[2], b[0] + b[1] + b[2]);
    write_input(&in);
    write_array("a3.npy", 3, 1, a);
    write_array("b3.npy", 3, 1, b);
    json_t *result = expect_json("ot --cost c.npy --a a3.npy --b b3.npy --exact", 0);
    cr_assert_float_eq(number_of(result, "transport_cost"), 0, 1e-15);
    cr_assert_float_eq(number_of(result, "dual"), 0, 1e-15);
    json_decref(result);
    write_array("w.npy", 3, 1, weights);
    write_array("w1.npy", 3, 1, rounded);
    cr_assert_float_eq(worst_case_with("--weights w.npy"), worst_case_with("--weights w1.npy"),
                       1e-12);
    write_array("u.npy", 2, 3, even);
    write_array("u1.npy", 2, 3, odd);
    cr_assert_float_eq(worst_case_with("--users u.npy"), worst_case_with("--users u1.npy"), 1e-12);
    const double thirds[3] = {THIRD, THIRD, THIRD},
                 bits[3] = {THIRD, THIRD, THIRD * (1 + DBL_EPSILON)};
    write_array("mu.npy", 3, 1, thirds);
    result =
        expect_json("project --mu mu.npy --cost c.npy --base-measure uniform --epsilon 1 --exact "
                    "--out q.npy",
                    0);
    const double cost = number_of(result, "transport_cost");
    json_decref(result);
    write_array("mu.npy", 3, 1, bits);
    result =
        expect_json("project --mu mu.npy --cost c.npy --base-measure uniform --epsilon 1 --exact "
                    "--out q.npy",
                    0);
    cr_assert_float_eq(number_of(result, "transport_cost"), cost, 1e-15);
    json_decref(result);
}
