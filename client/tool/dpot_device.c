/* dpot-device: libdpot as a command. Parses the command line, runs one command, tells failures. */
#include "json.h"
#include "tool.h"

#include "base/descriptors.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char help_text[] =
    "dpot-device - local differential privacy on the device, as a command\n"
    "\n"
    "    dpot-device enroll   fetch, verify and store a campaign; set the privacy caps\n"
    "    dpot-device report   privatise data and put one report in the queue\n"
    "    dpot-device flush    send what is due and wait for the answers\n"
    "    dpot-device status   what was spent, and what became of every report\n"
    "    dpot-device withdraw consent ends: drop what waits, report nothing more\n"
    "    dpot-device grant    consent is given again\n"
    "\n"
    "    dpot-device COMMAND --help    options and an example\n"
    "    dpot-device --version\n"
    "\n"
    "Every command takes --json (one JSON object on stdout) and --quiet (no progress).\n"
    "Exit codes: 0 done, 1 internal, 2 usage, 3 bad input, 4 refused for privacy,\n"
    "6 disk or network, 7 not ready (or another process is using the folder).\n";

static const char enroll_help[] =
    "dpot-device enroll --server URL --campaign ID --pin KEY --dir D\n"
    "    --campaign-cap E --window-cap E --window-seconds S --lifetime-cap E\n"
    "    [--delta-cap D] [--accountant basic|zcdp] [--group G] [--spool-max BYTES]\n"
    "    [--ca-file PEM]\n"
    "\n"
    "Stores the settings in D/device.conf (over others only once all has worked), fetches the\n"
    "newest revision of the campaign, verifies it under the pinned key and stores it. ID is 32\n"
    "hexadecimal digits, KEY 64. The caps are epsilons and have no default; one campaign never\n"
    "has more than 20, however high --campaign-cap is (said on stderr then).\n"
    "Campaigns that need a delta (gaussian) want "
    "--delta-cap, which holds "
    "for\n"
    "each cap (default 0). With --accountant zcdp the three caps are rhos and --delta-cap is "
    "refused;\n"
    "the choice is for the life of the folder. --group is the number, from 0 (the default), of the "
    "label\n"
    "that reports carry openly in campaigns with groups; each campaign has its own, kept when it "
    "is\n"
    "enrolled again without --group. A campaign takes at most an eighth of --spool-max bytes of "
    "disk (16\n"
    "MiB; 0: no cap): then its reports that wait are dropped for newer ones and counted. "
    "Run it\n"
    "again to learn of a new revision. Exit code 7: the server has closed the campaign; what was\n"
    "stored stays.\n"
    "\n"
    "Example:\n"
    "    dpot-device enroll --server https://pool.example.org \\\n"
    "        --campaign 00112233445566778899aabbccddeeff --pin $(cat pin.hex) --dir device \\\n"
    "        --campaign-cap 4 --window-cap 4 --window-seconds 86400 --lifetime-cap 20\n";

static const char report_help[] =
    "dpot-device report --dir D (--points FILE|- [--weighted] | --histogram FILE|- |\n"
    "    --vector FILE|-) [--campaign ID]\n"
    "\n"
    "Queues one privatised report for this round. In this order: FILE is read into memory, and "
    "refused\n"
    "(3) when it is no table of numbers; the campaign, its round, the shape and the caps are "
    "checked\n"
    "(3, 4, 7); the ledger is charged, durably; only then are the numbers used, and whatever they "
    "are,\n"
    "a report comes of them. A refusal charges nothing. Nothing of FILE is written anywhere.\n"
    "\n"
    "Points are CSV rows of coordinates, with --weighted a weight as the last column; a histogram "
    "is\n"
    "one number a line over the campaign's domain; a vector is one row or one column of numbers. "
    "An\n"
    "empty file is a device without data. A first line of text without a number is a header, and "
    "then\n"
    "a row must follow. At most 2^24 numbers and 2^28 bytes.\n"
    "\n"
    "Example:\n"
    "    printf '40.7,-74.0\\n' | dpot-device report --dir device --points -\n";

static const char flush_help[] =
    "dpot-device flush --dir D [--wait SECONDS]\n"
    "\n"
    "Sends what is due, waits for what is not due yet, until nothing is pending or SECONDS (10) "
    "are\n"
    "over (a report leaves up to 2 s after its making, which is always waited for), and tells how "
    "every "
    "report\n"
    "ended. No server holds it longer. After a failure reports wait below 2 s, 4 s ... 1 h, drawn "
    "at\n"
    "random, and for what the server asks (Retry-After, up to a day), also in later flushes. Exit "
    "code 0: all are answered and count; 3: the "
    "server\n"
    "refused one; 6: the server could not be reached or refused for now; 7: something is still\n"
    "pending, or was dropped because its round or revision is closed (enroll again).\n"
    "\n"
    "Example:\n"
    "    dpot-device flush --dir device --wait 30\n";

