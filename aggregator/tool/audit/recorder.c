#include "tool/audit/recorder.h"

#include "proto/wire_report.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 1200
#define LINE_SHOWN (RECORDER_DIFFERENCE_SIZE / 3 - 4)
#define LINES_MAX ((size_t)64 << 20)

void recorder_note(struct recorder *w, const char *format, ...)
{
    char line[LINE_SIZE];
    va_list arguments;
    va_start(arguments, format);
    const int len = vsnprintf(line, sizeof line - 1, format, arguments);
    va_end(arguments);
    const size_t kept = len < 0 ? 0 : (size_t)len < sizeof line - 2 ? (size_t)len : sizeof line - 2;
    line[kept] = '\n';
    if (dpot_buf_append(&w->lines, line, kept + 1) != DPOT_OK) {
        w->is_short = true;
    }
}

void recorder_forget(struct recorder *w)
{
    dpot_buf_reset(&w->lines);
}

size_t recorder_count(const struct recorder *w)
{
    size_t n = 0;
    for (size_t i = 0; i < w->lines.len; i++) {
        n += w->lines.data[i] == '\n';
    }
    return n;
}

static unsigned long long digest(const void *data, size_t len)
{
    uint8_t hash[DPOT_HASH_LEN];
    dpot_hash(hash, data, len);
    return (unsigned long long)dpot_load_u64(hash);
}

/* ---- randomness and time ---- */

static void fill(void *ctx, void *out, size_t len)
{
    struct recorder *w = ctx;
    w->randomness->fill(w->randomness->ctx, out, len);
    recorder_note(w, "asks for %zu random bytes", len);
}

static int64_t read_clock(void *ctx)
{
    return ((const struct recorder *)ctx)->now_ms;
}

/* After the charge is durable the data are read: the clock advances by the time of that work. */
static void work(struct recorder *w)
{
    w->now_ms += w->work_ms;
    w->work_ms = 0;
}

/* ---- the network ---- */

static void note_batch(struct recorder *w, const struct dpot_http_request *request)
{
    struct dpot_batch batch;
    const struct seal_secret *secret = w->seal_secret;
    if (dpot_wire_batch_open(request->body, request->body_len, secret->key.public_key,
                             secret->secret_key, NULL, &batch, NULL) != DPOT_OK) {
        recorder_note(w, "sends a body that does not open");
        return;
    }
    recorder_note(w, "sends %zu reports to %016llx, round %u", batch.n_reports,
                  digest(batch.campaign_hash, sizeof batch.campaign_hash), (unsigned)batch.round);
    for (size_t i = 0; i < batch.n_reports; i++) {
        const struct dpot_report *report = &batch.reports[i];
        recorder_note(w, "report %016llx of group %u, %u numbers, test %d, malformed %d",
                      digest(report->id, sizeof report->id), (unsigned)report->group,
                      (unsigned)report->n_values, report->test, batch.is_malformed[i]);
    }
    dpot_batch_release(&batch);
}

static const char *or_none(const char *text)
{
    return text ? text : "none";
}

static dpot_status perform(void *ctx, const struct dpot_http_request *request,
                           struct dpot_http_response *response)
{
    struct recorder *w = ctx;
    uint8_t key_id[DPOT_SEAL_KEY_ID_LEN] = {0};
    if (w->is_down) {
        return DPOT_ERR_NETWORK;
    }
    recorder_note(w, "%s %s at %lld, %s, authorization %s, %zu bytes, answers up to %zu",
                  request->method, request->url, (long long)w->now_ms,
                  or_none(request->content_type), or_none(request->authorization),
                  request->body_len, request->body_max);
    if (request->body_len > 0) {
        (void)!dpot_wire_batch_key_id(request->body, request->body_len, key_id, NULL);
        recorder_note(w, "key %016llx", digest(key_id, sizeof key_id));
        note_batch(w, request);
    }
    return w->network->perform(w->network->ctx, request, response);
}

/* ---- the folder ---- */

struct recorder_file {
    void *inner;
    char name[RECORDER_NAME_SIZE];
};

static bool begins(const char *name, const char *with)
{
    return strncmp(name, with, strlen(with)) == 0;
}

static void remember_name(struct recorder *w, const char *name)
{
    for (size_t i = 0; i < w->n_names; i++) {
        if (strcmp(w->names[i], name) == 0) {
            return;
        }
    }
    if (w->n_names < RECORDER_NAMES_MAX) {
        (void)snprintf(w->names[w->n_names++], RECORDER_NAME_SIZE, "%s", name);
    }
}

/* Counts a change of the folder; false when the process has ended, possibly at this change. */
static bool may_change(struct recorder *w)
{
    if (w->cut_at > 0) {
        w->cut_at--;
        w->is_down = w->is_down || w->cut_at == 0;
    }
    return !w->is_down;
}

