/* The commands but flush and status. Each opens the folder, makes one or two calls of libdpot, says what came of
 * it. */
#include "csv.h"
#include "session.h"

#include "base/alloc.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* withdraw tries again in a folder that somebody else has, for two seconds. */
#define BUSY_TRIES 20
#define BUSY_PAUSE_NS 100000000

/* ---- enroll ---- */

/* What only the campaign can tell about the options. A label above those of this revision is left to `report`:
 * the next revision may have it. One that was not given is what it was, and 0 at first. */
static enum exit_code choose_group(struct session *s, const struct options *options,
                                   bool was_enrolled, struct failure *failure)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    struct settings *settings = &s->settings;
    uint32_t group = 0;
    const dpot_status status = dpot_client_get_campaign(s->client, settings->campaign, &info);
    if (status != DPOT_OK) {
        return fail_status(failure, status, dpot_client_last_error(s->client));
    }
    (void)settings_find_group(settings, settings->campaign, &group);
    if (options->group && group > 0 && info.n_groups == 0) {
        return fail(failure, EXIT_USAGE, "--group %u: this campaign has no groups: leave it out",
                    (unsigned)group);
    }
    const bool wants_group = info.n_groups > 0 || settings->has_group_before;
    if (wants_group && !settings_choose_group(settings, settings->campaign, was_enrolled)) {
        return fail(failure, EXIT_USAGE,
                    "this folder has the groups of %d campaigns and has no room for another: take "
                    "a new folder",
                    GROUPS_MAX);
    }
    return EXIT_DONE;
}

static bool is_stored(const struct session *s)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    return dpot_client_get_campaign(s->client, s->settings.campaign, &info) != DPOT_ERR_NOT_FOUND;
}

static enum exit_code fetch_campaign(struct session *s, const struct options *options,
                                     struct failure *failure)
{
    const bool was_enrolled = is_stored(s);
    const dpot_status status = dpot_client_enroll(s->client, s->settings.campaign);
    return status == DPOT_OK ? choose_group(s, options, was_enrolled, failure)
                             : fail_status(failure, status, dpot_client_last_error(s->client));
}

/* The library holds it to the ceiling; here that is said. */
static void tell_ceiling(const struct options *options, const struct session *s)
{
    struct dpot_client_status status = {.struct_size = sizeof status};
    if (!options->quiet && s->settings.accountant == DPOT_ACCOUNTANT_BASIC &&
        dpot_client_get_status(s->client, &status) == DPOT_OK &&
        status.campaign_epsilon_cap < s->settings.campaign_cap) {
        fprintf(stderr,
                "--campaign-cap %s is above what this program allows: no campaign gets more than "
                "epsilon %.6g\n",
                options->campaign_cap, status.campaign_epsilon_cap);
    }
}

/* Settings of a folder that works stay as they are until the enrollment has been verified; the first ones
 * are kept before it, so that a folder whose server was away says which it is for; not those that do not
 * go with the campaign. */
static enum exit_code enroll_and_keep(struct session *s, const struct options *options,
                                      struct failure *failure)
{
    struct settings before;
    struct failure none = {0};
    enum exit_code code = EXIT_DONE;
    const bool is_read = settings_read(&before, s->files, &none) == EXIT_DONE;
    const bool is_first = none.status == DPOT_ERR_NOT_FOUND;
    if (is_first) {
        code = settings_write(&s->settings, s->files, failure);
    } else if (is_read && !settings_keep_groups(&s->settings, &before)) {
        code = fail(failure, EXIT_USAGE, "%s: too many groups: take a new folder", SETTINGS_NAME);
    }
    if (code == EXIT_DONE) {
        code = fetch_campaign(s, options, failure);
    }
    if (code == EXIT_DONE) {
        code = settings_write(&s->settings, s->files, failure);
    }
    if (code == EXIT_USAGE && is_first) {
        (void)s->files->remove(s->files->ctx, SETTINGS_NAME);
    }
    if (code == EXIT_USAGE || failure->status == DPOT_ERR_CLOSED) {
        forget_folder(s, options); /* there is nothing to come back for */
    }
    return code;
}

static void say_enrolled(const struct options *options, const struct session *s)
{
    char sentence[128] = "the campaign is verified and stored";
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    uint32_t group = 0;
    if (dpot_client_get_campaign(s->client, s->settings.campaign, &info) == DPOT_OK &&
        info.n_groups > 0 && settings_find_group(&s->settings, s->settings.campaign, &group)) {
        (void)snprintf(sentence, sizeof sentence,
                       "the campaign is verified and stored; reports to it say group %u openly",
                       (unsigned)group);
    }
    say_outcome(options, s, "enrolled", sentence);
}

enum exit_code run_enroll(const struct options *options, struct failure *failure)
{
    struct session s = {0};
    enum exit_code code = settings_from_options(options, &s.settings, failure);
    if (code == EXIT_DONE) {
        code = create_folder(&s, options, failure);
    }
    if (code == EXIT_DONE) {
        code = open_client(&s, failure); /* refuses caps that are no caps */
    }
    if (code == EXIT_DONE) {
        tell_ceiling(options, &s);
        code = enroll_and_keep(&s, options, failure);
    }
    if (code == EXIT_DONE) {
        say_enrolled(options, &s);
    }
    close_session(&s);
    return code;
}

