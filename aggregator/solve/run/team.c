#include "solve/run/team.h"

#include "base/alloc.h"

#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>

/* Polls for a new loop before a thread sleeps: the next sweep usually starts within microseconds,
 * less than a wake-up takes. */
#define SPINS 2000

struct team {
    size_t n_threads; /* including the caller */
    size_t n_slots;   /* of `threads` */
    pthread_t *threads;

    pthread_mutex_t mutex;
    pthread_cond_t new_loop; /* `loop` changed */
    pthread_cond_t all_left; /* n_inside fell to 0 */
    atomic_ulong loop;       /* number of the current loop; changes under the mutex */
    bool is_open;            /* the current loop may be entered: it has tasks left */
    size_t n_inside;         /* members that have entered the present loop and not left it */
    bool is_over;

    /* The current loop: written by the caller while it is not open and n_inside is 0. */
    void (*work)(void *ctx, size_t task);
    void *ctx;
    size_t n_tasks;
    atomic_size_t next_task;
};

static void work_off(struct team *team)
{
    size_t task;
    while ((task = atomic_fetch_add(&team->next_task, 1)) < team->n_tasks) {
        team->work(team->ctx, task);
    }
}

/* Waits for a loop other than `seen` and enters it. A late member, when no tasks are left, does not
 * enter and waits for the next loop: on a busy machine a thread may be scheduled milliseconds after
 * the loop has ended, and the caller must not wait for it. False: the team is being freed. */
static bool enter_next_loop(struct team *team, unsigned long *seen)
{
    for (;;) {
        for (int i = 0; i < SPINS && atomic_load(&team->loop) == *seen; i++) {
        }
        (void)pthread_mutex_lock(&team->mutex);
        while (atomic_load(&team->loop) == *seen) {
            (void)pthread_cond_wait(&team->new_loop, &team->mutex);
        }
        *seen = atomic_load(&team->loop);
        const bool is_over = team->is_over, is_open = team->is_open;
        team->n_inside += is_open;
        (void)pthread_mutex_unlock(&team->mutex);
        if (is_over || is_open) {
            return !is_over;
        }
    }
}

static void leave(struct team *team)
{
    (void)pthread_mutex_lock(&team->mutex);
    if (--team->n_inside == 0) {
        (void)pthread_cond_signal(&team->all_left);
    }
    (void)pthread_mutex_unlock(&team->mutex);
}

static void *member(void *argument)
{
    struct team *team = argument;
    unsigned long seen = 0;
    while (enter_next_loop(team, &seen)) {
        work_off(team);
        leave(team);
    }
    return NULL;
}

static void start_loop(struct team *team, bool is_over)
{
    (void)pthread_mutex_lock(&team->mutex);
    team->is_open = !is_over;
    team->is_over = is_over;
    atomic_fetch_add(&team->loop, 1);
    (void)pthread_cond_broadcast(&team->new_loop);
    (void)pthread_mutex_unlock(&team->mutex);
}

dpot_status team_new(size_t n_threads, struct team **out)
{
    *out = NULL;
    struct team *team = dpot_alloc_array(NULL, 1, sizeof *team);
    pthread_t *threads = dpot_alloc_array(NULL, n_threads, sizeof *threads);
    if (!team || !threads || pthread_mutex_init(&team->mutex, NULL) != 0) {
        dpot_free_array(NULL, threads, n_threads, sizeof *threads);
        dpot_free_array(NULL, team, 1, sizeof *team);
        return DPOT_ERR_MEMORY;
    }
    team->threads = threads;
    team->n_slots = n_threads;
    team->n_threads = 1;
    (void)pthread_cond_init(&team->new_loop, NULL);
    (void)pthread_cond_init(&team->all_left, NULL);
    while (team->n_threads < n_threads &&
           pthread_create(&threads[team->n_threads], NULL, member, team) == 0) {
        team->n_threads++;
    }
    *out = team;
    return DPOT_OK;
}

void team_free(struct team *team)
{
    if (!team) {
        return;
    }
    start_loop(team, true);
    for (size_t i = 1; i < team->n_threads; i++) {
        (void)pthread_join(team->threads[i], NULL);
    }
    (void)pthread_cond_destroy(&team->all_left);
    (void)pthread_cond_destroy(&team->new_loop);
    (void)pthread_mutex_destroy(&team->mutex);
    dpot_free_array(NULL, team->threads, team->n_slots, sizeof *team->threads);
    dpot_free_array(NULL, team, 1, sizeof *team);
}

size_t team_size(const struct team *team)
{
    return team ? team->n_threads : 1;
}

void team_run(struct team *team, size_t n_tasks, void (*work)(void *ctx, size_t task), void *ctx)
{
    if (!team || team->n_threads == 1 || n_tasks < 2) {
        for (size_t task = 0; task < n_tasks; task++) {
            work(ctx, task);
        }
        return;
    }
    team->work = work;
    team->ctx = ctx;
    team->n_tasks = n_tasks;
    atomic_store(&team->next_task, 0);
    start_loop(team, false);
    work_off(team);
    (void)pthread_mutex_lock(&team->mutex);
    team->is_open = false;
    while (team->n_inside > 0) {
        (void)pthread_cond_wait(&team->all_left, &team->mutex);
    }
    (void)pthread_mutex_unlock(&team->mutex);
}
