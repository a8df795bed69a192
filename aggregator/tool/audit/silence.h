/* Silence: two runs of one device that differ only in its data, from the same folder and with the
 * same clock, random stream and server answers. Everything that leaves the device, except what the
 * reports say, must be the same (recorder.h), although the work of the two takes different
 * times. */
#ifndef DPOT_TOOL_AUDIT_SILENCE_H
#define DPOT_TOOL_AUDIT_SILENCE_H

#include "tool/audit/client_path.h"
#include "tool/audit/recorder.h"

struct silence_finding {
    bool is_silent;
    char
        difference[RECORDER_DIFFERENCE_SIZE]; /* not silent: the first, of input 0 and of input 1 */
    size_t n_lines;                           /* compared */
    double
        longest_ms[2]; /* real time of a submit of each input; reported, not part of the verdict */
};

/* Runs the device with input 0 in every round, then with input 1. Of the plan's seams only `submit`
 * and `send` are used. Fails when memory is out or the client refuses its campaign. */
DPOT_WARN_UNUSED dpot_status silence_run(const struct client_path_plan *plan,
                                         struct silence_finding *finding, struct dpot_error *error);

#endif