/* ---- report ---- */

static dpot_status submit(const struct session *s, const struct options *options,
                          const struct table *table, double *weights,
                          enum dpot_submit_outcome *outcome)
{
    const uint8_t *id = s->settings.campaign;
    if (options->vector) {
        const double *vector = table->n_rows > 0 ? table->values : NULL;
        const size_t n = table->n_rows * table->n_columns;
        return dpot_client_submit_vector(s->client, id, vector, (uint32_t)n, outcome);
    }
    if (options->histogram) {
        return dpot_client_submit_histogram(s->client, id, table->values, table->n_rows, outcome);
    }
    const uint32_t dim = (uint32_t)(table->n_columns - (weights ? 1 : 0));
    return dpot_client_submit_points(s->client, id, table->values, weights, table->n_rows, dim,
                                     outcome);
}

static uint64_t count_spool_drops(dpot_client *client)
{
    struct dpot_client_status status = {.struct_size = sizeof status};
    return dpot_client_get_status(client, &status) == DPOT_OK ? status.n_dropped_spool : 0;
}

/* Moves the last column out of the table, in place: coordinates to the front of each row. */
static void split_weights(struct table *table, double *weights)
{
    const size_t dim = table->n_columns - 1;
    for (size_t i = 0; i < table->n_rows; i++) {
        weights[i] = table->values[i * table->n_columns + dim];
        memmove(table->values + i * dim, table->values + i * table->n_columns,
                dim * sizeof *table->values);
    }
}

static enum exit_code check_table(const struct options *options, const struct table *table,
                                  struct failure *failure)
{
    if (options->histogram && table->n_rows > 0 && table->n_columns != 1) {
        return fail(failure, EXIT_INPUT, "a histogram has one column: this file has %zu",
                    table->n_columns);
    }
    if (options->vector && table->n_rows != 1 && table->n_columns > 1) {
        return fail(failure, EXIT_INPUT,
                    "a vector is one row or one column: this file has %zu x %zu", table->n_rows,
                    table->n_columns);
    }
    if (options->weighted && table->n_rows > 0 && table->n_columns < 2) {
        return fail(failure, EXIT_INPUT, "--weighted wants coordinates and a weight in each row");
    }
    if (table->n_columns > UINT32_MAX || table->n_rows * table->n_columns > UINT32_MAX) {
        return fail(failure, EXIT_INPUT, "too many columns");
    }
    return EXIT_DONE;
}

static enum exit_code read_table(const struct options *options, struct table *table,
                                 struct failure *failure)
{
    const char *path = options->points      ? options->points
                       : options->histogram ? options->histogram
                                            : options->vector;
    enum exit_code code = table_read(table, path, failure);
    if (code == EXIT_DONE) {
        code = check_table(options, table, failure);
    }
    if (code != EXIT_DONE) {
        failure->status = code == EXIT_IO ? DPOT_ERR_IO : DPOT_ERR_MALFORMED;
    }
    return code;
}

static void say_submitted(const struct options *options, const struct session *s,
                          enum dpot_submit_outcome outcome)
{
    switch (outcome) {
    case DPOT_SUBMIT_REPORTED:
        say_outcome(options, s, "reported", "charged, privatised and waiting to be sent");
        break;
    case DPOT_SUBMIT_RESUMED:
        say_outcome(options, s, "resumed", "made now, under the charge of an earlier attempt");
        break;
    case DPOT_SUBMIT_PENDING:
        say_outcome(options, s, "pending", "this round's report exists and waits to be sent");
        break;
    case DPOT_SUBMIT_DONE:
        say_outcome(options, s, "done", "this round's report has had its final answer");
        break;
    case DPOT_SUBMIT_LOST:
        say_outcome(options, s, "lost", "this round's report was charged and is lost");
        break;
    }
}

/* Room in the queue was made at the cost of older reports: a warning, also beside JSON. */
static void warn_of_drops(const struct options *options, const struct session *s,
                          uint64_t n_dropped_before)
{
    const uint64_t n = count_spool_drops(s->client) - n_dropped_before;
    if (n > 0 && !options->quiet) {
        fprintf(
            stderr,
            "the queue is full (--spool-max %llu): reports that waited were dropped: %llu. What "
            "they cost stays spent\n",
            (unsigned long long)s->settings.spool_max, (unsigned long long)n);
    }
}

static enum exit_code submit_and_say(const struct session *s, const struct options *options,
                                     const struct table *table, double *weights,
                                     struct failure *failure)
{
    enum dpot_submit_outcome outcome = DPOT_SUBMIT_REPORTED;
    const uint64_t n_dropped = count_spool_drops(s->client);
    const dpot_status status = submit(s, options, table, weights, &outcome);
    if (status != DPOT_OK) {
        return fail_status(failure, status, dpot_client_last_error(s->client));
    }
    say_submitted(options, s, outcome);
    warn_of_drops(options, s, n_dropped);
    if (outcome != DPOT_SUBMIT_LOST) {
        return EXIT_DONE;
    }
    failure->is_told = options->json;
    return fail(
        failure, EXIT_NOT_READY,
        "this round's report was charged before and is lost: its file \"spool\" was damaged "
        "or removed. What it cost stays spent, and no other is made in this round");
}

