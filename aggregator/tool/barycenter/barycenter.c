/* dpot barycenter: a measure near several others, in Wasserstein distance. */
#include "tool/barycenter/barycenter.h"

#include "tool/shared/commands.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"

#include <string.h>

static const struct option options[] = {
    {"group-files", "F...",
     "one file per group: points (n, d), or histograms with --grid and --cost"},
    {"group-weights", "F", "weights of the groups (k,) (default: equal)"},
    {"weighted", NULL, "the last column of a group is the weight of the point"},
    {"normalize", NULL, "scale weights and histograms to sum 1"},
    {"support", "m 1..1048576", "m free points of equal weights (with --pool at most 4096)"},
    {"init", "F", "their start (m, d) (default: drawn from the data)"},
    {"optimize-weights", NULL, "with --support: the weights are free, too"},
    {"starts", "N 1..10000",
     "with --support: number of starts; the best result is kept (default 1; with --pool at most "
     "1000)"},
    {"project", "d 1..1048576", "with --support: solve in d dimensions, a random projection"},
    {"lower-bound", "pairs|moments|none", "with --support: the lower bound (default: by size)"},
    {"grid", "RxC", "weights of the cells of a grid instead"},
    {"cell", "S (0,1e100]",
     "distance of neighbouring cells (default: the longest side has length 1)"},
    {"cost", "F", "weights for a cost matrix (n, m); groups are histograms of n cells"},
    {"fixed", "F", "weights of these points (m, d); groups are points"},
    {"metric", "euclidean|l1|linf|cosine|haversine|ring",
     "with --fixed: ground metric (haversine: lat, lon in degrees; km)"},
    {"power", "p (0,64]", "with --fixed: the cost is distance^p (default 2)"},
    {"ring-size", "K 1..1048576", "positions of the ring, for --metric ring"},
    {"exact", NULL, "exact plans (with --support)"},
    {"lambda", "L (0,inf)", "entropic plans with this regularisation, cost units"},
    {"debiased", NULL, "with --grid or --cost: without the blur of lambda"},
    {"log-domain", NULL, "with fixed points: always compute in the log domain"},
    {"float32", NULL, "with --support: sweep in float32"},
    {"max-iterations", "N 1..1000000",
     "maximum number of iterations (default 500; fixed points 10000)"},
    {"max-sweeps", "N 1..1000000000",
     "with --support: maximum number of sweeps per plan (default 2000)"},
    {"tol", "T [0,1]",
     "stop at this movement or residual (default 1e-6; --debiased 1e-4; other fixed 1e-9)"},
    {"sweep-tol", "T [0,1]",
     "L1 violation of a plan; 0: exactly --max-sweeps sweeps, each from a cold start"},
    {"pool", "F", "instead of --group-files: a privatised pool, deconvolved group by group"},
    {"groups", "F", "the group of every report of --pool (n,), from dpot pool --groups-out"},
    {"campaign", "FILE", "SPEC.json or the signed campaign of --pool"},
    {"deconvolve-grid", "RxC",
     "--pool of vectors: the grid to deconvolve on (default 32x32 in 2 dimensions)"},
    {"deconvolve-support", "N 1..65536",
     "--pool of vectors: N free points instead (default above 3 dimensions: 256)"},
    {"deconvolve-tol", "T [0,1e9]",
     "--pool: stop when a step gains less (default 0.05; vectors 0.01)"},
    {"deconvolved-out", "F", "--pool: rows of group, weight and coordinates, before the averaging"},
    {"out", "F", "the points (m, d), or the weights (R, C) or (m,)"},
    {"weights-out", "F", "with --support: the weights of the points (m,)"},
    {"trajectory-out", "F",
     "rows of iteration, cost and movement, or residual; a .csv with a header"},
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
        "distance), by exact or entropic plans, up to a local minimum; --starts N keeps the best\n"
        "of several. --grid, --cost and --fixed find weights on fixed points, by iterative\n"
        "Bregman projections. Groups follow --group-files, which may be repeated. Outer "
        "iterations\n"
        "stop at --tol; with --max-iterations and no --tol, reaching the limit is no failure.\n"
        "Keys: cost (sum of w_i W; cost_is exact, or that of the last plans), distance (its\n"
        "root), lower_bound (on the cost of any nu; lower_bound_from pairs of groups or their\n"
        "moments; fixed points: by duality), upper_bound (fixed points), one_point_cost (of all\n"
        "mass at the mean), plan_cost, outcome, iterations, sweeps or pivots, movement (of the\n"
        "last iteration, in units of the spread), residual (L1, in mass: of the plans; fixed\n"
        "points: what the equations of the result miss, the last row of --trajectory-out), "
        "starts,\n"
        "best_start, start_costs, projected_dim, projected_cost, solution_cost, value, dual,\n"
        "mass, groups, n, dim, support, method, lambda, log_domain, debiased, seconds.\n"
        "\n"
        "--pool F --groups F --campaign FILE: deconvolves each group of a privatised pool, then\n"
        "finds --support m points (default 48) with --exact or --lambda. Index reports are\n"
        "inverted through the campaign's channel (sample_first, or n_max 1), laplace and\n"
        "gaussian through the law of their noise; stopping early keeps the noise out. Exit code\n"
        "7 below min_pool, or a group's share of it. Keys: cost and lower_bound (to the\n"
        "deconvolved groups), data_free_cost (the same for points chosen without reports),\n"
        "one_point_cost, outcome, iterations, groups [{label, n, steps, outcome, log_likelihood,\n"
        "gain}], n, dim, support, points (of a group), method, mechanism, epsilon, delta,\n"
        "distance, seconds.",
    .example = "dpot barycenter --group-files a.csv b.csv --support 2 --exact --starts 5 \\\n"
               "      --out middle.csv",
    .options = options,
    .run = run_barycenter,
};
