/* Devices with one broken hook (randomness, folder, network, application), which the client path of
 * the audit must catch although every single report has the right law. */
#include "privacy/examination.h"

#include "base/crypto.h"

#include <criterion/criterion.h>
#include <math.h>
#include <string.h>

#define N_PATH 270

static struct verdict examine_seams(const char *name, const struct client_path_seams *seams,
                                    size_t n)
{
    static struct subject subject;
    struct verdict verdict;
    examine_open(&subject, name);
    examine_samples(&subject, seams, n, 0, &verdict);
    verdict.subject = NULL; /* not used below */
    subject_release(&subject);
    return verdict;
}

static dpot_status submit_honestly(dpot_client *client, const struct subject *subject,
                                   const double *input, enum dpot_submit_outcome *outcome)
{
    const uint8_t *id = subject->campaign.id;
    return dpot_mechanism_is_vector(subject->campaign.mechanism)
               ? dpot_client_submit_vector(client, id, input, subject->dim, outcome)
               : dpot_client_submit_points(client, id, input, NULL, 1, subject->dim, outcome);
}

Test(twin_path, seams_that_do_nothing_pass)
{
    const struct client_path_seams seams = {0};
    const char *const names[] = {"kpm", "laplace-box"};
    for (size_t i = 0; i < 2; i++) {
        const struct verdict verdict = examine_seams(names[i], &seams, N_PATH);
        cr_assert(client_path_tally_is_clean(&verdict.tally));
        cr_assert_lt(verdict.path.epsilon, 1);
    }
}

/* ---- randomness ---- */

/* A source of bytes that depend on the pair of rounds and, with `is_by_value`, on the data. */
struct stale_source {
    struct dpot_rng_source source;
    bool is_by_value;
    uint64_t n_reports;
    struct {
        uint64_t pair;
        double first_number; /* of the data */
    } state;
};

static void fill_again(void *ctx, void *out, size_t len)
{
    const struct stale_source *stale = ctx;
    uint8_t hash[DPOT_HASH_LEN];
    dpot_hash(hash, &stale->state, sizeof stale->state);
    for (size_t i = 0; i < len; i++) {
        ((uint8_t *)out)[i] = hash[i % sizeof hash];
    }
}

static dpot_status submit_with_state(void *ctx, dpot_client *client, const struct subject *subject,
                                     const double *input, enum dpot_submit_outcome *outcome)
{
    struct stale_source *stale = ctx;
    stale->state.pair = stale->n_reports / 2;
    stale->state.first_number = stale->is_by_value ? input[0] : 0;
    const dpot_status status = submit_honestly(client, subject, input, outcome);
    stale->n_reports += *outcome == DPOT_SUBMIT_REPORTED;
    return status;
}

static double bound_of_stale_source(const char *name, bool is_by_value, size_t n)
{
    struct stale_source stale = {.source = {fill_again, &stale, true}, .is_by_value = is_by_value};
    const struct client_path_seams seams = {
        .ctx = &stale, .source = &stale.source, .submit = submit_with_state};
    return examine_seams(name, &seams, n).path.epsilon;
}

/* Two rounds draw from the same stream: where data are equal, so are the reports. */
Test(twin_path, a_stream_that_is_used_again)
{
    cr_assert_gt(bound_of_stale_source("kpm", false, 900), 1.2);
    cr_assert_gt(bound_of_stale_source("laplace-box", false, N_PATH), 2);
    cr_assert_gt(bound_of_stale_source("gaussian-box", false, N_PATH), 2);
}

/* The noise is remembered by the value that it was made for: two rounds with the same data have the
 * same report, others have new noise. */
Test(twin_path, a_memory_that_is_keyed_by_the_value)
{
    cr_assert_gt(bound_of_stale_source("kpm", true, 900), 1.2);
    cr_assert_gt(bound_of_stale_source("laplace-box", true, N_PATH), 2);
}

/* ---- the folder ---- */

/* Its syncs do nothing: the last write into existing bytes of the spool (a report) is lost when the
 * process ends and the device starts again. */
#define KEPT_MAX 4096

