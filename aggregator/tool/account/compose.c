/* dpot account compose: the total cost of a list of releases, by every accountant that applies. */
#include "account/compose.h"
#include "base/alloc.h"
#include "model/campaign.h"
#include "tool/shared/commands.h"
#include "tool/shared/options.h"
#include "json/fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define PARTS_MAX 100000
#define DELTA_MIN 1e-300
#define EXACT_MAX 9e15
#define SPARE_MIN 1e-9 /* relative to --delta: less is rounding */

static const struct option options[] = {
    {"spend", "FILE", "JSON list of {mechanism, epsilon | rho | mu, delta, count}"},
    {"delta", "D [1e-300,1)",
     "total failure probability (default: the sum of the deltas in the list)"},
    {NULL, NULL, NULL},
};

#define OTHER 0 /* no mechanism of dpot */

static const struct json_word mechanisms[] = {{"wpm", DPOT_MECHANISM_WPM},
                                              {"kpm", DPOT_MECHANISM_KPM},
                                              {"exponential", DPOT_MECHANISM_EXPONENTIAL},
                                              {"laplace", DPOT_MECHANISM_LAPLACE},
                                              {"gaussian", DPOT_MECHANISM_GAUSSIAN},
                                              {"other", OTHER},
                                              {NULL, 0}};

struct entry {
    int mechanism;
    double epsilon, rho, mu; /* NaN: not given */
    struct compose_part part;
    const json_t *note;
};

static const struct json_field fields[] = {
    FIELD_WORD("mechanism", struct entry, mechanism, mechanisms,
               FIELD_REQUIRED("give wpm, kpm, exponential, laplace, gaussian, or other for one "
                              "that is not of dpot")),
    FIELD_NUMBER("epsilon", struct entry, epsilon, 0, COMPOSE_VALUE_MAX, .otherwise = (double)NAN),
    FIELD_NUMBER("rho", struct entry, rho, 0, COMPOSE_VALUE_MAX, .otherwise = (double)NAN),
    FIELD_NUMBER("mu", struct entry, mu, 0, COMPOSE_VALUE_MAX, .otherwise = (double)NAN),
    FIELD_NUMBER("delta", struct entry, part.delta, 0, 1, .otherwise = 0),
    FIELD_INTEGER("count", struct entry, part.count, 1, COMPOSE_COUNT_MAX, .otherwise = 1),
    FIELD_VALUE("note", struct entry, note, .remedy = NULL),
    {.key = NULL},
};

struct compose_job {
    struct run *run;
    double delta; /* 0: not given */
    struct compose_part *parts;
    size_t n_parts;
};

/* ---- the list ---- */

/* Exactly one of epsilon, rho, mu. */
static dpot_status find_value(struct run *run, const struct entry *entry, const char *path,
                              struct compose_part *part)
{
    const struct {
        const char *key;
        enum compose_unit unit;
        double value;
    } units[] = {{"epsilon", COMPOSE_EPSILON, entry->epsilon},
                 {"rho", COMPOSE_RHO, entry->rho},
                 {"mu", COMPOSE_MU, entry->mu}};
    const char *found = NULL;
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        if (isnan(units[i].value)) {
            continue;
        }
        if (found) {
            return dpot_error_set(&run->error, DPOT_ERR_MALFORMED,
                                  "%s has both %s and %s: give one of epsilon, rho, mu", path,
                                  found, units[i].key);
        }
        if (!(units[i].value > 1e-150)) {
            return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                  "%s.%s is %g: give a number above 0, or leave the entry out",
                                  path, units[i].key, units[i].value);
        }
        found = units[i].key;
        part->unit = units[i].unit;
        part->value = units[i].value;
    }
    return found ? DPOT_OK
                 : dpot_error_set(&run->error, DPOT_ERR_MALFORMED,
                                  "%s has neither epsilon nor rho nor mu: give one of them", path);
}

static dpot_status check_delta(struct run *run, const char *path, const struct compose_part *part)
{
    if (part->delta >= 1 || (part->delta > 0 && part->delta < DELTA_MIN)) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "%s.delta is %g: give 0, or a number from %g to below 1", path,
                              part->delta, DELTA_MIN);
    }
    if (part->is_gaussian && part->unit == COMPOSE_EPSILON && !(part->delta > 0)) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "%s is gaussian with epsilon and no delta, which no Gaussian noise "
                              "keeps: add its delta, or give rho or mu",
                              path);
    }
    return DPOT_OK;
}

