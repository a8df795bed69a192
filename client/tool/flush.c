/* flush: sends what is due, waits for what is not, reports how every report ended. */
#include "base/clock.h"
#include "cli/object.h"
#include "cli/options.h"
#include "session.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define PUMP_DEADLINE_MS 30000
#define PUMP_DEADLINE_MIN_MS 200
#define DEFAULT_WAIT_S 10.0
#define WAIT_MAX_S 1e6
#define BUSY_WAIT_MS 100

static void sleep_ms(int64_t ms)
{
    struct timespec rest = {.tv_sec = (time_t)(ms / 1000), .tv_nsec = (long)(ms % 1000) * 1000000};
    while (nanosleep(&rest, &rest) != 0 && errno == EINTR) {
    }
}

/* Failures after which flush waits and retries. */
static bool is_temporary(dpot_status status)
{
    return status == DPOT_ERR_NETWORK || status == DPOT_ERR_SERVER || status == DPOT_ERR_BUSY ||
           status == DPOT_ERR_NOT_FOUND || status == DPOT_ERR_DENIED ||
           status == DPOT_ERR_NOT_OPEN || status == DPOT_ERR_CLOSED;
}

/* What the end of a report means for the exit code. */
enum meaning { COUNTED, WITHDRAWN, CLOSED, OVER, REFUSED };

/* The counts of a pump's result by their JSON keys, which are those of `status`. */
static const struct {
    const char *name;
    size_t offset; /* of a size_t in struct dpot_pump_result */
    enum meaning meaning;
} ends[] = {
    {"accepted", offsetof(struct dpot_pump_result, n_accepted), COUNTED},
    {"duplicate", offsetof(struct dpot_pump_result, n_duplicate), COUNTED},
    {"rejected_malformed", offsetof(struct dpot_pump_result, n_rejected_malformed), REFUSED},
    {"rejected_range", offsetof(struct dpot_pump_result, n_rejected_range), REFUSED},
    {"rejected_group", offsetof(struct dpot_pump_result, n_rejected_group), REFUSED},
    {"rejected_test", offsetof(struct dpot_pump_result, n_rejected_test), REFUSED},
    {"rejected_token", offsetof(struct dpot_pump_result, n_rejected_token), REFUSED},
    {"rejected_closed", offsetof(struct dpot_pump_result, n_rejected_closed), CLOSED},
    {"dropped_closed", offsetof(struct dpot_pump_result, n_dropped_closed), CLOSED},
    {"dropped_age", offsetof(struct dpot_pump_result, n_dropped_age), OVER},
    {"dropped_malformed", offsetof(struct dpot_pump_result, n_dropped_malformed), REFUSED},
    {"dropped_lost", offsetof(struct dpot_pump_result, n_dropped_lost), OVER},
    {"dropped_withdrawn", offsetof(struct dpot_pump_result, n_dropped_withdrawn), WITHDRAWN},
};
#define N_ENDS (sizeof ends / sizeof ends[0])

struct flush {
    size_t n_sent;
    size_t n_pending;
    int64_t wait_ms; /* of the pending ones, until the next try; INT64_MAX: unknown */
    size_t n_ended[N_ENDS];
    dpot_status status; /* of the last pump */
    char sentence[400]; /* its error: later calls overwrite it */
};

static void add_ends(struct flush *flush, const struct dpot_pump_result *result)
{
    for (size_t i = 0; i < N_ENDS; i++) {
        size_t count = 0;
        memcpy(&count, (const char *)result + ends[i].offset, sizeof count);
        flush->n_ended[i] += count;
    }
}

static size_t count_meaning(const struct flush *flush, enum meaning meaning)
{
    size_t n = 0;
    for (size_t i = 0; i < N_ENDS; i++) {
        n += ends[i].meaning == meaning ? flush->n_ended[i] : 0;
    }
    return n;
}

/* Time until the next pump; a busy folder is retried soon. */
static int64_t wait_ms(const struct flush *flush, const struct dpot_pump_result *result)
{
    const struct dpot_clock *clock = dpot_clock_system();
    if (flush->status == DPOT_ERR_BUSY) {
        return BUSY_WAIT_MS;
    }
    if (result->next_due_ms == INT64_MAX) {
        return INT64_MAX;
    }
    const int64_t ms = result->next_due_ms - clock->now(clock->ctx);
    return ms > 1 ? ms : 1;
}

