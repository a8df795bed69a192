#include "base/clock.h"
#include "dpotd/command.h"
#include "dpotd/service.h"
#include "json/json.h"

#include <stdio.h>

#define PROGRESS_EVERY_MS 1000

static const char help[] =
    "dpotd doctor --config FILE [--quick] [--json]\n"
    "\n"
    "Reads config, keys, tokens and certificate, looks up the address, opens the store, tries to "
    "write\n"
    "4 MiB beside it, and reads every signed campaign, artifact and report in it. Changes nothing "
    "and\n"
    "makes no store; dpotd serve may be running. Exits 0 when all is well; otherwise says every "
    "fault,\n"
    "with its remedy.\n"
    "\n"
    "  --config FILE  dpotd.json\n"
    "  --quick        leave the reports out: reading them takes long when there are many "
    "millions\n"
    "  --json         print {\"ok\", \"faults\", \"notes\"}, two lists of sentences\n"
    "\n"
    "Example: dpotd doctor --config /var/lib/dpot/dpotd.json\n";

/* What the doctor found. */
struct findings {
    dpot_status first; /* fault; DPOT_OK: none */
    json_t *faults, *notes;
    int64_t told_ms; /* when the last progress was told */
};

static void take_finding(void *ctx, dpot_status status, const char *sentence)
{
    struct findings *findings = ctx;
    json_t *text = json_string(sentence);
    if (findings->first == DPOT_OK) {
        findings->first = status;
    }
    (void)json_array_append_new(status == DPOT_OK ? findings->notes : findings->faults,
                                text ? text : json_string("a path that is not UTF-8"));
    if (status != DPOT_OK) {
        (void)fprintf(stderr, "dpotd: %s\n", sentence);
    }
}

/* Only to one who waits. */
static void tell_progress(void *ctx, const struct revision_record *record, uint64_t n_read)
{
    struct findings *findings = ctx;
    const struct dpot_clock *clock = dpot_clock_system();
    const int64_t now_ms = clock->now(clock->ctx);
    if (now_ms - findings->told_ms >= PROGRESS_EVERY_MS) {
        findings->told_ms = now_ms;
        (void)fprintf(stderr, "dpotd: read %llu reports of revision %u of \"%s\"\n",
                      (unsigned long long)n_read, record->revision, record->name);
    }
}

static int print_findings(const struct findings *findings, bool is_json)
{
    if (is_json) {
        json_t *body = json_pack("{s:b,s:O,s:O}", "ok", findings->first == DPOT_OK, "faults",
                                 findings->faults, "notes", findings->notes);
        (void)json_dumpf(body, stdout, JSON_COMPACT);
        (void)fputc('\n', stdout);
        json_decref(body);
    }
    for (size_t i = 0; !is_json && i < json_array_size(findings->notes); i++) {
        (void)printf("%s\n", json_string_value(json_array_get(findings->notes, i)));
    }
    if (!is_json && findings->first == DPOT_OK) {
        (void)printf("config, keys, tokens and store are fine\n");
    }
    const int code = command_finish();
    return findings->first == DPOT_OK ? code : command_exit_code(findings->first);
}

static int run(const struct options *options)
{
    struct dpot_error error = {{0}};
    struct config config;
    if (!options->config) {
        return command_fail_usage("doctor needs --config FILE", "");
    }
    const struct dpot_clock *clock = dpot_clock_system();
    struct findings findings = {
        .faults = json_array(), .notes = json_array(), .told_ms = clock->now(clock->ctx)};
    const struct service_check_options check_options = {.report = take_finding,
                                                        .progress = tell_progress,
                                                        .ctx = &findings,
                                                        .is_quick = options->is_quick};
    dpot_status status = config_read(options->config, &config, &error);
    if (status != DPOT_OK) {
        take_finding(&findings, status, error.text[0] ? error.text : dpot_status_text(status));
    } else {
        status = service_check(&config, &check_options, &error);
    }
    const int code = status == DPOT_ERR_MEMORY ? command_fail(status, &error)
                                               : print_findings(&findings, options->is_json);
    json_decref(findings.faults);
    json_decref(findings.notes);
    return code;
}

static const char *const names[] = {"--config", "--quick", "--json", NULL};
const struct command command_doctor = {"doctor", help, names, run};
