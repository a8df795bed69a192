#include "base/clock.h"
#include "base/crypto.h"
#include "cli/options.h"
#include "dpotd/command.h"
#include "keys/keys.h"

#include <stdio.h>

static const char *state_of(const struct dpot_seal_key *key)
{
    const struct dpot_clock *clock = dpot_clock_system();
    const int64_t now_ms = clock->now(clock->ctx);
    return now_ms >= key->not_after_ms   ? "expired"
           : now_ms < key->not_before_ms ? "early"
                                         : "valid";
}

/* {"id", "not_before", "not_after"}, and "state" where it can be another. */
static json_t *describe(const struct dpot_seal_key *key, bool with_state)
{
    char id[2 * DPOT_SEAL_KEY_ID_LEN + 1], begins[DPOT_RFC3339_SIZE], ends[DPOT_RFC3339_SIZE];
    dpot_hex_encode(id, key->id, sizeof key->id);
    dpot_time_format(key->not_before_ms, begins);
    dpot_time_format(key->not_after_ms, ends);
    json_t *body = json_pack("{s:s,s:s,s:s}", "id", id, "not_before", begins, "not_after", ends);
    if (with_state) {
        (void)json_object_set_new(body, "state", json_string(state_of(key)));
    }
    return body;
}

static void print_line(const struct dpot_seal_key *key)
{
    json_t *row = describe(key, true);
    (void)printf("seal key %s: %s, from %s until %s\n",
                 json_string_value(json_object_get(row, "id")),
                 json_string_value(json_object_get(row, "state")),
                 json_string_value(json_object_get(row, "not_before")),
                 json_string_value(json_object_get(row, "not_after")));
    json_decref(row);
}

static void print_keys(const struct run *run, const struct server_keys *keys)
{
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN];
    char pin[2 * DPOT_SIGN_PUBLIC_LEN + 1];
    json_t *rows = json_array();
    dpot_sign_public(keys->secret_key, public_key);
    dpot_hex_encode(pin, public_key, sizeof public_key);
    for (size_t i = 0; i < keys->n_seal_secrets; i++) {
        (void)json_array_append_new(rows, describe(&keys->seal_secrets[i].key, true));
    }
    command_answer(run, json_pack("{s:s,s:o}", "pin", pin, "seal_keys", rows), "pin: %s", pin);
    for (size_t i = 0; !run->is_json && i < keys->n_seal_secrets; i++) {
        print_line(&keys->seal_secrets[i].key);
    }
}

static dpot_status run_list(struct run *run)
{
    struct config config;
    struct server_keys keys;
    dpot_status status = command_read_config(run, &config);
    if (status == DPOT_OK) {
        status = server_keys_read(config.keys_dir, &keys, &run->error);
    }
    if (status == DPOT_OK) {
        print_keys(run, &keys);
        server_keys_wipe(&keys);
    }
    return status;
}

static dpot_status run_add(struct run *run)
{
    struct config config;
    struct dpot_seal_key added;
    uint64_t days = SERVER_KEYS_DAYS;
    dpot_status status = option_integer(run, "days", 1, SERVER_KEYS_DAYS_MAX, &days);
    if (status == DPOT_OK) {
        status = command_read_config(run, &config);
    }
    if (status == DPOT_OK) {
        status = server_keys_add(config.keys_dir, dpot_clock_system(), (unsigned)days, &added,
                                 &run->error);
    }
    if (status == DPOT_OK && !run->is_json) {
        print_line(&added);
    }
    if (status == DPOT_OK) {
        command_answer(run, describe(&added, false), "start dpotd serve again to announce it");
    }
    return status;
}

static dpot_status run_prune(struct run *run)
{
    struct config config;
    size_t n_removed = 0, n_unfinished = 0;
    dpot_status status = command_read_config(run, &config);
    if (status == DPOT_OK) {
        status = server_keys_clear(config.keys_dir, &n_unfinished, &run->error);
    }
    if (status == DPOT_OK) {
        status = server_keys_prune(config.keys_dir, dpot_clock_system(), &n_removed, &run->error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    command_answer(run,
                   json_pack("{s:I,s:I}", "removed", (json_int_t)n_removed, "unfinished",
                             (json_int_t)n_unfinished),
                   "removed %zu expired seal key%s", n_removed, DPOT_S(n_removed));
    if (!run->is_json && n_unfinished > 0) {
        (void)printf("removed %zu unfinished key file%s\n", n_unfinished, DPOT_S(n_unfinished));
    }
    return DPOT_OK;
}

static const struct option list_options[] = {
    {"config", "FILE", "dpotd.json"},
    {NULL, NULL, NULL},
};

const struct command command_keys_list = {
    .name = "keys list",
    .summary = "print the pin and the keys that devices seal reports for",
    .details =
        "Prints the pin of the signing key, which devices know, and the keys they seal reports "
        "for, with\n"
        "the time when each begins and ends. No secret is printed. --json prints {\"pin\", "
        "\"seal_keys\":\n"
        "[{\"id\", \"not_before\", \"not_after\", \"state\"}]}; state is valid, expired or early.",
    .example = "dpotd keys list --config /var/lib/dpot/dpotd.json",
    .options = list_options,
    .n_required = 1,
    .run = run_list,
};

static const struct option add_options[] = {
    {"config", "FILE", "dpotd.json"},
    {"days", "N 1..3650", "how long it is valid (default 400)"},
    {NULL, NULL, NULL},
};

const struct command command_keys_add = {
    .name = "keys add",
    .summary = "make a new key to seal reports for",
    .details =
        "Makes a new key to seal reports for, valid from 15 minutes before now, so that devices "
        "whose clocks\n"
        "are slow can report. dpotd serve announces it when it is started\n"
        "again; reports sealed for the older keys are taken until these expire. Privatised reports "
        "are\n"
        "never made anew for a new key. --json prints {\"id\", \"not_before\", \"not_after\"}.",
    .example = "dpotd keys add --config /var/lib/dpot/dpotd.json --days 400",
    .options = add_options,
    .n_required = 1,
    .run = run_add,
};

const struct command command_keys_prune = {
    .name = "keys prune",
    .summary = "remove keys that have expired",
    .details =
        "Removes the files of seal keys that have expired: nothing is sealed for them, and what "
        "was is\n"
        "sealed again by its device. The last key that is valid is never removed. Removes also "
        "what an\n"
        "init or keys add that was killed left of a key (.dpot-*.tmp), which nothing uses; "
        "not while\n"
        "a running command is making it, which holds a lock on it. --json prints {\"removed\",\n"
        "\"unfinished\"}, their numbers.",
    .example = "dpotd keys prune --config /var/lib/dpot/dpotd.json",
    .options = list_options,
    .n_required = 1,
    .run = run_prune,
};
