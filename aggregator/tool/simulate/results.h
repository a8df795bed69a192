/* What a simulation leaves behind: results.json and tables, in one folder. */
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

/* Refuses a folder (of option --`name`) in which an input of the run has the name of a result. */
DPOT_WARN_UNUSED dpot_status results_check_inputs(struct run *run, const char *name,
                                                  const char *folder);

/* Removes what an earlier run left under these names, then writes population_true.csv,
 * population_sample.csv, devices.csv, in process also pool.npy and its side file, and last
 * results.json, which becomes the result of the run too: a folder without it is incomplete, as the
 * sentence of a failure says. When the reports are not conserved everything is written and then
 * DPOT_ERR_STATE returned. */
DPOT_WARN_UNUSED dpot_status results_write(const struct results *results);

#endif
