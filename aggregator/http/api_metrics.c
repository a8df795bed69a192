/* GET /metrics: counts for Prometheus in its text format, version 0.0.4.
 *
 * Labels are words of this program, never a campaign, an address or anything that a request says.
 * But two answers tell how many reports came between them, so the path needs a token. The counts of
 * reports are of one moment and add up (pool/tally.h). */
#include "http/routes.h"
#include "http/server.h"

#include <stdarg.h>
#include <sys/resource.h>
#include <unistd.h>

#define LINE_SIZE 256

/* The answer in the making; after a failure nothing is added. */
struct page {
    struct dpot_buf *body;
    dpot_status status;
};

static void add(struct page *page, const char *format, ...) DPOT_PRINTF(2, 3);
static void add(struct page *page, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    const int len = vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    if (page->status == DPOT_OK && len > 0 && len < LINE_SIZE) {
        page->status = dpot_buf_append(page->body, line, (size_t)len);
    }
}

static void begin(struct page *page, const char *name, const char *type, const char *help)
{
    add(page, "# HELP %s %s\n", name, help);
    add(page, "# TYPE %s %s\n", name, type);
}

static void add_one(struct page *page, const char *name, const char *type, const char *help,
                    uint64_t value)
{
    begin(page, name, type, help);
    add(page, "%s %llu\n", name, (unsigned long long)value);
}

static void add_labelled(struct page *page, const char *name, const char *label, const char *word,
                         uint64_t value)
{
    add(page, "%s{%s=\"%s\"} %llu\n", name, label, word, (unsigned long long)value);
}

static void add_reports(struct page *page, const struct tally_counts *counts)
{
    static const char rejected[] = "dpotd_reports_rejected_total";
    static const char prefix[] = "rejected_"; /* common to the names */
    static const char dropped[] = "dpotd_reports_dropped_total";
    add_one(page, "dpotd_reports_submitted_total", "counter",
            "Reports of all batches that could be read; the sum of the following.",
            counts->n_submitted);
    add_one(page, "dpotd_reports_accepted_total", "counter", "Reports stored.",
            counts->committed.n_accepted);
    add_one(page, "dpotd_reports_duplicate_total", "counter",
            "Reports that had been stored before.", counts->committed.n_duplicate);
    begin(page, rejected, "counter", "Reports refused one by one.");
    for (int i = DPOT_REPORT_REJECTED_MALFORMED; i < DPOT_REPORT_STATUS_END; i++) {
        const char *status = dpot_report_status_name((enum dpot_report_status)i);
        add_labelled(page, rejected, "reason", status + sizeof prefix - 1,
                     counts->committed.n_rejected[i]);
    }
    begin(page, dropped, "counter", "Reports of batches refused as a whole.");
    for (int i = 0; i < DROP_REASONS; i++) {
        add_labelled(page, dropped, "reason", drop_reason_name((enum drop_reason)i),
                     counts->n_dropped[i]);
    }
    add_one(page, "dpotd_reports_pending", "gauge", "Reports on their way to a commit.",
            counts->n_pending);
}

static void add_batches(struct page *page, const struct tally_counts *counts)
{
    static const char name[] = "dpotd_batches_total";
    begin(page, name, "counter", "Batches by the status that answered them, since the start.");
    for (size_t i = 0; i < TALLY_ANSWERS; i++) {
        add(page, "%s{status=\"%u\"} %llu\n", name, tally_answers[i],
            (unsigned long long)counts->n_answers[i]);
    }
}

static void add_commits(struct page *page, struct writer *writer)
{
    struct writer_work work;
    writer_get_work(writer, &work);
    add_one(page, "dpotd_commits_total", "counter", "Commits of reports, since the start.",
            work.n_commits);
    add_one(page, "dpotd_commit_failures_total", "counter",
            "Commits that the store refused, since the start.", work.n_failures);
    add_one(page, "dpotd_commit_batches_total", "counter", "Batches in commits, since the start.",
            work.n_batches);
    begin(page, "dpotd_commit_seconds_total", "counter", "Time spent in commits.");
    add(page, "dpotd_commit_seconds_total %.6f\n", work.seconds);
}

static void add_store(struct page *page, struct store *store)
{
    struct store_id_usage usage;
    store_get_id_usage(store, &usage);
    add_one(page, "dpotd_ids", "gauge", "Ids of reports in memory, to find duplicates.",
            usage.n_ids);
    add_one(page, "dpotd_ids_bytes", "gauge", "Bytes of memory for these ids.", usage.n_bytes);
    add_one(page, "dpotd_revisions_damaged", "gauge",
            "Revisions, open or not, whose reports were found damaged.",
            store_count_damaged(store));
}

