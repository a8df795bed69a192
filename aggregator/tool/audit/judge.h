/* The verdict on one subject: what its integers and its reports prove against what it claims. */
#ifndef DPOT_TOOL_AUDIT_JUDGE_H
#define DPOT_TOOL_AUDIT_JUDGE_H

#include "audit/index_exact.h"
#include "audit/vector_exact.h"
#include "tool/audit/path.h"
#include "tool/audit/silence.h"

struct finding {
    const struct subject *subject;
    struct index_finding index;   /* index mechanisms */
    struct vector_finding vector; /* the others */
    size_t n_path, n_direct;      /* samples of each input */
    struct path_tally tally;
    struct event_finding path, direct;
    struct silence_finding silence;
};

/* The exact part. */
DPOT_WARN_UNUSED dpot_status judge_exactly(struct finding *finding, struct dpot_error *error);

double finding_exact_maximum(const struct finding *finding);
double finding_lower_bound(const struct finding *finding); /* the larger of both runs */
double finding_claimed_epsilon(const struct finding *finding);
double finding_claimed_delta(const struct finding *finding);

/* False when a bound exceeds the claim, the exact maximum does, a device did what no honest one
 * does, or anything but a report's content depends on the data. */
bool finding_passes(const struct finding *finding);

#endif
