#include "base/clock.h"
#include "dpotd/backup.h"
#include "dpotd/command.h"
#include "dpotd/config.h"
#include "json/json.h"

#include <stdio.h>
#include <string.h>

#define PROGRESS_EVERY_MS 1000

static const char backup_help[] =
    "dpotd backup --config FILE --to FILE [--json]\n"
    "\n"
    "Copies the store, as of one moment, into a new file. dpotd serve may be running: devices wait "
    "for\n"
    "nothing. What was acknowledged before the copy began is in it, so that a report sent again is "
    "a\n"
    "duplicate after a restore. The copy is read whole, as dpotd doctor reads a store, before it "
    "gets\n"
    "its name; one with a fault is not kept (exit 3). Keys, tokens and dpotd.json are not in it: "
    "keep\n"
    "copies of them apart.\n"
    "\n"
    "  --config FILE  dpotd.json\n"
    "  --to FILE      the copy; a file that is there is refused\n"
    "  --json         print {\"file\", \"accepted\", \"duplicate\", \"schema\"}, the last its "
    "version\n"
    "\n"
    "Example: dpotd backup --config /var/lib/dpot/dpotd.json --to /var/backups/dpot.db\n";

static const char restore_help[] =
    "dpotd restore --config FILE --from FILE [--quick] [--json]\n"
    "\n"
    "Checks a copy made by dpotd backup as dpotd doctor does, and puts it in the place of the "
    "store,\n"
    "which is kept under another name. Stop dpotd serve first (exit 6 while it serves). Reports "
    "that\n"
    "were accepted after the copy was made are in the kept store only.\n"
    "\n"
    "  --config FILE  dpotd.json, with the keys that the copy belongs to\n"
    "  --from FILE    the copy; it stays as it is\n"
    "  --quick        do not read every report of it first\n"
    "  --json         print {\"store\", \"kept\", \"accepted\"}; kept is null when there was no "
    "store\n"
    "\n"
    "Example: dpotd restore --config /var/lib/dpot/dpotd.json --from /var/backups/dpot.db\n";

static const char migrate_help[] =
    "dpotd migrate --config FILE [--json]\n"
    "\n"
    "Reads the store whole, as dpotd doctor does, saves a copy beside it (dpot.db.version-N-TIME) "
    "and\n"
    "brings its schema up to date, in steps that are done whole or not at all. A store with faults "
    "is\n"
    "left as it is (exit 3): it would get checksums of what is damaged. One that is up to date is "
    "left\n"
    "alone; one that is newer than this program is refused (exit 3), and one that is served (exit "
    "6).\n"
    "dpotd serve brings an older store up to date too, after the same check, without a copy.\n"
    "\n"
    "  --config FILE  dpotd.json\n"
    "  --json         print {\"from\", \"to\", \"kept\"}: two versions, and the copy or null\n"
    "\n"
    "Example: dpotd migrate --config /var/lib/dpot/dpotd.json\n";

/* Prints an object, which it takes, or a sentence. */
static int print(const struct options *options, json_t *body, const char *sentence)
{
    if (options->is_json) {
        (void)json_dumpf(body, stdout, JSON_COMPACT | JSON_PRESERVE_ORDER);
        (void)fputc('\n', stdout);
    } else {
        (void)printf("%s\n", sentence);
    }
    json_decref(body);
    return command_finish();
}

/* Faults of the copy, and notes of the check, go to standard error. The remedies that they
 * name would be those of a store in use. */
struct watch {
    const char *where; /* "in the copy: " */
    int64_t told_ms;
};

static int64_t now(void)
{
    const struct dpot_clock *clock = dpot_clock_system();
    return clock->now(clock->ctx);
}

static void tell(void *ctx, dpot_status status, const char *sentence)
{
    const struct watch *watch = ctx;
    (void)fprintf(stderr, "dpotd: %s%s\n", status == DPOT_OK ? "" : watch->where, sentence);
}

static void tell_progress(void *ctx, const struct revision_record *record, uint64_t n_read)
{
    struct watch *watch = ctx;
    const int64_t now_ms = now();
    if (now_ms - watch->told_ms >= PROGRESS_EVERY_MS) {
        watch->told_ms = now_ms;
        (void)fprintf(stderr, "dpotd: read %llu reports of revision %u of \"%s\"\n",
                      (unsigned long long)n_read, record->revision, record->name);
    }
}