static void add_traffic(struct page *page, struct server *server)
{
    static const char name[] = "dpotd_http_answers_total";
    struct server_traffic traffic;
    server_get_traffic(server, &traffic);
    begin(page, name, "counter", "Answers by class of status, since the start.");
    for (unsigned i = 2; i < SERVER_CLASSES; i++) {
        add(page, "%s{class=\"%uxx\"} %llu\n", name, i, (unsigned long long)traffic.n_answers[i]);
    }
    add_one(page, "dpotd_http_running", "gauge", "Requests being served.", traffic.n_running);
    add_one(page, "dpotd_http_suspended", "gauge", "Requests that wait for a commit.",
            traffic.n_suspended);
    add_one(page, "dpotd_http_body_bytes", "gauge", "Bytes of memory for request bodies.",
            traffic.body_memory);
    add_one(page, "dpotd_log_lines_lost_total", "counter",
            "Lines of the log that could not be written, since the start.", traffic.log.n_lost);
    add_one(page, "dpotd_log_lines_folded_total", "counter",
            "Repeated lines of the log that were counted instead, since the start.",
            traffic.log.n_folded);
}

/* What must be valid now, and renewed before it expires. */
static void add_validities(struct page *page, const struct http_app *app)
{
    static const char key[] = "dpotd_seal_keys_expire_seconds";
    static const char certificate[] = "dpotd_tls_certificate_expires_seconds";
    const struct certificate_period *period = &app->tls_period;
    const int64_t now_ms = app->ingest->clock->now(app->ingest->clock->ctx);
    int64_t last_ms = 0;
    size_t n_valid = 0;
    (void)!seal_secrets_check(app->ingest->seal_secrets, app->ingest->n_seal_secrets, now_ms,
                              &n_valid, NULL);
    add_one(page, "dpotd_seal_keys_valid", "gauge",
            "Seal keys that are valid now; without one no device can report.", n_valid);
    for (size_t i = 0; i < app->ingest->n_seal_secrets; i++) {
        const int64_t end_ms = app->ingest->seal_secrets[i].key.not_after_ms;
        last_ms = end_ms > last_ms ? end_ms : last_ms;
    }
    begin(page, key, "gauge", "When the last seal key expires, since 1970.");
    add(page, "%s %.3f\n", key, 1e-3 * (double)last_ms);
    if (period->not_after_ms != 0) {
        add_one(page, "dpotd_tls_certificate_valid", "gauge",
                "1: the TLS certificate is valid now; 0: not yet or no longer.",
                period->not_before_ms <= now_ms && now_ms < period->not_after_ms);
        begin(page, certificate, "gauge", "When the TLS certificate expires, since 1970.");
        add(page, "%s %.3f\n", certificate, 1e-3 * (double)period->not_after_ms);
    }
}

static double seconds_of(struct timeval time)
{
    return (double)time.tv_sec + 1e-6 * (double)time.tv_usec;
}

/* 0 on systems without /proc. */
static uint64_t resident_bytes(void)
{
    unsigned long pages = 0;
    FILE *stream = fopen("/proc/self/statm", "r");
    if (stream) {
        pages = fscanf(stream, "%*u %lu", &pages) == 1 ? pages : 0;
        (void)fclose(stream);
    }
    return (uint64_t)pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

static void add_process(struct page *page, const struct http_app *app)
{
    struct rusage usage = {.ru_maxrss = 0};
    (void)getrusage(RUSAGE_SELF, &usage);
    begin(page, "process_cpu_seconds_total", "counter", "Processor time.");
    add(page, "process_cpu_seconds_total %.6f\n",
        seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime));
    add_one(page, "process_resident_memory_bytes", "gauge", "Resident memory.", resident_bytes());
    begin(page, "process_start_time_seconds", "gauge", "When the server began to serve.");
    add(page, "process_start_time_seconds %.3f\n", 1e-3 * (double)app->started_ms);
}

void api_metrics(const struct http_app *app, const struct http_request *request,
                 struct http_response *response)
{
    struct page page = {.body = &response->body, .status = DPOT_OK};
    struct tally_counts counts;
    tally_get(app->ingest->tally, &counts);
    add_reports(&page, &counts);
    add_batches(&page, &counts);
    add_commits(&page, app->ingest->writer);
    add_store(&page, app->store);
    add_traffic(&page, request->server);
    add_validities(&page, app);
    add_process(&page, app);
    if (page.status != DPOT_OK) {
        http_response_refuse(response, request->path, 503, page.status, "");
        return;
    }
    response->status = 200;
    response->content_type = "text/plain; version=0.0.4; charset=utf-8";
}
