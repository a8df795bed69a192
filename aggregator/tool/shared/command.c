#include "tool/shared/command.h"

#include <stdarg.h>
#include <stdio.h>

int exit_code_of(dpot_status status)
{
    switch (status) {
    case DPOT_OK:
        return EXIT_CODE_DONE;
    case DPOT_ERR_ARGUMENT:
        return EXIT_CODE_USAGE;
    case DPOT_ERR_IO:
    case DPOT_ERR_NO_SPACE:
    case DPOT_ERR_NETWORK:
    case DPOT_ERR_BUSY:
    case DPOT_ERR_RANDOM:
    case DPOT_ERR_SERVER:
        return EXIT_CODE_IO;
    case DPOT_ERR_CLOSED:
    case DPOT_ERR_NOT_OPEN:
        return EXIT_CODE_NOT_READY;
    default:
        break;
    }
    if (status <= -200 && status > -300) {
        return EXIT_CODE_DATA;
    }
    return status <= -300 && status > -400 ? EXIT_CODE_PRIVACY : EXIT_CODE_INTERNAL;
}

void run_warn(const struct run *run, const char *format, ...)
{
    va_list arguments;
    (void)fprintf(stderr, "dpot %s: warning: ", run->command->name);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
}

void run_put(struct run *run, const char *key, json_t *value)
{
    (void)json_object_set_new(run->result, key, value);
}

void run_put_number(struct run *run, const char *key, double value)
{
    run_put(run, key, json_number(value));
}

void run_put_integer(struct run *run, const char *key, uint64_t value)
{
    run_put(run, key, json_integer((json_int_t)value));
}

void run_put_text(struct run *run, const char *key, const char *value)
{
    run_put(run, key, json_string(value));
}
