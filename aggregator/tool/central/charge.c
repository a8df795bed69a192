/* --ledger: charges a run before its data are read. */
#include "account/zcdp.h"
#include "base/clock.h"
#include "tool/central/guarantee.h"
#include "tool/central/ledger.h"
#include "tool/central/region.h"
#include "tool/shared/options.h"

#include <float.h>
#include <math.h>
#include <stdio.h>

#define CAP_MAX 1e6

double guarantee_round(double value, double one)
{
    const double units = floor(value * one);
    return units >= 1 ? units / one : value;
}

/* At least one unit, so that a charge is never less than the amount spent. */
static uint64_t units_of(double value, double one)
{
    const uint64_t units = ledger_units(value, one);
    return units > 0 ? units : 1;
}

/* epsilon^2 / 2, rounded up unless it is exact. */
static double rho_of_pure(double epsilon)
{
    const double square = epsilon * epsilon;
    return fma(epsilon, epsilon, -square) <= 0 ? square / 2 : zcdp_of_pure(epsilon);
}

static struct ledger_cost cost_of(const struct guarantee *guarantee)
{
    const double one = (double)LEDGER_ONE;
    const uint64_t epsilon = units_of(guarantee->epsilon, one);
    const double rho = guarantee->rho > 0 ? guarantee->rho : rho_of_pure((double)epsilon / one);
    return (struct ledger_cost){
        .epsilon = epsilon,
        .delta = guarantee->delta > 0 ? units_of(guarantee->delta, LEDGER_DELTA_ONE) : 0,
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

/* *has_caps: caps are given, so that the data set may begin with this run. */
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

static dpot_status read_request(struct run *run, const struct guarantee *guarantee,
                                const char *mechanism, struct ledger_entry *request)
{
    const char *name = NULL;
    *request = (struct ledger_entry){
        .adjacency = guarantee->adjacency,
        .cost = cost_of(guarantee),
        .time_ms = dpot_clock_system()->now(dpot_clock_system()->ctx),
    };
    if (guarantee->is_simulation) {
        return RUN_USAGE(run, "--ledger does not go with --simulation: an experiment has no "
                              "guarantee that could be added up");
    }
    const dpot_status status =
        option_require(run, "name", "the name of the data set in the ledger", &name);
    if (status == DPOT_OK && !ledger_is_name(name)) {
        return RUN_USAGE(run,
                         "--name is %.80s: give 1 to %d letters, digits, points, dashes and "
                         "underscores",
                         name, LEDGER_NAME_SIZE - 1);
    }
    if (status == DPOT_OK) {
        (void)snprintf(request->name, sizeof request->name, "%s", name);
        (void)snprintf(request->mechanism, sizeof request->mechanism, "%s", mechanism);
    }
    return status;
}

static dpot_status charge(struct run *run, const struct guarantee *guarantee, const char *mechanism)
{
    const char *path = option_text(run, "ledger");
    struct ledger_entry request;
    struct ledger_cost caps;
    bool has_caps = false;
    if (!path) {
        return check_without(run);
    }
    dpot_status status = read_request(run, guarantee, mechanism, &request);
    if (status == DPOT_OK) {
        status = read_caps(run, &caps, &has_caps);
    }
    if (status == DPOT_OK) {
        status = ledger_charge(path, &request, has_caps ? &caps : NULL, &run->error);
    }
    if (status == DPOT_OK && !run->is_quiet) {
        fprintf(stderr, "charged to %s in %s: it stays charged even if this run fails\n",
                request.name, path);
    }
    return status;
}

dpot_status guarantee_begin(struct run *run, struct guarantee *guarantee, const char *mechanism,
                            struct exact_draw *draw, size_t *dim)
{
    exact_draw_init(draw, run->has_seed ? &guarantee->seeded.source : &dpot_rng_source_sodium);
    const dpot_status status = region_read_dim(run, dim);
    return status == DPOT_OK ? charge(run, guarantee, mechanism) : status;
}