static int run_backup(const struct options *options)
{
    struct dpot_error error = {{0}}, sentence;
    struct config config;
    struct backup_made made = {.schema = 0};
    struct watch watch = {.where = "in the copy: ", .told_ms = now()};
    const struct service_check_options check_options = {
        .report = tell, .progress = tell_progress, .ctx = &watch};
    if (!options->config || !options->to) {
        return command_fail_usage("backup needs --config FILE and --to FILE", "");
    }
    dpot_status status = config_read(options->config, &config, &error);
    if (status == DPOT_OK) {
        status = backup_make(&config, options->to, &check_options, &made, &error);
    }
    if (status != DPOT_OK) {
        return command_fail(status, &error);
    }
    const struct pool_count *count = &made.count;
    (void)dpot_error_set(&sentence, DPOT_OK, "%s holds %llu accepted report%s", options->to,
                         (unsigned long long)count->n_accepted, DPOT_S(count->n_accepted));
    if (made.schema < made.current) {
        const size_t len = strlen(sentence.text);
        (void)snprintf(sentence.text + len, sizeof sentence.text - len,
                       " under version %d of the schema: dpotd restore brings it to version %d",
                       made.schema, made.current);
    }
    return print(options,
                 json_pack("{s:s,s:I,s:I,s:i}", "file", options->to, "accepted",
                           (json_int_t)count->n_accepted, "duplicate",
                           (json_int_t)count->n_duplicate, "schema", made.schema),
                 sentence.text);
}

static int run_restore(const struct options *options)
{
    struct dpot_error error = {{0}}, sentence;
    struct config config;
    struct backup_restored restored;
    struct watch watch = {.where = "in the copy: ", .told_ms = now()};
    const struct service_check_options check_options = {
        .report = tell, .progress = tell_progress, .ctx = &watch, .is_quick = options->is_quick};
    if (!options->config || !options->from) {
        return command_fail_usage("restore needs --config FILE and --from FILE", "");
    }
    dpot_status status = config_read(options->config, &config, &error);
    if (status == DPOT_OK) {
        status = backup_restore(&config, options->from, &check_options, &restored, &error);
    }
    if (status != DPOT_OK) {
        return command_fail(status, &error);
    }
    (void)dpot_error_set(&sentence, DPOT_OK, "restored %llu accepted reports%s%s",
                         (unsigned long long)restored.count.n_accepted,
                         restored.kept[0] ? "; the former store is kept as " : "", restored.kept);
    return print(options,
                 json_pack("{s:s,s:s?,s:I}", "store", config.store, "kept",
                           restored.kept[0] ? restored.kept : NULL, "accepted",
                           (json_int_t)restored.count.n_accepted),
                 sentence.text);
}

static int run_migrate(const struct options *options)
{
    struct dpot_error error = {{0}}, sentence;
    struct config config;
    struct backup_migrated migrated;
    struct watch watch = {.where = "", .told_ms = now()};
    const struct service_check_options check_options = {
        .report = tell, .progress = tell_progress, .ctx = &watch};
    if (!options->config) {
        return command_fail_usage("migrate needs --config FILE", "");
    }
    dpot_status status = config_read(options->config, &config, &error);
    if (status == DPOT_OK) {
        status = backup_migrate(&config, &check_options, &migrated, &error);
    }
    if (status != DPOT_OK) {
        return command_fail(status, &error);
    }
    if (migrated.from == migrated.to) {
        (void)dpot_error_set(&sentence, DPOT_OK, "the schema is of version %d already",
                             migrated.to);
    } else {
        (void)dpot_error_set(&sentence, DPOT_OK, "the schema went from version %d to %d%s%s",
                             migrated.from, migrated.to,
                             migrated.copy[0] ? "; the store as it was is kept as " : "",
                             migrated.copy);
    }
    return print(options,
                 json_pack("{s:i,s:i,s:s?}", "from", migrated.from, "to", migrated.to, "kept",
                           migrated.copy[0] ? migrated.copy : NULL),
                 sentence.text);
}

static const char *const backup_names[] = {"--config", "--to", "--json", NULL};
static const char *const restore_names[] = {"--config", "--from", "--quick", "--json", NULL};
static const char *const migrate_names[] = {"--config", "--json", NULL};

const struct command command_backup = {"backup", backup_help, backup_names, run_backup};
const struct command command_restore = {"restore", restore_help, restore_names, run_restore};
const struct command command_migrate = {"migrate", migrate_help, migrate_names, run_migrate};
