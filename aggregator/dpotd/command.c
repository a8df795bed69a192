#include "dpotd/command.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

int command_exit_code(dpot_status status)
{
    switch (status) {
    case DPOT_OK:
        return EXIT_DONE;
    case DPOT_ERR_IO:
    case DPOT_ERR_NETWORK:
    case DPOT_ERR_BUSY:
        return EXIT_ENVIRONMENT;
    case DPOT_ERR_MEMORY:
    case DPOT_ERR_RANDOM:
        return EXIT_INTERNAL;
    default:
        return EXIT_BAD_DATA;
    }
}

int command_fail(dpot_status status, const struct dpot_error *error)
{
    (void)fprintf(stderr, "dpotd: %s\n", error->text[0] ? error->text : dpot_status_text(status));
    return command_exit_code(status);
}

int command_fail_usage(const char *sentence, const char *value)
{
    (void)fprintf(stderr, "dpotd: %s%s (see dpotd --help)\n", sentence, value);
    return EXIT_USAGE;
}

/* Everything that is printed for programs must have arrived. */
int command_finish(void)
{
    if (fflush(stdout) == 0 && !ferror(stdout)) {
        return EXIT_DONE;
    }
    struct dpot_error error = {{0}};
    return command_fail(
        dpot_error_set(&error, DPOT_ERR_IO, "writing the answer failed: %s", strerror(errno)),
        &error);
}
