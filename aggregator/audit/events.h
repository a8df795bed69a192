/* What samples prove: the privacy loss that a device's observable behaviour under two inputs has at
 * least, at a stated confidence.
 *
 * The samples of each input are cut into two halves. On the first the event is chosen whose counts
 * differ most; the second, which had no part in the choice, is counted once. So the bound holds with
 * the stated confidence whatever was chosen and however many events were looked at; choosing and
 * counting on the same samples would not.
 *
 * Events looked at: a number of the sample above or below a threshold (every threshold that matters),
 * and a trace being or not being some value. An event of input 0 against input 1 and the reverse. */
#ifndef DPOT_AUDIT_EVENTS_H
#define DPOT_AUDIT_EVENTS_H

#include "account/proportion.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define AUDIT_NUMBERS 2

/* One report as an observer sees it. */
struct audit_sample {
    double number[AUDIT_NUMBERS]; /* NaN: there is none, below and above nothing */
    uint32_t trace;               /* what else was seen, in a code of the producer's */
};

/* The same number of samples for both inputs, at least 4, independent of each other. */
struct audit_samples {
    size_t n;
    struct audit_sample *of[2]; /* (n) each */
    /* number[0] is one of this many outcomes without an order, 0, 1, ...: events are sets of them. 0: a
     * number like the other. */
    uint32_t n_outcomes;
};

enum event_kind {
    EVENT_NONE,        /* nothing differed: the bound is 0 */
    EVENT_AT_LEAST,    /* number >= threshold */
    EVENT_BELOW,       /* number < threshold */
    EVENT_TRACE,       /* trace == code */
    EVENT_OTHER_TRACE, /* trace != code */
};

struct event_finding {
    enum event_kind kind;
    unsigned likelier; /* the input under which the event is likelier, by the first half */
    struct proportion_pair counts; /* of the second half */
    double epsilon;                /* the lower bound */
};

/* Allocates what the choice needs. `error` in (0, 1) is the probability that the loss is smaller than
 * the bound. DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status events_bound(const struct audit_samples *samples, double delta,
                                          double error, struct event_finding *finding);

#endif