/* A label that nothing says any more must not become 0 in silence. */
static enum exit_code check_group(const struct session *s, struct failure *failure)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    uint32_t group = 0;
    if (dpot_client_get_campaign(s->client, s->settings.campaign, &info) != DPOT_OK ||
        info.n_groups == 0 || settings_find_group(&s->settings, s->settings.campaign, &group)) {
        return EXIT_DONE; /* what is wrong with the campaign the library says */
    }
    failure->status = DPOT_ERR_MALFORMED;
    return fail(failure, EXIT_INPUT,
                "%s does not say the group of this device in a campaign that has %u: run "
                "dpot-device enroll for it, with --group. Nothing was charged",
                SETTINGS_NAME, (unsigned)info.n_groups);
}

enum exit_code run_report(const struct options *options, struct failure *failure)
{
    struct session s = {0};
    struct table table = {0};
    double *weights = NULL;
    size_t n_weights = 0;
    if (!!options->points + !!options->histogram + !!options->vector != 1) {
        return fail(failure, EXIT_USAGE, "give one of --points, --histogram and --vector");
    }
    if (options->weighted && !options->points) {
        return fail(failure, EXIT_USAGE,
                    "--weighted goes with --points: a histogram and a vector have no weights");
    }
    enum exit_code code = open_session(&s, options, failure);
    if (code == EXIT_DONE) {
        code = check_group(&s, failure);
    }
    if (code == EXIT_DONE) {
        code = read_table(options, &table, failure);
    }
    if (code == EXIT_DONE && options->weighted && options->points && table.n_rows > 0) {
        n_weights = table.n_rows;
        weights = dpot_alloc_array(NULL, n_weights, sizeof *weights);
        code = weights ? EXIT_DONE : fail(failure, EXIT_INTERNAL, "out of memory");
    }
    if (weights) {
        split_weights(&table, weights);
    }
    if (code == EXIT_DONE) {
        code = submit_and_say(&s, options, &table, weights, failure);
    }
    dpot_free_secret(NULL, weights, n_weights, sizeof *weights);
    table_release(&table);
    close_session(&s);
    return code;
}

/* ---- consent ---- */

/* The mark comes before anything that can fail: settings, opening, the lock. */
static enum exit_code mark_withdrawn(struct session *s, const struct options *options,
                                     struct failure *failure)
{
    char text[400];
    const enum exit_code code = open_folder(s, options, failure);
    if (code == EXIT_IO) {
        return fail(failure, code,
                    "%s: not a folder that can be written: consent may still count "
                    "as given. Run dpot-device withdraw again when that is mended",
                    options->dir);
    }
    if (code != EXIT_DONE) {
        return code;
    }
    const dpot_status status = dpot_folder_withdraw(s->files, text, sizeof text);
    return status == DPOT_OK ? EXIT_DONE : fail_status(failure, status, text);
}

static enum exit_code drop_what_waits(struct session *s, struct failure *failure)
{
    enum exit_code code = settings_read(&s->settings, s->files, failure);
    if (code == EXIT_DONE) {
        code = open_client(s, failure);
    }
    if (code != EXIT_DONE) {
        char why[sizeof failure->text];
        (void)snprintf(why, sizeof why, "%s", failure->text);
        return fail(failure, code,
                    "consent is withdrawn and no sending begins any more, but reports that waited "
                    "are not wiped yet: %.200s. Run dpot-device withdraw again to do it",
                    why);
    }
    const dpot_status status = dpot_client_withdraw(s->client);
    return status == DPOT_OK ? EXIT_DONE
                             : fail_status(failure, status, dpot_client_last_error(s->client));
}

enum exit_code run_withdraw(const struct options *options, struct failure *failure)
{
    const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};
    struct session s = {0};
    enum exit_code code = mark_withdrawn(&s, options, failure);
    if (code == EXIT_DONE) {
        code = drop_what_waits(&s, failure);
    }
    for (int i = 0; i < BUSY_TRIES && code != EXIT_DONE && failure->status == DPOT_ERR_BUSY; i++) {
        (void)nanosleep(&pause, NULL);
        close_client(&s);
        code = drop_what_waits(&s, failure);
    }
    if (code == EXIT_DONE) {
        say_outcome(options, &s, "withdrawn",
                    "what waited is dropped, nothing more is reported; what was spent stays");
    }
    close_session(&s);
    return code;
}

enum exit_code run_grant(const struct options *options, struct failure *failure)
{
    struct session s = {0};
    enum exit_code code = open_session(&s, options, failure);
    if (code == EXIT_DONE) {
        const dpot_status status = dpot_client_grant(s.client);
        if (status == DPOT_OK) {
            say_outcome(options, &s, "granted", "reports are made again");
        } else {
            code = fail_status(failure, status, dpot_client_last_error(s.client));
        }
    }
    close_session(&s);
    return code;
}