static dpot_status read_part(struct run *run, const json_t *object, size_t i,
                             struct compose_part *part)
{
    char path[32];
    struct entry entry = {.note = NULL};
    (void)snprintf(path, sizeof path, "spend[%zu]", i);
    dpot_status status = json_read_fields(object, path, fields, NULL, &entry, &run->error);
    *part = entry.part;
    part->is_gaussian = entry.mechanism == DPOT_MECHANISM_GAUSSIAN;
    if (status == DPOT_OK) {
        status = find_value(run, &entry, path, part);
    }
    return status == DPOT_OK ? check_delta(run, path, part) : status;
}

static dpot_status read_parts(struct compose_job *job, const json_t *list)
{
    struct run *run = job->run;
    const size_t n = json_array_size(list);
    if (!json_is_array(list) || n < 1 || n > PARTS_MAX) {
        return dpot_error_set(&run->error, DPOT_ERR_MALFORMED,
                              "the spend must be a list of 1 to %d objects such as "
                              "[{\"mechanism\":\"laplace\",\"epsilon\":1,\"count\":10}]",
                              PARTS_MAX);
    }
    job->parts = dpot_alloc_array(NULL, n, sizeof *job->parts);
    job->n_parts = n;
    dpot_status status = job->parts ? DPOT_OK : DPOT_ERR_MEMORY;
    for (size_t i = 0; status == DPOT_OK && i < n; i++) {
        status = read_part(run, json_array_get(list, i), i, &job->parts[i]);
    }
    return status;
}

static dpot_status load_spend(struct compose_job *job)
{
    json_t *list = NULL;
    const char *path = NULL;
    dpot_status status = option_require(job->run, "spend", "a list of releases", &path);
    if (status == DPOT_OK) {
        status = json_read(path, &list, &job->run->error);
    }
    if (status == DPOT_OK) {
        status = read_parts(job, list);
        status = status == DPOT_OK
                     ? status
                     : dpot_error_prefix(&job->run->error, status, "--spend %.120s", path);
    }
    json_decref(list);
    return status;
}

/* ---- the result ---- */

/* As an integer if JSON readers keep it exact. */
static void put_releases(const struct compose_job *job)
{
    double sum = 0;
    for (size_t i = 0; i < job->n_parts; i++) {
        sum += (double)job->parts[i].count;
    }
    if (sum < EXACT_MAX) {
        run_put_integer(job->run, "releases", (uint64_t)sum);
    } else {
        run_put_number(job->run, "releases", sum);
    }
}

static json_t *describe(const struct composition *composition)
{
    json_t *object = json_object();
    const bool applies = !composition->why;
    (void)json_object_set_new(object, "epsilon",
                              applies ? json_number(composition->epsilon) : json_null());
    (void)json_object_set_new(object, "delta",
                              applies ? json_number(composition->delta) : json_null());
    if (composition->rho > 0) {
        (void)json_object_set_new(object, "rho", json_number(composition->rho));
    }
    if (composition->mu > 0) {
        (void)json_object_set_new(object, "mu", json_number(composition->mu));
    }
    if (!applies) {
        (void)json_object_set_new(object, "why_not", json_string(composition->why));
    }
    return object;
}

static json_t *describe_assumptions(const struct composition compositions[ACCOUNTANTS])
{
    json_t *list = json_array();
    (void)json_array_append_new(
        list, json_string("all releases are about the same person's data (releases about different "
                          "people do not add), each by its own fresh randomness"));
    (void)json_array_append_new(
        list, json_string("the list was fixed before the first release, or only basic is used"));
    (void)json_array_append_new(list,
                                json_string("gaussian with epsilon and delta was calibrated by the "
                                            "analytic formula or a certificate row"));
    for (enum accountant a = ACCOUNTANT_BASIC; a < ACCOUNTANTS; a++) {
        if (!compositions[a].why) {
            (void)json_array_append_new(list, json_string(accountant_assumption(a)));
        }
    }
    return list;
}

