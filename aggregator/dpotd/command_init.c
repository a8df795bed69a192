#include "base/clock.h"
#include "dpotd/command.h"
#include "dpotd/init.h"
#include "json/json.h"

#include <stdio.h>

static const char help[] =
    "dpotd init --dir DIR [--listen HOST:PORT] [--json]\n"
    "\n"
    "Makes a new installation in DIR: dpotd.json, keys/ (a signing key and a seal key valid for "
    "400\n"
    "days) and tokens. Prints the pin that devices need and, this once, the admin token. Refuses "
    "to\n"
    "overwrite an installation. One that was cut off (there is no dpotd.json yet) is completed: "
    "keys that\n"
    "are there are kept, a new token is added.\n"
    "\n"
    "  --dir DIR           folder, made when missing\n"
    "  --listen HOST:PORT  where serve will listen (default 127.0.0.1:8080)\n"
    "  --json              print {\"config\", \"listen\", \"pin\", \"token\", "
    "\"kept_signing_key\"}\n"
    "\n"
    "Example: dpotd init --dir /var/lib/dpot --listen 127.0.0.1:8080\n";

static int print_init(const struct init_result *result, const struct options *options)
{
    char pin[2 * DPOT_SIGN_PUBLIC_LEN + 1];
    dpot_hex_encode(pin, result->pin, sizeof result->pin);
    if (options->is_json) {
        json_t *body = json_pack("{s:s,s:s,s:s,s:s,s:b}", "config", result->config_path, "listen",
                                 options->listen, "pin", pin, "token", result->token,
                                 "kept_signing_key", result->kept_signing_key);
        (void)json_dumpf(body, stdout, JSON_COMPACT);
        (void)fputc('\n', stdout);
        json_decref(body);
    } else {
        (void)printf(
            "config: %s\npin: %s%s\nadmin token: %s\n\nKeep the token: it is shown only now.\n",
            result->config_path, pin,
            result->kept_signing_key ? " (of the signing key that was there)" : "", result->token);
    }
    return command_finish();
}

static int run(const struct options *given)
{
    struct options options = *given;
    struct dpot_error error = {{0}};
    struct init_result result;
    if (!options.dir) {
        return command_fail_usage("init needs --dir DIR", "");
    }
    if (!options.listen) {
        options.listen = "127.0.0.1:8080";
    }
    const dpot_status status =
        init_run(options.dir, options.listen, dpot_clock_system(), &result, &error);
    const int code =
        status == DPOT_OK ? print_init(&result, &options) : command_fail(status, &error);
    dpot_wipe(&result, sizeof result);
    return code;
}

static const char *const names[] = {"--dir", "--listen", "--json", NULL};
const struct command command_init = {"init", help, names, run};
