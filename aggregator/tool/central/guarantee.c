#include "tool/central/guarantee.h"

#include "central/amplification.h"
#include "tool/shared/options.h"

#include <float.h>
#include <stdio.h>
#include <string.h>

#define POPULATION_MAX ((uint64_t)1 << 53)

static dpot_status read_adjacency(struct run *run, enum adjacency other,
                                  struct guarantee *guarantee)
{
    const char *text = option_text(run, "adjacency");
    guarantee->adjacency = ADJACENCY_REPLACE_ONE;
    if (!text || strcmp(text, adjacency_name(ADJACENCY_REPLACE_ONE)) == 0) {
        return DPOT_OK;
    }
    guarantee->adjacency = other;
    if (strcmp(text, adjacency_name(other)) == 0) {
        return DPOT_OK;
    }
    if (other == ADJACENCY_REPLACE_ONE) {
        return RUN_USAGE(run, "--adjacency is %.40s: this job knows replace-one only", text);
    }
    return RUN_USAGE(run, "--adjacency is %.40s: choose replace-one or %s", text,
                     adjacency_name(other));
}

static dpot_status read_epsilon(struct run *run, double least, struct guarantee *guarantee)
{
    const char *text = NULL;
    dpot_status status = option_require(run, "epsilon", "a number such as 1", &text);
    if (status == DPOT_OK) {
        const double most = guarantee->is_simulation ? BUDGET_EPSILON_MAX : DBL_MAX;
        status = option_positive(run, "epsilon", most, &guarantee->epsilon);
    }
    if (status == DPOT_OK && guarantee->epsilon < least) {
        return RUN_USAGE(run, "--epsilon is %.40s: give at least %.3g", text, least);
    }
    if (status == DPOT_OK && guarantee->epsilon > GUARANTEE_EPSILON_MAX &&
        !guarantee->is_simulation) {
        return dpot_error_set(&run->error, DPOT_ERR_EPSILON,
                              "--epsilon is %.40s: above %g nothing is protected; experiments add "
                              "--simulation",
                              text, GUARANTEE_EPSILON_MAX);
    }
    return status;
}

static dpot_status read_sampling(struct run *run, struct guarantee *guarantee)
{
    const bool is_replace = guarantee->adjacency == ADJACENCY_REPLACE_ONE;
    dpot_status status =
        option_integer(run, "population", 1, POPULATION_MAX, &guarantee->population);
    if (status == DPOT_OK) {
        status = option_positive(run, "sampling-rate", 1, &guarantee->sampling_rate);
    }
    if (status == DPOT_OK && guarantee->population > 0 && !is_replace) {
        return RUN_USAGE(run, "--population goes with --adjacency replace-one: for add-remove give "
                              "--sampling-rate q");
    }
    if (status == DPOT_OK && guarantee->sampling_rate > 0 && is_replace) {
        return RUN_USAGE(run, "--sampling-rate goes with --adjacency add-remove: for replace-one "
                              "give --population N");
    }
    return status;
}

dpot_status guarantee_read(struct run *run, enum adjacency other, double least,
                           struct guarantee *guarantee)
{
    *guarantee = (struct guarantee){.is_simulation = option_is_given(run, "simulation")};
    if (run->has_seed && !guarantee->is_simulation) {
        return dpot_error_set(&run->error, DPOT_ERR_SIMULATION,
                              "--seed %llu: whoever knows the seed can undo the noise, so real "
                              "data never take one; leave it out, or mark an experiment with "
                              "--simulation",
                              (unsigned long long)run->seed);
    }
    dpot_status status = read_adjacency(run, other, guarantee);
    if (status == DPOT_OK) {
        status = read_epsilon(run, least, guarantee);
    }
    if (status == DPOT_OK) {
        status = read_sampling(run, guarantee);
    }
    dpot_rng_seeded_init(&guarantee->seeded, run->seed, 0);
    return status;
}

dpot_status guarantee_range_as_usage(struct run *run, dpot_status status)
{
    if (status != DPOT_ERR_RANGE) {
        return status;
    }
    run->forced_exit = EXIT_CODE_USAGE;
    return DPOT_ERR_ARGUMENT;
}

dpot_status guarantee_check_population(struct run *run, const struct guarantee *guarantee,
                                       uint64_t n)
{
    if (guarantee->population > 0 && n > guarantee->population) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--population is %llu and there are %llu records: a sample is not "
                              "larger than what it was drawn from",
                              (unsigned long long)guarantee->population, (unsigned long long)n);
    }
    return DPOT_OK;
}

static const char *neighbours_of(enum adjacency adjacency)
{
    switch (adjacency) {
    case ADJACENCY_ADD_REMOVE:
        return "when one record is added or removed; the number of records is private";
    case ADJACENCY_REPLACE_PAIR:
        return "when one record of each file is replaced by any other; the numbers of records are "
               "public";
    default:
        return "when one record is replaced by any other; the number of records is public";
    }
}

static void put_sentence(struct run *run, const struct guarantee *guarantee)
{
    char text[160];
    const char *what = guarantee->delta > 0 ? "(epsilon, delta)-DP" : "epsilon-DP";
    (void)snprintf(text, sizeof text, "%s %s", what, neighbours_of(guarantee->adjacency));
    run_put_text(run, "guarantee", guarantee->is_simulation ? "none: a simulation" : text);
}

static void put_amplified(struct run *run, const struct guarantee *guarantee, double epsilon,
                          uint64_t n)
{
    const bool is_replace = guarantee->adjacency == ADJACENCY_REPLACE_ONE;
    const double rate =
        is_replace ? (double)n / (double)guarantee->population : guarantee->sampling_rate;
    const char *const drawn =
        is_replace ? "they were drawn without replacement, every set of people being equally likely"
                   : "each person was taken by a coin of her own with this probability";
    const double amplified = amplification_epsilon(epsilon, rate);
    json_t *object = json_object(), *assumptions = json_array();
    (void)json_array_append_new(assumptions, json_string(drawn));
    (void)json_array_append_new(assumptions,
                                json_string("nobody knows who is in the sample, now or later"));
    (void)json_array_append_new(assumptions, json_string("every person has at most one record"));
    (void)json_object_set_new(object, "epsilon", json_number(amplified));
    (void)json_object_set_new(object, "sampling_rate", json_number(rate));
    (void)json_object_set_new(object, "assumptions", assumptions);
    run_put(run, "amplified", object);
    run_warn(run,
             "the amplified epsilon %.6g stands and falls with three assumptions that no data can "
             "show: %s; nobody knows who is in the sample, now or later; every person has at most "
             "one record. Without them it is %.6g",
             amplified, drawn, epsilon);
}

void guarantee_put(struct run *run, const struct guarantee *guarantee, const char *mechanism,
                   double epsilon_spent, uint64_t n)
{
    run_put_text(run, "mechanism", mechanism);
    run_put_number(run, "epsilon", guarantee->epsilon);
    run_put_number(run, "epsilon_spent", epsilon_spent);
    run_put_number(run, "delta", guarantee->delta);
    run_put_text(run, "adjacency", adjacency_name(guarantee->adjacency));
    put_sentence(run, guarantee);
    run_put(run, "is_simulation", json_boolean(guarantee->is_simulation));
    if (guarantee->population > 0 || guarantee->sampling_rate > 0) {
        put_amplified(run, guarantee, guarantee->epsilon, n);
    }
    if (guarantee->is_simulation) {
        run_warn(run, "a simulation: what is written is not private");
    }
}
