/* dpot account shuffle: the privacy that a trusted shuffler would add. Nothing else applies it. */
#include "account/shuffle.h"
#include "tool/shared/commands.h"
#include "tool/shared/options.h"

#include <math.h>
#include <string.h>

#define EPSILON_MAX 512
#define EPSILON_MIN 1e-9
#define DELTA_MIN 1e-300

static const struct option options[] = {
    {"epsilon0", "E [1e-9,512]", "epsilon of each report, pure"},
    {"n", "N 2..1000000000000000", "reports in the shuffled list, one per user"},
    {"delta", "D [1e-300,1)", "failure probability"},
    {"bound", "closed|clones|tight", "bound to report as epsilon (default closed)"},
    {NULL, NULL, NULL},
};

static const char *const assumptions[] = {
    "a trusted shuffler removes ids, order, batches, times and network addresses before anybody "
    "else sees a report",
    "dpotd does NOT provide that: it sees which reports came in one batch and from which address",
    "one report per user, all by the same mechanism of pure epsilon0; groups are shuffled "
    "separately",
    "the other n - 1 users follow the protocol and do not share their reports",
    "the guarantee holds against those who see the shuffled list only; against the shuffler and "
    "dpotd it stays epsilon0",
};

struct shuffle_job {
    struct run *run;
    double epsilon0, n, delta;
    const char *bound;
    double closed_limit, clones_limit;
};

static dpot_status read_numbers(struct shuffle_job *job)
{
    struct run *run = job->run;
    const char *text = NULL;
    uint64_t n = 0;
    dpot_status status = option_require(run, "epsilon0", "the epsilon of one report", &text);
    if (status == DPOT_OK) {
        status = option_number(run, "epsilon0", EPSILON_MIN, EPSILON_MAX, &job->epsilon0);
    }
    if (status == DPOT_OK) {
        status = option_require(run, "n", "the number of reports", &text);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "n", 2, (uint64_t)SHUFFLE_USERS_MAX, &n);
    }
    if (status == DPOT_OK) {
        status = option_require(run, "delta", "the failure probability", &text);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "delta", DELTA_MIN, 1, &job->delta);
    }
    if (status == DPOT_OK && job->delta >= 1) {
        status =
            RUN_USAGE(run, "--delta is %.40s: give a number below 1", option_text(run, "delta"));
    }
    job->n = (double)n;
    return status;
}

/* Refuses a theorem outside its condition. */
static dpot_status check_limit(struct shuffle_job *job, double limit)
{
    if (shuffle_holds(job->epsilon0, limit)) {
        return DPOT_OK;
    }
    if (limit > 0) {
        return RUN_USAGE(job->run,
                         "--epsilon0 is %g: the theorem holds up to %.6g for n %.15g and delta %g; "
                         "give --bound tight, which has no such condition, or more reports",
                         job->epsilon0, limit, job->n, job->delta);
    }
    return RUN_USAGE(
        job->run,
        "--n is %.15g: too few for the theorem at delta %g, whatever epsilon0 is; give "
        "--bound tight, which has no such condition, or more reports",
        job->n, job->delta);
}

static dpot_status read_bound(struct shuffle_job *job)
{
    const char *bound = option_text(job->run, "bound");
    job->bound = bound ? bound : "closed";
    if (strcmp(job->bound, "closed") == 0) {
        return check_limit(job, job->closed_limit);
    }
    if (strcmp(job->bound, "clones") == 0) {
        return check_limit(job, job->clones_limit);
    }
    return strcmp(job->bound, "tight") == 0
               ? DPOT_OK
               : RUN_USAGE(job->run, "--bound is %.40s: choose closed, clones or tight",
                           job->bound);
}

static void put_result(struct shuffle_job *job)
{
    struct run *run = job->run;
    const bool has_closed = shuffle_holds(job->epsilon0, job->closed_limit);
    const bool has_clones = shuffle_holds(job->epsilon0, job->clones_limit);
    const double closed =
        has_closed ? shuffle_closed_epsilon(job->epsilon0, job->n, job->delta) : NAN;
    const double clones =
        has_clones ? shuffle_clones_epsilon(job->epsilon0, job->n, job->delta) : NAN;
    const double tight = shuffle_tight_epsilon(job->epsilon0, job->n, job->delta);
    const bool is_tight = strcmp(job->bound, "tight") == 0;
    const bool is_closed = strcmp(job->bound, "closed") == 0;
    json_t *list = json_array();
    run_put_number(run, "epsilon", is_tight ? tight : is_closed ? closed : clones);
    run_put_number(run, "delta", job->delta);
    run_put_text(run, "bound", job->bound);
    run_put_number(run, "epsilon0", job->epsilon0);
    run_put_integer(run, "n", (uint64_t)job->n);
    run_put_number(run, "closed_epsilon", closed);
    run_put_number(run, "clones_epsilon", clones);
    run_put_number(run, "tight_epsilon", tight);
    run_put_number(run, "closed_limit", job->closed_limit);
    run_put_number(run, "clones_limit", job->clones_limit);
    for (size_t i = 0; i < sizeof assumptions / sizeof assumptions[0]; i++) {
        (void)json_array_append_new(list, json_string(assumptions[i]));
    }
    run_put(run, "assumptions", list);
}

static dpot_status run_shuffle(struct run *run)
{
    struct shuffle_job job = {.run = run};
    dpot_status status = read_numbers(&job);
    if (status == DPOT_OK) {
        job.closed_limit = shuffle_closed_limit(job.n, job.delta);
        job.clones_limit = shuffle_clones_limit(job.n, job.delta);
        status = read_bound(&job);
    }
    if (status == DPOT_OK) {
        put_result(&job);
    }
    return status;
}

const struct command command_account_shuffle = {
    .name = "account shuffle",
    .summary = "the privacy that a trusted shuffler would add to reports",
    .details =
        "The guarantee of n reports of pure epsilon0 against those who see only their shuffled\n"
        "list. Nothing in dpot applies it, and dpotd is no shuffler: read the assumptions.\n"
        "  closed  Feldman, McMillan, Talwar 2023, closed form; needs\n"
        "          epsilon0 <= ln(n / (8 ln(2/delta)) - 1)    (closed_limit)\n"
        "  clones  the same authors' theorem of 2021; needs\n"
        "          epsilon0 <= ln(n / (16 ln(2/delta)))       (clones_limit)\n"
        "  tight   the pair of laws behind both, computed; no condition, smallest numbers\n"
        "A theorem outside its condition is refused. Keys: epsilon (by --bound), delta, bound,\n"
        "epsilon0, n, closed_epsilon, clones_epsilon (null outside their conditions),\n"
        "tight_epsilon, closed_limit, clones_limit, assumptions. All numbers are rounded up.",
    .example = "dpot account shuffle --epsilon0 2 --n 100000 --delta 1e-6",
    .options = options,
    .run = run_shuffle,
};
