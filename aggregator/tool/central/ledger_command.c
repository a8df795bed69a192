/* dpot central ledger: shows what the data sets have spent. */
#include "base/clock.h"
#include "files/spelling.h"
#include "tool/central/ledger.h"
#include "tool/shared/commands.h"
#include "tool/shared/options.h"

#include <string.h>

static const struct option options[] = {
    {"ledger", "F", "the ledger"},
    {"name", "NAME", "the charges of this data set (default: the sums of all)"},
    {NULL, NULL, NULL},
};

static json_t *units(uint64_t value, double one)
{
    return value == LEDGER_NO_CAP ? json_null() : json_real((double)value / one);
}

static json_t *describe_set(const struct ledger_data_set *set)
{
    const double one = (double)LEDGER_ONE;
    json_t *object = json_object();
    (void)json_object_set_new(object, "name", json_string(set->name));
    (void)json_object_set_new(object, "adjacency", json_string(adjacency_name(set->adjacency)));
    (void)json_object_set_new(object, "runs", json_integer((json_int_t)set->n_charges));
    (void)json_object_set_new(object, "epsilon", units(set->spent.epsilon, one));
    (void)json_object_set_new(object, "epsilon_cap", units(set->caps.epsilon, one));
    (void)json_object_set_new(object, "delta", units(set->spent.delta, LEDGER_DELTA_ONE));
    (void)json_object_set_new(object, "delta_cap", units(set->caps.delta, LEDGER_DELTA_ONE));
    (void)json_object_set_new(object, "rho", units(set->spent.rho, one));
    (void)json_object_set_new(object, "rho_cap", units(set->caps.rho, one));
    return object;
}

static json_t *describe_entry(const struct ledger_entry *entry)
{
    const double one = (double)LEDGER_ONE;
    char time[DPOT_RFC3339_SIZE];
    json_t *object = json_object();
    dpot_time_format(entry->time_ms, time);
    (void)json_object_set_new(object, "time", json_string(time));
    (void)json_object_set_new(object, "mechanism", json_string(entry->mechanism));
    (void)json_object_set_new(object, "epsilon", units(entry->cost.epsilon, one));
    (void)json_object_set_new(object, "delta", units(entry->cost.delta, LEDGER_DELTA_ONE));
    (void)json_object_set_new(object, "rho", units(entry->cost.rho, one));
    return object;
}

static dpot_status put_charges(struct run *run, const struct ledger *ledger, const char *name)
{
    const struct ledger_data_set *set = NULL;
    struct spelling spelling = {.text = name};
    char hint[SPELLING_HINT_SIZE];
    json_t *charges = json_array();
    for (size_t i = 0; i < ledger->n_data_sets; i++) {
        set = strcmp(ledger->data_sets[i].name, name) == 0 ? &ledger->data_sets[i] : set;
        spelling_offer(&spelling, ledger->data_sets[i].name, strlen(ledger->data_sets[i].name));
    }
    for (size_t i = 0; i < ledger->n_entries; i++) {
        if (strcmp(ledger->entries[i].name, name) == 0) {
            (void)json_array_append_new(charges, describe_entry(&ledger->entries[i]));
        }
    }
    if (!set) {
        json_decref(charges);
        spelling_hint(&spelling, "", hint);
        return dpot_error_set(&run->error, DPOT_ERR_NOT_FOUND,
                              "the ledger has no data set %.80s%s: without --name all are shown",
                              name, hint);
    }
    json_t *object = describe_set(set);
    (void)json_object_update(run->result, object);
    json_decref(object);
    run_put(run, "charges", charges);
    return DPOT_OK;
}

static void put_sets(struct run *run, const struct ledger *ledger)
{
    json_t *list = json_array();
    for (size_t i = 0; i < ledger->n_data_sets; i++) {
        (void)json_array_append_new(list, describe_set(&ledger->data_sets[i]));
    }
    run_put(run, "data_sets", list);
}

static dpot_status run_ledger(struct run *run)
{
    const char *path = NULL, *name = option_text(run, "name");
    struct ledger ledger = {0};
    dpot_status status = option_require(run, "ledger", "the file of the ledger", &path);
    if (status == DPOT_OK) {
        status = ledger_read(path, &ledger, &run->error);
    }
    if (status == DPOT_OK && name) {
        status = put_charges(run, &ledger, name);
    } else if (status == DPOT_OK) {
        put_sets(run, &ledger);
    }
    ledger_release(&ledger);
    return status;
}

const struct command command_central_ledger = {
    .name = "central ledger",
    .summary = "what the runs of a trusted curator have spent on each data set",
    .details =
        "Shows the ledger written by runs with --ledger: caps, sums and, with --name, every\n"
        "charge. Nothing is changed. Runs that failed after their charge are included.\n"
        "Keys: data_sets (name, adjacency, runs, epsilon, epsilon_cap, delta, delta_cap, rho,\n"
        "rho_cap; a missing cap is null); with --name those of the data set, and charges (time,\n"
        "mechanism, epsilon, delta, rho).",
    .example = "dpot central ledger --ledger spent.ledger --name residents-2026",
    .options = options,
    .run = run_ledger,
};