struct forgetful_folder {
    struct dpot_filesystem filesystem;
    const struct dpot_filesystem *inner;
    void *spool; /* the open file; NULL: none */
    uint64_t offset;
    size_t len; /* of what was there before the last write; 0: no write yet */
    uint8_t before[KEPT_MAX];
};

static dpot_status open_file(void *ctx, const char *name, int create, void **file)
{
    struct forgetful_folder *f = ctx;
    const dpot_status status = f->inner->open(f->inner->ctx, name, create, file);
    if (status == DPOT_OK && strcmp(name, "spool") == 0) {
        f->spool = *file;
    }
    return status;
}

static dpot_status write_file(void *ctx, void *file, uint64_t offset, const void *data, size_t len)
{
    struct forgetful_folder *f = ctx;
    const struct dpot_filesystem *inner = f->inner;
    uint64_t size = 0;
    if (file == f->spool && len <= KEPT_MAX && inner->size(inner->ctx, file, &size) == DPOT_OK &&
        offset + len <= size) {
        f->offset = offset;
        f->len = len;
        cr_assert_eq(inner->read_at(inner->ctx, file, offset, f->before, len), DPOT_OK);
    }
    return inner->write_at(inner->ctx, file, offset, data, len);
}

/* Undoes the last write. A folder without a spool is a new one at the old one's address. */
static void lose_write(struct forgetful_folder *f)
{
    void *spool = NULL;
    const struct dpot_filesystem *inner = f->inner;
    if (inner->open(inner->ctx, "spool", 0, &spool) == DPOT_OK) {
        cr_assert_eq(inner->write_at(inner->ctx, spool, f->offset, f->before, f->len), DPOT_OK);
        inner->close(inner->ctx, spool);
    }
}

static void close_file(void *ctx, void *file)
{
    struct forgetful_folder *f = ctx;
    f->spool = file == f->spool ? NULL : f->spool;
    f->inner->close(f->inner->ctx, file);
}

static dpot_status size_file(void *ctx, void *file, uint64_t *size)
{
    const struct dpot_filesystem *inner = ((struct forgetful_folder *)ctx)->inner;
    return inner->size(inner->ctx, file, size);
}

static dpot_status read_file(void *ctx, void *file, uint64_t offset, void *data, size_t len)
{
    const struct dpot_filesystem *inner = ((struct forgetful_folder *)ctx)->inner;
    return inner->read_at(inner->ctx, file, offset, data, len);
}

static dpot_status truncate_file(void *ctx, void *file, uint64_t size)
{
    const struct dpot_filesystem *inner = ((struct forgetful_folder *)ctx)->inner;
    return inner->truncate(inner->ctx, file, size);
}

static dpot_status sync_file(void *ctx, void *file)
{
    const struct dpot_filesystem *inner = ((struct forgetful_folder *)ctx)->inner;
    return inner->sync(inner->ctx, file);
}

static dpot_status sync_names(void *ctx)
{
    const struct dpot_filesystem *inner = ((struct forgetful_folder *)ctx)->inner;
    return inner->sync_directory(inner->ctx);
}

static dpot_status rename_file(void *ctx, const char *from, const char *to)
{
    const struct dpot_filesystem *inner = ((struct forgetful_folder *)ctx)->inner;
    return inner->rename(inner->ctx, from, to);
}

static dpot_status remove_file(void *ctx, const char *name)
{
    const struct dpot_filesystem *inner = ((struct forgetful_folder *)ctx)->inner;
    return inner->remove(inner->ctx, name);
}

static dpot_status lock_folder(void *ctx)
{
    const struct dpot_filesystem *inner = ((struct forgetful_folder *)ctx)->inner;
    return inner->lock(inner->ctx);
}

static void unlock_folder(void *ctx)
{
    const struct dpot_filesystem *inner = ((struct forgetful_folder *)ctx)->inner;
    inner->unlock(inner->ctx);
}

