/* Silence: two lives of one device that differ in its data alone, from the same folder, under the
 * same clock, random stream and answers of the server. Everything that leaves it but what reports
 * say must be the same (witness.h), though its work takes another time. */
#ifndef DPOT_TOOL_AUDIT_SILENCE_H
#define DPOT_TOOL_AUDIT_SILENCE_H

#include "tool/audit/path.h"
#include "tool/audit/witness.h"

struct silence_finding {
    bool is_silent;
    char difference[WITNESS_DIFFERENCE_SIZE]; /* else the first, of input 0 and of input 1 */
    size_t n_lines;                           /* that were compared */
    double longest_ms[2]; /* real time of a submit of each input: told and not judged */
};

/* Input 0 in every round of one life, input 1 in those of the other. Of the plan's seams `submit`
 * and `send` count. A failure is the environment's (memory) or that of a client which refuses its
 * campaign. */
DPOT_WARN_UNUSED dpot_status silence_run(const struct path_plan *plan,
                                         struct silence_finding *finding, struct dpot_error *error);

#endif
