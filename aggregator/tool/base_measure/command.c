/* dpot base-measure: the base measure of least cost for the users (002, Theorem 3.5).
 *
 * All inputs are public (ground cost; weights and users that are public or computed from private
 * reports): it costs no privacy. The total mass of the result is part of the result. */
#include "tool/base_measure/job.h"
#include "tool/shared/commands.h"

#include "base/alloc.h"
#include "solve/base_measure/certificate.h"
#include "solve/base_measure/mirror_descent.h"
#include "tool/shared/options.h"
#include "tool/shared/progress.h"
#include "tool/shared/remote.h"
#include "json/side_file.h"

#include <math.h>
#include <string.h>

#define POWER_MAX 64
#define ITERATIONS_DEFAULT 10000

static const struct option options[] = {
    COST_OPTIONS("x", "v", "input points (k, d), instead of --cost",
                 "output points (kv, d) (default: those of --x)"),
    {"campaign", "FILE|ID", "use points, metric, power and epsilon of a campaign instead"},
    REMOTE_OPTIONS,
    CAMPAIGN_PIN_OPTION,
    {"sphere", "d 1..4096",
     "the unit sphere S^d of d + 1 coordinates, in closed form; with --power and --epsilon"},
    {"epsilon", "E (0,100]", "privacy parameter (with --sphere at most 40)"},
    {"method", "certified|mirror|uniform|given", "default certified; mirror beyond 600 points"},
    {"gap", "G [0,1]",
     "stop at this relative gap (default 1e-6, with --users 2e-3; 0: all iterations)"},
    {"max-iterations", "N 1..1000000000",
     "mirror: iterations, which set its step size (default 10000); certified: rounds (1000)"},
    {"max-seconds", "S (0,1e9]", "stop after about this time, including proof and report"},
    {"weights", "F",
     "(k,) minimise the weighted mean over inputs, not the worst case; with --users (n,)"},
    {"users", "F", "(n, k) example users, one distribution each: minimise their mean cost"},
    {"held-out", "F", "(n, k) users to report on (default: a quarter of --users, drawn by --seed)"},
    {"mix", "T [0,1]", "with --users: 0 is users only (default), 1 worst case or uniform only"},
    {"mix-with", "worst|uniform", "the other end of --mix (default worst)"},
    {"given", "F", "report on this measure (kv,), made elsewhere (--method given)"},
    {"normalize", NULL, "scale weights, users and held-out users to sum 1"},
    {"out", "F", "the base measure (kv,), with its total mass; F.json has the result too"},
    {"trajectory-out", "F",
     "mirror: the trajectory (n, 5), a .csv with a header, columns as below"},
    {"verify", "F", "verify the certificate of a measure written by certified or with --users"},
    {NULL, NULL, NULL},
};

/* ---- options and inputs ---- */

static bool is_method(const struct base_measure_job *job, const char *name)
{
    return strcmp(job->method, name) == 0;
}

static dpot_status check_method(struct base_measure_job *job)
{
    struct run *run = job->run;
    const bool has_users = option_is_given(run, "users");
    const char *method = option_text(run, "method");
    job->method = method                               ? method
                  : option_is_given(run, "given")      ? "given"
                  : option_is_given(run, "trajectory") ? "mirror"
                                                       : "certified";
    job->is_method_open = !method && is_method(job, "certified") && !has_users;
    if (!is_method(job, "mirror") && !is_method(job, "uniform") && !is_method(job, "certified") &&
        !is_method(job, "given")) {
        return RUN_USAGE(run, "--method is %.40s: choose certified, mirror, uniform or given",
                         job->method);
    }
    if (is_method(job, "given") != option_is_given(run, "given")) {
        return RUN_USAGE(run, "--given F and --method given go together");
    }
    if (is_method(job, "given") && option_is_given(run, "max-seconds")) {
        return RUN_USAGE(run,
                         "--max-seconds is for a search, and --given makes none: leave it out");
    }
    if (!is_method(job, "mirror") || has_users) {
        return option_excludes(run, "method", "trajectory-out",
                               "only mirror has a trajectory, and only without users");
    }
    return DPOT_OK;
}

