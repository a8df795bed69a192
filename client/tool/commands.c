/* enroll, report, withdraw and grant: each opens the folder, makes one or two calls of libdpot and
 * prints the outcome. */
#include "data.h"
#include "session.h"

#include "cli/options.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

/* withdraw retries for two seconds while another process uses the folder. */
#define BUSY_TRIES 20
#define BUSY_PAUSE_NS 100000000

/* ---- enroll ---- */

/* Checks --group against the campaign and stores it. A group above those of this revision is
 * accepted, since the next revision may have it, and `report` refuses it until then. Without
 * --group it stays what it was, at first 0. */
static dpot_status choose_group(struct session *s, struct run *run, bool was_enrolled)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    struct settings *settings = &s->settings;
    const bool is_given = option_is_given(run, "group");
    uint32_t group = 0;
    const dpot_status status = dpot_client_get_campaign(s->client, settings->campaign, &info);
    if (status != DPOT_OK) {
        return session_fail(s, run, status);
    }
    (void)settings_find_group(settings, settings->campaign, &group);
    if (is_given && group > 0 && info.n_groups == 0) {
        return RUN_USAGE(run, "--group %u: this campaign has no groups: leave it out",
                         (unsigned)group);
    }
    const bool wants_group = info.n_groups > 0 || settings->has_group_before;
    if (wants_group && !settings_choose_group(settings, settings->campaign, was_enrolled)) {
        return RUN_USAGE(run,
                         "this folder has the groups of %d campaigns and has no room for another: "
                         "take a new folder",
                         GROUPS_MAX);
    }
    return DPOT_OK;
}

static bool is_stored(const struct session *s)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    return dpot_client_get_campaign(s->client, s->settings.campaign, &info) != DPOT_ERR_NOT_FOUND;
}

static dpot_status fetch_campaign(struct session *s, struct run *run)
{
    const bool was_enrolled = is_stored(s);
    const dpot_status status = dpot_client_enroll(s->client, s->settings.campaign);
    return status == DPOT_OK ? choose_group(s, run, was_enrolled) : session_fail(s, run, status);
}

/* The library lowers a cap to the ceiling silently. */
static void warn_of_ceiling(const struct run *run, const struct session *s)
{
    struct dpot_client_status status = {.struct_size = sizeof status};
    if (s->settings.accountant == DPOT_ACCOUNTANT_BASIC &&
        dpot_client_get_status(s->client, &status) == DPOT_OK &&
        status.campaign_epsilon_cap < s->settings.campaign_cap) {
        run_warn(run,
                 "--campaign-cap %s is above what this program allows: no campaign gets more than "
                 "epsilon %.6g",
                 option_text(run, "campaign-cap"), status.campaign_epsilon_cap);
    }
}

/* The settings of a working folder are replaced only after the enrollment was verified. The first
 * settings are written before, so that a folder keeps them if the server cannot be reached; they
 * are removed again if they do not fit the campaign. */
static dpot_status enroll_and_keep(struct session *s, struct run *run)
{
    struct settings before;
    const dpot_status found = settings_read(&before, s->files, NULL);
    const bool is_first = found == DPOT_ERR_NOT_FOUND;
    dpot_status status = DPOT_OK;
    if (is_first) {
        status = settings_write(&s->settings, s->files, &run->error);
    } else if (found == DPOT_OK && !settings_keep_groups(&s->settings, &before)) {
        status = RUN_USAGE(run, "%s: too many groups: take a new folder", SETTINGS_NAME);
    }
    if (status == DPOT_OK) {
        status = fetch_campaign(s, run);
    }
    if (status == DPOT_OK) {
        status = settings_write(&s->settings, s->files, &run->error);
    }
    const bool is_usage = run->forced_exit == EXIT_CODE_USAGE;
    if (is_usage && is_first) {
        (void)s->files->remove(s->files->ctx, SETTINGS_NAME);
    }
    if (is_usage || status == DPOT_ERR_CLOSED) {
        forget_folder(s, run); /* enrolling again would fail in the same way */
    }
    return status;
}

static void print_enrolled(struct run *run, const struct session *s)
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
    print_outcome(run, s, "enrolled", sentence);
    run->done = "the campaign is stored all the same";
}