/* Basic composition of parts with deltas of their own needs no more of --delta. */
static void put_spare_delta(struct compose_job *job, enum accountant best, double delta)
{
    const double spare = job->delta - delta;
    if (!(job->delta > 0 && spare > SPARE_MIN * job->delta)) {
        return;
    }
    run_put_number(job->run, "spare_delta", spare);
    run_put_text(job->run, "spare_delta_note",
                 best == ACCOUNTANT_BASIC
                     ? "basic gives the smallest epsilon and needs only the delta above; the other "
                       "accountants use the rest of --delta and still give a larger epsilon"
                     : "the accountant above needs no more of --delta");
}

static dpot_status put_result(struct compose_job *job)
{
    struct run *run = job->run;
    struct composition compositions[ACCOUNTANTS];
    compose(job->parts, job->n_parts, job->delta, compositions);
    const enum accountant best = compose_best(compositions);
    if (best == ACCOUNTANTS) {
        return job->delta > 0
                   ? dpot_error_set(&run->error, DPOT_ERR_RANGE,
                                    "no accountant applies at --delta %g: %s; give a "
                                    "larger one",
                                    job->delta, compositions[ACCOUNTANT_BASIC].why)
                   : RUN_USAGE(run, "rho and mu alone promise no epsilon: give --delta, or a "
                                    "delta in each entry");
    }
    if (compositions[best].delta >= 1) {
        return dpot_error_set(&run->error, DPOT_ERR_RANGE,
                              "the deltas add to %g, which protects nobody: give fewer releases or "
                              "smaller deltas",
                              compositions[best].delta);
    }
    run_put_number(run, "epsilon", compositions[best].epsilon);
    run_put_number(run, "delta", compositions[best].delta);
    run_put_text(run, "accountant", accountant_name(best));
    put_spare_delta(job, best, compositions[best].delta);
    put_releases(job);
    for (enum accountant a = ACCOUNTANT_BASIC; a < ACCOUNTANTS; a++) {
        run_put(run, accountant_name(a), describe(&compositions[a]));
    }
    run_put(run, "assumptions", describe_assumptions(compositions));
    return DPOT_OK;
}

static dpot_status run_compose(struct run *run)
{
    struct compose_job job = {.run = run};
    dpot_status status = option_number(run, "delta", 0, 1, &job.delta);
    if (status == DPOT_OK && option_is_given(run, "delta") &&
        !(job.delta >= DELTA_MIN && job.delta < 1)) {
        status = RUN_USAGE(run, "--delta is %.40s: give a number from %g to below 1",
                           option_text(run, "delta"), DELTA_MIN);
    }
    if (status == DPOT_OK) {
        status = load_spend(&job);
    }
    if (status == DPOT_OK) {
        status = put_result(&job);
    }
    dpot_free_array(NULL, job.parts, job.n_parts, sizeof *job.parts);
    return status;
}

const struct command command_account_compose = {
    .name = "account compose",
    .summary = "what several releases cost together, by four accountants",
    .details =
        "FILE is a JSON list of objects: mechanism (wpm, kpm, exponential, laplace, other, or\n"
        "gaussian, which counts as Gaussian noise), one of epsilon, rho (zCDP), mu (GDP, that is\n"
        "diameter / sigma), delta (default 0; with rho or mu: where basic converts), count\n"
        "(default 1), note (ignored).\n"
        "  basic    sums of epsilon and delta; rho and mu converted one by one\n"
        "  zcdp     sum of rho, converted at the total delta\n"
        "  gdp      root of the sum of mu^2: when every part is given by mu\n"
        "  optimal  equal pure epsilons, the exact answer\n"
        "Keys: epsilon, delta and accountant of the smallest epsilon; epsilon and delta of each\n"
        "accountant (null, with why_not, if it does not apply); releases, assumptions. Without\n"
        "--delta the total delta is the sum of those in the list. spare_delta (with a note) is\n"
        "the part of --delta that the best accountant does not need. All numbers are rounded up.",
    .example = "dpot account compose --spend spend.json --delta 1e-6",
    .options = options,
    .run = run_compose,
};