/* A pump gets the rest of the wait, at least PUMP_DEADLINE_MIN_MS. */
static uint32_t pump_deadline_ms(int64_t end_ms)
{
    const int64_t left_ms = end_ms - dpot_clock_monotonic_ms();
    if (left_ms >= PUMP_DEADLINE_MS) {
        return PUMP_DEADLINE_MS;
    }
    return left_ms > PUMP_DEADLINE_MIN_MS ? (uint32_t)left_ms : PUMP_DEADLINE_MIN_MS;
}

/* A wait shorter than the random delay of a report would never send it: unless something fails, the
 * wait lasts at least twice the longest delay. */
static void flush_until(const struct session *s, int64_t end_ms, bool is_quiet, struct flush *flush)
{
    const int64_t sending_ms = dpot_clock_monotonic_ms() + 2 * (int64_t)s->send_delay_ms;
    for (;;) {
        struct dpot_pump_result result = {.struct_size = sizeof result};
        flush->status = dpot_client_pump(s->client, pump_deadline_ms(end_ms), &result);
        flush->n_sent += result.n_sent;
        flush->n_pending = result.n_pending;
        add_ends(flush, &result);
        (void)snprintf(flush->sentence, sizeof flush->sentence, "%s",
                       dpot_client_last_error(s->client));
        const bool can_go_on = flush->status == DPOT_OK || is_temporary(flush->status);
        if (!can_go_on || (result.n_pending == 0 && flush->status != DPOT_ERR_BUSY)) {
            return;
        }
        const bool is_longer = flush->status == DPOT_OK && sending_ms > end_ms;
        const int64_t ms = flush->wait_ms = wait_ms(flush, &result);
        const int64_t left_ms = (is_longer ? sending_ms : end_ms) - dpot_clock_monotonic_ms();
        if (left_ms <= 0 || ms > left_ms) {
            return;
        }
        if (!is_quiet) {
            fprintf(stderr, "%zu pending, next try in %.1f s\n", flush->n_pending,
                    (double)ms / 1000);
        }
        sleep_ms(ms);
    }
}

/* ---- the outcome ---- */

/* Fails with the first of the outcomes that the user can act on. */
static dpot_status check_ends(const struct session *s, const struct flush *flush,
                              struct dpot_error *error)
{
    const size_t n_closed = count_meaning(flush, CLOSED), n_over = count_meaning(flush, OVER);
    const size_t n_refused = count_meaning(flush, REFUSED);
    if (n_closed > 0) {
        return dpot_error_set(
            error, DPOT_ERR_CLOSED,
            "reports that do not count because the server has closed their round or revision: "
            "%zu. Run dpot-device enroll again to learn of a newer revision; what they cost stays "
            "spent",
            n_closed);
    }
    if (n_over > 0) {
        char now[DPOT_RFC3339_SIZE];
        struct dpot_client_status status = {.struct_size = sizeof status};
        (void)!dpot_client_get_status(s->client, &status);
        dpot_time_format(status.device_time_ms, now);
        return dpot_error_set(
            error, DPOT_ERR_CLOSED,
            "reports dropped because their round is over by device_time %s: %zu. If that is not "
            "the time, set the clock of this device; what they cost stays spent",
            now, n_over);
    }
    if (n_refused > 0) {
        return dpot_error_set(error, DPOT_ERR_MALFORMED,
                              "reports that the server refused: %zu. Is it the server of this "
                              "campaign, and this program as new as the server?",
                              n_refused);
    }
    return DPOT_OK;
}

