#include "cli/options.h"
#include "dpotd/backup.h"
#include "dpotd/command.h"

#include <stdio.h>

/* Reports faults and notes on stderr. `where` tells faults of a copy from those of the store,
 * because the remedies that they name are meant for a store in use. */
struct watch {
    struct command_progress progress;
    const char *where; /* "in the copy: " */
};

static void report(void *ctx, dpot_status status, const char *sentence)
{
    const struct watch *watch = ctx;
    (void)fprintf(stderr, "dpotd: %s%s\n", status == DPOT_OK ? "" : watch->where, sentence);
}

static dpot_status run_backup(struct run *run)
{
    struct config config;
    struct backup_made made = {.schema = 0};
    struct watch watch = {command_progress_begin(run), "in the copy: "};
    const struct service_check_options checks = {
        .report = report, .progress = command_progress_report, .ctx = &watch};
    const char *to = option_text(run, "to");
    char older[100] = "";
    dpot_status status = command_read_config(run, &config);
    if (status == DPOT_OK) {
        status = backup_make(&config, to, &checks, &made, &run->error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (made.schema < made.current) {
        (void)snprintf(older, sizeof older,
                       " under version %d of the schema: dpotd restore brings it to version %d",
                       made.schema, made.current);
    }
    const struct pool_count *count = &made.count;
    command_answer(run,
                   json_pack("{s:s,s:I,s:I,s:i}", "file", to, "accepted",
                             (json_int_t)count->n_accepted, "duplicate",
                             (json_int_t)count->n_duplicate, "schema", made.schema),
                   "%s holds %llu accepted report%s%s", to, (unsigned long long)count->n_accepted,
                   DPOT_S(count->n_accepted), older);
    return DPOT_OK;
}

static dpot_status run_restore(struct run *run)
{
    struct config config;
    struct backup_restored restored;
    struct watch watch = {command_progress_begin(run), "in the copy: "};
    const struct service_check_options checks = {.report = report,
                                                 .progress = command_progress_report,
                                                 .ctx = &watch,
                                                 .is_quick = option_is_given(run, "quick")};
    dpot_status status = command_read_config(run, &config);
    if (status == DPOT_OK) {
        status = backup_restore(&config, option_text(run, "from"), &checks, &restored, &run->error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    command_answer(run,
                   json_pack("{s:s,s:s?,s:I}", "store", config.store, "kept",
                             restored.kept[0] ? restored.kept : NULL, "accepted",
                             (json_int_t)restored.count.n_accepted),
                   "restored %llu accepted reports%s%s",
                   (unsigned long long)restored.count.n_accepted,
                   restored.kept[0] ? "; the former store is kept as " : "", restored.kept);
    return DPOT_OK;
}

static dpot_status run_migrate(struct run *run)
{
    struct config config;
    struct backup_migrated migrated;
    struct watch watch = {command_progress_begin(run), ""};
    const struct service_check_options checks = {
        .report = report, .progress = command_progress_report, .ctx = &watch};
    char sentence[STORE_PATH_SIZE + 120];
    dpot_status status = command_read_config(run, &config);
    if (status == DPOT_OK) {
        status = backup_migrate(&config, &checks, &migrated, &run->error);
    }
    if (status != DPOT_OK) {
        return status;
    }
    if (migrated.from == migrated.to) {
        (void)snprintf(sentence, sizeof sentence, "the schema is of version %d already",
                       migrated.to);
    } else {
        (void)snprintf(sentence, sizeof sentence, "the schema went from version %d to %d%s%s",
                       migrated.from, migrated.to,
                       migrated.copy[0] ? "; the store as it was is kept as " : "", migrated.copy);
    }
    command_answer(run,
                   json_pack("{s:i,s:i,s:s?}", "from", migrated.from, "to", migrated.to, "kept",
                             migrated.copy[0] ? migrated.copy : NULL),
                   "%s", sentence);
    return DPOT_OK;
}

static const struct option backup_options[] = {
    {"config", "FILE", "dpotd.json"},
    {"to", "FILE", "the copy; a file that is there is refused"},
    {NULL, NULL, NULL},
};

const struct command command_backup = {
    .name = "backup",
    .summary = "copy the store while it is served",
    .details = "Copies the store, as of one moment, into a new file. dpotd serve may be running: "
               "devices wait\n"
               "for nothing. What was acknowledged before the copy began is in it, so that a "
               "report sent again\n"
               "is a duplicate after a restore. The copy is read whole, as dpotd doctor reads a "
               "store, before\n"
               "it gets its name; one with a fault is not kept (exit 3). Keys, tokens and "
               "dpotd.json are not in\n"
               "it: keep copies of them apart. --json prints {\"file\", \"accepted\", "
               "\"duplicate\", \"schema\"}, the\n"
               "last its version.",
    .example = "dpotd backup --config /var/lib/dpot/dpotd.json --to /var/backups/dpot.db",
    .options = backup_options,
    .n_required = 2,
    .run = run_backup,
};

static const struct option restore_options[] = {
    {"config", "FILE", "dpotd.json, with the keys that the copy belongs to"},
    {"from", "FILE", "the copy; it stays as it is"},
    {"quick", NULL, "do not read every report of it first"},
    {NULL, NULL, NULL},
};

const struct command command_restore = {
    .name = "restore",
    .summary = "put a copy in the store's place",
    .details = "Checks a copy made by dpotd backup as dpotd doctor does, and puts it in the place "
               "of the store,\n"
               "which is kept under another name. Stop dpotd serve first (exit 6 while it serves). "
               "Reports that\n"
               "were accepted after the copy was made are in the kept store only. --json prints "
               "{\"store\",\n"
               "\"kept\", \"accepted\"}; kept is null when there was no store.",
    .example = "dpotd restore --config /var/lib/dpot/dpotd.json --from /var/backups/dpot.db",
    .options = restore_options,
    .n_required = 2,
    .run = run_restore,
};

static const struct option migrate_options[] = {
    {"config", "FILE", "dpotd.json"},
    {NULL, NULL, NULL},
};

const struct command command_migrate = {
    .name = "migrate",
    .summary = "bring the store's schema up to date",
    .details =
        "Reads the store whole, as dpotd doctor does, saves a copy beside it "
        "(dpot.db.version-N-TIME)\n"
        "and brings its schema up to date, in steps that are done whole or not at all. A store "
        "with\n"
        "faults is left as it is (exit 3): it would get checksums of what is damaged. One that is "
        "up to\n"
        "date is left alone; one that is newer than this program is refused (exit 3), and one that "
        "is\n"
        "served (exit 6). dpotd serve brings an older store up to date too, after the same check, "
        "without\n"
        "a copy. --json prints {\"from\", \"to\", \"kept\"}: two versions, and the copy or null.",
    .example = "dpotd migrate --config /var/lib/dpot/dpotd.json",
    .options = migrate_options,
    .n_required = 1,
    .run = run_migrate,
};
