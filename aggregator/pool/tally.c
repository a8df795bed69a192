#include "pool/tally.h"

#include <pthread.h>
#include <string.h>

const unsigned tally_answers[TALLY_ANSWERS] = {202, 400, 404, 409, 410, 413, 503};

struct tally {
    pthread_mutex_t mutex; /* guards what follows */
    struct tally_counts counts;
    uint64_t n_unsaved[DROP_REASONS];
};

static uint64_t sum_of(const struct tally_counts *counts)
{
    uint64_t sum = counts->committed.n_accepted + counts->committed.n_duplicate;
    for (size_t i = 0; i < DPOT_REPORT_STATUS_END; i++) {
        sum += counts->committed.n_rejected[i];
    }
    for (size_t i = 0; i < DROP_REASONS; i++) {
        sum += counts->n_dropped[i];
    }
    return sum;
}

dpot_status tally_new(struct store *store, struct tally **tally, struct dpot_error *error)
{
    struct tally *t = dpot_alloc_array(NULL, 1, sizeof *t);
    *tally = NULL;
    if (!t) {
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for the counts");
    }
    (void)pthread_mutex_init(&t->mutex, NULL);
    const dpot_status status =
        store_count_all(store, &t->counts.committed, t->counts.n_dropped, error);
    if (status != DPOT_OK) {
        tally_free(t);
        return status;
    }
    t->counts.n_submitted = sum_of(&t->counts);
    *tally = t;
    return DPOT_OK;
}

void tally_free(struct tally *tally)
{
    if (tally) {
        (void)pthread_mutex_destroy(&tally->mutex);
        dpot_free_array(NULL, tally, 1, sizeof *tally);
    }
}

void tally_submit(struct tally *tally, size_t n)
{
    if (tally) {
        (void)pthread_mutex_lock(&tally->mutex);
        tally->counts.n_submitted += n;
        tally->counts.n_pending += n;
        (void)pthread_mutex_unlock(&tally->mutex);
    }
}

static void count_one(struct pool_count *committed, enum dpot_report_status status)
{
    if (status == DPOT_REPORT_ACCEPTED) {
        committed->n_accepted++;
    } else if (status == DPOT_REPORT_DUPLICATE) {
        committed->n_duplicate++;
    } else if ((unsigned)status < DPOT_REPORT_STATUS_END) {
        committed->n_rejected[status]++;
    }
}

void tally_commit(struct tally *tally, const enum dpot_report_status *statuses, size_t n)
{
    if (!tally) {
        return;
    }
    (void)pthread_mutex_lock(&tally->mutex);
    for (size_t i = 0; i < n; i++) {
        count_one(&tally->counts.committed, statuses[i]);
    }
    tally->counts.n_pending -= n;
    (void)pthread_mutex_unlock(&tally->mutex);
}

void tally_drop(struct tally *tally, enum drop_reason reason, size_t n)
{
    if (tally) {
        (void)pthread_mutex_lock(&tally->mutex);
        tally->counts.n_dropped[reason] += n;
        tally->n_unsaved[reason] += n;
        tally->counts.n_pending -= n;
        (void)pthread_mutex_unlock(&tally->mutex);
    }
}

void tally_answer(struct tally *tally, unsigned http_status)
{
    if (!tally) {
        return;
    }
    (void)pthread_mutex_lock(&tally->mutex);
    for (size_t i = 0; i < TALLY_ANSWERS; i++) {
        tally->counts.n_answers[i] += tally_answers[i] == http_status;
    }
    (void)pthread_mutex_unlock(&tally->mutex);
}

void tally_get(struct tally *tally, struct tally_counts *counts)
{
    (void)pthread_mutex_lock(&tally->mutex);
    *counts = tally->counts;
    (void)pthread_mutex_unlock(&tally->mutex);
}

dpot_status tally_save(struct tally *tally, struct store *store, struct dpot_error *error)
{
    uint64_t n[DROP_REASONS], n_all = 0;
    (void)pthread_mutex_lock(&tally->mutex);
    memcpy(n, tally->n_unsaved, sizeof n);
    memset(tally->n_unsaved, 0, sizeof tally->n_unsaved);
    (void)pthread_mutex_unlock(&tally->mutex);
    for (size_t i = 0; i < DROP_REASONS; i++) {
        n_all += n[i];
    }
    const dpot_status status = n_all > 0 ? store_add_drops(store, n, error) : DPOT_OK;
    if (status != DPOT_OK) {
        (void)pthread_mutex_lock(&tally->mutex);
        for (size_t i = 0; i < DROP_REASONS; i++) {
            tally->n_unsaved[i] += n[i];
        }
        (void)pthread_mutex_unlock(&tally->mutex);
    }
    return status;
}
