#include "tool/tool.h"

#include "base/crypto.h"
#include "cli/program.h"
#include "dpot/dpot.h"
#include "tool/aliases.h"
#include "tool/shared/commands.h"
#include "tool/shared/table.h"

#include <stdio.h>
#include <stdlib.h>

static const struct command *const commands[] = {
    &command_project,
    &command_ot,
    &command_base_measure,
    &command_barycenter,
    &command_estimate,
    &command_deconvolve,
    &command_generator_train,
    &command_generator_sample,
    &command_generator_evaluate,
    &command_generator_classifier,
    &command_plan,
    &command_evaluate,
    &command_simulate,
    &command_population,
    &command_campaign_create,
    &command_campaign_list,
    &command_campaign_show,
    &command_campaign_open,
    &command_campaign_close,
    &command_campaign_revise,
    &command_campaign_fetch,
    &command_pool,
    &command_job_start,
    &command_job_list,
    &command_job_show,
    &command_job_cancel,
    &command_artifact_get,
    &command_calibrate_laplace,
    &command_calibrate_gaussian,
    &command_account_compose,
    &command_account_shuffle,
    &command_audit,
    &command_central_barycenter,
    &command_central_coreset,
    &command_central_ledger,
    &command_central_ot_cost,
    &command_central_transport_map,
    &command_plot_heatmap,
    &command_plot_points,
    &command_plot_curves,
    &command_plot_sheet,
    &command_convert,
    NULL,
};

/* As in the manual. */
static const struct section sections[] = {
    {"Transport", &command_project},
    {"Estimates from a pool", &command_estimate},
    {"Planning and simulation", &command_plan},
    {"Administration", &command_campaign_create},
    {"Privacy accounting", &command_calibrate_laplace},
    {"Trusted curator", &command_central_barycenter},
    {"Pictures and files", &command_plot_heatmap},
    {NULL, NULL},
};

static const struct option general_options[] = {
    {"seed", "N 0..", "make a run reproducible (simulation and solvers only)"},
    {"threads", "N 1..1024", "threads to use (default: all cores)"},
    {NULL, NULL, NULL},
};

static dpot_status begin(struct run *run)
{
    run->result = json_object();
    return run->result ? dpot_init() : DPOT_ERR_MEMORY;
}

static void end(struct run *run)
{
    json_decref(run->result);
}

static int print(const struct run *run)
{
    if (!run->is_json) {
        table_print(run->writes_stdout ? stderr : stdout, run->result);
        return EXIT_CODE_DONE;
    }
    char *text = json_dumps(run->result, JSON_COMPACT | JSON_REAL_PRECISION(17));
    if (!text) {
        (void)fputs("dpot: out of memory for the result\n", stderr);
        return EXIT_CODE_INTERNAL;
    }
    (void)printf("%s\n", text);
    free(text);
    return EXIT_CODE_DONE;
}

const struct program dpot_program = {
    .name = "dpot",
    .version = DPOT_VERSION,
    .summary = "Differential privacy by optimal transport: mathematics on .npy and .csv files,\n"
               "simulation, and admin calls to a running dpotd.",
    .example = "dpot ot --x a.csv --y b.csv --metric euclidean --exact",
    .commands = commands,
    .sections = sections,
    .aliases = tool_aliases,
    .exit_codes = EXIT_CODES_ALL,
    .options = general_options,
    .begin = begin,
    .end = end,
    .print = print,
};
