/* dpot campaign revise: makes the next revision of a campaign, with another base measure. */
#include "campaign/spec.h"
#include "tool/shared/commands.h"

#include "tool/shared/load.h"
#include "tool/shared/options.h"
#include "tool/shared/remote.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct option options[] = {
    {"base-measure", "F|artifact:DIGEST", "the masses (kv,), or the artifact of a job"},
    {"opens", "TIME", "such as 2026-12-01T00:00:00Z (default: as before)"},
    {"closes", "TIME", "likewise"},
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

/* A campaign stores masses in steps of 2^-32 of the largest, and has no mass of zero. */
static void raise_masses(const struct run *run, struct array *masses)
{
    const size_t n_raised = spec_raise_masses(masses->values, masses->n_rows * masses->n_cols);
    if (n_raised > 0) {
        run_warn(run,
                 "--base-measure: %zu mass%s below the least of a campaign, 2^-32 of the largest, "
                 "and raised to that; the total is kept",
                 n_raised, n_raised == 1 ? " is" : "es are");
    }
}

static dpot_status put_file(struct run *run, json_t *change)
{
    struct array array;
    const dpot_status status = load_finite(run, "base-measure", &array);
    if (status != DPOT_OK) {
        return status;
    }
    if (array.n_cols != 1 && array.n_rows != 1) {
        const dpot_status shape =
            dpot_error_set(&run->error, DPOT_ERR_SHAPE,
                           "--base-measure is %zu x %zu: give one mass per output point",
                           array.n_rows, array.n_cols);
        array_release(&array);
        return shape;
    }
    raise_masses(run, &array);
    json_t *masses = json_array();
    for (size_t j = 0; j < array.n_rows * array.n_cols; j++) {
        (void)json_array_append_new(masses, json_real(array.values[j]));
    }
    array_release(&array);
    return json_object_set_new(change, "base_measure", masses) == 0 ? DPOT_OK : DPOT_ERR_MEMORY;
}

static dpot_status put_base_measure(struct run *run, json_t *change)
{
    static const char prefix[] = "artifact:";
    const char *text = NULL;
    const dpot_status status =
        option_require(run, "base-measure", "a file of masses, or artifact:DIGEST", &text);
    if (status != DPOT_OK) {
        return status;
    }
    if (strncmp(text, prefix, sizeof prefix - 1) != 0) {
        return put_file(run, change);
    }
    json_t *digest = json_string(text + sizeof prefix - 1); /* NULL when it is not UTF-8 */
    return digest && json_object_set_new(change, "artifact", digest) == 0
               ? DPOT_OK
               : RUN_USAGE(run, "--base-measure %.80s has no digest: it has 64 hex digits", text);
}

static void put_time(const struct run *run, json_t *change, const char *name)
{
    const char *text = option_text(run, name);
    if (text) {
        json_t *value = json_string(text);
        (void)json_object_set_new(change, name, value ? value : json_string("no text"));
    }
}

static dpot_status run_revise(struct run *run)
{
    char path[96];
    const char *id = run->operands[0];
    json_t *change = json_object();
    dpot_status status = campaign_id_check(run, id);
    if (status == DPOT_OK) {
        status = put_base_measure(run, change);
    }
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%.32s/revise", id);
    if (status == DPOT_OK) {
        put_time(run, change, "opens");
        put_time(run, change, "closes");
        char *body = json_dumps(change, JSON_COMPACT | JSON_REAL_PRECISION(17));
        status = body ? remote_admin(run, "POST", path, body, &remote_campaign) : DPOT_ERR_MEMORY;
        free(body);
    }
    json_decref(change);
    return status;
}

const struct command command_campaign_revise = {
    .name = "campaign revise",
    .operands = "ID",
    .n_operands = 1,
    .summary = "make the next revision of a campaign, with another base measure (a draft)",
    .details =
        "Everything else is as in the newest revision. Opening it (dpot campaign open) closes\n"
        "the previous one, whose pool stays readable with --revision; devices fetch it when they\n"
        "enroll again, and a report to it is charged again. The total mass of the measure is\n"
        "kept; it must lie in [exp(-epsilon/2), exp(epsilon/2)], and no mass may be negative:\n"
        "otherwise the server refuses and stores nothing. Masses below 2^-32 of the largest,\n"
        "also 0, are raised to that, with a warning (a campaign has no mass of 0: remove points\n"
        "that must never be output from its outputs). Keys: id, revision, hash, name, state.",
    .example = "dpot campaign revise 3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2 --base-measure m.npy "
               "--server https://pool.example.org",
    .options = options,
    .run = run_revise,
};
