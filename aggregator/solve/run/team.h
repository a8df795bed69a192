/* A thread pool for one solver, for many short parallel loops.
 *
 *     struct team *team;
 *     team_new(n_threads, &team);              NULL is a team of the calling thread alone
 *     team_run(team, n_blocks, sweep_block, &sweep);
 *     team_free(team);
 *
 * Results must not depend on the number of threads: split the work into tasks by size, never by
 * thread, and add partial results in the order of the tasks. One caller at a time; a task must not
 * call team_run. */
#ifndef DPOT_SOLVE_RUN_TEAM_H
#define DPOT_SOLVE_RUN_TEAM_H

#include "dpot/status.h"

#include <stddef.h>

struct team;

/* n_threads >= 1 includes the caller. If the system refuses threads, the team is smaller.
 * DPOT_ERR_MEMORY: *team is NULL. */
DPOT_WARN_UNUSED dpot_status team_new(size_t n_threads, struct team **team);

/* May be NULL. */
void team_free(struct team *team);

/* Actual number of threads, including the caller; 1 for NULL. */
size_t team_size(const struct team *team);

/* Calls work(ctx, task) once for every task < n_tasks, on any thread. Returns when all are done and
 * their writes are visible to the caller. */
void team_run(struct team *team, size_t n_tasks, void (*work)(void *ctx, size_t task), void *ctx);

#endif
