#include "tool/central/statement.h"

#include "central/amplification.h"
#include "tool/shared/options.h"

#include <stdio.h>
#include <string.h>

#define POPULATION_MAX ((uint64_t)1 << 53)

static dpot_status read_adjacency(struct run *run, enum adjacency other,
                                  struct statement *statement)
{
    const char *text = option_text(run, "adjacency");
    statement->adjacency = ADJACENCY_REPLACE_ONE;
    if (!text || strcmp(text, adjacency_name(ADJACENCY_REPLACE_ONE)) == 0) {
        return DPOT_OK;
    }
    statement->adjacency = other;
    if (strcmp(text, adjacency_name(other)) == 0) {
        return DPOT_OK;
    }
    if (other == ADJACENCY_REPLACE_ONE) {
        return RUN_USAGE(run, "--adjacency is %.40s: this job knows replace-one only", text);
    }
    return RUN_USAGE(run, "--adjacency is %.40s: choose replace-one or %s", text,
                     adjacency_name(other));
}

static dpot_status read_epsilon(struct run *run, double least, struct statement *statement)
{
    const char *text = NULL;
    dpot_status status = option_require(run, "epsilon", "a number such as 1", &text);
    if (status == DPOT_OK) {
        status = option_positive(run, "epsilon", BUDGET_EPSILON_MAX, &statement->epsilon);
    }
    if (status == DPOT_OK && statement->epsilon < least) {
        return RUN_USAGE(run, "--epsilon is %.40s: give at least %.3g", text, least);
    }
    if (status == DPOT_OK && statement->epsilon > STATEMENT_EPSILON_MAX &&
        !statement->is_simulation) {
        return dpot_error_set(&run->error, DPOT_ERR_EPSILON,
                              "--epsilon is %.40s: above %g nothing is protected; experiments add "
                              "--simulation",
                              text, STATEMENT_EPSILON_MAX);
    }
    return status;
}

static dpot_status read_sampling(struct run *run, struct statement *statement)
{
    const bool is_replace = statement->adjacency == ADJACENCY_REPLACE_ONE;
    dpot_status status =
        option_integer(run, "population", 1, POPULATION_MAX, &statement->population);
    if (status == DPOT_OK) {
        status = option_positive(run, "sampling-rate", 1, &statement->sampling_rate);
    }
    if (status == DPOT_OK && statement->population > 0 && !is_replace) {
        return RUN_USAGE(run, "--population goes with --adjacency replace-one: for add-remove give "
                              "--sampling-rate q");
    }
    if (status == DPOT_OK && statement->sampling_rate > 0 && is_replace) {
        return RUN_USAGE(run, "--sampling-rate goes with --adjacency add-remove: for replace-one "
                              "give --population N");
    }
    return status;
}

dpot_status statement_read(struct run *run, enum adjacency other, double least,
                           struct statement *statement)
{
    *statement = (struct statement){.is_simulation = option_is_given(run, "simulation")};
    if (run->has_seed && !statement->is_simulation) {
        return dpot_error_set(&run->error, DPOT_ERR_SIMULATION,
                              "--seed %llu: whoever knows the seed can undo the noise, so real "
                              "data never take one; leave it out, or mark an experiment with "
                              "--simulation",
                              (unsigned long long)run->seed);
    }
    dpot_status status = read_adjacency(run, other, statement);
    if (status == DPOT_OK) {
        status = read_epsilon(run, least, statement);
    }
    if (status == DPOT_OK) {
        status = read_sampling(run, statement);
    }
    dpot_rng_seeded_init(&statement->seeded, run->seed, 0);
    return status;
}

dpot_status statement_blame(struct run *run, dpot_status status)
{
    if (status != DPOT_ERR_RANGE) {
        return status;
    }
    run->forced_exit = EXIT_CODE_USAGE;
    return DPOT_ERR_ARGUMENT;
}

const struct dpot_rng_source *statement_source(const struct run *run, struct statement *statement)
{
    return run->has_seed ? &statement->seeded.source : &dpot_rng_source_sodium;
}

dpot_status statement_check_size(struct run *run, const struct statement *statement, uint64_t n)
{
    if (statement->population > 0 && n > statement->population) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "--population is %llu and there are %llu records: a sample is not "
                              "larger than what it was drawn from",
                              (unsigned long long)statement->population, (unsigned long long)n);
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

static void put_guarantee(struct run *run, const struct statement *statement)
{
    char text[160];
    const char *what = statement->delta > 0 ? "(epsilon, delta)-DP" : "epsilon-DP";
    (void)snprintf(text, sizeof text, "%s %s", what, neighbours_of(statement->adjacency));
    run_put_text(run, "guarantee", statement->is_simulation ? "none: a simulation" : text);
}

static void put_amplified(struct run *run, const struct statement *statement, double epsilon,
                          uint64_t n)
{
    const bool is_replace = statement->adjacency == ADJACENCY_REPLACE_ONE;
    const double rate =
        is_replace ? (double)n / (double)statement->population : statement->sampling_rate;
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

void statement_put(struct run *run, const struct statement *statement, const char *mechanism,
                   double epsilon_spent, uint64_t n)
{
    run_put_text(run, "mechanism", mechanism);
    run_put_number(run, "epsilon", statement->epsilon);
    run_put_number(run, "epsilon_spent", epsilon_spent);
    run_put_number(run, "delta", statement->delta);
    run_put_text(run, "adjacency", adjacency_name(statement->adjacency));
    put_guarantee(run, statement);
    run_put(run, "is_simulation", json_boolean(statement->is_simulation));
    if (statement->population > 0 || statement->sampling_rate > 0) {
        put_amplified(run, statement, statement->epsilon, n);
    }
    if (statement->is_simulation) {
        run_warn(run, "a simulation: what is written is not private");
    }
}
