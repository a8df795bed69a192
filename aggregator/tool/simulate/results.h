/* Output of a simulation: results.json and tables, in one folder. */
#ifndef DPOT_TOOL_SIMULATE_RESULTS_H
#define DPOT_TOOL_SIMULATE_RESULTS_H

#include "tool/simulate/device.h"

struct results {
    struct run *run;
    const char *folder;
    const struct device_plan *plan;
    const uint8_t *hash;                   /* of the campaign */
    const struct device_outcome *outcomes; /* (crowd devices) */
    double seconds;
};

/* Makes the folder, or checks that it can be written to. */
DPOT_WARN_UNUSED dpot_status results_make_folder(struct run *run, const char *folder);

/* Refuses a folder (of option --`name`) that holds an input of the run under the name of a
 * result. */
DPOT_WARN_UNUSED dpot_status results_check_inputs(struct run *run, const char *name,
                                                  const char *folder);

/* Removes the results of an earlier run, then writes population_true.csv, population_sample.csv,
 * devices.csv, in process also pool.npy and its side file, and last results.json, which is also the
 * result of the run: a folder without it is incomplete. DPOT_ERR_STATE: everything was written, but
 * the reports are not conserved. */
DPOT_WARN_UNUSED dpot_status results_write(const struct results *results);

#endif
