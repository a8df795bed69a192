#include "base/clock.h"
#include "base/crypto.h"
#include "cli/options.h"
#include "dpotd/command.h"
#include "dpotd/init.h"

static void answer(const struct run *run, const struct init_result *result, const char *listen)
{
    char pin[2 * DPOT_SIGN_PUBLIC_LEN + 1];
    dpot_hex_encode(pin, result->pin, sizeof result->pin);
    command_answer(
        run,
        json_pack("{s:s,s:s,s:s,s:s,s:b}", "config", result->config_path, "listen", listen, "pin",
                  pin, "token", result->token, "kept_signing_key", result->kept_signing_key),
        "config: %s\npin: %s%s\nadmin token: %s\n\nKeep the token: it is shown only now.",
        result->config_path, pin,
        result->kept_signing_key ? " (of the signing key that was there)" : "", result->token);
}

static dpot_status run_init(struct run *run)
{
    struct init_result result;
    const char *listen = option_text(run, "listen");
    listen = listen ? listen : "127.0.0.1:8080";
    const dpot_status status =
        init_run(option_text(run, "dir"), listen, dpot_clock_system(), &result, &run->error);
    if (status == DPOT_OK) {
        answer(run, &result, listen);
    }
    dpot_wipe(&result, sizeof result);
    return status;
}

static const struct option options[] = {
    {"dir", "DIR", "folder, made when missing"},
    {"listen", "HOST:PORT", "where serve will listen (default 127.0.0.1:8080)"},
    {NULL, NULL, NULL},
};

const struct command command_init = {
    .name = "init",
    .summary = "make keys, an admin token and a configuration",
    .details =
        "Makes a new installation in DIR: dpotd.json, keys/ (a signing key and a seal key valid "
        "for\n"
        "400 days) and tokens. Prints the pin that devices need and, this once, the admin token.\n"
        "Refuses to overwrite an installation. One that was cut off (there is no dpotd.json yet) "
        "is\n"
        "completed: keys that are there are kept, a new token is added. --json prints "
        "{\"config\",\n"
        "\"listen\", \"pin\", \"token\", \"kept_signing_key\"}.",
    .example = "dpotd init --dir /var/lib/dpot --listen 127.0.0.1:8080",
    .options = options,
    .n_required = 1,
    .run = run_init,
};
