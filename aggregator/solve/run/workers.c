#include "solve/run/workers.h"

#include "base/alloc.h"

#include <pthread.h>

struct shared {
    pthread_mutex_t mutex; /* guards what follows, and calls of the progress function */
    size_t next;
    size_t n_done;
    dpot_status status; /* the first failure */
    struct dpot_error error;

    size_t n_items;
    workers_item work;
    void *ctx;
    const struct solve_control *control;
};

struct worker {
    pthread_t thread;
    size_t number;
    struct shared *shared;
};

/* Counts what is done, notes a failure, and takes the next item; false when there is none. */
static bool take_next(struct shared *s, size_t n_finished, dpot_status status,
                      const struct dpot_error *error, size_t *item)
{
    (void)pthread_mutex_lock(&s->mutex);
    s->n_done += n_finished;
    if (status != DPOT_OK && s->status == DPOT_OK) {
        s->status = status;
        s->error = *error;
    }
    if (s->control && s->control->progress && n_finished > 0) {
        s->control->progress(s->control->ctx, s->n_done, s->n_items);
    }
    const bool is_more = s->status == DPOT_OK && s->next < s->n_items;
    *item = is_more ? s->next++ : 0;
    (void)pthread_mutex_unlock(&s->mutex);
    return is_more;
}

static void *work_until_done(void *argument)
{
    const struct worker *worker = argument;
    struct shared *s = worker->shared;
    struct dpot_error error = {""};
    dpot_status status = DPOT_OK;
    size_t item = 0, n_finished = 0;
    while (take_next(s, n_finished, status, &error, &item)) {
        status = s->work(s->ctx, worker->number, item, &error);
        n_finished = 1;
    }
    return NULL;
}

dpot_status workers_run(size_t n_items, size_t n_workers, workers_item work, void *ctx,
                        const struct solve_control *control, struct dpot_error *error)
{
    struct shared shared = {.n_items = n_items, .work = work, .ctx = ctx, .control = control};
    size_t n_started = 1; /* this thread is worker 0 */
    struct worker *workers = dpot_alloc_array(NULL, n_workers, sizeof *workers);
    if (!workers || pthread_mutex_init(&shared.mutex, NULL) != 0) {
        dpot_free_array(NULL, workers, n_workers, sizeof *workers);
        return dpot_error_set(error, DPOT_ERR_MEMORY, "out of memory for %zu threads", n_workers);
    }
    for (size_t w = 0; w < n_workers; w++) {
        workers[w].number = w;
        workers[w].shared = &shared;
    }
    /* Fewer threads than asked for, when the system has no more, only take longer. */
    while (n_started < n_workers && n_started < n_items &&
           pthread_create(&workers[n_started].thread, NULL, work_until_done, &workers[n_started]) ==
               0) {
        n_started++;
    }
    (void)work_until_done(&workers[0]);
    for (size_t w = 1; w < n_started; w++) {
        (void)pthread_join(workers[w].thread, NULL);
    }
    (void)pthread_mutex_destroy(&shared.mutex);
    dpot_free_array(NULL, workers, n_workers, sizeof *workers);
    if (shared.status != DPOT_OK && error) {
        *error = shared.error;
    }
    return shared.status;
}