/* Options that need --users. */
static dpot_status check_users(struct base_measure_job *job)
{
    struct run *run = job->run;
    const char *with = option_text(run, "mix-with");
    const char *const names[] = {"mix", "mix-with"};
    for (size_t i = 0; i < 2; i++) {
        if (option_is_given(run, names[i]) && !option_is_given(run, "users")) {
            return RUN_USAGE(run, "--%s goes with --users F, which says between what to mix",
                             names[i]);
        }
    }
    if (with && strcmp(with, "worst") != 0 && strcmp(with, "uniform") != 0) {
        return RUN_USAGE(run, "--mix-with is %.40s: choose worst or uniform", with);
    }
    job->is_mix_uniform = with && strcmp(with, "uniform") == 0;
    job->gap = option_is_given(run, "users") ? BASE_MEASURE_GAP_USERS : BASE_MEASURE_GAP_WORST;
    job->has_max_iterations = option_is_given(run, "max-iterations");
    const dpot_status status = option_number(run, "mix", 0, 1, &job->mix);
    return status == DPOT_OK ? option_positive(run, "max-seconds", 1e9, &job->max_seconds) : status;
}

/* A campaign determines the cost. */
static dpot_status check_campaign_options(struct base_measure_job *job)
{
    const char *const others[] = {"cost", "x", "v", "metric", "power", "ring-size"};
    dpot_status status = DPOT_OK;
    for (size_t i = 0; status == DPOT_OK && i < sizeof others / sizeof others[0]; i++) {
        status = option_excludes(job->run, "campaign", others[i], "the campaign says it");
    }
    return status;
}

/* --power is allowed with --cost here: it determines the root of the objective that is a
 * distance. */
static dpot_status check_cost_options(struct base_measure_job *job)
{
    struct run *run = job->run;
    const char *const points_only[] = {"x", "v", "metric", "ring-size"};
    dpot_status status = DPOT_OK;
    job->campaign_text = option_text(run, "campaign");
    if (job->campaign_text) {
        return check_campaign_options(job);
    }
    if (!option_is_given(run, "cost")) {
        status = cost_check_options(run, "x", cost_output_option(run));
    }
    for (size_t i = 0; status == DPOT_OK && i < 4; i++) {
        status = option_excludes(run, "cost", points_only[i], "the cost is given as it is");
    }
    return status == DPOT_OK ? option_positive(run, "power", POWER_MAX, &job->cost_power) : status;
}

static dpot_status read_options(struct base_measure_job *job)
{
    struct run *run = job->run;
    const char *text = NULL;
    dpot_status status = check_method(job);
    if (status == DPOT_OK) {
        status = check_users(job);
    }
    if (status == DPOT_OK) {
        status = check_cost_options(job);
    }
    if (status == DPOT_OK && !job->campaign_text) {
        status = option_require(run, "epsilon", "the privacy parameter", &text);
    }
    if (status == DPOT_OK) {
        status = option_positive(run, "epsilon", PHI_EPSILON_MAX, &job->epsilon);
    }
    if (status == DPOT_OK) {
        status = option_number(run, "gap", 0, 1, &job->gap);
    }
    if (status == DPOT_OK) {
        status = option_integer(run, "max-iterations", 1, MIRROR_DESCENT_ITERATIONS_MAX,
                                &job->max_iterations);
    }
    if (status == DPOT_OK && !option_is_given(run, "verify")) {
        status =
            option_require_array_output(run, "out", "a file for the base measure", &job->out_path);
    }
    return status == DPOT_OK ? option_array_output(run, "trajectory-out", &job->trajectory_path)
                             : status;
}

static dpot_status load_weights_option(struct base_measure_job *job)
{
    struct run *run = job->run;
    if (!option_is_given(run, "weights") || option_is_given(run, "users")) {
        return DPOT_OK; /* users.c loads weights of users */
    }
    return load_measure(run, "weights", job->cost.n_rows, &job->weights);
}

