#include "dpotd/command.h"

#include "base/clock.h"
#include "cli/options.h"

#include <stdarg.h>
#include <stdio.h>

#define PROGRESS_EVERY_MS 1000

dpot_status command_read_config(struct run *run, struct config *config)
{
    return config_read(option_text(run, "config"), config, &run->error);
}

void command_print_json(json_t *body)
{
    (void)json_dumpf(body, stdout, JSON_COMPACT);
    (void)fputc('\n', stdout);
    json_decref(body);
}

void command_answer(const struct run *run, json_t *body, const char *format, ...)
{
    if (run->is_json) {
        command_print_json(body);
        return;
    }
    va_list arguments;
    va_start(arguments, format);
    (void)vprintf(format, arguments);
    va_end(arguments);
    (void)fputc('\n', stdout);
    json_decref(body);
}

struct command_progress command_progress_begin(const struct run *run)
{
    return (struct command_progress){run, dpot_clock_monotonic_ms()};
}

void command_progress_report(void *ctx, const struct revision_record *record, uint64_t n_read)
{
    struct command_progress *progress = ctx;
    const int64_t now_ms = dpot_clock_monotonic_ms();
    if (!progress->run->is_quiet && now_ms - progress->reported_ms >= PROGRESS_EVERY_MS) {
        progress->reported_ms = now_ms;
        (void)fprintf(stderr, "dpotd: read %llu report%s of revision %u of \"%s\"\n",
                      (unsigned long long)n_read, DPOT_S(n_read), record->revision, record->name);
    }
}