static dpot_status run_enroll(struct run *run)
{
    struct session s = {0};
    dpot_status status = settings_from_options(run, &s.settings);
    if (status == DPOT_OK) {
        status = create_folder(&s, run);
    }
    if (status == DPOT_OK) {
        status = open_client(&s, run); /* refuses caps that are no caps */
    }
    if (status == DPOT_OK) {
        warn_of_ceiling(run, &s);
        status = enroll_and_keep(&s, run);
    }
    if (status == DPOT_OK) {
        print_enrolled(run, &s);
    }
    close_session(&s);
    return status;
}

static const struct option enroll_options[] = {
    {"dir", "DIR", "folder of this device; enroll makes it"},
    {"server", "URL", "the aggregator, http:// or https://"},
    {"campaign", "ID", "32 hexadecimal digits"},
    {"pin", "KEY", "the signing key to trust, 64 hex digits"},
    {"campaign-cap", "E", "epsilon (or rho) of one campaign, at most: above 0 and below 2^31"},
    {"window-cap", "E", "the same of any window of time"},
    {"window-seconds", "S 1..999999999999999999", "length of the window"},
    {"lifetime-cap", "E", "the same for the lifetime of the folder"},
    {"delta-cap", "D [0,1)", "delta of each of the three caps (default 0)"},
    {"accountant", "basic|zcdp", "for the lifetime of the folder (default basic)"},
    {"group", "G 0..4294967295",
     "number, from 0 (default), of the label that reports carry openly"},
    {"max-spool", "BYTES 0..999999999999999999",
     "a campaign's reports take an eighth of it (16 MiB; 0: no cap)"},
    {"ca-file", "F", "certificates to trust (PEM; default: the system's)"},
    {NULL, NULL, NULL},
};

const struct command command_enroll = {
    .name = "enroll",
    .summary = "fetch, verify and store a campaign; set the privacy caps",
    .details =
        "Stores the settings in D/device.conf (over others only once all has worked), fetches the\n"
        "newest revision of the campaign, verifies it under the pinned key and stores it. The caps "
        "are\n"
        "epsilons, have no default, and one that is missing is refused (4); one campaign never has "
        "more\n"
        "than 20, however high --campaign-cap is (said on stderr then). Campaigns that need a "
        "delta\n"
        "(gaussian) want --delta-cap. With --accountant zcdp the three caps are rhos and "
        "--delta-cap is\n"
        "refused. Each campaign has its own group, kept when it is enrolled again without --group. "
        "A\n"
        "campaign whose eighth of --max-spool is full drops the reports that wait for newer ones "
        "and\n"
        "counts them. Run it again to learn of a new revision. Exit code 7: the server has closed "
        "the\n"
        "campaign; what was stored stays.",
    .example =
        "dpot-device enroll --server https://pool.example.org \\\n"
        "      --campaign 00112233445566778899aabbccddeeff --pin $(cat pin.hex) --dir device \\\n"
        "      --campaign-cap 4 --window-cap 4 --window-seconds 86400 --lifetime-cap 20",
    .options = enroll_options,
    .n_required = 4,
    .run = run_enroll,
};

/* ---- report ---- */

static uint64_t count_spool_drops(dpot_client *client)
{
    struct dpot_client_status status = {.struct_size = sizeof status};
    return dpot_client_get_status(client, &status) == DPOT_OK ? status.n_dropped_spool : 0;
}

static void print_submitted(const struct run *run, const struct session *s,
                            enum dpot_submit_outcome outcome)
{
    switch (outcome) {
    case DPOT_SUBMIT_REPORTED:
        print_outcome(run, s, "reported", "charged, privatised and waiting to be sent");
        break;
    case DPOT_SUBMIT_RESUMED:
        print_outcome(run, s, "resumed", "made now, under the charge of an earlier attempt");
        break;
    case DPOT_SUBMIT_PENDING:
        print_outcome(run, s, "pending", "this round's report exists and waits to be sent");
        break;
    case DPOT_SUBMIT_DONE:
        print_outcome(run, s, "done", "this round's report has had its final answer");
        break;
    case DPOT_SUBMIT_LOST:
        print_outcome(run, s, "lost", "this round's report was charged and is lost");
        break;
    }
}

