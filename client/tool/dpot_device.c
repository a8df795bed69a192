/* dpot-device: libdpot as a command. */
#include "cli/program.h"

#include "dpot/dpot.h"

extern const struct command command_enroll, command_report, command_withdraw, command_grant;
extern const struct command command_flush, command_status;

static const struct command *const commands[] = {
    &command_enroll,   &command_report, &command_flush, &command_status,
    &command_withdraw, &command_grant,  NULL,
};

/* Former spellings of options: a row is never removed. */
static const struct option_alias aliases[] = {
    {"enroll", "spool-max", "max-spool"},
    {"flush", "wait", "wait-seconds"},
    {NULL, NULL, NULL},
};

static const struct program program = {
    .name = "dpot-device",
    .version = DPOT_VERSION,
    .summary = "Local differential privacy on the device, as a command.",
    .example = "dpot-device status --dir device",
    .commands = commands,
    .aliases = aliases,
    .exit_codes = EXIT_CODES_ALL & ~(1u << EXIT_CODE_STOPPED),
};

int main(int argc, char **argv)
{
    program_main(&program, argc, argv);
}
