/* What every job of a trusted curator has in common: epsilon and adjacency, where its randomness comes
 * from, and what its output says about itself.
 *
 * Privatisation of real data never takes a seed. --simulation marks a run as an experiment: it may have a
 * --seed and an epsilon beyond the ceiling, and its output says that it has no guarantee. */
#ifndef DPOT_TOOL_CENTRAL_STATEMENT_H
#define DPOT_TOOL_CENTRAL_STATEMENT_H

#include "base/rng_seeded.h"
#include "central/budget.h"
#include "tool/shared/command.h"

#define STATEMENT_EPSILON_MAX 20.0 /* of a guarantee; as DPOT_EPSILON_CEILING */

struct statement {
    double epsilon;
    double delta; /* 0, unless the job sets it */
    double rho;   /* the same in zCDP; 0: what epsilon alone gives */
    enum adjacency adjacency;
    bool is_simulation;
    uint64_t population;  /* of which the records are a secret sample; 0: not said */
    double sampling_rate; /* the same for add-remove; 0: not said */
    struct dpot_rng_seeded seeded;
};

#define STATEMENT_OPTIONS(adjacency_help)                                                          \
    {"epsilon", "E", "privacy of one record, at most 20"}, {"adjacency", "A", adjacency_help},     \
        {"simulation", NULL, "an experiment: the output has no guarantee, --seed is allowed"},     \
        {"ledger", "F", "charge this run here first (without it nothing adds up runs)"},           \
        {"name", "NAME", "the data set that is charged; a name that you give"},                    \
        {"epsilon-cap", "E", "the first run of a data set: what all its runs may spend,"},         \
        {"delta-cap", "D", "and their delta (default 0);"},                                        \
    {                                                                                              \
        "rho-cap", "R", "or what they may spend in zCDP, instead of both"                          \
    }

/* For jobs on one table. */
#define SAMPLING_OPTIONS                                                                           \
    {"population", "N",                                                                            \
     "replace-one: say what epsilon is worth if the records are a secret sample of N people"},     \
    {                                                                                              \
        "sampling-rate", "q",                                                                      \
            "add-remove: the same if each person was taken by a coin of probability q"             \
    }

/* Reads them; replace-one and `other` (which may be the same) are the adjacencies that the job knows, and epsilon
 * is at least `least`, which its integers can hold. Exit code 4 for a --seed or an epsilon above the ceiling without
 * --simulation. The struct must not move afterwards. */
DPOT_WARN_UNUSED dpot_status statement_read(struct run *run, enum adjacency other, double least,
                                            struct statement *statement);

/* Charges the run to the ledger that --ledger names, or refuses what its caps do not allow (exit
 * code 4). After the options and before any data: what the ledger holds follows from options alone.
 * Without --ledger it does nothing. */
DPOT_WARN_UNUSED dpot_status statement_charge(struct run *run, const struct statement *statement,
                                              const char *mechanism);

/* value in whole units of 1 / one, rounded down, as a ledger charges it; below one unit: as it is.
 * A mechanism that uses its epsilon and delta to the last digit takes them like this. */
double statement_rounded(double value, double one);

/* An epsilon that leaves too little for the noise, or too large a depth, is a wrong command line, whatever finds it:
 * DPOT_ERR_RANGE becomes exit code 2. */
DPOT_WARN_UNUSED dpot_status statement_blame(struct run *run, dpot_status status);

/* The operating system's randomness, or that of the seed. */
const struct dpot_rng_source *statement_source(const struct run *run, struct statement *statement);

/* Adds mechanism, epsilon (at most what was asked for), delta, adjacency, guarantee and is_simulation to
 * the result, and the amplified epsilon with its assumptions, which are also printed, where it was
 * asked for. n: the number of records where that is public, for the rate. */
void statement_put(struct run *run, const struct statement *statement, const char *mechanism,
                   double epsilon_spent, uint64_t n);

/* Refuses --population below n records. */
DPOT_WARN_UNUSED dpot_status statement_check_size(struct run *run,
                                                  const struct statement *statement, uint64_t n);

#endif