/* Warns, also with --json, if the report took the place of older ones in the queue. */
static void warn_of_drops(const struct run *run, const struct session *s, uint64_t n_dropped_before)
{
    const uint64_t n = count_spool_drops(s->client) - n_dropped_before;
    if (n > 0) {
        run_warn(run,
                 "the queue is full (--max-spool %llu): reports that waited were dropped: %llu. "
                 "What they cost stays spent",
                 (unsigned long long)s->settings.spool_max, (unsigned long long)n);
    }
}

static dpot_status submit_and_print(struct run *run, const struct session *s,
                                    const struct data *data)
{
    enum dpot_submit_outcome outcome = DPOT_SUBMIT_REPORTED;
    const uint64_t n_dropped = count_spool_drops(s->client);
    const dpot_status status = data_submit(s, data, &outcome);
    if (status != DPOT_OK) {
        return session_fail(s, run, status);
    }
    print_submitted(run, s, outcome);
    warn_of_drops(run, s, n_dropped);
    if (outcome == DPOT_SUBMIT_LOST) {
        run->has_printed = true;
        return dpot_error_set(
            &run->error, DPOT_ERR_STATE,
            "this round's report was charged before and is lost: its file \"spool\" was damaged or "
            "removed. What it cost stays spent, and no other is made in this round");
    }
    run->done = "this round's report is charged and queued or sent all the same, and is not to be "
                "made again";
    return DPOT_OK;
}

/* A group that is missing from damaged settings must not silently become 0. */
static dpot_status check_group(const struct session *s, struct run *run)
{
    struct dpot_campaign_info info = {.struct_size = sizeof info};
    uint32_t group = 0;
    if (dpot_client_get_campaign(s->client, s->settings.campaign, &info) != DPOT_OK ||
        info.n_groups == 0 || settings_find_group(&s->settings, s->settings.campaign, &group)) {
        return DPOT_OK; /* the library reports what is wrong with the campaign */
    }
    return dpot_error_set(&run->error, DPOT_ERR_MALFORMED,
                          "%s does not say the group of this device in a campaign that has %u: run "
                          "dpot-device enroll for it, with --group. Nothing was charged",
                          SETTINGS_NAME, (unsigned)info.n_groups);
}

static dpot_status run_report(struct run *run)
{
    struct session s = {0};
    struct data data;
    dpot_status status = data_from_options(run, &data);
    if (status == DPOT_OK) {
        status = open_session(&s, run);
    }
    if (status == DPOT_OK) {
        status = check_group(&s, run);
    }
    if (status == DPOT_OK) {
        status = data_read(run, &data);
    }
    if (status == DPOT_OK) {
        status = submit_and_print(run, &s, &data);
    }
    data_release(&data);
    close_session(&s);
    return status;
}

static const struct option report_options[] = {
    {"dir", "DIR", "folder of this device"},
    {"points", "F|-", "rows of coordinates"},
    {"weighted", NULL, "the last column of --points is a weight"},
    {"histogram", "F|-", "one number a line over the campaign's domain"},
    {"vector", "F|-", "one row or one column of numbers"},
    {"header", NULL, "the first line holds names, whatever they are"},
    {"columns", "LIST", "names or numbers (from 0) of the columns to read (default: all)"},
    {"campaign", "ID", "another than that enrolled last"},
    {NULL, NULL, NULL},
};

const struct command command_report = {
    .name = "report",
    .summary = "privatise data and put one report in the queue",
    .details =
        "Queues one privatised report for this round, of --points, --histogram or --vector. In "
        "this\n"
        "order: the file is read into memory, and refused (3) for its form: columns, lines, "
        "size; the\n"
        "campaign, its round, the shape and the caps are checked (3, 4, 7); the ledger is "
        "charged,\n"
        "durably; only then are the numbers used, and whatever they are, a report comes of them.\n"
        "A refusal charges nothing. Nothing of the file is written anywhere.\n\n"
        "Files are text tables, .npy, .npz (of several arrays FILE.npz:NAME) or IDX, also packed\n"
        "with gzip; - is any of them on stdin. A field of text that is no number counts as "
        "missing,\n"
        "and no message says so: dpot convert refuses such a file and shows why. A place with "
        "a\n"
        "missing coordinate is left out; without a place, as with an empty file, the report is "
        "that of a\n"
        "device without data. A header is left out in the same way; one of numbers wants "
        "--header.\n"
        "At most 2^24 numbers and 2^28 bytes.",
    .example = "printf '40.7,-74.0\\n' | dpot-device report --dir device --points -",
    .options = report_options,
    .n_required = 1,
    .run = run_report,
};