static const char status_help[] =
    "dpot-device status --dir D [--campaign ID]\n"
    "\n"
    "Prints what was spent of every cap and what became of every report: submitted is the sum of "
    "all\n"
    "other counts, whatever crashed or was killed.\n"
    "\n"
    "Example:\n"
    "    dpot-device status --dir device --json\n";

static const char withdraw_help[] =
    "dpot-device withdraw --dir D\n"
    "\n"
    "The user withdraws consent: reports that wait are dropped and wiped, and enroll and report "
    "are\n"
    "refused (exit code 4) until grant. The ledger keeps what was spent. Needs no disk space. "
    "Exit\n"
    "code 7: withdrawn, but another process uses the folder and may be sending: run it again.\n"
    "\n"
    "Example:\n"
    "    dpot-device withdraw --dir device\n";

static const char grant_help[] = "dpot-device grant --dir D\n"
                                 "\n"
                                 "The user consents again.\n"
                                 "\n"
                                 "Example:\n"
                                 "    dpot-device grant --dir device\n";

/* Which commands an option belongs to. */
enum { ENROLL = 1, REPORT = 2, FLUSH = 4, STATUS = 8, WITHDRAW = 16, GRANT = 32, ALL = 63 };

static const struct command {
    const char *name;
    unsigned bit;
    const char *help;
    enum exit_code (*run)(const struct options *options, struct failure *failure);
    const char
        *deed; /* what is done when all but the printing has worked; NULL: nothing but that */
} commands[] = {
    {"enroll", ENROLL, enroll_help, run_enroll, "the campaign is stored all the same"},
    {"report", REPORT, report_help, run_report,
     "this round's report is charged and queued or sent all the same, and is not to be made again"},
    {"flush", FLUSH, flush_help, run_flush,
     "what was due was sent and its answers are filed all the same"},
    {"status", STATUS, status_help, run_status, NULL},
    {"withdraw", WITHDRAW, withdraw_help, run_withdraw, "consent is withdrawn all the same"},
    {"grant", GRANT, grant_help, run_grant, "consent is given all the same"},
};

static const struct option {
    const char *name;
    unsigned commands;
    bool is_flag;
    size_t offset; /* of a const char * or a bool in struct options */
} option_table[] = {
    {"--server", ENROLL, false, offsetof(struct options, server)},
    {"--campaign", ENROLL | REPORT | STATUS, false, offsetof(struct options, campaign)},
    {"--pin", ENROLL, false, offsetof(struct options, pin)},
    {"--dir", ALL, false, offsetof(struct options, dir)},
    {"--campaign-cap", ENROLL, false, offsetof(struct options, campaign_cap)},
    {"--window-cap", ENROLL, false, offsetof(struct options, window_cap)},
    {"--window-seconds", ENROLL, false, offsetof(struct options, window_seconds)},
    {"--lifetime-cap", ENROLL, false, offsetof(struct options, lifetime_cap)},
    {"--delta-cap", ENROLL, false, offsetof(struct options, delta_cap)},
    {"--accountant", ENROLL, false, offsetof(struct options, accountant)},
    {"--ca-file", ENROLL, false, offsetof(struct options, ca_file)},
    {"--group", ENROLL, false, offsetof(struct options, group)},
    {"--spool-max", ENROLL, false, offsetof(struct options, spool_max)},
    {"--points", REPORT, false, offsetof(struct options, points)},
    {"--histogram", REPORT, false, offsetof(struct options, histogram)},
    {"--vector", REPORT, false, offsetof(struct options, vector)},
    {"--weighted", REPORT, true, offsetof(struct options, weighted)},
    {"--wait", FLUSH, false, offsetof(struct options, wait)},
    {"--json", ALL, true, offsetof(struct options, json)},
    {"--quiet", ALL, true, offsetof(struct options, quiet)},
    {"--help", ALL, true, offsetof(struct options, help)},
};

enum exit_code fail(struct failure *failure, enum exit_code code, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(failure->text, sizeof failure->text, format, arguments);
    va_end(arguments);
    return code;
}

enum exit_code exit_code_of(dpot_status status)
{
    switch (status) {
    case DPOT_OK:
        return EXIT_DONE;
    case DPOT_ERR_IO:
    case DPOT_ERR_NO_SPACE:
    case DPOT_ERR_NETWORK:
    case DPOT_ERR_SERVER:
    case DPOT_ERR_DENIED:
    case DPOT_ERR_POISONED:
        return EXIT_IO;
    case DPOT_ERR_BUSY:
    case DPOT_ERR_NOT_OPEN:
    case DPOT_ERR_CLOSED:
        return EXIT_NOT_READY;
    case DPOT_ERR_LEDGER:
        return EXIT_PRIVACY;
    default:
        break;
    }
    if (status <= -300 && status >= -399) {
        return EXIT_PRIVACY;
    }
    return status <= -200 && status >= -299 ? EXIT_INPUT : EXIT_INTERNAL;
}