/* Loads the cost of a campaign and, without --epsilon, its epsilon. */
static dpot_status load_campaign(struct base_measure_job *job)
{
    struct run *run = job->run;
    dpot_status status = campaign_file_load(run, job->campaign_text, &job->file);
    if (status == DPOT_OK) {
        status = campaign_file_require_index(run, &job->file);
    }
    if (status != DPOT_OK) {
        return status;
    }
    const struct dpot_campaign *campaign = &job->file.campaign;
    job->cost_power = campaign->cost_power;
    if (!option_is_given(run, "epsilon")) {
        job->epsilon = dpot_epsilon_to_double(campaign->epsilon_q32);
    }
    return cost_of_campaign(run, campaign, &job->cost);
}

static dpot_status load_inputs(struct base_measure_job *job)
{
    struct run *run = job->run;
    dpot_status status = job->campaign_text
                             ? load_campaign(job)
                             : cost_load(run, "x", cost_output_option(run), &job->cost);
    if (status == DPOT_OK) {
        status = load_weights_option(job);
    }
    if (status == DPOT_OK) {
        status = base_measure_job_load_users(job);
    }
    if (status == DPOT_OK) {
        status = array_init(&job->base_measure, job->cost.n_cols, 1, true);
    }
    return status;
}

/* ---- the work ---- */

/* Loads --given, and evaluates its worst case only. */
static dpot_status take_given(struct base_measure_job *job)
{
    struct run *run = job->run;
    const size_t n = job->cost.n_cols;
    array_release(&job->base_measure);
    dpot_status status = load_finite(run, "given", &job->base_measure);
    if (status == DPOT_OK && job->base_measure.n_rows * job->base_measure.n_cols != n) {
        return dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                              "--given has %zu masses for %zu output points: give one mass for "
                              "each of them, in their order",
                              job->base_measure.n_rows * job->base_measure.n_cols, n);
    }
    double total = 0;
    for (size_t j = 0; status == DPOT_OK && j < n; j++) {
        if (job->base_measure.values[j] < 0) {
            return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                  "mass %zu of --given is %g: masses are not negative", j + 1,
                                  job->base_measure.values[j]);
        }
        total += job->base_measure.values[j];
    }
    const double most = exp(job->epsilon / 2);
    if (status == DPOT_OK && !(total >= (1 - 1e-9) / most && total <= most * (1 + 1e-9))) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "the total mass of --given is %.12g: at epsilon %g it lies between "
                              "%.12g and %.12g, multiply the masses by a factor that brings it "
                              "there",
                              total, job->epsilon, 1 / most, most);
    }
    const struct base_measure_certificate certificate = {
        .n_rows = job->cost.n_rows, .n_cols = n, .cost = job->cost.values, .epsilon = job->epsilon};
    if (status == DPOT_OK) {
        status = base_measure_certificate_worst(&certificate, job->base_measure.values, job->team,
                                                &job->worst_case, NULL);
        job->objective = job->worst_case;
        run_put_text(run, "outcome", "given");
    }
    return status;
}

static dpot_status choose_method(struct base_measure_job *job)
{
    const struct base_measure_problem problem = {.n_rows = job->cost.n_rows,
                                                 .n_cols = job->cost.n_cols,
                                                 .cost = job->cost.values,
                                                 .users = job->weights.values ? &job->fit : NULL};
    bool is_quick = true;
    const dpot_status status =
        job->is_method_open ? base_measure_is_quick(&problem, NULL, &is_quick) : DPOT_OK;
    job->method = is_quick ? job->method : "mirror";
    return status;
}

static dpot_status solve(struct base_measure_job *job)
{
    const dpot_status status = choose_method(job);
    if (status != DPOT_OK) {
        return status;
    }
    if (is_method(job, "given")) {
        return take_given(job);
    }
    return is_method(job, "certified") || job->fit.n > 0 ? base_measure_job_find(job)
                                                         : base_measure_job_publish(job);
}

