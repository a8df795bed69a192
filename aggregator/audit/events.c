#include "audit/events.h"

#include "base/alloc.h"

#include <math.h>
#include <stdlib.h>

#define THRESHOLDS_MAX 256 /* per number */
#define TRACES_MAX 16      /* most trace values tried as events */

/* Samples first .. first + n - 1 of both inputs: one half. */
struct half {
    const struct audit_samples *samples;
    size_t first, n;
    const double *rank; /* (n_outcomes) likelihood rank of each outcome; NULL: no outcomes */
};

struct event {
    enum event_kind kind;
    unsigned likelier;
    unsigned number;
    double threshold;
    uint32_t code;
};

static double number_of(const struct half *half, const struct audit_sample *sample, unsigned number)
{
    const double value = sample->number[number];
    if (number > 0 || !half->rank) {
        return value;
    }
    return value >= 0 && value < half->samples->n_outcomes ? half->rank[(size_t)value] : NAN;
}

static bool event_holds(const struct half *half, const struct event *event,
                        const struct audit_sample *sample)
{
    switch (event->kind) {
    case EVENT_AT_LEAST:
        return number_of(half, sample, event->number) >= event->threshold;
    case EVENT_BELOW:
        return number_of(half, sample, event->number) < event->threshold;
    case EVENT_TRACE:
        return sample->trace == event->code;
    case EVENT_OTHER_TRACE:
        return sample->trace != event->code;
    case EVENT_NONE:
        break;
    }
    return false;
}

static struct proportion_pair count_event(const struct half *half, const struct event *event)
{
    uint64_t n_hits[2] = {0, 0};
    for (unsigned input = 0; input < 2; input++) {
        const struct audit_sample *samples = half->samples->of[input] + half->first;
        for (size_t i = 0; i < half->n; i++) {
            n_hits[input] += event_holds(half, event, &samples[i]);
        }
    }
    const unsigned likelier = event->likelier;
    return (struct proportion_pair){n_hits[likelier], half->n, n_hits[1 - likelier], half->n};
}

struct choice {
    const struct half *half;
    double delta;
    double normal; /* about the normal quantile of the error; affects the choice only */
    double score;  /* of the best event so far */
    struct event best;
};

/* Approximates proportion_epsilon for these counts. */
static double score_counts(const struct choice *choice, const struct proportion_pair *pair)
{
    const double z = choice->normal, n = (double)pair->n;
    const double p = (double)pair->n_hits / n, q = (double)pair->n_other_hits / n;
    const double low = p - z * sqrt(p * (1 - p) / n) - z * z / n - choice->delta;
    const double high = q + z * sqrt(q * (1 - q) / n) + z * z / n;
    return low > 0 ? log(low / high) : -INFINITY;
}

static void consider(struct choice *choice, struct event event,
                     const struct proportion_pair *counts)
{
    const double score = score_counts(choice, counts);
    if (score > choice->score) {
        choice->score = score;
        choice->best = event;
    }
}

/* Scores the event with each of the two inputs as the likelier one. */
static void consider_event(struct choice *choice, struct event event)
{
    for (event.likelier = 0; event.likelier < 2; event.likelier++) {
        const struct proportion_pair counts = count_event(choice->half, &event);
        consider(choice, event, &counts);
    }
}

static int compare_doubles(const void *left, const void *right)
{
    const double a = *(const double *)left, b = *(const double *)right;
    return (a > b) - (a < b);
}

/* Sorts the numbers of one input without NaN; returns how many there are. */
static size_t sort_numbers(const struct half *half, unsigned input, unsigned number, double *sorted)
{
    const struct audit_sample *samples = half->samples->of[input] + half->first;
    size_t n = 0;
    for (size_t i = 0; i < half->n; i++) {
        const double value = number_of(half, &samples[i], number);
        if (!isnan(value)) {
            sorted[n++] = value;
        }
    }
    qsort(sorted, n, sizeof *sorted, compare_doubles);
    return n;
}

/* How many of the sorted numbers are below the threshold. */
static size_t count_below(const double *sorted, size_t n, double threshold)
{
    size_t low = 0, high = n;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (sorted[middle] < threshold) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    return low;
}

/* Scores both sides of a threshold with each of the two inputs as the likelier one. */
static void consider_threshold(struct choice *choice, unsigned number, double threshold,
                               const double *const sorted[2], const size_t n_sorted[2])
{
    const size_t n = choice->half->n;
    size_t below[2];
    for (unsigned input = 0; input < 2; input++) {
        below[input] = count_below(sorted[input], n_sorted[input], threshold);
    }
    for (unsigned likelier = 0; likelier < 2; likelier++) {
        const unsigned other = 1 - likelier;
        const struct proportion_pair under = {below[likelier], n, below[other], n};
        const struct proportion_pair over = {n_sorted[likelier] - below[likelier], n,
                                             n_sorted[other] - below[other], n};
        struct event event = {
            .kind = EVENT_BELOW, .likelier = likelier, .number = number, .threshold = threshold};
        consider(choice, event, &under);
        event.kind = EVENT_AT_LEAST;
        consider(choice, event, &over);
    }
}