static dpot_status check_outcome(const struct session *s, const struct flush *flush,
                                 struct run *run)
{
    if (flush->status != DPOT_OK) {
        (void)session_fail_with(run, flush->status, flush->sentence);
        const int code = run->forced_exit ? run->forced_exit : exit_code_of(flush->status);
        /* A flush reads no data: bad data are those of the disk or the server. */
        const bool is_elsewhere = is_temporary(flush->status) && code != EXIT_CODE_NOT_READY;
        run->forced_exit = is_elsewhere || code == EXIT_CODE_DATA ? EXIT_CODE_IO : code;
        return flush->status;
    }
    const dpot_status status = check_ends(s, flush, &run->error);
    if (flush->n_pending == 0) {
        return status;
    }
    if (status == DPOT_OK) {
        char when[40] = "later";
        if (flush->wait_ms < INT64_MAX) {
            (void)snprintf(when, sizeof when, "in %lld s", (long long)(flush->wait_ms / 1000 + 1));
        }
        (void)dpot_error_set(&run->error, DPOT_OK, "reports still pending: %zu. Flush again %s",
                             flush->n_pending, when);
    }
    return DPOT_ERR_STATE;
}

static const char *name_outcome(const struct flush *flush)
{
    return flush->status != DPOT_OK            ? "failed"
           : flush->n_pending > 0              ? "pending"
           : count_meaning(flush, CLOSED) > 0  ? "closed"
           : count_meaning(flush, OVER) > 0    ? "dropped"
           : count_meaning(flush, REFUSED) > 0 ? "rejected"
                                               : "answered";
}

/* The object is complete also after a failure: reports may have been answered before. */
static void print_json(const struct flush *flush, const struct run *run)
{
    struct object object;
    object_begin(&object, stdout);
    object_text(&object, "outcome", name_outcome(flush));
    object_count(&object, "sent", flush->n_sent);
    object_count(&object, "pending", flush->n_pending);
    for (size_t i = 0; i < N_ENDS; i++) {
        object_count(&object, ends[i].name, flush->n_ended[i]);
    }
    if (flush->status != DPOT_OK) {
        object_text(&object, "status", dpot_status_name(flush->status));
        object_text(&object, "error", run->error.text);
    }
    object_end(&object);
}

static void print_text(const struct flush *flush)
{
    printf("%zu answered, %zu pending\n", flush->n_sent, flush->n_pending);
    for (size_t i = 0; i < N_ENDS; i++) {
        if (flush->n_ended[i] > 0) {
            printf("reports %s: %zu\n", ends[i].name, flush->n_ended[i]);
        }
    }
}

static dpot_status run_flush(struct run *run)
{
    struct session s = {0};
    struct flush flush = {0};
    double wait_s = DEFAULT_WAIT_S;
    dpot_status status = option_number(run, "wait-seconds", 0, WAIT_MAX_S, &wait_s);
    if (status == DPOT_OK) {
        status = open_session(&s, run);
    }
    if (status == DPOT_OK) {
        flush_until(&s, dpot_clock_monotonic_ms() + (int64_t)(wait_s * 1000), run->is_quiet,
                    &flush);
        status = check_outcome(&s, &flush, run);
        if (run->is_json) {
            print_json(&flush, run);
        } else {
            print_text(&flush);
        }
        run->has_printed = true;
        run->done = "what was due was sent and its answers are filed all the same";
    }
    close_session(&s);
    return status;
}

static const struct option options[] = {
    {"dir", "DIR", "folder of this device"},
    {"wait-seconds", "S [0,1000000]", "for what is not due yet (default 10)"},
    {NULL, NULL, NULL},
};

const struct command command_flush = {
    .name = "flush",
    .summary = "send what is due and wait for the answers",
    .details =
        "Sends what is due, waits for what is not due yet, until nothing is pending or SECONDS are "
        "over\n"
        "(a report leaves up to 2 s after it was made, and that is always waited for), and prints "
        "how "
        "every\n"
        "report ended. No server holds it longer. After a failure reports wait below 2 s, 4 s ... "
        "1 h,\n"
        "drawn at random, and for what the server asks (Retry-After, up to a day), also in later\n"
        "flushes. Exit code 0: all are answered and count; 3: the server refused one; 6: the "
        "server\n"
        "could not be reached or refused for now; 7: something is still pending, or was dropped "
        "because\n"
        "its round or revision is closed (enroll again).",
    .example = "dpot-device flush --dir device --wait-seconds 30",
    .options = options,
    .n_required = 1,
    .run = run_flush,
};