/* ---- result ---- */

static const char *minimised(const struct base_measure_job *job)
{
    if (is_method(job, "given")) {
        return "nothing";
    }
    if (job->distributions.values) {
        return job->mix == 0 || job->is_mix_uniform ? "expected_cost" : "mixed";
    }
    return job->weights.values ? "weighted_mean" : "worst_case";
}

static void put_result(struct base_measure_job *job)
{
    struct run *run = job->run;
    double total_mass = 0;
    for (size_t j = 0; j < job->cost.n_cols; j++) {
        total_mass += job->base_measure.values[j];
    }
    run_put_text(run, "method", job->method);
    run_put_text(run, "minimises", minimised(job));
    run_put_number(run, "objective", job->objective);
    run_put_number(run, "worst_case", pow(job->worst_case, 1 / job->cost_power));
    run_put_number(run, "lower_bound", job->lower_bound);
    run_put_number(run, "relative_gap", phi_relative_gap(job->objective, job->lower_bound));
    run_put_number(run, "total_mass", total_mass);
    run_put_integer(run, "iterations", job->iterations);
    run_put_number(run, "seconds", progress_seconds() - job->started);
    run_put_number(run, "epsilon", job->epsilon);
    run_put_number(run, "power", job->cost_power);
    run_put_integer(run, "k", job->cost.n_rows);
    run_put_integer(run, "kv", job->cost.n_cols);
    if (job->has_answer) {
        run_put_number(run, "worst_share",
                       job->fit.n == 0       ? 1
                       : job->is_mix_uniform ? 0
                                             : job->mix);
        base_measure_job_put_inputs(job);
    }
}

static void release(struct base_measure_job *job)
{
    phi_release(&job->phi);
    base_measure_answer_release(&job->answer);
    base_measure_users_release(&job->fit);
    base_measure_users_release(&job->held);
    dpot_free_array(NULL, job->order, job->distributions.n_rows, sizeof *job->order);
    array_release(&job->distributions);
    array_release(&job->held_out);
    array_release(&job->base_measure);
    array_release(&job->weights);
    cost_release(&job->cost);
    campaign_file_release(&job->file);
    team_free(job->team);
}

static dpot_status make_and_write(struct base_measure_job *job)
{
    struct run *run = job->run;
    job->started = progress_seconds();
    dpot_status status = solve(job);
    if (status == DPOT_OK) {
        put_result(job);
        status = base_measure_job_report(job);
    }
    const double elapsed = progress_seconds() - job->started;
    if (status == DPOT_OK && job->max_seconds > 0 && elapsed > 1.1 * job->max_seconds + 0.5) {
        run_warn(run,
                 "--max-seconds is %g and this took %.1f: the costs of the users, the proof and "
                 "the report are never cut short; allow more, or give fewer users or points",
                 job->max_seconds, elapsed);
    }
    if (status == DPOT_OK) {
        status = array_write(job->out_path, &job->base_measure, ARRAY_F8, &run->error);
    }
    if (status == DPOT_OK) {
        status = base_measure_job_write_certificate(job);
    }
    return status == DPOT_OK ? side_file_write(job->out_path, run->result, &run->error) : status;
}

static dpot_status run_base_measure(struct run *run)
{
    struct base_measure_job job = {
        .run = run, .cost_power = 1, .max_iterations = ITERATIONS_DEFAULT};
    const bool is_check = option_is_given(run, "verify");
    json_t *side = NULL;
    if (option_is_given(run, "sphere")) {
        return base_measure_job_sphere(run);
    }
    dpot_status status = is_check ? base_measure_job_take_inputs(&job, &side) : DPOT_OK;
    if (status == DPOT_OK) {
        status = read_options(&job);
    }
    if (status == DPOT_OK) {
        status = team_new(run->n_threads, &job.team);
    }
    if (status == DPOT_OK) {
        status = load_inputs(&job);
    }
    if (status == DPOT_OK) {
        status = is_check ? base_measure_job_verify(&job, side) : make_and_write(&job);
    }
    release(&job);
    json_decref(side);
    return status;
}

