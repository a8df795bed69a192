/* --ledger: a run is charged before its data are read. */
#include "account/zcdp.h"
#include "base/clock.h"
#include "tool/central/ledger.h"
#include "tool/central/statement.h"
#include "tool/shared/options.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define CAP_MAX 1e6

double statement_rounded(double value, double one)
{
    const double units = floor(value * one);
    return units >= 1 ? units / one : value;
}

/* At least one unit, so that a charge is never less than what is spent. */
static uint64_t units_of(double value, double one)
{
    const uint64_t units = ledger_units(value, one);
    return units > 0 ? units : 1;
}

/* epsilon^2 / 2, rounded up only where it is no double. */
static double rho_of_pure(double epsilon)
{
    const double square = epsilon * epsilon;
    return fma(epsilon, epsilon, -square) <= 0 ? square / 2 : zcdp_of_pure(epsilon);
}

static struct ledger_cost cost_of(const struct statement *statement)
{
    const double one = (double)LEDGER_ONE;
    const uint64_t epsilon = units_of(statement->epsilon, one);
    const double rho = statement->rho > 0 ? statement->rho : rho_of_pure((double)epsilon / one);
    return (struct ledger_cost){
        .epsilon = epsilon,
        .delta = statement->delta > 0 ? units_of(statement->delta, LEDGER_DELTA_ONE) : 0,
        .rho = ledger_units(ceil(rho * one) / one, one),
    };
}

static dpot_status check_without(struct run *run)
{
    static const char *const others[] = {"name", "epsilon-cap", "delta-cap", "rho-cap"};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++) {
        if (option_is_given(run, others[i])) {
            return RUN_USAGE(run, "--%s is given without --ledger: name the ledger", others[i]);
        }
    }
    return DPOT_OK;
}

/* *has_caps: the data set may begin with them. */
static dpot_status read_caps(struct run *run, struct ledger_cost *caps, bool *has_caps)
{
    double epsilon = 0, delta = 0, rho = 0;
    *has_caps = option_is_given(run, "epsilon-cap") || option_is_given(run, "rho-cap");
    dpot_status status = option_positive(run, "epsilon-cap", CAP_MAX, &epsilon);
    if (status == DPOT_OK) {
        status = option_number(run, "delta-cap", 0, 1, &delta);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "rho-cap", CAP_MAX, &rho);
    }
    if (status == DPOT_OK) {
        status = option_excludes(run, "rho-cap", "epsilon-cap", "a data set has one of them");
    }
    if (status == DPOT_OK && option_is_given(run, "delta-cap") && !(epsilon > 0)) {
        status = RUN_USAGE(run, "--delta-cap goes with --epsilon-cap: give both");
    }
    *caps = rho > 0 ? (struct ledger_cost){LEDGER_NO_CAP, LEDGER_NO_CAP,
                                           ledger_units(rho, (double)LEDGER_ONE)}
                    : (struct ledger_cost){ledger_units(epsilon, (double)LEDGER_ONE),
                                           ledger_units(delta, LEDGER_DELTA_ONE), LEDGER_NO_CAP};
    return status;
}

static dpot_status read_wish(struct run *run, const struct statement *statement,
                             const char *mechanism, struct ledger_entry *wish)
{
    const char *name = NULL;
    *wish = (struct ledger_entry){
        .adjacency = statement->adjacency,
        .cost = cost_of(statement),
        .time_ms = dpot_clock_system()->now(dpot_clock_system()->ctx),
    };
    if (statement->is_simulation) {
        return RUN_USAGE(run, "--ledger does not go with --simulation: an experiment has no "
                              "guarantee that could be added up");
    }
    const dpot_status status =
        option_require(run, "name", "what the ledger calls the data set", &name);
    if (status == DPOT_OK && !ledger_is_name(name)) {
        return RUN_USAGE(run,
                         "--name is %.80s: give 1 to %d letters, digits, points, dashes and "
                         "underscores",
                         name, LEDGER_NAME_SIZE - 1);
    }
    if (status == DPOT_OK) {
        (void)snprintf(wish->name, sizeof wish->name, "%s", name);
        (void)snprintf(wish->mechanism, sizeof wish->mechanism, "%s", mechanism);
    }
    return status;
}

dpot_status statement_charge(struct run *run, const struct statement *statement,
                             const char *mechanism)
{
    const char *path = option_text(run, "ledger");
    struct ledger_entry wish;
    struct ledger_cost caps;
    bool has_caps = false;
    if (!path) {
        return check_without(run);
    }
    dpot_status status = read_wish(run, statement, mechanism, &wish);
    if (status == DPOT_OK) {
        status = read_caps(run, &caps, &has_caps);
    }
    if (status == DPOT_OK) {
        status = ledger_charge(path, &wish, has_caps ? &caps : NULL, &run->error);
    }
    if (status == DPOT_OK && !run->is_quiet) {
        fprintf(stderr, "charged to %s in %s: it stays charged whatever becomes of this run\n",
                wish.name, path);
    }
    return status;
}