static dpot_status open_file(void *ctx, const char *name, int create, void **file)
{
    struct recorder *w = ctx;
    struct recorder_file *opened = NULL;
    void *inner = NULL;
    if (w->is_down) {
        return DPOT_ERR_IO;
    }
    const dpot_status status = w->folder->open(w->folder->ctx, name, create, &inner);
    recorder_note(w, "opens %s (%d): %d", name, create, status);
    if (status != DPOT_OK) {
        return status;
    }
    opened = dpot_alloc_array(NULL, 1, sizeof *opened);
    if (!opened) {
        w->folder->close(w->folder->ctx, inner);
        return DPOT_ERR_MEMORY;
    }
    opened->inner = inner;
    (void)snprintf(opened->name, sizeof opened->name, "%s", name);
    remember_name(w, name);
    *file = opened;
    return DPOT_OK;
}

static void close_file(void *ctx, void *file)
{
    const struct recorder *w = ctx;
    struct recorder_file *f = file;
    w->folder->close(w->folder->ctx, f->inner);
    dpot_free_array(NULL, f, 1, sizeof *f);
}

static dpot_status size_file(void *ctx, void *file, uint64_t *size)
{
    const struct recorder *w = ctx;
    const struct recorder_file *f = file;
    return w->is_down ? DPOT_ERR_IO : w->folder->size(w->folder->ctx, f->inner, size);
}

static dpot_status read_file(void *ctx, void *file, uint64_t offset, void *data, size_t len)
{
    struct recorder *w = ctx;
    const struct recorder_file *f = file;
    if (w->is_down) {
        return DPOT_ERR_IO;
    }
    recorder_note(w, "reads %zu bytes of %s at %llu", len, f->name, (unsigned long long)offset);
    return w->folder->read_at(w->folder->ctx, f->inner, offset, data, len);
}

/* Reports are written over empty slots of the spool, or with the whole file when it is
 * rewritten. */
static bool may_hold_report(const struct recorder *w, const struct recorder_file *f,
                            uint64_t offset)
{
    uint64_t size = 0;
    if (!begins(f->name, "spool")) {
        return false;
    }
    return strcmp(f->name, "spool") != 0 ||
           w->folder->size(w->folder->ctx, f->inner, &size) != DPOT_OK || offset < size;
}

static void note_write(struct recorder *w, const struct recorder_file *f, uint64_t offset,
                       const void *data, size_t len)
{
    if (may_hold_report(w, f, offset)) {
        recorder_note(w, "writes %zu bytes to %s at %llu", len, f->name,
                      (unsigned long long)offset);
    } else {
        recorder_note(w, "writes %zu bytes to %s at %llu: %016llx", len, f->name,
                      (unsigned long long)offset, digest(data, len));
    }
}

static dpot_status write_file(void *ctx, void *file, uint64_t offset, const void *data, size_t len)
{
    struct recorder *w = ctx;
    const struct recorder_file *f = file;
    if (!may_change(w)) {
        return DPOT_ERR_IO;
    }
    w->has_charged = w->has_charged || strcmp(f->name, "ledger") == 0;
    note_write(w, f, offset, data, len);
    return w->folder->write_at(w->folder->ctx, f->inner, offset, data, len);
}

static dpot_status truncate_file(void *ctx, void *file, uint64_t size)
{
    struct recorder *w = ctx;
    const struct recorder_file *f = file;
    if (!may_change(w)) {
        return DPOT_ERR_IO;
    }
    recorder_note(w, "cuts %s to %llu bytes", f->name, (unsigned long long)size);
    return w->folder->truncate(w->folder->ctx, f->inner, size);
}

static dpot_status sync_file(void *ctx, void *file)
{
    struct recorder *w = ctx;
    const struct recorder_file *f = file;
    if (!may_change(w)) {
        return DPOT_ERR_IO;
    }
    recorder_note(w, "syncs %s", f->name);
    if (w->has_charged && strcmp(f->name, "ledger") == 0) {
        w->has_charged = false;
        work(w);
    }
    return w->folder->sync(w->folder->ctx, f->inner);
}

static dpot_status sync_names(void *ctx)
{
    struct recorder *w = ctx;
    if (!may_change(w)) {
        return DPOT_ERR_IO;
    }
    recorder_note(w, "syncs the folder");
    return w->folder->sync_directory(w->folder->ctx);
}

static dpot_status rename_file(void *ctx, const char *from, const char *to)
{
    struct recorder *w = ctx;
    if (!may_change(w)) {
        return DPOT_ERR_IO;
    }
    recorder_note(w, "renames %s to %s", from, to);
    remember_name(w, to);
    return w->folder->rename(w->folder->ctx, from, to);
}

static dpot_status remove_file(void *ctx, const char *name)
{
    struct recorder *w = ctx;
    if (!may_change(w)) {
        return DPOT_ERR_IO;
    }
    recorder_note(w, "removes %s", name);
    return w->folder->remove(w->folder->ctx, name);
}

