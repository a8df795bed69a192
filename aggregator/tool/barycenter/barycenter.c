/* dpot barycenter: one measure near several, in Wasserstein distance. */
#include "tool/barycenter/barycenter.h"

#include "tool/shared/commands.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"

#include <string.h>

static const struct option options[] = {
    {"group", "F...", "a file a group: points (n, d), or histograms with --grid and --cost"},
    {"group-weights", "F", "weights of the groups (k,) (default: equal)"},
    {"weighted", NULL, "the last column of a group is the weight of the point"},
    {"normalize", NULL, "scale weights and histograms to sum 1"},
    {"support", "m", "m points that move, of equal weights"},
    {"init", "F", "where they start (m, d) (default: drawn from the data)"},
    {"optimise-weights", NULL, "with --support: their weights are free, too"},
    {"starts", "N", "with --support: the best of N starts (default 1)"},
    {"project", "d", "with --support: solve in d dimensions, a random projection"},
    {"bound", "pairs|moments|none", "with --support: the lower bound (default: by size)"},
    {"grid", "RxC", "weights of the cells of a grid instead"},
    {"cell", "S", "distance of neighbouring cells (default: the longest side has length 1)"},
    {"cost", "F", "weights for a cost matrix (n, m), groups are histograms of n cells"},
    {"fixed", "F", "weights of these points (m, d), groups are points"},
    {"metric", "M", "with --fixed: euclidean, l1, linf, cosine, haversine or ring"},
    {"power", "p", "with --fixed: the cost is distance^p (default 2)"},
    {"ring-size", "K", "positions of the ring, for --metric ring"},
    {"exact", NULL, "exact plans (with --support)"},
    {"lambda", "L", "entropic plans with this regularisation, in units of the cost"},
    {"debiased", NULL, "with --grid or --cost: without the blur of lambda"},
    {"log-domain", NULL, "with fixed points: log-sums even where a kernel would do"},
    {"float32", NULL, "with --support: sweep in float32"},
    {"outer", "N", "most iterations (default 500; fixed points 10000)"},
    {"inner", "N", "with --support: most sweeps of a plan (default 2000)"},
    {"tol", "T",
     "movement, or residual, to reach (default 1e-6; --debiased 1e-7; other fixed 1e-9)"},
    {"inner-tol", "T", "L1 violation to reach in a plan; 0: exactly --inner sweeps from nothing"},
    {"pool", "F", "instead of --group: a privatised pool, deconvolved group by group"},
    {"groups", "F", "the group of every report of --pool (n,), from dpot pool --groups-out"},
    {"campaign", "FILE", "SPEC.json or the signed campaign of --pool"},
    {"cells", "RxC",
     "--pool of vectors: the grid to deconvolve on (default 32x32 in 2 dimensions)"},
    {"atoms", "N",
     "--pool of vectors: N points that move instead (default above 3 dimensions: 256)"},
    {"deconvolve-tol", "T", "--pool: end when a step gains less (default 0.05; vectors 0.01)"},
    {"deconvolved-out", "F", "--pool: rows of group, weight and coordinates, before the averaging"},
    {"out", "F", "the points (m, d), or the weights (R, C) or (m,)"},
    {"weights-out", "F", "with --support: the weights of the points (m,)"},
    {"curve", "F", "rows of iteration, cost and movement, or residual; a .csv with a header"},
    {NULL, NULL, NULL},
};

static dpot_status run_groups(struct barycenter_job *job)
{
    dpot_status status = barycenter_read_options(job);
    if (status == DPOT_OK) {
        status = team_new(job->run->n_threads, &job->team);
    }
    if (status == DPOT_OK) {
        status = job->kind == KIND_FREE ? barycenter_run_free(job) : barycenter_run_fixed(job);
    }
    return status;
}

static dpot_status run_barycenter(struct run *run)
{
    struct barycenter_job job = {.run = run, .started = progress_seconds()};
    dpot_status status =
        option_is_given(run, "pool") ? barycenter_run_pool(&job) : run_groups(&job);
    if (status == DPOT_OK) {
        run_put_number(run, "seconds", progress_seconds() - job.started);
    }
    team_free(job.team);
    barycenter_release_inputs(&job);
    return status;
}

const struct command command_barycenter = {
    .name = "barycenter",
    .max_operands = OPERANDS_MAX,
    .summary = "one measure near several groups, in Wasserstein distance",
    .details =
        "Minimises the sum of w_i W(group_i, nu). --support m finds m points (squared Euclidean\n"
        "distance), by plans that are exact or entropic; it ends in a local minimum, --starts N\n"
        "takes the best of several. --grid, --cost and --fixed find weights on points that stay,\n"
        "by iterative Bregman projections. Groups follow --group, which may be repeated.\n"
        "Outer iterations end at --tol; --outer without --tol is no failure when it ends them.\n"
        "Keys: cost (sum of w_i W, exact when cost_is says so, else that of the last plans),\n"
        "distance (its root), lower_bound (below every nu; lower_bound_from pairs of groups or\n"
        "their moments; fixed points: by duality), upper_bound (fixed points), one_point_cost (of "
        "all\n"
        "mass in the mean: knows nothing), plan_cost, outcome, iterations, sweeps or pivots, "
        "movement\n"
        "(of the last iteration, in units of the spread), residual (L1, of the plans), starts,\n"
        "best_start, start_costs, projected_dim, projected_cost, solution_cost, value, dual, "
        "mass,\n"
        "groups, n, dim, support, method, lambda, log_domain, debiased, seconds.\n"
        "\n"
        "--pool F --groups F --campaign FILE: each group of a privatised pool is deconvolved, "
        "then\n"
        "--support m points (default 48) are found with --exact or --lambda. Index reports are\n"
        "inverted through the campaign's channel (sample_first, or n_max 1), laplace and gaussian\n"
        "through the law of their noise; steps end early, which keeps the noise out. Exit code 7\n"
        "below min_pool, or a group's share of it. Keys: cost and lower_bound (to the deconvolved\n"
        "groups), data_free_cost (the same of points that know no report), one_point_cost, "
        "outcome,\n"
        "iterations, groups [{label, n, steps, outcome, log_likelihood, gain}], n, dim, support,\n"
        "points (of a group), method, mechanism, epsilon, delta, distance, seconds.",
    .example = "dpot barycenter --group a.csv b.csv --support 2 --exact --starts 5 \\\n"
               "      --out middle.csv",
    .options = options,
    .run = run_barycenter,
};
