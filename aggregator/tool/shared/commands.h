/* Every command of `dpot`, each in the file of its group. */
#ifndef DPOT_TOOL_SHARED_COMMANDS_H
#define DPOT_TOOL_SHARED_COMMANDS_H

#include "tool/shared/command.h"

/* Mathematics on files. */
extern const struct command command_project;
extern const struct command command_base_measure;
extern const struct command command_ot;
extern const struct command command_barycenter;
extern const struct command command_deconvolve;
extern const struct command command_estimate;
extern const struct command command_generator_train;
extern const struct command command_generator_sample;
extern const struct command command_generator_evaluate;
extern const struct command command_generator_classifier;
extern const struct command command_evaluate;
extern const struct command command_plan;
extern const struct command command_calibrate_laplace;
extern const struct command command_calibrate_gaussian;
extern const struct command command_audit;
extern const struct command command_account_compose;
extern const struct command command_account_shuffle;
extern const struct command command_plot_heatmap;
extern const struct command command_plot_points;
extern const struct command command_plot_curves;
extern const struct command command_plot_sheet;
extern const struct command command_convert;

/* A trusted curator. */
extern const struct command command_central_barycenter;
extern const struct command command_central_coreset;
extern const struct command command_central_ledger;
extern const struct command command_central_ot_cost;
extern const struct command command_central_transport_map;

/* Simulation. */
extern const struct command command_simulate;
extern const struct command command_population;

/* Admin calls to a running dpotd. */
extern const struct command command_campaign_create;
extern const struct command command_campaign_list;
extern const struct command command_campaign_show;
extern const struct command command_campaign_open;
extern const struct command command_campaign_close;
extern const struct command command_campaign_fetch;
extern const struct command command_campaign_revise;
extern const struct command command_pool;
extern const struct command command_job_start;
extern const struct command command_job_list;
extern const struct command command_job_show;
extern const struct command command_job_cancel;
extern const struct command command_artifact_get;

#endif