static dpot_status lock_folder(void *ctx)
{
    struct recorder *w = ctx;
    recorder_note(w, "locks");
    return w->is_down ? DPOT_ERR_IO : w->folder->lock(w->folder->ctx);
}

static void unlock_folder(void *ctx)
{
    struct recorder *w = ctx;
    recorder_note(w, "unlocks");
    w->folder->unlock(w->folder->ctx);
}

void recorder_init(struct recorder *w, const struct dpot_transport *network,
                   const struct dpot_filesystem *folder, const struct dpot_rng_source *randomness,
                   const struct seal_secret *seal_secret)
{
    *w = (struct recorder){.transport = {sizeof w->transport, w, perform},
                           .filesystem = {sizeof w->filesystem, w, open_file, close_file, size_file,
                                          read_file, write_file, truncate_file, sync_file,
                                          sync_names, rename_file, remove_file, lock_folder,
                                          unlock_folder, NULL},
                           .clock = {.struct_size = sizeof w->clock, .ctx = w, .now = read_clock},
                           .source = {fill, w, randomness->is_test},
                           .network = network,
                           .folder = folder,
                           .randomness = randomness,
                           .seal_secret = seal_secret};
    dpot_buf_init(&w->lines, LINES_MAX, NULL);
}

void recorder_release(struct recorder *w)
{
    dpot_buf_release(&w->lines);
}

/* ---- two recorders ---- */

static dpot_status write_whole(const struct dpot_filesystem *to, const char *name, const void *data,
                               size_t len)
{
    void *file = NULL;
    dpot_status status = to->open(to->ctx, name, 1, &file);
    if (status == DPOT_OK) {
        status = to->write_at(to->ctx, file, 0, data, len);
        to->close(to->ctx, file);
    }
    return status;
}

static dpot_status copy_open(const struct dpot_filesystem *from, void *file,
                             const struct dpot_filesystem *to, const char *name)
{
    uint64_t size = 0;
    dpot_status status = from->size(from->ctx, file, &size);
    uint8_t *data = status == DPOT_OK ? dpot_alloc_array(NULL, (size_t)size + 1, 1) : NULL;
    if (!data) {
        return status == DPOT_OK ? DPOT_ERR_MEMORY : status;
    }
    status = from->read_at(from->ctx, file, 0, data, (size_t)size);
    if (status == DPOT_OK) {
        status = write_whole(to, name, data, (size_t)size);
    }
    dpot_free_array(NULL, data, (size_t)size + 1, 1);
    return status;
}

dpot_status recorder_copy_folder(const struct recorder *w, const struct dpot_filesystem *to)
{
    const struct dpot_filesystem *from = w->folder;
    dpot_status status = DPOT_OK;
    for (size_t i = 0; i < w->n_names && status == DPOT_OK; i++) {
        void *file = NULL;
        status = from->open(from->ctx, w->names[i], 0, &file);
        if (status == DPOT_ERR_NOT_FOUND) {
            status = DPOT_OK; /* removed or renamed */
        } else if (status == DPOT_OK) {
            status = copy_open(from, file, to, w->names[i]);
            from->close(from->ctx, file);
        }
    }
    return status;
}

/* Copies the line that begins at `at`, cut to fit. */
static void copy_line(const struct dpot_buf *lines, size_t at, char *out, size_t size)
{
    size_t len = 0;
    while (at + len < lines->len && lines->data[at + len] != '\n' && len + 1 < size) {
        out[len] = (char)lines->data[at + len];
        len++;
    }
    out[len] = '\0';
}

bool recorder_differs(const struct recorder *a, const struct recorder *b,
                      char difference[RECORDER_DIFFERENCE_SIZE])
{
    char call[LINE_SHOWN], first[LINE_SHOWN], second[LINE_SHOWN];
    const uint8_t *lines = a->lines.data;
    size_t line_at = 0, call_at = 0, at = 0;
    while (at < a->lines.len && at < b->lines.len && lines[at] == b->lines.data[at]) {
        if (lines[at] == '\n') {
            const size_t len = at - line_at;
            const bool is_call =
                len > sizeof RECORDER_CALL &&
                memcmp(lines + line_at, RECORDER_CALL, sizeof RECORDER_CALL - 1) == 0;
            call_at = is_call ? line_at : call_at;
            line_at = at + 1;
        }
        at++;
    }
    if (at == a->lines.len && at == b->lines.len && !a->is_short && !b->is_short) {
        return false;
    }
    copy_line(&a->lines, call_at, call, sizeof call);
    copy_line(&a->lines, line_at, first, sizeof first);
    copy_line(&b->lines, line_at, second, sizeof second);
    (void)snprintf(difference, RECORDER_DIFFERENCE_SIZE, "%s: %s | %s", call, first, second);
    return true;
}
