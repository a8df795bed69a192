/* A lower bound, at a stated confidence, of the privacy loss from samples of a device's observable
 * behaviour under two inputs.
 *
 * The samples of each input are split into two halves. The event whose counts differ most is chosen
 * on the first half; the bound uses its counts on the second half, which had no part in the choice.
 * So the confidence holds whatever event was chosen and however many were tried. (It would not if
 * the same samples were used for both.)
 *
 * Events tried: a number of the sample is above or below a threshold (every relevant threshold),
 * and a trace does or does not have a given value; each for input 0 against input 1 and the
 * reverse. */
#ifndef DPOT_AUDIT_EVENTS_H
#define DPOT_AUDIT_EVENTS_H

#include "account/proportion.h"
#include "base/error.h"

#include <stdbool.h>
#include <stddef.h>

#define AUDIT_NUMBERS 2

/* One report as an observer sees it. */
struct audit_sample {
    double number[AUDIT_NUMBERS]; /* NaN: no value, in no event */
    uint32_t trace;               /* other observations, as a code defined by the producer */
};

/* The same number n >= 4 of independent samples for both inputs. */
struct audit_samples {
    size_t n;
    struct audit_sample *of[2]; /* (n) each */
    /* 0: number[0] is a number. Else it is one of this many unordered outcomes 0, 1, ..., and
     * events are sets of them. */
    uint32_t n_outcomes;
};

enum event_kind {
    EVENT_NONE,        /* no difference: the bound is 0 */
    EVENT_AT_LEAST,    /* number >= threshold */
    EVENT_BELOW,       /* number < threshold */
    EVENT_TRACE,       /* trace == code */
    EVENT_OTHER_TRACE, /* trace != code */
};

struct event_finding {
    enum event_kind kind;
    unsigned likelier;             /* the input with the higher probability on the first half */
    struct proportion_pair counts; /* of the second half */
    double epsilon;                /* the lower bound */
};

/* Computes the bound. `error` in (0, 1) is the probability that the loss is smaller than the bound.
 * DPOT_ERR_MEMORY. */
DPOT_WARN_UNUSED dpot_status events_bound(const struct audit_samples *samples, double delta,
                                          double error, struct event_finding *finding);

#endif
