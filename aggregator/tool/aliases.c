#include "tool/aliases.h"

/* One vocabulary over all commands:
 *   an output beside --out is --WHAT-out;
 *   a count of things to draw is --n-WHAT, a bound on a count --max-WHAT;
 *   --iterations and --max-iterations count the main loop, --sweeps and --max-sweeps the Sinkhorn
 *   sweeps within one of its steps, and --sweep-tol stops those;
 *   a start is --init, a confidence --confidence, a duration --WHAT-seconds;
 *   names of files, and numbers, never share a name. */
const struct option_alias tool_aliases[] = {
    {"artifact get", "groups-out", "deconvolved-out"},
    {"audit", "samples", "n-samples"},
    {"barycenter", "atoms", "deconvolve-support"},
    {"barycenter", "bound", "lower-bound"},
    {"barycenter", "cells", "deconvolve-grid"},
    {"barycenter", "curve", "trajectory-out"},
    {"barycenter", "group", "group-files"},
    {"barycenter", "inner", "max-sweeps"},
    {"barycenter", "inner-tol", "sweep-tol"},
    {"barycenter", "optimise-weights", "optimize-weights"},
    {"barycenter", "outer", "max-iterations"},
    {"base-measure", "trajectory", "trajectory-out"},
    {"campaign show", "points", "list-points"},
    {"central barycenter", "cells", "max-points"},
    {"central barycenter", "inner", "max-sweeps"},
    {"central barycenter", "outer", "max-iterations"},
    {"central barycenter", "start-seed", "init-seed"},
    {"central coreset", "samples", "n-samples"},
    {"central ot-cost", "cap", "cost-cap"},
    {"central transport-map", "alpha", "bump-height"},
    {"central transport-map", "spread", "bump-spread"},
    {"central transport-map", "width", "bump-width"},
    {"convert", "from", "from-range"},
    {"convert", "to", "to-range"},
    {"deconvolve", "samples", "n-samples"},
    {"deconvolve", "trajectory", "trajectory-out"},
    {"estimate", "level", "confidence"},
    {"estimate", "start", "init"},
    {"evaluate", "points", "points-out"},
    {"generator evaluate", "n", "n-samples"},
    {"generator evaluate", "points", "max-points"},
    {"generator evaluate", "privatised", "pool"},
    {"generator sample", "n", "n-samples"},
    {"generator train", "cost", "noise-cost"},
    {"generator train", "curve", "trajectory-out"},
    {"generator train", "sinkhorn", "sweeps"},
    {"job start", "away", "away-seconds"},
    {"ot", "plan", "plan-out"},
    {"ot", "potentials", "potentials-out"},
    {"plot sheet", "columns", "per-row"},
    {"pool", "export", "out"},
    {NULL, NULL, NULL},
};