/* Called at every open: the first one of a device, and after its process has ended. */
static const struct dpot_filesystem *forget(void *ctx, const struct dpot_filesystem *folder)
{
    struct forgetful_folder *f = ctx;
    if (f->inner == folder && f->len > 0) {
        lose_write(f);
    }
    *f = (struct forgetful_folder){.filesystem = {sizeof f->filesystem, f, open_file, close_file,
                                                  size_file, read_file, write_file, truncate_file,
                                                  sync_file, sync_names, rename_file, remove_file,
                                                  lock_folder, unlock_folder, NULL},
                                   .inner = folder};
    return &f->filesystem;
}

/* A device that makes its report anew after a restart, because the spool lost it, sends two reports
 * for one charge: twice the loss. */
Test(twin_path, a_second_release_on_retry)
{
    struct forgetful_folder folder = {.inner = NULL};
    const struct client_path_seams seams = {.ctx = &folder, .folder = forget};
    const struct verdict verdict = examine_seams("laplace-l1-ball", &seams, N_PATH);
    /* Of every nine samples three are sent after a restart. */
    cr_assert_eq(verdict.tally.n_contradictions, 2 * N_PATH / 3);
    cr_assert_gt(verdict.tally.n_reports, verdict.tally.n_charges);
    cr_assert_not(client_path_tally_is_clean(&verdict.tally));
}

/* ---- the network ---- */

static void pad_by_value(void *ctx, const double *input, struct dpot_http_request *request)
{
    (void)ctx;
    request->authorization = input[0] > 0 ? "x" : "xx";
}

Test(twin_path, a_report_whose_length_depends_on_the_data)
{
    const struct client_path_seams seams = {.send = pad_by_value};
    const struct verdict verdict = examine_seams("laplace-l1-ball", &seams, N_PATH);
    cr_assert_eq(verdict.tally.n_lengths, N_PATH);
    cr_assert_gt(verdict.path.epsilon, 2);
}

/* Bytes after the sealed body. */
static void lengthen_body(void *ctx, const double *input, struct dpot_http_request *request)
{
    uint8_t *body = ctx;
    if (input[0] < 0 && request->body) {
        memcpy(body, request->body, request->body_len);
        body[request->body_len] = 0;
        request->body = body;
        request->body_len++;
    }
}

Test(twin_path, a_body_whose_length_depends_on_the_data)
{
    uint8_t body[4096];
    const struct client_path_seams seams = {.ctx = body, .send = lengthen_body};
    const struct verdict verdict = examine_seams("laplace-l1-ball", &seams, N_PATH);
    cr_assert_gt(verdict.tally.n_lengths, 0);
    cr_assert_gt(verdict.path.epsilon, 1.5);
}

/* ---- the application ---- */

/* Data outside of the set are an error, reported after they were read. */
static dpot_status refuse_data(void *ctx, dpot_client *client, const struct subject *subject,
                               const double *input, enum dpot_submit_outcome *outcome)
{
    (void)ctx;
    const dpot_status status = submit_honestly(client, subject, input, outcome);
    return isnan(input[0]) ? DPOT_ERR_RANGE : status;
}

Test(twin_path, a_failure_that_is_seen_after_data_were_read)
{
    const struct client_path_seams seams = {.submit = refuse_data};
    const struct verdict verdict = examine_seams("laplace-nan", &seams, N_PATH);
    cr_assert_eq(verdict.tally.n_statuses, N_PATH);
    cr_assert_gt(verdict.path.epsilon, 2);
}

/* No report is made from data outside of the set. */
static dpot_status skip_data(void *ctx, dpot_client *client, const struct subject *subject,
                             const double *input, enum dpot_submit_outcome *outcome)
{
    (void)ctx;
    if (isnan(input[0])) {
        *outcome = DPOT_SUBMIT_REPORTED;
        return DPOT_OK;
    }
    return submit_honestly(client, subject, input, outcome);
}

Test(twin_path, a_report_that_is_skipped_for_some_data)
{
    const struct client_path_seams seams = {.submit = skip_data};
    const struct verdict verdict = examine_seams("laplace-nan", &seams, N_PATH);
    cr_assert_eq(verdict.tally.n_missing, N_PATH);
    cr_assert_gt(verdict.path.epsilon, 2);
}
