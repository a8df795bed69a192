/* The private data of a report: what --points, --histogram or --vector names, in memory.
 *
 * A refusal depends on the form of the file only (files/csv.h). All else is total: a place with a
 * coordinate that is no number has no weight, so that a file of such places is a device without
 * data; entries of histograms and vectors that are no numbers count as 0 in libdpot. No message
 * shows or depends on a number. */
#ifndef DPOT_TOOL_DATA_H
#define DPOT_TOOL_DATA_H

#include "session.h"

#include "files/array.h"

struct data {
    const char *points, *histogram, *vector; /* paths, one of them */
    bool is_weighted;                        /* the last column is a weight */
    struct array table;
    double *weights; /* (n_weights) of the places */
    size_t n_weights;
};

/* Reads the options and checks that they agree; exit code 2. */
DPOT_WARN_UNUSED dpot_status data_from_options(struct run *run, struct data *data);

/* Reads the file. DPOT_ERR_MALFORMED: its form; and as array_read_private. */
DPOT_WARN_UNUSED dpot_status data_read(struct run *run, struct data *data);

/* Submits it. A histogram or vector with a line more than the campaign has numbers has a header,
 * whatever is in that line. Errors as dpot_client_submit_points. */
DPOT_WARN_UNUSED dpot_status data_submit(const struct session *s, const struct data *data,
                                         enum dpot_submit_outcome *outcome);

/* Wipes and frees. */
void data_release(struct data *data);

#endif