const struct command command_base_measure = {
    .name = "base-measure",
    .summary = "the base measure that costs users least, with a lower bound that proves how near",
    .details =
        "Minimises over m the worst case f(m) = max_i phi_i(m) of the exact cost phi_i(m) of a\n"
        "user at input point i, or with --weights the weighted mean of phi_i(m), or with --users\n"
        "the mean cost of example users. Output points may have different masses, and the total\n"
        "mass is free in [exp(-epsilon/2), exp(epsilon/2)].\n"
        "  uniform    equal masses, the best total mass (--gap, --max-iterations do nothing)\n"
        "  mirror     the published mirror descent (step size for N iterations) from the best\n"
        "             uniform measure; --out gets the better of the mean of the iterates (the\n"
        "             published result) and the best iterate, never worse than the start.\n"
        "             Reaching N before the gap is no failure.\n"
        "  certified  cutting planes to the optimum, with a proof: masses are tied over\n"
        "             symmetries of the costs (ring, line, grid), which are detected; the proof\n"
        "             uses the original costs. Also writes F.cert.npy (w, y, potentials) and\n"
        "             F.json; --verify F checks the three files. No cost may be more than 1e12\n"
        "             times the lower quartile of the costs.\n"
        "Without --method it is certified up to 600 output points (those that a symmetry ties\n"
        "count once: a 60 x 60 grid is 465), and mirror above that, with costs out of range or\n"
        "with --trajectory-out; the key method says which.\n"
        "  given      reports on --given F, unchanged\n"
        "With --users, every method starts at the best uniform measure, continues with\n"
        "stochastic mirror descent and never ends above its start; certified (the default) adds\n"
        "cutting planes. The worst case protects every single point but is worse than uniform\n"
        "for typical users; --mix T weighs the two. Users may be public, synthetic, or drawn from\n"
        "the private estimate of an earlier round.\n"
        "Keys: objective, worst_case (largest phi_i(m)^(1/p); p is --power, also with --cost),\n"
        "lower_bound (proved for every base measure; 0 is trivial), relative_gap ((objective -\n"
        "lower_bound) / objective: another measure is better by at most that), total_mass,\n"
        "iterations, seconds, outcome (converged: reached the gap, or with method uniform the\n"
        "best total mass; stalled: no further gain; iteration_limit; deadline; given), method,\n"
        "minimises, uniform_objective, best_objective and average_objective (mirror), epsilon,\n"
        "power, k, kv; certified: cuts, row_orbits, column_orbits, symmetry_deviation (largest\n"
        "difference of two costs taken as equal), worst_share, inputs. With --users or\n"
        "--held-out, for held-out users (costs are W_p^p): held_out_users, held_out_cost, _error\n"
        "(of the mean), _95 (percentile), the same for held_out_uniform (the best uniform\n"
        "measure) and held_out_constant (one public answer for everyone, constant_point),\n"
        "share_worse_than_uniform, measure_worst_cost, uniform_worst_cost, uniform_total_mass.\n"
        "--sphere d: the uniform measure, which is optimal on S^d; writes no file. Keys:\n"
        "objective (W_p^p between a point and its law), worst_case, lower_bound, total_mass\n"
        "(alpha*), threshold (t*), cap (its share of the sphere), contraction (c: the mean\n"
        "report of x is c x), mean_cost (of a report without information), dim, coordinates.\n"
        "Columns of --trajectory-out, named in the first line of a .csv: iteration,\n"
        "iterate_objective, best_objective, average_objective (of the mean), lower_bound.",
    .example = "dpot base-measure --x grid.csv --metric euclidean --power 2 --epsilon 1 "
               "--method certified --out m.npy",
    .options = options,
    .run = run_base_measure,
};
