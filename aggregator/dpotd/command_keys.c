#include "base/clock.h"
#include "dpotd/command.h"
#include "dpotd/config.h"
#include "keys/keys.h"
#include "json/json.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

static const char list_help[] =
    "dpotd keys list --config FILE [--json]\n"
    "\n"
    "Prints the pin of the signing key, which devices know, and the keys they seal reports for, "
    "with the\n"
    "time when each begins and ends. No secret is printed.\n"
    "\n"
    "  --config FILE  dpotd.json\n"
    "  --json         print {\"pin\", \"seal_keys\": [{\"id\", \"not_before\", \"not_after\", "
    "\"state\"}]};\n"
    "                 state is valid, expired or early\n"
    "\n"
    "Example: dpotd keys list --config /var/lib/dpot/dpotd.json\n";

static const char add_help[] =
    "dpotd keys add --config FILE [--days N] [--json]\n"
    "\n"
    "Makes a new key to seal reports for, valid from now. dpotd serve announces it when it is "
    "started\n"
    "again; reports sealed for the older keys are taken until these expire. Privatised reports are "
    "never\n"
    "made anew for a new key.\n"
    "\n"
    "  --config FILE  dpotd.json\n"
    "  --days N       how long it is valid (1 to 3650, default 400)\n"
    "  --json         print {\"id\", \"not_before\", \"not_after\"}\n"
    "\n"
    "Example: dpotd keys add --config /var/lib/dpot/dpotd.json --days 400\n";

static const char prune_help[] =
    "dpotd keys prune --config FILE [--json]\n"
    "\n"
    "Removes the files of seal keys that have expired: nothing is sealed for them, and what was "
    "is sealed\n"
    "again by its device. The last key that is valid is never removed. Removes also what an init "
    "or "
    "keys\n"
    "add that was killed left of a key (NAME.key.partial), which nothing uses; not while a "
    "running\n"
    "command is making it, which holds a lock on it.\n"
    "\n"
    "  --config FILE  dpotd.json\n"
    "  --json         print {\"removed\", \"unfinished\"}, their numbers\n"
    "\n"
    "Example: dpotd keys prune --config /var/lib/dpot/dpotd.json\n";

static int64_t now(void)
{
    const struct dpot_clock *clock = dpot_clock_system();
    return clock->now(clock->ctx);
}

static const char *state_of(const struct dpot_seal_key *key)
{
    const int64_t now_ms = now();
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

static void print_json(json_t *body)
{
    (void)json_dumpf(body, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
    (void)fputc('\n', stdout);
    json_decref(body);
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

static void print_keys(const struct server_keys *keys, bool is_json)
{
    uint8_t public_key[DPOT_SIGN_PUBLIC_LEN];
    char pin[2 * DPOT_SIGN_PUBLIC_LEN + 1];
    json_t *rows = is_json ? json_array() : NULL;
    dpot_sign_public(keys->secret_key, public_key);
    dpot_hex_encode(pin, public_key, sizeof public_key);
    if (!is_json) {
        (void)printf("pin: %s\n", pin);
    }
    for (size_t i = 0; i < keys->n_seal_secrets; i++) {
        if (is_json) {
            (void)json_array_append_new(rows, describe(&keys->seal_secrets[i].key, true));
        } else {
            print_line(&keys->seal_secrets[i].key);
        }
    }
    if (is_json) {
        print_json(json_pack("{s:s,s:o}", "pin", pin, "seal_keys", rows));
    }
}

static int run_list(const struct options *options)
{
    struct dpot_error error = {{0}};
    struct config config;
    struct server_keys keys;
    if (!options->config) {
        return command_fail_usage("keys list needs --config FILE", "");
    }
    dpot_status status = config_read(options->config, &config, &error);
    if (status == DPOT_OK) {
        status = server_keys_read(config.keys_dir, &keys, &error);
    }
    if (status != DPOT_OK) {
        return command_fail(status, &error);
    }
    print_keys(&keys, options->is_json);
    server_keys_wipe(&keys);
    return command_finish();
}

/* Days as given, or the default; 0: no such number. */
static unsigned days_of(const struct options *options)
{
    char *end = NULL;
    if (!options->days) {
        return SERVER_KEYS_DAYS;
    }
    errno = 0;
    const long days = strtol(options->days, &end, 10);
    const bool is_number = errno == 0 && end != options->days && *end == '\0';
    return is_number && days >= 1 && days <= SERVER_KEYS_DAYS_MAX ? (unsigned)days : 0;
}

static int run_add(const struct options *options)
{
    struct dpot_error error = {{0}};
    struct config config;
    struct dpot_seal_key added;
    const unsigned days = days_of(options);
    if (!options->config) {
        return command_fail_usage("keys add needs --config FILE", "");
    }
    if (days == 0) {
        return command_fail_usage("--days takes a number from 1 to 3650, not ", options->days);
    }
    dpot_status status = config_read(options->config, &config, &error);
    if (status == DPOT_OK) {
        status = server_keys_add(config.keys_dir, dpot_clock_system(), days, &added, &error);
    }
    if (status != DPOT_OK) {
        return command_fail(status, &error);
    }
    if (options->is_json) {
        print_json(describe(&added, false));
    } else {
        print_line(&added);
        (void)printf("start dpotd serve again to announce it\n");
    }
    return command_finish();
}

static int run_prune(const struct options *options)
{
    struct dpot_error error = {{0}};
    struct config config;
    size_t n_removed = 0, n_unfinished = 0;
    if (!options->config) {
        return command_fail_usage("keys prune needs --config FILE", "");
    }
    dpot_status status = config_read(options->config, &config, &error);
    if (status == DPOT_OK) {
        status = server_keys_clear(config.keys_dir, &n_unfinished, &error);
    }
    if (status == DPOT_OK) {
        status = server_keys_prune(config.keys_dir, dpot_clock_system(), &n_removed, &error);
    }
    if (status != DPOT_OK) {
        return command_fail(status, &error);
    }
    if (options->is_json) {
        print_json(json_pack("{s:I,s:I}", "removed", (json_int_t)n_removed, "unfinished",
                             (json_int_t)n_unfinished));
    } else {
        (void)printf("removed %zu expired seal key%s\n", n_removed, DPOT_S(n_removed));
        if (n_unfinished > 0) {
            (void)printf("removed %zu unfinished key file%s\n", n_unfinished, DPOT_S(n_unfinished));
        }
    }
    return command_finish();
}

static const char *const plain_names[] = {"--config", "--json", NULL};
static const char *const add_names[] = {"--config", "--days", "--json", NULL};

const struct command command_keys_list = {"keys list", list_help, plain_names, run_list};
const struct command command_keys_add = {"keys add", add_help, add_names, run_add};
const struct command command_keys_prune = {"keys prune", prune_help, plain_names, run_prune};