bool parse_number(const char *text, double *value)
{
    char *end = NULL;
    errno = 0;
    *value = strtod(text, &end);
    if (errno == ERANGE && *value == 0) {
        return false; /* not 0, and no number here is as small */
    }
    return end != text && *end == '\0' && isfinite(*value);
}

bool parse_count(const char *text, uint64_t *value)
{
    const size_t len = strlen(text);
    if (len == 0 || len > 18 || strspn(text, "0123456789") != len) {
        return false;
    }
    *value = strtoull(text, NULL, 10);
    return true;
}

static const struct option *find_option(const char *name, unsigned command)
{
    for (size_t i = 0; i < sizeof option_table / sizeof option_table[0]; i++) {
        if (strcmp(option_table[i].name, name) == 0 && option_table[i].commands & command) {
            return &option_table[i];
        }
    }
    return NULL;
}

/* Of two values one would be forgotten in silence. */
static enum exit_code note_given(const struct option *option, uint64_t *given,
                                 struct failure *failure)
{
    const uint64_t bit = UINT64_C(1) << (option - option_table);
    if (!option->is_flag && (*given & bit) != 0) {
        return fail(failure, EXIT_USAGE, "%s is given twice: give it once", option->name);
    }
    *given |= bit;
    return EXIT_DONE;
}

static enum exit_code parse_options(const struct command *command, int argc, char **argv,
                                    struct options *options, struct failure *failure)
{
    uint64_t given = 0;
    for (int i = 2; i < argc; i++) {
        const struct option *option = find_option(argv[i], command->bit);
        if (!option) {
            return fail(failure, EXIT_USAGE, "%s does not know \"%s\": see dpot-device %s --help",
                        command->name, argv[i], command->name);
        }
        const enum exit_code code = note_given(option, &given, failure);
        if (code != EXIT_DONE) {
            return code;
        }
        char *field = (char *)options + option->offset;
        if (option->is_flag) {
            memcpy(field, &(bool){true}, sizeof(bool));
            continue;
        }
        if (i + 1 == argc) {
            return fail(failure, EXIT_USAGE, "%s wants a value", argv[i]);
        }
        const char *value = argv[++i];
        memcpy(field, &value, sizeof value);
    }
    return EXIT_DONE;
}

/* One sentence to people, and one object to whoever asked for JSON. */
static void tell_failure(const struct options *options, const struct failure *failure)
{
    fprintf(stderr, "dpot-device: %s\n", failure->text);
    if (options->json && !failure->is_told) {
        struct json json;
        json_begin(&json, stdout);
        json_text(&json, "outcome", "failed");
        json_text(&json, "status", dpot_status_name(failure->status));
        json_text(&json, "error", failure->text);
        json_end(&json);
    }
}

static enum exit_code run(const struct command *command, int argc, char **argv)
{
    struct options options = {0};
    struct failure failure = {.status = DPOT_ERR_ARGUMENT};
    enum exit_code code = parse_options(command, argc, argv, &options, &failure);
    if (code == EXIT_DONE && options.help) {
        fputs(command->help, stdout);
        return EXIT_DONE;
    }
    if (code == EXIT_DONE) {
        code = command->run(&options, &failure);
    }
    if (code != EXIT_DONE) {
        tell_failure(&options, &failure);
    }
    return code;
}

/* The exit code of a command whose output could not be written tells scripts that they do not have it; the
 * sentence, that what it did is done. Flush sends also when it fails in the end. */
static enum exit_code finish_output(const struct command *command, enum exit_code code)
{
    const bool is_written = fflush(stdout) == 0 && !ferror(stdout);
    const int cause = errno;
    if (is_written) {
        return code;
    }
    const bool is_done = code == EXIT_DONE || command->run == run_flush;
    fprintf(stderr, "dpot-device: writing to the standard output failed: %s%s%s\n", strerror(cause),
            is_done && command->deed ? "; " : "", is_done && command->deed ? command->deed : "");
    return EXIT_IO;
}

int main(int argc, char **argv)
{
    dpot_descriptors_hold();
    (void)signal(SIGPIPE, SIG_IGN); /* libcurl without signals leaves this to the program */
    (void)signal(SIGXFSZ, SIG_IGN); /* a file above the limit of its size is a failed write */
    const char *name = argc > 1 ? argv[1] : "";
    if (strcmp(name, "--help") == 0 || strcmp(name, "help") == 0) {
        fputs(help_text, stdout);
        return EXIT_DONE;
    }
    if (strcmp(name, "--version") == 0) {
        printf("dpot-device %s\n", DPOT_VERSION);
        return EXIT_DONE;
    }
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        if (strcmp(commands[i].name, name) == 0) {
            errno = 0;
            return (int)finish_output(&commands[i], run(&commands[i], argc, argv));
        }
    }
    fprintf(stderr, "dpot-device: \"%s\" is not a command\n\n%s", name, help_text);
    return EXIT_USAGE;
}
