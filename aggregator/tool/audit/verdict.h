/* The verdict on one subject: its claim against what enumeration and reports prove. */
#ifndef DPOT_TOOL_AUDIT_VERDICT_H
#define DPOT_TOOL_AUDIT_VERDICT_H

#include "audit/index_exact.h"
#include "audit/vector_exact.h"
#include "tool/audit/client_path.h"
#include "tool/audit/silence.h"

struct verdict {
    const struct subject *subject;
    struct index_finding index;   /* index mechanisms */
    struct vector_finding vector; /* vector mechanisms */
    size_t n_path, n_direct;      /* samples of each input */
    struct client_path_tally tally;
    struct event_finding path, direct;
    struct silence_finding silence;
};

/* Fills `index` or `vector` by enumeration. */
DPOT_WARN_UNUSED dpot_status verdict_enumerate(struct verdict *verdict, struct dpot_error *error);

double verdict_exact_maximum(const struct verdict *verdict);
double verdict_lower_bound(const struct verdict *verdict); /* the larger of path and direct */
double verdict_claimed_epsilon(const struct verdict *verdict);
double verdict_claimed_delta(const struct verdict *verdict);

/* False when the exact maximum or a lower bound exceeds the claim, when the tally is not clean, or
 * when anything but the content of a report depends on the data. */
bool verdict_passes(const struct verdict *verdict);

#endif
