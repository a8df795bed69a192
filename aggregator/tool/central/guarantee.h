/* What all jobs of a trusted curator have in common: epsilon and adjacency, the charge to a ledger,
 * the source of randomness, and the guarantee that the output states.
 *
 * Real data are never privatised with a seed. --simulation marks an experiment: it may have a
 * --seed and an epsilon above the ceiling, and its output states that it has no guarantee. */
#ifndef DPOT_TOOL_CENTRAL_GUARANTEE_H
#define DPOT_TOOL_CENTRAL_GUARANTEE_H

#include "base/rng_seeded.h"
#include "central/budget.h"
#include "central/exact_draw.h"
#include "tool/shared/command.h"

#define GUARANTEE_EPSILON_MAX 20.0 /* as DPOT_EPSILON_CEILING */

struct guarantee {
    double epsilon;
    double delta; /* 0 unless the job sets it */
    double rho;   /* of zCDP, set by the job; 0: that of epsilon alone */
    enum adjacency adjacency;
    bool is_simulation;
    uint64_t population;  /* the records are a secret sample of so many people; 0: not given */
    double sampling_rate; /* the same for add-remove; 0: not given */
    struct dpot_rng_seeded seeded;
};

#define GUARANTEE_OPTIONS(adjacency_help)                                                          \
    {"epsilon", "E (0,inf)", "privacy of one record, at most 20 (1024 with --simulation)"},        \
        {"adjacency", "A", adjacency_help},                                                        \
        {"simulation", NULL, "an experiment: the output has no guarantee, --seed is allowed"},     \
        {"ledger", "F", "charge this run to F first (default: runs are not added up)"},            \
        {"name", "NAME", "the data set to charge; a name of your choice"},                         \
        {"epsilon-cap", "E (0,1e6]",                                                               \
         "first run of a data set: the cap on epsilon of all its runs"},                           \
        {"delta-cap", "D [0,1]", "first run of a data set: the cap on delta (default 0)"},         \
    {                                                                                              \
        "rho-cap", "R (0,1e6]", "first run of a data set: the cap in zCDP, instead of both"        \
    }

/* For jobs on one table. */
#define SAMPLING_OPTIONS                                                                           \
    {"population", "N 1..9007199254740992",                                                        \
     "replace-one: report the amplified epsilon if the records are a secret sample of N people"},  \
    {                                                                                              \
        "sampling-rate", "q (0,1]",                                                                \
            "add-remove: the same if each person was sampled with probability q"                   \
    }

/* Reads the options. The adjacency may be replace-one or `other` (possibly the same); epsilon is at
 * least `least`, the smallest that the job's integers hold. Exit code 4: a --seed, or an epsilon
 * above the ceiling, without --simulation. The struct must not move afterwards. */
DPOT_WARN_UNUSED dpot_status guarantee_read(struct run *run, enum adjacency other, double least,
                                            struct guarantee *guarantee);

/* Begins the job once all options are valid and before any data are read: validates --domain,
 * charges the ledger of --ledger (if given), and opens `draw`. *dim: the coordinates of the public
 * region. Exit code 4: the caps do not allow the charge. The charge depends on options alone. */
DPOT_WARN_UNUSED dpot_status guarantee_begin(struct run *run, struct guarantee *guarantee,
                                             const char *mechanism, struct exact_draw *draw,
                                             size_t *dim);

/* Rounds `value` down to a multiple of 1 / one, the amount that a ledger charges; unchanged below
 * one unit. For mechanisms that use all of their epsilon and delta. */
double guarantee_round(double value, double one);

/* Turns DPOT_ERR_RANGE into exit code 2: an epsilon too small for the noise, or too large a depth,
 * is a wrong command line. */
DPOT_WARN_UNUSED dpot_status guarantee_range_as_usage(struct run *run, dpot_status status);

/* Adds mechanism, epsilon, epsilon_spent, delta, adjacency, guarantee and is_simulation to the
 * result; with --population or --sampling-rate also the amplified epsilon and its assumptions,
 * which are printed as well. `n`: the number of records where it is public, for the rate. */
void guarantee_put(struct run *run, const struct guarantee *guarantee, const char *mechanism,
                   double epsilon_spent, uint64_t n);

/* Refuses a --population below n records. */
DPOT_WARN_UNUSED dpot_status guarantee_check_population(struct run *run,
                                                        const struct guarantee *guarantee,
                                                        uint64_t n);

#endif