/* ---- consent ---- */

/* Marks the folder before anything that can fail: reading settings, opening, locking. */
static dpot_status mark_withdrawn(struct session *s, struct run *run)
{
    char text[400];
    dpot_status status = open_folder(s, run);
    if (run->forced_exit == EXIT_CODE_IO) {
        return dpot_error_set(&run->error, status,
                              "%s: not a folder that can be written: consent may still count as "
                              "given. Run dpot-device withdraw again when that is mended",
                              option_text(run, "dir"));
    }
    if (status == DPOT_OK) {
        status = dpot_folder_withdraw(s->files, text, sizeof text);
        status = status == DPOT_OK ? DPOT_OK : session_fail_with(run, status, text);
    }
    return status;
}

static dpot_status drop_what_waits(struct session *s, struct run *run)
{
    dpot_status status = settings_read(&s->settings, s->files, &run->error);
    if (status == DPOT_OK) {
        status = open_client(s, run);
    }
    if (status != DPOT_OK) {
        const struct dpot_error why = run->error;
        return dpot_error_set(&run->error, status,
                              "consent is withdrawn and no sending begins any more, but reports "
                              "that waited are not wiped yet: %.200s. Run dpot-device withdraw "
                              "again to do it",
                              why.text);
    }
    status = dpot_client_withdraw(s->client);
    return status == DPOT_OK ? DPOT_OK : session_fail(s, run, status);
}

static dpot_status run_withdraw(struct run *run)
{
    const struct timespec pause = {.tv_nsec = BUSY_PAUSE_NS};
    struct session s = {0};
    dpot_status status = mark_withdrawn(&s, run);
    if (status == DPOT_OK) {
        status = drop_what_waits(&s, run);
    }
    for (int i = 0; i < BUSY_TRIES && status == DPOT_ERR_BUSY; i++) {
        (void)nanosleep(&pause, NULL);
        close_client(&s);
        run->forced_exit = 0;
        status = drop_what_waits(&s, run);
    }
    if (status == DPOT_OK) {
        print_outcome(run, &s, "withdrawn",
                      "what waited is dropped, nothing more is reported; what was spent stays");
        run->done = "consent is withdrawn all the same";
    }
    close_session(&s);
    return status;
}

static const struct option consent_options[] = {
    {"dir", "DIR", "folder of this device"},
    {NULL, NULL, NULL},
};

const struct command command_withdraw = {
    .name = "withdraw",
    .summary = "consent ends: drop what waits, report nothing more",
    .details =
        "The user withdraws consent: reports that wait are dropped and wiped, and enroll and "
        "report are\n"
        "refused (exit code 4) until grant. The ledger keeps what was spent. Needs no disk space. "
        "Exit\n"
        "code 7: withdrawn, but another process uses the folder and may be sending: run it again.",
    .example = "dpot-device withdraw --dir device",
    .options = consent_options,
    .n_required = 1,
    .run = run_withdraw,
};

static dpot_status run_grant(struct run *run)
{
    struct session s = {0};
    dpot_status status = open_session(&s, run);
    if (status == DPOT_OK) {
        status = dpot_client_grant(s.client);
        if (status == DPOT_OK) {
            print_outcome(run, &s, "granted", "reports are made again");
            run->done = "consent is given all the same";
        } else {
            status = session_fail(&s, run, status);
        }
    }
    close_session(&s);
    return status;
}

const struct command command_grant = {
    .name = "grant",
    .summary = "consent is given again",
    .details = "The user consents again.",
    .example = "dpot-device grant --dir device",
    .options = consent_options,
    .n_required = 1,
    .run = run_grant,
};