/* Tries thresholds at quantiles of both inputs, and just above each of them. */
static void choose_threshold(struct choice *choice, unsigned number, double *const sorted[2])
{
    size_t n_sorted[2];
    for (unsigned input = 0; input < 2; input++) {
        n_sorted[input] = sort_numbers(choice->half, input, number, sorted[input]);
    }
    for (unsigned input = 0; input < 2; input++) {
        const size_t n = n_sorted[input];
        const size_t n_thresholds = n < THRESHOLDS_MAX ? n : THRESHOLDS_MAX;
        for (size_t i = 0; i < n_thresholds; i++) {
            const size_t at = n_thresholds > 1 ? (n - 1) * i / (n_thresholds - 1) : 0;
            const double value = sorted[input][at];
            const double *const readable[2] = {sorted[0], sorted[1]};
            consider_threshold(choice, number, value, readable, n_sorted);
            consider_threshold(choice, number, nextafter(value, INFINITY), readable, n_sorted);
        }
    }
}

static void choose_trace(struct choice *choice)
{
    uint32_t codes[TRACES_MAX];
    size_t n_codes = 0;
    for (size_t i = 0; i < 2 * choice->half->n && n_codes < TRACES_MAX; i++) {
        const struct half *half = choice->half;
        const uint32_t code = half->samples->of[i % 2][half->first + i / 2].trace;
        size_t known = 0;
        while (known < n_codes && codes[known] != code) {
            known++;
        }
        if (known == n_codes) {
            codes[n_codes++] = code;
        }
    }
    for (size_t i = 0; i < n_codes && n_codes > 1; i++) {
        consider_event(choice, (struct event){.kind = EVENT_TRACE, .code = codes[i]});
        consider_event(choice, (struct event){.kind = EVENT_OTHER_TRACE, .code = codes[i]});
    }
}

/* Ranks outcomes by their likelihood ratio for input 0, on the half used for the choice. */
static void rank_outcomes(const struct half *half, double *rank, double *counts)
{
    const size_t n_outcomes = half->samples->n_outcomes;
    for (size_t j = 0; j < 2 * n_outcomes; j++) {
        counts[j] = 0.5;
    }
    for (size_t i = 0; i < 2 * half->n; i++) {
        const double outcome = half->samples->of[i % 2][half->first + i / 2].number[0];
        if (outcome >= 0 && outcome < (double)n_outcomes) {
            counts[(i % 2) * n_outcomes + (size_t)outcome]++;
        }
    }
    for (size_t j = 0; j < n_outcomes; j++) {
        rank[j] = log(counts[j] / counts[n_outcomes + j]);
    }
}

static struct event choose_event(const struct half *half, double delta, double error,
                                 double *const sorted[2])
{
    struct choice choice = {.half = half,
                            .delta = delta,
                            .normal = sqrt(2 * log(1 / error)),
                            .score = -INFINITY,
                            .best = {.kind = EVENT_NONE}};
    for (unsigned number = 0; number < AUDIT_NUMBERS; number++) {
        choose_threshold(&choice, number, sorted);
    }
    choose_trace(&choice);
    return choice.best;
}

dpot_status events_bound(const struct audit_samples *samples, double delta, double error,
                         struct event_finding *finding)
{
    *finding = (struct event_finding){.kind = EVENT_NONE};
    const size_t n_first = samples->n / 2, n_outcomes = samples->n_outcomes;
    double *sorted = dpot_alloc_array(NULL, 2 * n_first, sizeof *sorted);
    double *ranks = dpot_alloc_array(NULL, 3 * n_outcomes, sizeof *ranks);
    const dpot_status status = sorted && ranks ? DPOT_OK : DPOT_ERR_MEMORY;
    if (status == DPOT_OK) {
        struct half half = {samples, 0, n_first, n_outcomes > 0 ? ranks : NULL};
        double *const columns[2] = {sorted, sorted + n_first};
        rank_outcomes(&half, ranks, ranks + n_outcomes);
        const struct event event = choose_event(&half, delta, error, columns);
        half.first = n_first;
        half.n = samples->n - n_first;
        finding->kind = event.kind;
        finding->likelier = event.likelier;
        finding->counts = count_event(&half, &event);
        finding->epsilon = proportion_epsilon(&finding->counts, delta, error);
    }
    dpot_free_array(NULL, ranks, 3 * n_outcomes, sizeof *ranks);
    dpot_free_array(NULL, sorted, 2 * n_first, sizeof *sorted);
    return status;
}
