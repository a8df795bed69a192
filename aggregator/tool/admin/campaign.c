/* dpot campaign: admin calls about campaigns, and signed campaigns as files. */
#include "tool/shared/commands.h"

#include "base/clock.h"
#include "campaign/spec.h"
#include "campaign/spec_sphere.h"
#include "files/output.h"
#include "tool/shared/campaign_file.h"
#include "tool/shared/options.h"
#include "tool/shared/paging.h"
#include "tool/shared/revision.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define FOLDER_SIZE 4096
#define MINUTE_MS ((int64_t)60 * 1000)
#define SHORT_ROUND_MS (60 * MINUTE_MS)

static const struct option admin_options[] = {
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

static const struct option show_options[] = {
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    REVISION_OPTION,
    CAMPAIGN_PIN_OPTION,
    {"list-points", NULL, "with a file: list the points too"},
    {NULL, NULL, NULL},
};

static const struct option close_options[] = {
    {"revision", "N 1..4294967295", "the revision, also a draft (default: the open one)"},
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

static const struct option fetch_options[] = {
    {"revision", "N 1..4294967295",
     "this revision, not the one devices get; needs the admin token"},
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    CAMPAIGN_PIN_OPTION,
    {"out", "F", "the signed bytes"},
    {NULL, NULL, NULL},
};

/* ---- create ---- */

/* A report counts only if it arrives before its round closes, and devices are not always online. */
static void warn_of_short_rounds(const struct run *run, const struct dpot_campaign *campaign)
{
    const int64_t length_ms =
        dpot_campaign_round_closes(campaign, 0) - dpot_campaign_round_opens(campaign, 0);
    if (length_ms < SHORT_ROUND_MS) {
        run_warn(run,
                 "each of the %u rounds is only %.4g %s long, and a report must arrive in its own "
                 "round: what comes later is charged and dropped. Make rounds hours or days long",
                 (unsigned)campaign->rounds,
                 (double)length_ms / (length_ms < MINUTE_MS ? 1e3 : 6e4),
                 length_ms < MINUTE_MS ? "seconds" : "minutes");
    }
}

/* Validates the SPEC before anything is sent. *sphere: the cost of a report of a campaign on a
 * sphere, NULL for others. */
static dpot_status check_spec(struct run *run, const json_t *spec, json_t **sphere)
{
    static const uint8_t no_id[DPOT_CAMPAIGN_ID_LEN];
    struct dpot_campaign campaign;
    const dpot_status status = spec_compile(spec, no_id, 1, &campaign, &run->error);
    if (status == DPOT_OK) {
        warn_of_short_rounds(run, &campaign);
        *sphere = dpot_campaign_is_sphere(&campaign) ? spec_describe_sphere(&campaign) : NULL;
        dpot_campaign_release(&campaign);
    }
    return status;
}

static dpot_status run_create(struct run *run)
{
    char folder[FOLDER_SIZE];
    json_t *spec = NULL, *sphere = NULL;
    char *body = NULL;
    const char *path = run->operands[0];
    campaign_file_folder(path, folder, sizeof folder);
    dpot_status status = json_read(path, &spec, &run->error);
    if (status == DPOT_OK) {
        status = spec_inline(spec, folder, &run->error);
    }
    if (status == DPOT_OK) {
        status = check_spec(run, spec, &sphere);
    }
    if (status == DPOT_OK) {
        body = json_dumps(spec, JSON_COMPACT | JSON_REAL_PRECISION(17));
        status = body ? remote_admin(run, "POST", "/v1/admin/campaigns", body, &remote_campaign)
                      : DPOT_ERR_MEMORY;
    }
    if (status == DPOT_OK && sphere) {
        (void)json_object_set(run->result, "sphere", sphere);
    }
    json_decref(sphere);
    free(body);
    json_decref(spec);
    return status;
}

const struct command command_campaign_create = {
    .name = "campaign create",
    .operands = "SPEC.json",
    .n_operands = 1,
    .summary = "compile, sign and store a SPEC as a new campaign (a draft)",
    .details =
        "Files named in the SPEC are read here and sent with it. Warns of rounds shorter than an\n"
        "hour: a report must arrive in its own round. Keys: id, revision, hash, name, state.",
    .example = "dpot campaign create census.json --server https://pool.example.org",
    .options = admin_options,
    .run = run_create,
};

/* ---- list ---- */

static const struct option list_options[] = {
    PAGING_OPTIONS,
    REMOTE_OPTIONS,
    REMOTE_TOKEN_OPTION,
    {NULL, NULL, NULL},
};

static dpot_status run_list(struct run *run)
{
    const dpot_status status = paging_list(run, "/v1/admin/campaigns", &remote_campaigns);
    const json_t *campaigns = json_object_get(run->result, "campaigns");
    if (status == DPOT_OK && !run->is_json && json_array_size(campaigns) == 0) {
        (void)json_object_clear(run->result);
        run_put_integer(run, "campaigns", 0);
    }
    return status;
}

const struct command command_campaign_list = {
    .name = "campaign list",
    .summary = "the campaigns of a server",
    .details =
        "One row a revision, the newest campaign first. Keys: campaigns [{id, revision, hash,\n"
        "name, state, created, damage (of its reports: a sentence, or null)}]; next (for --after,\n"
        "if --limit has cut the list).",
    .example = "dpot campaign list --server https://pool.example.org",
    .options = list_options,
    .run = run_list,
};

/* ---- show ---- */

static dpot_status show_file(struct run *run, const char *text)
{
    struct campaign_file file;
    char signer[2 * DPOT_SIGN_PUBLIC_LEN + 1];
    const dpot_status status = campaign_file_load(run, text, &file);
    if (status != DPOT_OK) {
        return status;
    }
    json_t *object = spec_describe(&file.campaign, file.hash, option_is_given(run, "list-points"));
    if (object) {
        dpot_hex_encode(signer, file.signer, sizeof file.signer);
        (void)json_object_set_new(object, "signed", json_boolean(file.is_signed));
        (void)json_object_set_new(object, "signer",
                                  file.is_signed ? json_string(signer) : json_null());
        json_decref(run->result);
        run->result = object;
    }
    campaign_file_release(&file);
    return object ? DPOT_OK : DPOT_ERR_MEMORY;
}

/* Replaces the result by its readable form. */
static dpot_status present(struct run *run)
{
    json_t *shown = revision_present(run, run->result);
    json_decref(run->result);
    run->result = shown;
    return shown ? DPOT_OK : DPOT_ERR_MEMORY;
}

static dpot_status show_remote(struct run *run, const char *id)
{
    char path[96];
    uint32_t number = 0;
    dpot_status status = campaign_id_check(run, id);
    if (status == DPOT_OK) {
        status = revision_read(run, &number);
    }
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%.32s", id);
    revision_append(path, sizeof path, number);
    if (status == DPOT_OK) {
        status = remote_admin(run, "GET", path, NULL, &remote_campaign);
    }
    if (status == DPOT_OK) {
        status = revision_check(run, run->result, number);
    }
    return status == DPOT_OK ? present(run) : status;
}

static dpot_status run_show(struct run *run)
{
    const char *text = run->operands[0];
    return option_is_given(run, "server") ? show_remote(run, text) : show_file(run, text);
}

const struct command command_campaign_show = {
    .name = "campaign show",
    .operands = "ID|FILE",
    .n_operands = 1,
    .summary = "one campaign: of a server, or of a SPEC.json or signed file",
    .details =
        "An ID needs --server and the admin token; a file needs no network. A signed file is\n"
        "verified under --pin, otherwise under the signer that it names. Keys: of an ID id,\n"
        "revision, hash, state, spec, pool (of --revision N, otherwise of the open one) and all\n"
        "revisions [{revision, hash, state, reports, opens, closes}]; of a file those of the\n"
        "SPEC, hash, signed, signer.",
    .example = "dpot campaign show census.json --json",
    .options = show_options,
    .run = run_show,
};

/* ---- open, close ---- */

static dpot_status change_state(struct run *run, const char *verb, uint32_t number)
{
    char path[96];
    const dpot_status status = campaign_id_check(run, run->operands[0]);
    (void)snprintf(path, sizeof path, "/v1/admin/campaigns/%.32s/%s", run->operands[0], verb);
    revision_append(path, sizeof path, number);
    return status == DPOT_OK ? remote_admin(run, "POST", path, NULL, &remote_campaign) : status;
}

static dpot_status run_open(struct run *run)
{
    const dpot_status status = change_state(run, "open", 0);
    return status == DPOT_OK ? present(run) : status;
}

static dpot_status run_close(struct run *run)
{
    uint32_t number = 0;
    dpot_status status = revision_read(run, &number);
    if (status == DPOT_OK) {
        status = change_state(run, "close", number);
    }
    return status == DPOT_OK ? revision_check(run, run->result, number) : status;
}

const struct command command_campaign_open = {
    .name = "campaign open",
    .operands = "ID",
    .n_operands = 1,
    .summary = "open the draft revision of a campaign: devices may report",
    .details =
        "Opening a revision closes the open one for good; its pool stays readable with\n"
        "--revision N (dpot pool, dpot job start). Keys: id, revision, hash, name, state, closed\n"
        "(null, or these keys and reports of the revision that was closed).",
    .example =
        "dpot campaign open 3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2 --server https://pool.example.org",
    .options = admin_options,
    .run = run_open,
};

const struct command command_campaign_close = {
    .name = "campaign close",
    .operands = "ID",
    .n_operands = 1,
    .summary = "close a campaign: no more reports; it never opens again",
    .details =
        "Closes the open revision. If there is none, the result is the newest closed one and\n"
        "nothing changes: the command can be repeated, and a waiting draft is kept. A draft is\n"
        "abandoned with --revision N, or by closing a campaign that was never opened or closed.\n"
        "Keys: id, revision, hash, name, state.",
    .example =
        "dpot campaign close 3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2 --server https://pool.example.org",
    .options = close_options,
    .run = run_close,
};

/* ---- fetch ---- */

static dpot_status run_fetch(struct run *run)
{
    struct campaign_file file;
    char hex[2 * DPOT_HASH_LEN + 1];
    const char *out = NULL, *text = NULL;
    dpot_status status = campaign_id_check(run, run->operands[0]);
    if (status == DPOT_OK) {
        status = option_require(run, "server", "the URL of the aggregator", &text);
    }
    if (status == DPOT_OK) {
        status = option_require_output(run, "out", "a file for the signed campaign", &out);
    }
    if (status == DPOT_OK) {
        status = campaign_file_load(run, run->operands[0], &file);
    }
    if (status != DPOT_OK) {
        return status;
    }
    dpot_hex_encode(hex, file.hash, sizeof file.hash);
    run_put_text(run, "hash", hex);
    dpot_hex_encode(hex, file.signer, sizeof file.signer);
    run_put_text(run, "signer", hex);
    run_put_text(run, "name", file.campaign.name);
    run_put_integer(run, "revision", file.campaign.revision);
    run_put_integer(run, "bytes", file.signed_bytes.len);
    if (!option_is_given(run, "pin")) {
        run_warn(run, "no --pin: the signer %.16s... was not checked against a key you trust", hex);
    }
    status = output_write(out, file.signed_bytes.data, file.signed_bytes.len, &run->error);
    campaign_file_release(&file);
    return status;
}

const struct command command_campaign_fetch = {
    .name = "campaign fetch",
    .operands = "ID",
    .n_operands = 1,
    .summary = "save the signed campaign that a server gives to devices",
    .details = "Needs no token, except with --revision. Keys: hash, signer, name, revision, bytes.",
    .example = "dpot campaign fetch 3f1d5a0c9b7e4826a1c0d2e4f6a8b0c2 --server "
               "https://pool.example.org --out census.signed",
    .options = fetch_options,
    .run = run_fetch,
};
