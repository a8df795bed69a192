#include "cli/options.h"
#include "cli/program.h"
#include "dpotd/command.h"

#include <stdio.h>

struct findings {
    struct command_progress progress;
    dpot_status first; /* of the faults; DPOT_OK: none */
    json_t *faults, *notes;
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

static void print_findings(const struct run *run, const struct findings *findings)
{
    const bool is_fine = findings->first == DPOT_OK;
    if (run->is_json) {
        command_print_json(json_pack("{s:b,s:O,s:O}", "ok", is_fine, "faults", findings->faults,
                                     "notes", findings->notes));
        return;
    }
    for (size_t i = 0; i < json_array_size(findings->notes); i++) {
        (void)printf("%s\n", json_string_value(json_array_get(findings->notes, i)));
    }
    if (is_fine) {
        (void)puts("config, keys, tokens and store are fine");
    }
}

static dpot_status run_doctor(struct run *run)
{
    struct config config;
    struct findings findings = {
        .progress = command_progress_begin(run), .faults = json_array(), .notes = json_array()};
    const struct service_check_options checks = {.report = take_finding,
                                                 .progress = command_progress_report,
                                                 .ctx = &findings,
                                                 .is_quick = option_is_given(run, "quick")};
    dpot_status status = command_read_config(run, &config);
    if (status != DPOT_OK) {
        take_finding(&findings, status,
                     run->error.text[0] ? run->error.text : dpot_status_text(status));
    } else {
        status = service_check(&config, &checks, &run->error);
    }
    if (status != DPOT_ERR_MEMORY) {
        print_findings(run, &findings);
        run->forced_exit = program_exit_code(run->program, findings.first);
        status = DPOT_OK;
    }
    json_decref(findings.faults);
    json_decref(findings.notes);
    return status;
}

static const struct option options[] = {
    {"config", "FILE", "dpotd.json"},
    {"quick", NULL, "leave the reports out: reading many millions takes long"},
    {NULL, NULL, NULL},
};

const struct command command_doctor = {
    .name = "doctor",
    .summary = "check configuration, keys, tokens and store",
    .details = "Reads config, keys, tokens and certificate, looks up the address, opens the store, "
               "tries to\n"
               "write 4 MiB beside it, and reads every signed campaign, artifact and report in it. "
               "Changes\n"
               "nothing and makes no store; dpotd serve may be running. Exits 0 when all is well; "
               "otherwise\n"
               "prints every fault with its remedy. --json prints {\"ok\", \"faults\", \"notes\"}, "
               "two lists of\n"
               "sentences.",
    .example = "dpotd doctor --config /var/lib/dpot/dpotd.json",
    .options = options,
    .n_required = 1,
    .run = run_doctor,
};
