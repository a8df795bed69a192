/* dpotd: the aggregator (aggregator/doc/dpotd.8). Its commands are in command_*.c; they call
 * service.h, init.h, backup.h and keys/keys.h. */
#include "base/crypto.h"
#include "cli/program.h"
#include "dpotd/command.h"

#include <sys/stat.h>

static const struct command *const commands[] = {
    &command_init,    &command_serve,     &command_doctor,   &command_backup,     &command_restore,
    &command_migrate, &command_keys_list, &command_keys_add, &command_keys_prune, NULL,
};

static dpot_status begin(struct run *run)
{
    (void)run;
    json_object_seed(0); /* must precede the first thread */
    return dpot_init();
}

/* Apart from internal errors and I/O, every failure is a bad file of the server: a key that others
 * can read (DENIED), an expired certificate (CLOSED), a store that is missing (STATE). */
static int exit_code(dpot_status status)
{
    const int code = exit_code_of(status);
    return code == EXIT_CODE_DONE || code == EXIT_CODE_INTERNAL || code == EXIT_CODE_IO
               ? code
               : EXIT_CODE_DATA;
}

static const struct program program = {
    .name = "dpotd",
    .version = DPOT_PROGRAM_VERSION,
    .summary =
        "Aggregator of privatised reports: serves signed campaigns to devices and stores each\n"
        "report once.",
    .example = "dpotd init --dir /var/lib/dpot && dpotd serve --config /var/lib/dpot/dpotd.json",
    .commands = commands,
    .exit_codes = 1u << EXIT_CODE_DONE | 1u << EXIT_CODE_INTERNAL | 1u << EXIT_CODE_USAGE |
                  1u << EXIT_CODE_DATA | 1u << EXIT_CODE_IO,
    .begin = begin,
    .exit_code = exit_code,
};

int main(int argc, char **argv)
{
    (void)umask(S_IRWXG | S_IRWXO);
    program_main(&program, argc, argv);
}
